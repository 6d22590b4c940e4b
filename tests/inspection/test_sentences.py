from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from explorer.catalogue import models_of
from explorer.environment import environment
from explorer.inspection.opening import OpenedModel, open_model
from explorer.inspection.sentences import (
    attention,
    contributions,
    embedding_map,
    reading,
    sustain_probabilities,
    tokens_of,
    word_weights,
)
from explorer.models.taps import record
from explorer.tasks.negation import VOCABULARY
from explorer.training import store
from explorer.training.config import changed, default
from explorer.training.recorder import record_run

MODELS = models_of("negation")

WORDS = ("human", "not", "preserve", "nature")


@cache
def shipped(name: str) -> OpenedModel:
    return open_model(store.find(f"negation-{name}"))


def logits(opened: OpenedModel, tokens: tuple[str, ...], replica: int) -> torch.Tensor:
    return opened.alone(replica)(torch.tensor([[VOCABULARY.id(token) for token in tokens]]))[0]


def answer(opened: OpenedModel, tokens: tuple[str, ...], replica: int) -> float:
    return float(logits(opened, tokens, replica).softmax(-1)[1])


def test_tokens_stand_between_markers_and_are_filled_up() -> None:
    assert tokens_of(("human", "not")) == ("<BOS>", "human", "not", "<EOS>")
    assert tokens_of(("human", "not"), 6) == ("<BOS>", "human", "not", "<EOS>", "<EOS>", "<EOS>")
    assert tokens_of(("human", "not"), 3) == ("<BOS>", "human", "not", "<EOS>")


@pytest.mark.parametrize("model", MODELS)
def test_every_replica_answers_as_it_does_alone(model: str) -> None:
    opened = shipped(f"single-{model}")
    together = sustain_probabilities(opened, WORDS)
    alone = [answer(opened, tokens_of(WORDS), r) for r in range(8)]
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_a_run_of_one_replica_can_be_asked_too(model: str) -> None:
    config = changed(default("negation", model), {"epochs": 1})
    opened = open_model(store.save_run(record_run(config), environment().runs / "one"))
    assert sustain_probabilities(opened, WORDS) == pytest.approx([answer(opened, tokens_of(WORDS), 0)], abs=1e-6)


@pytest.mark.parametrize("model", ["feedforward", "rnn", "lstm", "gru", "transformer"])
def test_shipped_networks_know_what_not_does(model: str) -> None:
    opened = shipped(f"single-{model}")
    assert (sustain_probabilities(opened, ("human", "preserve", "nature")) > 0.5).all()
    assert (sustain_probabilities(opened, WORDS) < 0.5).all()


def test_contributions_add_up_to_the_difference_of_the_logits() -> None:
    opened = shipped("single-bag_of_words")
    for replica in range(8):
        found = contributions(opened, WORDS, replica)
        collapse, sustain = logits(opened, tokens_of(WORDS), replica).tolist()
        assert found.tokens == tokens_of(WORDS)
        assert found.values.shape == (6,)
        assert found.total == pytest.approx(sustain - collapse, abs=1e-5)


def test_a_word_said_twice_contributes_twice() -> None:
    found = contributions(shipped("double-bag_of_words"), ("human", "not", "not", "destroy", "nature"), 3)
    assert found.values[2] == found.values[3]


def test_word_weights_leave_padding_out() -> None:
    opened = shipped("single-bag_of_words")
    found = word_weights(opened, 5)
    assert found.tokens == VOCABULARY.tokens[:-1]
    np.testing.assert_array_equal(found.weights, opened.alone(5).get_parameter("readout.weight")[:, :10].numpy())


@pytest.mark.parametrize("model", ["rnn", "lstm", "gru"])
def test_reading_ends_with_the_answer_and_each_step_is_that_of_the_shorter_text(model: str) -> None:
    opened = shipped(f"single-{model}")
    tokens = tokens_of(WORDS)
    for replica in (0, 7):
        found = reading(opened, WORDS, replica)
        assert found.tokens == tokens
        so_far = [answer(opened, tokens[:end], replica) for end in range(1, len(tokens) + 1)]
        np.testing.assert_allclose(found.sustain, so_far, atol=1e-5)
        assert found.sustain[-1] == pytest.approx(sustain_probabilities(opened, WORDS)[replica], abs=1e-5)


def test_attention_equals_the_recorded_weights_and_hides_padding() -> None:
    opened = shipped("single-transformer")
    words = ("human", "destroy", "nature")
    plain, padded = attention(opened, words, 2), attention(opened, words, 2, length=6)
    model = opened.alone(2)
    with record(model) as trace:
        model(torch.tensor([[VOCABULARY.id(token) for token in tokens_of(words)]]))
    np.testing.assert_allclose(plain.weights[0], trace["blocks.0.attention.weights"][0].numpy(), atol=1e-6)
    np.testing.assert_allclose(plain.weights.sum(-1), 1, atol=1e-6)
    assert padded.tokens == (*plain.tokens, "<PAD>")
    assert np.isnan(padded.weights[..., 5]).all()
    assert np.isnan(padded.weights[..., 5, :]).all()
    np.testing.assert_allclose(padded.weights[..., :5, :5], plain.weights, atol=1e-6)


def test_attention_has_a_map_for_every_layer_and_head_and_ends_with_the_window() -> None:
    changes = {"epochs": 1, "layers": 2, "heads": 4, "window": 5}
    config = changed(default("negation", "transformer"), changes)
    opened = open_model(store.save_run(record_run(config), environment().runs / "deep"))
    view = attention(opened, WORDS, 0)
    assert view.tokens == tokens_of(WORDS)[:5]
    assert view.weights.shape == (2, 4, 5, 5)
    np.testing.assert_allclose(view.weights.sum(-1), 1, atol=1e-6)


def test_the_eos_trap_gives_one_sentence_two_answers() -> None:
    words = ("human", "preserve", "nature")
    trapped, cured = shipped("eos-bag_of_words"), shipped("single-bag_of_words")
    alone, beside = sustain_probabilities(trapped, words), sustain_probabilities(trapped, words, length=6)
    assert (alone != beside).all()
    assert np.abs(alone - beside).max() > 0.05
    padded = torch.tensor([VOCABULARY.id(t) for t in (*tokens_of(words), "<PAD>")]).expand(8, 1, 6)
    with torch.inference_mode():
        beside_padded = cured.stack(padded).softmax(-1)[:, 0, 1].numpy()
    np.testing.assert_allclose(beside_padded, sustain_probabilities(cured, words), atol=1e-6)


@pytest.mark.parametrize("model", [name for name in MODELS if name != "bag_of_words"])
def test_embedding_map_keeps_a_share_and_no_more_than_there_is(model: str) -> None:
    found = embedding_map(shipped(f"single-{model}"), 1)
    assert found.tokens == ("human", "nature", "consume", "preserve", "destroy", "not")
    assert found.points.shape == (6, 2)
    assert 0 < found.share <= 1
    assert (found.points[found.tokens.index("preserve")] >= 0).all()
    np.testing.assert_allclose(found.points.mean(axis=0), 0, atol=1e-5)


def test_embedding_map_of_a_plane_keeps_every_distance() -> None:
    config = changed(default("negation", "rnn"), {"epochs": 1, "width": 2})
    opened = open_model(store.save_run(record_run(config), environment().runs / "flat"))
    found = embedding_map(opened, 0)
    vectors = opened.alone(0).get_parameter("embedding.weight")[[VOCABULARY.id(t) for t in found.tokens]]
    assert found.share == pytest.approx(1)
    np.testing.assert_allclose(
        torch.cdist(
            torch.from_numpy(found.points.astype(np.float32)), torch.from_numpy(found.points.astype(np.float32))
        ),
        torch.cdist(vectors, vectors),
        atol=1e-3,
    )


def test_embedding_map_of_a_line_is_a_line() -> None:
    config = changed(default("negation", "rnn"), {"epochs": 1, "width": 1})
    found = embedding_map(open_model(store.save_run(record_run(config), environment().runs / "thin")), 0)
    assert not found.points[:, 1].any()
    assert found.share == pytest.approx(1)


def test_arrays_that_are_handed_out_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        sustain_probabilities(shipped("single-rnn"), WORDS)[0] = 1.0


def test_an_opened_model_learns_nothing_more() -> None:
    opened = shipped("single-rnn")
    assert not opened.stack.training
    assert not any(p.requires_grad for p in opened.stack.parameters())
    assert not any(p.requires_grad for p in opened.alone(1).parameters())
