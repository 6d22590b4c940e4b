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
    pair_contributions,
    pair_weights,
    sentence_attention,
    sentence_tokens,
    sustain_by_token,
    sustain_probabilities,
    token_contributions,
    unit_contributions,
    window_contributions,
    word_weights,
)
from explorer.models.taps import record
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.own_sentences import negation_data
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run

MODELS = models_of("negation")

WORDS = ("human", "not", "preserve", "nature")


@cache
def load_pretrained(name: str) -> LoadedModel:
    return load_model(store.find(f"negation-{name}"))


def logits(loaded: LoadedModel, tokens: tuple[str, ...], replica: int) -> torch.Tensor:
    return loaded.single_replica(replica)(torch.tensor([[VOCABULARY.id(token) for token in tokens]]))[0]


def sustain_probability(loaded: LoadedModel, tokens: tuple[str, ...], replica: int) -> float:
    return float(logits(loaded, tokens, replica).softmax(-1)[1])


def test_tokens_are_enclosed_in_markers_and_padded() -> None:
    assert sentence_tokens(("human", "not")) == ("<BOS>", "human", "not", "<EOS>")
    assert sentence_tokens(("human", "not"), 6) == ("<BOS>", "human", "not", "<EOS>", "<EOS>", "<EOS>")
    assert sentence_tokens(("human", "not"), 3) == ("<BOS>", "human", "not", "<EOS>")


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_of_a_stack_equal_those_of_each_replica(model: str) -> None:
    loaded = load_pretrained(f"single-{model}")
    together = sustain_probabilities(loaded, WORDS)
    alone = [sustain_probability(loaded, sentence_tokens(WORDS), r) for r in range(8)]
    np.testing.assert_allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
def test_probabilities_of_a_run_with_one_replica(model: str) -> None:
    config = with_settings(default_config("negation", model), {"epochs": 1})
    loaded = load_model(store.save_run(record_run(config), environment().runs / "one"))
    assert sustain_probabilities(loaded, WORDS) == pytest.approx(
        [sustain_probability(loaded, sentence_tokens(WORDS), 0)], abs=1e-6
    )


@pytest.mark.parametrize("model", [name for name in MODELS if name != "bag_of_words"])
def test_pretrained_networks_understand_negation(model: str) -> None:
    loaded = load_pretrained(f"single-{model}")
    assert (sustain_probabilities(loaded, ("human", "preserve", "nature")) > 0.5).all()
    assert (sustain_probabilities(loaded, WORDS) < 0.5).all()


def test_contributions_add_up_to_the_difference_of_the_logits() -> None:
    loaded = load_pretrained("single-bag_of_words")
    for replica in range(8):
        contributions = token_contributions(loaded, WORDS, replica)
        collapse, sustain = logits(loaded, sentence_tokens(WORDS), replica).tolist()
        assert contributions.parts == sentence_tokens(WORDS)
        assert contributions.values.shape == (6,)
        assert contributions.total == pytest.approx(sustain - collapse, abs=1e-5)


def test_pairs_add_up_to_the_difference_of_the_logits() -> None:
    loaded = load_pretrained("double-bag_of_bigrams")
    for replica in range(8):
        contributions = pair_contributions(loaded, WORDS, replica)
        collapse, sustain = logits(loaded, sentence_tokens(WORDS), replica).tolist()
        assert contributions.parts == ("<BOS> human", "human not", "not preserve", "preserve nature", "nature <EOS>")
        assert contributions.total == pytest.approx(sustain - collapse, abs=1e-5)
    weights = loaded.single_replica(7).get_parameter("readout.weight").view(2, 11, 11)
    pair = VOCABULARY.id("not"), VOCABULARY.id("preserve")
    assert contributions.values[2] == pytest.approx(float(weights[1][pair] - weights[0][pair]))


def test_hidden_units_add_up_to_the_difference_of_the_logits() -> None:
    loaded = load_pretrained("single-bag_of_words_hidden")
    for replica in range(8):
        contributions = unit_contributions(loaded, WORDS, replica)
        collapse, sustain = logits(loaded, sentence_tokens(WORDS), replica).tolist()
        assert contributions.parts == tuple(f"unit {i}" for i in range(1, 9))
        assert contributions.total == pytest.approx(sustain - collapse, abs=1e-5)


def test_filters_add_up_to_the_difference_of_the_logits_at_the_words_to_which_they_respond() -> None:
    loaded = load_pretrained("double-convolution")
    tokens = sentence_tokens(WORDS)
    windows = {" ".join(tokens[i : i + size]) for size in (2, 3) for i in range(len(tokens))}
    for replica in range(8):
        contributions = window_contributions(loaded, WORDS, replica)
        collapse, sustain = logits(loaded, tokens, replica).tolist()
        assert len(set(contributions.parts)) == len(contributions.parts) <= 16
        assert set(contributions.parts) <= windows
        assert contributions.total == pytest.approx(sustain - collapse, abs=1e-5)
    longer = window_contributions(loaded, ("nature", *WORDS), 0)  # the same words elsewhere: the same responses
    assert any("not preserve" in window for window in longer.parts)


def test_pair_weights_are_those_of_the_pairs_that_differ_between_sentences() -> None:
    loaded = load_pretrained("double-bag_of_bigrams")
    weights = pair_weights(loaded, 5)
    assert set(weights.tokens) == {"human not", "not not"} | {
        f"{first} {verb}" for first in ("human", "not") for verb in ("consume", "preserve", "destroy")
    }
    table = loaded.single_replica(5).get_parameter("readout.weight").view(2, 11, 11)
    at = weights.tokens.index("not destroy")
    expected = table[:, VOCABULARY.id("not"), VOCABULARY.id("destroy")]
    np.testing.assert_array_equal(weights.weights[:, at], expected.numpy())


def test_a_repeated_word_contributes_twice() -> None:
    terms = token_contributions(load_pretrained("double-bag_of_words"), ("human", "not", "not", "destroy", "nature"), 3)
    assert terms.values[2] == terms.values[3]


def test_word_weights_leave_padding_out() -> None:
    loaded = load_pretrained("single-bag_of_words")
    weights = word_weights(loaded, 5)
    assert weights.tokens == VOCABULARY.tokens[:-1]
    np.testing.assert_array_equal(
        weights.weights, loaded.single_replica(5).get_parameter("readout.weight")[:, :10].numpy()
    )


@pytest.mark.parametrize("model", ["rnn", "lstm", "gru"])
def test_sustain_by_token_equals_the_predictions_for_the_prefixes(model: str) -> None:
    loaded = load_pretrained(f"single-{model}")
    tokens = sentence_tokens(WORDS)
    for replica in (0, 7):
        by_token = sustain_by_token(loaded, WORDS, replica)
        assert by_token.tokens == tokens
        expected = [sustain_probability(loaded, tokens[:end], replica) for end in range(1, len(tokens) + 1)]
        np.testing.assert_allclose(by_token.sustain, expected, atol=1e-5)
        assert by_token.sustain[-1] == pytest.approx(sustain_probabilities(loaded, WORDS)[replica], abs=1e-5)


def test_attention_equals_the_recorded_weights_and_hides_padding() -> None:
    loaded = load_pretrained("single-transformer")
    words = ("human", "destroy", "nature")
    unpadded, padded = sentence_attention(loaded, words, 2), sentence_attention(loaded, words, 2, length=6)
    model = loaded.single_replica(2)
    with record(model) as trace:
        model(torch.tensor([[VOCABULARY.id(token) for token in sentence_tokens(words)]]))
    np.testing.assert_allclose(unpadded.weights[0], trace["blocks.0.attention.weights"][0].numpy(), atol=1e-6)
    np.testing.assert_allclose(unpadded.weights.sum(-1), 1, atol=1e-6)
    assert padded.tokens == (*unpadded.tokens, "<PAD>")
    assert np.isnan(padded.weights[..., 5]).all()
    assert np.isnan(padded.weights[..., 5, :]).all()
    np.testing.assert_allclose(padded.weights[..., :5, :5], unpadded.weights, atol=1e-6)


def test_attention_has_a_map_for_every_layer_and_head_and_ends_with_the_window() -> None:
    changes = {"epochs": 1, "layers": 2, "heads": 4, "window": 5}
    config = with_settings(default_config("negation", "transformer"), changes)
    loaded = load_model(store.save_run(record_run(config), environment().runs / "deep"))
    view = sentence_attention(loaded, WORDS, 0)
    assert view.tokens == sentence_tokens(WORDS)[:5]
    assert view.weights.shape == (2, 4, 5, 5)
    np.testing.assert_allclose(view.weights.sum(-1), 1, atol=1e-6)


def test_unmasked_eos_padding_changes_the_prediction() -> None:
    words = ("human", "preserve", "nature")
    unmasked, masked = load_pretrained("eos-bag_of_words"), load_pretrained("single-bag_of_words")
    alone, with_padding = (sustain_probabilities(unmasked, words, length) for length in (0, 6))
    assert (alone != with_padding).all()
    assert np.abs(alone - with_padding).max() > 0.05
    padded = torch.tensor([VOCABULARY.id(t) for t in (*sentence_tokens(words), "<PAD>")]).expand(8, 1, 6)
    with torch.inference_mode():
        masked_with_padding = masked.stack(padded).softmax(-1)[:, 0, 1].numpy()
    np.testing.assert_allclose(masked_with_padding, sustain_probabilities(masked, words), atol=1e-6)


@pytest.mark.parametrize("model", [name for name in MODELS if name not in ("bag_of_words", "bag_of_bigrams")])
def test_the_explained_variance_is_at_most_one(model: str) -> None:
    embedded = embedding_map(load_pretrained(f"single-{model}"), 1)
    assert embedded.tokens == ("human", "nature", "consume", "preserve", "destroy", "not")
    assert embedded.points.shape == (6, 2)
    assert 0 < embedded.share <= 1
    assert (embedded.points[embedded.tokens.index("preserve")] >= 0).all()
    np.testing.assert_allclose(embedded.points.mean(axis=0), 0, atol=1e-5)


def test_embedding_map_of_a_plane_preserves_distances() -> None:
    config = with_settings(default_config("negation", "rnn"), {"epochs": 1, "width": 2})
    loaded = load_model(store.save_run(record_run(config), environment().runs / "flat"))
    embedded = embedding_map(loaded, 0)
    vectors = loaded.single_replica(0).get_parameter("embedding.weight")[[VOCABULARY.id(t) for t in embedded.tokens]]
    assert embedded.share == pytest.approx(1)
    np.testing.assert_allclose(
        torch.cdist(
            torch.from_numpy(embedded.points.astype(np.float32)), torch.from_numpy(embedded.points.astype(np.float32))
        ),
        torch.cdist(vectors, vectors),
        atol=1e-3,
    )


def test_embedding_map_of_a_line_is_a_line() -> None:
    config = with_settings(default_config("negation", "rnn"), {"epochs": 1, "width": 1})
    embedded = embedding_map(load_model(store.save_run(record_run(config), environment().runs / "thin")), 0)
    assert not embedded.points[:, 1].any()
    assert embedded.share == pytest.approx(1)


def test_returned_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        sustain_probabilities(load_pretrained("single-rnn"), WORDS)[0] = 1.0


def test_a_loaded_model_is_frozen() -> None:
    loaded = load_pretrained("single-rnn")
    assert not loaded.stack.training
    assert not any(p.requires_grad for p in loaded.stack.parameters())
    assert not any(p.requires_grad for p in loaded.single_replica(1).parameters())


def test_the_answer_to_a_short_sentence_is_padded_as_in_the_evaluation_of_the_run() -> None:
    loaded, run = load_pretrained("eos-bag_of_words"), store.find("negation-eos-bag_of_words")
    sentences = [sentence.words for sentence in negation_data(run.config.task).sentences]
    words = ("human", "preserve", "nature")
    recorded = run.curves.answers["sustain"][-1][:, sentences.index(words)]
    np.testing.assert_allclose(sustain_probabilities(loaded, words), recorded, atol=1e-3)
    assert np.abs(sustain_probabilities(loaded, words, 0) - recorded).max() > 0.01
