from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from explorer.catalogue import models_of
from explorer.environment import environment
from explorer.inspection.load_model import LoadedModel, load_model
from explorer.inspection.words.negation_sentences import (
    embedding_map,
    sentence_attention,
    sentence_tokens,
    sustain_by_token,
    sustain_probabilities,
    token_contributions,
    word_weights,
)
from explorer.models.taps import record
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

MODELS = models_of("negation")

WORDS = ("human", "not", "preserve", "nature")


@cache
def load_pretrained(name: str) -> LoadedModel:
    return load_model(store.find(f"negation-{name}"))


def logits(opened: LoadedModel, tokens: tuple[str, ...], replica: int) -> torch.Tensor:
    return opened.single_replica(replica)(torch.tensor([[VOCABULARY.id(token) for token in tokens]]))[0]


def sustain_probability(opened: LoadedModel, tokens: tuple[str, ...], replica: int) -> float:
    return float(logits(opened, tokens, replica).softmax(-1)[1])


def test_tokens_are_enclosed_in_markers_and_padded() -> None:
    assert sentence_tokens(("human", "not")) == ("<BOS>", "human", "not", "<EOS>")
    assert sentence_tokens(("human", "not"), 6) == ("<BOS>", "human", "not", "<EOS>", "<EOS>", "<EOS>")
    assert sentence_tokens(("human", "not"), 3) == ("<BOS>", "human", "not", "<EOS>")


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_of_a_stack_equal_those_of_each_replica(model: str) -> None:
    opened = load_pretrained(f"single-{model}")
    together = sustain_probabilities(opened, WORDS)
    alone = [sustain_probability(opened, sentence_tokens(WORDS), r) for r in range(8)]
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_of_a_run_with_one_replica(model: str) -> None:
    config = with_settings(default_config("negation", model), {"epochs": 1})
    opened = load_model(store.save_run(record_run(config), environment().runs / "one"))
    assert sustain_probabilities(opened, WORDS) == pytest.approx(
        [sustain_probability(opened, sentence_tokens(WORDS), 0)], abs=1e-6
    )


@pytest.mark.parametrize("model", ["feedforward", "rnn", "lstm", "gru", "transformer"])
def test_pretrained_networks_understand_negation(model: str) -> None:
    opened = load_pretrained(f"single-{model}")
    assert (sustain_probabilities(opened, ("human", "preserve", "nature")) > 0.5).all()
    assert (sustain_probabilities(opened, WORDS) < 0.5).all()


def test_contributions_add_up_to_the_difference_of_the_logits() -> None:
    opened = load_pretrained("single-bag_of_words")
    for replica in range(8):
        found = token_contributions(opened, WORDS, replica)
        collapse, sustain = logits(opened, sentence_tokens(WORDS), replica).tolist()
        assert found.tokens == sentence_tokens(WORDS)
        assert found.values.shape == (6,)
        assert found.total == pytest.approx(sustain - collapse, abs=1e-5)


def test_a_repeated_word_contributes_twice() -> None:
    found = token_contributions(load_pretrained("double-bag_of_words"), ("human", "not", "not", "destroy", "nature"), 3)
    assert found.values[2] == found.values[3]


def test_word_weights_leave_padding_out() -> None:
    opened = load_pretrained("single-bag_of_words")
    found = word_weights(opened, 5)
    assert found.tokens == VOCABULARY.tokens[:-1]
    np.testing.assert_array_equal(
        found.weights, opened.single_replica(5).get_parameter("readout.weight")[:, :10].numpy()
    )


@pytest.mark.parametrize("model", ["rnn", "lstm", "gru"])
def test_sustain_by_token_equals_the_predictions_for_the_prefixes(model: str) -> None:
    opened = load_pretrained(f"single-{model}")
    tokens = sentence_tokens(WORDS)
    for replica in (0, 7):
        found = sustain_by_token(opened, WORDS, replica)
        assert found.tokens == tokens
        so_far = [sustain_probability(opened, tokens[:end], replica) for end in range(1, len(tokens) + 1)]
        np.testing.assert_allclose(found.sustain, so_far, atol=1e-5)
        assert found.sustain[-1] == pytest.approx(sustain_probabilities(opened, WORDS)[replica], abs=1e-5)


def test_attention_equals_the_recorded_weights_and_hides_padding() -> None:
    opened = load_pretrained("single-transformer")
    words = ("human", "destroy", "nature")
    plain, padded = sentence_attention(opened, words, 2), sentence_attention(opened, words, 2, length=6)
    model = opened.single_replica(2)
    with record(model) as trace:
        model(torch.tensor([[VOCABULARY.id(token) for token in sentence_tokens(words)]]))
    np.testing.assert_allclose(plain.weights[0], trace["blocks.0.attention.weights"][0].numpy(), atol=1e-6)
    np.testing.assert_allclose(plain.weights.sum(-1), 1, atol=1e-6)
    assert padded.tokens == (*plain.tokens, "<PAD>")
    assert np.isnan(padded.weights[..., 5]).all()
    assert np.isnan(padded.weights[..., 5, :]).all()
    np.testing.assert_allclose(padded.weights[..., :5, :5], plain.weights, atol=1e-6)


def test_attention_has_a_map_for_every_layer_and_head_and_ends_with_the_window() -> None:
    changes = {"epochs": 1, "layers": 2, "heads": 4, "window": 5}
    config = with_settings(default_config("negation", "transformer"), changes)
    opened = load_model(store.save_run(record_run(config), environment().runs / "deep"))
    view = sentence_attention(opened, WORDS, 0)
    assert view.tokens == sentence_tokens(WORDS)[:5]
    assert view.weights.shape == (2, 4, 5, 5)
    np.testing.assert_allclose(view.weights.sum(-1), 1, atol=1e-6)


def test_unmasked_eos_padding_changes_the_prediction() -> None:
    words = ("human", "preserve", "nature")
    trapped, cured = load_pretrained("eos-bag_of_words"), load_pretrained("single-bag_of_words")
    alone, beside = sustain_probabilities(trapped, words), sustain_probabilities(trapped, words, length=6)
    assert (alone != beside).all()
    assert np.abs(alone - beside).max() > 0.05
    padded = torch.tensor([VOCABULARY.id(t) for t in (*sentence_tokens(words), "<PAD>")]).expand(8, 1, 6)
    with torch.inference_mode():
        beside_padded = cured.stack(padded).softmax(-1)[:, 0, 1].numpy()
    np.testing.assert_allclose(beside_padded, sustain_probabilities(cured, words), atol=1e-6)


@pytest.mark.parametrize("model", [name for name in MODELS if name != "bag_of_words"])
def test_the_explained_variance_is_at_most_one(model: str) -> None:
    found = embedding_map(load_pretrained(f"single-{model}"), 1)
    assert found.tokens == ("human", "nature", "consume", "preserve", "destroy", "not")
    assert found.points.shape == (6, 2)
    assert 0 < found.share <= 1
    assert (found.points[found.tokens.index("preserve")] >= 0).all()
    np.testing.assert_allclose(found.points.mean(axis=0), 0, atol=1e-5)


def test_embedding_map_of_a_plane_preserves_distances() -> None:
    config = with_settings(default_config("negation", "rnn"), {"epochs": 1, "width": 2})
    opened = load_model(store.save_run(record_run(config), environment().runs / "flat"))
    found = embedding_map(opened, 0)
    vectors = opened.single_replica(0).get_parameter("embedding.weight")[[VOCABULARY.id(t) for t in found.tokens]]
    assert found.share == pytest.approx(1)
    np.testing.assert_allclose(
        torch.cdist(
            torch.from_numpy(found.points.astype(np.float32)), torch.from_numpy(found.points.astype(np.float32))
        ),
        torch.cdist(vectors, vectors),
        atol=1e-3,
    )


def test_embedding_map_of_a_line_is_a_line() -> None:
    config = with_settings(default_config("negation", "rnn"), {"epochs": 1, "width": 1})
    found = embedding_map(load_model(store.save_run(record_run(config), environment().runs / "thin")), 0)
    assert not found.points[:, 1].any()
    assert found.share == pytest.approx(1)


def test_returned_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        sustain_probabilities(load_pretrained("single-rnn"), WORDS)[0] = 1.0


def test_a_loaded_model_is_frozen() -> None:
    opened = load_pretrained("single-rnn")
    assert not opened.stack.training
    assert not any(p.requires_grad for p in opened.stack.parameters())
    assert not any(p.requires_grad for p in opened.single_replica(1).parameters())
