"""Numbers of heads, kinds of positions, the scaling of softmax, and the example of attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from explorer.inspection.transformer import positions as module
from explorer.inspection.transformer import softmax_scaling
from explorer.inspection.transformer.example_attention import LAYERS, WIDTH, layer_matrices, word_vectors
from explorer.inspection.transformer.multi_head import HEAD_COUNTS, attention_evenness, head_divergence, split_heads
from explorer.inspection.transformer.positions import learned_positions, word_order_distances
from explorer.inspection.transformer.softmax_scaling import WIDTHS, entropy, jacobian_norm, measure_softmax, softmax
from explorer.models.configs import TransformerTextConfig
from explorer.models.taps import record
from explorer.models.transformer_decoder import TransformerDecoder
from explorer.run_store import store
from explorer.tasks.sequence_labelling.config import PAD

IDS = tuple(int(i) for i in torch.randint(20, (18,), generator=torch.Generator().manual_seed(3)))


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_heads_are_those_of_the_model_or_of_its_matrices_cut_otherwise(positions: Any) -> None:
    config = TransformerTextConfig(width=64, heads=4, layers=2, positions=positions, start="usual")
    model = TransformerDecoder(config, 20, 32, torch.Generator().manual_seed(1)).requires_grad_(False)
    with record(model) as trace:
        model.features(torch.tensor([IDS]))
    for layer in range(2):
        by_heads = split_heads(model, IDS, layer)
        assert by_heads[4].weights == pytest.approx(trace[f"blocks.{layer}.attention.weights"][0].numpy(), abs=1e-6)
    assert tuple(by_heads) == HEAD_COUNTS
    assert {split.parameters for split in by_heads.values()} == {4 * 64**2}
    for heads, split in by_heads.items():
        assert split.weights.shape == (heads, len(IDS), len(IDS))
        assert split.weights.sum(axis=-1) == pytest.approx(np.ones((heads, len(IDS))))
        assert np.triu(split.weights, 1).max() == 0
        assert split.rank.tolist() == [min(64 // heads, len(IDS))] * heads


def test_divergence_and_evenness_of_heads_by_hand() -> None:
    look = np.tril(np.ones((3, 3))) / np.arange(1, 4)[:, None]
    assert head_divergence(np.stack([look, look])) == pytest.approx(0)
    first, own = np.zeros((2, 3, 3))
    first[:, 0], own[np.arange(3), np.arange(3)] = 1, 1
    assert head_divergence(np.stack([first, own])) == pytest.approx(1)
    assert head_divergence(np.stack([first, own, own])) == pytest.approx(2 / 3)
    assert math.isnan(head_divergence(look[None]))
    half, one = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]), np.eye(3)[[0, 0, 0]]
    by_hand = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)) - 0.5
    assert head_divergence(np.stack([half, one])) == pytest.approx(by_hand)
    look = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    assert attention_evenness(look[None]) == pytest.approx(1)
    assert attention_evenness(np.eye(4)[None]) == pytest.approx(0)
    assert attention_evenness(np.stack([look, np.eye(4)])) == pytest.approx(0.5)


DOG, MAN = ["the", "dog", "bit", "the", "man"], ["the", "man", "bit", "the", "dog"]


def test_only_an_encoder_without_positions_ignores_word_order() -> None:
    distances = {(one.positions, one.causal): one for one in word_order_distances(DOG, MAN, seeds=3)}
    assert set(distances) == {(kind, causal) for kind in module.POSITION_KINDS for causal in (False, True)}
    blind = distances["none", False]
    assert blind.sentence_distance.shape == (3,) and blind.sentence_distance.max() < 1e-5
    assert blind.word_distance is not None and blind.word_distance.max() < 1e-5, "each word has the same vector in both"
    for key, one in distances.items():
        if key != ("none", False):
            assert one.sentence_distance.min() > 1e-3, key


def test_distances_are_reproducible_and_differ_between_seeds() -> None:
    first, second = (word_order_distances(DOG, MAN, seeds=2) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.sentence_distance, other.sentence_distance)
    assert first[1].sentence_distance[0] != first[1].sentence_distance[1]
    different = word_order_distances(DOG, ["a", "cat"], seeds=1)
    assert all(one.word_distance is None and one.sentence_distance.min() > 1e-3 for one in different)
    assert all(one.sentence_distance.max() == 0 for one in word_order_distances(DOG, DOG, seeds=1))
    for words in (["one"], ["the", "the"]):
        assert len(word_order_distances(words, words, seeds=1)) == 8
    unit = torch.tensor([3.0, 0]), torch.tensor([0, 4.0])
    assert module._relative_distance(*unit) == pytest.approx(5 / 3.5)
    assert module._relative_distance(unit[0] * 0, unit[0] * 0) == 0


def test_positions_beyond_the_training_rows_keep_their_initialization() -> None:
    run = store.find("echo-learned")
    before, after = learned_positions(run)
    trained = 2 * run.config.task.longest  # type: ignore[union-attr]
    np.testing.assert_array_equal(before[trained:], after[trained:])
    assert (np.linalg.norm(after - before, axis=1)[:trained] > 0.1).all()


@pytest.mark.parametrize("spread", [0.0, 1.0, 25.0])
def test_the_jacobian_norm_equals_that_of_autograd(spread: float) -> None:
    inputs = spread * np.random.default_rng(3).standard_normal(16)
    weights = softmax(inputs)
    assert weights == pytest.approx(torch.tensor(inputs).softmax(-1).numpy())
    jacobian: Any = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), torch.tensor(inputs))
    expected = float(torch.linalg.matrix_norm(jacobian))
    # Once softmax has rounded 1 - a away, differentiating it is wrong in the last digits; the written out form is not.
    assert jacobian_norm(weights[None])[0] == pytest.approx(expected, rel=1e-6, abs=1e-14)


def test_two_weights_by_hand_and_uniform_weights() -> None:
    assert jacobian_norm(np.array([[0.3, 0.7]]))[0] == pytest.approx(2 * 0.3 * 0.7)
    tiny = 1e-12  # nothing cancels
    assert jacobian_norm(np.array([[tiny, 1 - tiny]]))[0] == pytest.approx(2 * tiny, rel=1e-9)
    assert entropy(np.full((2, 64), 1 / 64)) == pytest.approx(math.log(64))
    assert entropy(np.array([[1.0, 0.0]]))[0] == 0.0
    assert softmax(np.array([1e4, 0.0, 1e4])).tolist() == [0.5, 0, 0.5]


def test_each_width_uses_the_first_dimensions_of_the_same_vectors() -> None:
    drawn_scores = softmax_scaling.draw_scores(np.random.default_rng(5), 2, 3)
    random = np.random.default_rng(5)
    query, keys = (random.standard_normal((2, count, WIDTHS[-1]), dtype=np.float32) for count in (1, 3))
    assert drawn_scores.shape == (len(WIDTHS), 2, 3)
    for width, scores in zip(WIDTHS, drawn_scores, strict=True):
        assert scores == pytest.approx((query[..., :width] * keys[..., :width]).sum(axis=-1), abs=1e-4)


def test_raw_scores_grow_with_the_root_of_the_width_and_saturate_softmax() -> None:
    stats = measure_softmax(seed=1, draws=40)
    assert np.array_equal(stats.one[0], softmax(softmax_scaling.draw_scores(np.random.default_rng(1), 16, 64))[:, 0])
    assert stats.size.shape == (2, len(WIDTHS), 40) and stats.one.shape == (2, len(WIDTHS), 64)
    spread = np.median(stats.size, axis=-1)
    assert spread[0, -1] == pytest.approx(math.sqrt(1024), rel=0.1) and spread[1, -1] == pytest.approx(1, rel=0.1)
    for name in ("size", "entropy", "largest", "gradient"):
        assert getattr(stats, name)[0, 0] == pytest.approx(getattr(stats, name)[1, 0]), "at a width of 1 they are one"
    middle, low, high = np.moveaxis(stats.percentiles("gradient"), -1, 0)
    assert (low <= middle).all() and (middle <= high).all() and middle[0, -1] < middle[0].max() / 50, "it collapses"


def test_every_word_has_a_fixed_vector_and_scores_have_unit_variance() -> None:
    vectors = word_vectors(["cat", "the", "cat"])
    assert set(vectors) == {"cat", "the", PAD} and vectors["cat"].shape == (WIDTH,)
    np.testing.assert_array_equal(vectors["cat"], word_vectors(["cat"])["cat"])
    x = np.stack([word_vectors([f"word {i}"])[f"word {i}"] for i in range(100)])
    matrices = layer_matrices()
    assert len(matrices) == LAYERS and 0.9 < x.std() < 1.1
    for layer in matrices:
        scores = (x @ layer["query"]) @ (x @ layer["key"]).T / np.sqrt(WIDTH)
        assert 0.5 < scores.std() < 2
