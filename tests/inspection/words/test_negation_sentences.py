from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from explorer.catalogue import models_of
from explorer.inspection.load_model import LoadedModel, load_model
from explorer.inspection.words import negation_sentences as module
from explorer.inspection.words.attending_head import find_attending_head
from explorer.inspection.words.negation_sentences import sentence_attention, sentence_tokens, sustain_probabilities
from explorer.models.layers import Linear
from explorer.models.taps import record
from explorer.run_store import store
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.own_sentences import Language, negation_data
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run
from tests import needs

WORDS = ("human", "not", "preserve", "nature")


@cache
def load_pretrained(name: str) -> LoadedModel:
    return load_model(store.find(f"negation-{name}"))


def encode(*tokens: str) -> torch.Tensor:
    return torch.tensor([[VOCABULARY.id(token) for token in tokens]])


def sustain_probability(loaded: LoadedModel, tokens: tuple[str, ...], replica: int) -> float:
    return float(loaded.single_replica(replica)(encode(*tokens))[0].softmax(-1)[1])


def test_tokens_and_the_head_that_attends_to_them() -> None:
    assert sentence_tokens(("human", "not")) == ("<BOS>", "human", "not", "<EOS>")
    assert sentence_tokens(("human", "not"), 6) == ("<BOS>", "human", "not", "<EOS>", "<EOS>", "<EOS>")
    assert sentence_tokens(("human", "not"), 3) == ("<BOS>", "human", "not", "<EOS>")
    eye = np.eye(4)[[[0, 1, 2, 3], [2, 0, 0, 0], [1, 0, 0, 0]]]  # the first query of each head sees one token
    assert find_attending_head(("<BOS>", "we", "not", "<EOS>"), eye) == 1
    assert find_attending_head(("<BOS>", "preserve", "nature", "<EOS>"), eye) == 2
    assert find_attending_head(("<BOS>", "we", "<EOS>", "<EOS>"), eye) == 2


@pytest.mark.parametrize("model", models_of("negation"))
def test_probabilities_of_a_stack_equal_those_of_each_replica(model: str) -> None:
    loaded = load_pretrained(f"single-{model}")
    together = sustain_probabilities(loaded, WORDS)
    alone = [sustain_probability(loaded, sentence_tokens(WORDS), r) for r in range(8)]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    many = module.probabilities_of_sentences(loaded, [WORDS, ("human", "preserve", "nature")])
    assert many.shape == (2, 8, 2) and not together.flags.writeable
    np.testing.assert_allclose(many[0, :, 1], together, atol=1e-5)
    if model != "bag_of_words":  # it cannot understand negation
        assert (many[0, :, 1] < 0.5).all() and (many[1, :, 1] > 0.5).all()


PAIRS = ("<BOS> human", "human not", "not preserve", "preserve nature", "nature <EOS>")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("single-bag_of_words", sentence_tokens(WORDS)),
        ("double-bag_of_bigrams", PAIRS),
        ("single-bag_of_words_hidden", tuple(f"unit {i}" for i in range(1, 9))),
        ("double-convolution", None),
    ],
)
def test_contributions_add_up_to_the_difference_of_the_logits(name: str, parts: tuple[str, ...] | None) -> None:
    loaded, tokens = load_pretrained(name), sentence_tokens(WORDS)
    windows = {" ".join(tokens[i : i + size]) for size in (2, 3) for i in range(len(tokens))}
    for replica in (0, 7):
        contributions = module.CONTRIBUTIONS[name.partition("-")[2]](loaded, WORDS, replica)
        collapse, sustain = loaded.single_replica(replica)(encode(*tokens))[0].tolist()
        assert contributions.total == pytest.approx(sustain - collapse, abs=1e-5) and contributions.towards == 1
        if parts is None:  # a convolution: the windows to which its filters respond
            assert len(set(contributions.parts)) == len(contributions.parts) <= 16
            assert set(contributions.parts) <= windows
        else:
            assert contributions.parts == parts
    readout = loaded.single_replica(7).get_parameter("readout.weight")
    if name == "single-bag_of_words":
        column = readout[:, VOCABULARY.id("not")]
        assert contributions.values[2] == pytest.approx(float(column[1] - column[0]))


def test_the_score_of_more_than_two_classes_is_the_answer_minus_the_mean_of_the_others() -> None:
    readout = Linear(2, 3, torch.Generator().manual_seed(0))
    weight, bias = readout.weight.detach(), readout.bias.detach()
    weights, offset, towards = module._score_weights(readout.requires_grad_(False), torch.tensor([[1.0, 0, 3]]))
    torch.testing.assert_close(weights.detach(), weight[2] - (weight[0] + weight[1]) / 2)
    assert towards == 2 and offset == pytest.approx(float(bias[2] - (bias[0] + bias[1]) / 2))
    assert (module.shown_class(torch.tensor([9.0, 1])), module.shown_class(torch.tensor([9.0, 1, 0]))) == (1, 0)


def test_pair_weights_are_of_pairs_that_differ_between_sentences_and_word_weights_leave_padding_out() -> None:
    loaded = load_pretrained("double-bag_of_bigrams")
    weights = module.pair_weights(loaded, 5)
    before_verbs = {f"{word} {verb}" for word in ("human", "not") for verb in ("consume", "preserve", "destroy")}
    assert set(weights.tokens) == {"human not", "not not"} | before_verbs
    table = loaded.single_replica(5).get_parameter("readout.weight").view(2, 11, 11)
    expected = table[:, VOCABULARY.id("not"), VOCABULARY.id("destroy")]
    np.testing.assert_array_equal(weights.weights[:, weights.tokens.index("not destroy")], expected.numpy())
    loaded = load_pretrained("single-bag_of_words")
    weights, readout = module.word_weights(loaded, 5), loaded.single_replica(5).get_parameter("readout.weight")
    assert weights.tokens == VOCABULARY.tokens[:-1]
    np.testing.assert_array_equal(weights.weights, readout[:, :10].numpy())
    many = np.array([[0.0] * 18, [*range(18)]])
    many[1, 3] = 99
    largest = module._largest(module.WordWeights(tuple("abcdefghijklmnopqr"), many))
    assert "".join(largest.tokens) == "cdefghijklmnopqr"
    np.testing.assert_array_equal(largest.weights, many[:, 2:])


@pytest.mark.parametrize("model", ["rnn", "lstm"])
def test_sustain_by_token_equals_the_predictions_for_the_prefixes(model: str) -> None:
    loaded = load_pretrained(f"single-{model}")
    tokens = sentence_tokens(WORDS)
    for replica in (0, 7):
        by_token = module.sustain_by_token(loaded, WORDS, replica)
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
        model(encode(*sentence_tokens(words)))
    np.testing.assert_allclose(unpadded.weights[0], trace["blocks.0.attention.weights"][0].numpy(), atol=1e-6)
    np.testing.assert_allclose(unpadded.weights.sum(-1), 1, atol=1e-6)
    assert padded.tokens == (*unpadded.tokens, "<PAD>")
    assert np.isnan(padded.weights[..., 5]).all() and np.isnan(padded.weights[..., 5, :]).all()
    np.testing.assert_allclose(padded.weights[..., :5, :5], unpadded.weights, atol=1e-6)
    longer = sentence_attention(loaded, ("human", "not", "not", "destroy", "nature"), 2)
    assert len(longer.tokens) == longer.weights.shape[-1] == 6, "the window of the model"


def test_unmasked_padding_changes_the_answer_which_is_padded_as_in_the_evaluation_of_the_run() -> None:
    words = ("human", "preserve", "nature")
    unmasked, masked = load_pretrained("eos-bag_of_words"), load_pretrained("single-bag_of_words")
    alone, with_padding = (sustain_probabilities(unmasked, words, length) for length in (0, 6))
    assert (alone != with_padding).all() and np.abs(alone - with_padding).max() > 0.05
    padded = encode(*sentence_tokens(words), "<PAD>").expand(8, 1, 6)
    with torch.inference_mode():
        masked_with_padding = masked.stack(padded).softmax(-1)[:, 0, 1].numpy()
    np.testing.assert_allclose(masked_with_padding, sustain_probabilities(masked, words), atol=1e-6)
    run = store.find("negation-eos-bag_of_words")
    sentences = [sentence.words for sentence in negation_data(run.config.task).sentences]
    recorded = run.curves.answers["sustain"][-1][:, sentences.index(words)]
    np.testing.assert_allclose(sustain_probabilities(unmasked, words), recorded, atol=1e-3)
    assert np.abs(alone - recorded).max() > 0.01


@pytest.mark.parametrize("model", ["bag_of_words_hidden", "transformer"])
def test_an_embedding_map_shows_the_first_two_components(model: str) -> None:
    loaded = load_pretrained(f"single-{model}")
    embedded = module.embedding_map(loaded, 1)
    assert embedded is not None
    assert embedded.tokens == ("human", "nature", "consume", "preserve", "destroy", "not")
    assert (embedded.points[embedded.tokens.index("preserve")] >= 0).all()
    own = loaded.single_replica(1)
    table = own.inner.weight.mT if model == "bag_of_words_hidden" else own.embedding.weight
    vectors = table[[VOCABULARY.id(token) for token in embedded.tokens]].numpy()
    centred = vectors - vectors.mean(axis=0)
    variance = np.linalg.svd(centred, compute_uv=False) ** 2
    assert embedded.share == pytest.approx(variance[:2].sum() / variance.sum(), rel=1e-4)
    np.testing.assert_allclose((embedded.points**2).sum(axis=0), variance[:2], rtol=1e-3)
    np.testing.assert_allclose(embedded.points.mean(axis=0), 0, atol=1e-5)


def test_models_without_two_dimensions() -> None:
    assert module.embedding_map(load_pretrained("single-bag_of_words"), 0) is None
    run = record_run(with_settings(default_config("negation", "rnn"), {"epochs": 1, "width": 1}))
    loaded = load_model(run)
    embedded = module.embedding_map(loaded, 0)
    assert embedded is not None and not embedded.points[:, 1].any() and embedded.share == pytest.approx(1)
    expected = [sustain_probability(loaded, sentence_tokens(WORDS), 0)]
    assert sustain_probabilities(loaded, WORDS) == pytest.approx(expected, abs=1e-6)  # of a run with one replica


@needs.sentences
@pytest.mark.parametrize("model", module.CONTRIBUTIONS)
def test_the_parts_of_an_english_sentence_add_up_to_its_score(model: str) -> None:
    settings = {"reviews": 0, "composed": 200, "words": 0, "iterations": 5, "replicas": 2, "learning_rate": 0.1}
    loaded = load_model(record_run(with_settings(default_config("sentiment", model), settings)))
    words = Language.from_json(loaded.tokenizer).vocabulary.split("The plot isn’t unwatchable, it’s unwatchable!")
    probabilities = module.class_probabilities(loaded, words)
    found = module.CONTRIBUTIONS[model](loaded, words, 1)
    assert found.total == pytest.approx(np.log(probabilities[1, 1] / probabilities[1, 0]), abs=1e-4)
    if model == "bag_of_bigrams":
        largest = module.pair_weights(loaded, 1)
        given = module.pair_contributions(loaded, ("the", "plot", "is", "not", *largest.tokens[0].split()), 1)
        assert given.values[5] == pytest.approx(largest.weights[1, 0] - largest.weights[0, 0], abs=1e-6)
    elif model == "bag_of_words_hidden":
        plane = module.embedding_map(loaded, 1)
        assert plane is not None and plane.tokens[:4] == ("good", "bad", "great", "terrible")
