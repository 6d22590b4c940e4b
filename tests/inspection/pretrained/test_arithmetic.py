"""The arithmetic of the experiments on hand-made attention, ranks and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from explorer.errors import InvalidSetting
from explorer.hub.pretrained import PretrainedAttention
from explorer.inspection.pretrained import answer_depth, coreference, first_token, intervals, repeated_tokens, senses
from explorer.inspection.pretrained.texts import PROMPTS
from explorer.inspection.pretrained.translation import PretrainedTranslation, alignment_information
from explorer.models.structure import AttentionLayout
from explorer.models.taps import Tap


def test_intervals() -> None:
    values = np.random.default_rng(1).normal(3, 1, 400)
    many, few = intervals.estimate(values), intervals.estimate(values[:25])
    assert many.value == pytest.approx(values.mean()) and many.low < many.value < many.high
    assert many.high - many.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)
    assert few.high - few.low > 2 * (many.high - many.low) and (many.texts, few.texts) == (400, 25)
    assert intervals.estimate(values, np.median).value == np.median(values)
    found, half = intervals.estimate_share(np.ones(20, bool)), intervals.estimate_share(np.arange(100) < 50)
    assert (found.value, found.low, found.high) == (1, pytest.approx(0.8389, abs=1e-3), 1), "not empty"
    assert (half.low, half.high) == pytest.approx((0.4038, 0.5962), abs=1e-3)  # Wilson 1927


def test_sequences_repeat_different_tokens_of_the_pool() -> None:
    drawn = partial(repeated_tokens.repeated_tokens, range(10, 60), sequences=5, period=8, before=(1, 2))
    ids = drawn(seed=3)
    assert ids.shape == (5, 18) and ids[:, :2].tolist() == [[1, 2]] * 5
    assert torch.equal(ids[:, 2:10], ids[:, 10:])
    assert all(len(set(row)) == 8 and set(row) <= set(range(10, 60)) for row in ids[:, 2:10].tolist())
    assert torch.equal(ids, drawn(seed=3)) and not torch.equal(ids, drawn(seed=4))
    with pytest.raises(InvalidSetting, match="8 different tokens are needed; this model has 7"):
        repeated_tokens.repeated_tokens(range(7), seed=0, period=8)


def test_a_perfect_induction_head_and_a_perfect_previous_token_head_score_1() -> None:
    period, time = 4, 9
    weights = torch.full((1, 3, time, time), 1 / time)
    weights[0, :2] = 0
    for query in range(time):
        weights[0, 0, query, max(query - period + 1, 0)] = 1  # the token after the earlier occurrence
        weights[0, 1, query, max(query - 1, 0)] = 1
    induction, previous = repeated_tokens.repeat_scores(weights, period)
    assert induction[0].tolist() == pytest.approx([1, 0, 1 / time])
    assert previous[0].tolist() == pytest.approx([1 / 8, 1, 1 / time], abs=0.13)
    assert previous[0, 1] == 1


def test_the_previous_token_head_is_below_the_induction_head() -> None:
    scores = np.zeros((2, 3, 2), np.float32)
    previous = scores.copy()
    scores[:, 1, 1], scores[:, 2, 0] = 0.9, 0.4
    previous[:, 0, 1], previous[:, 2, 1] = 0.5, 0.8
    found = repeated_tokens.RepeatScores(scores, previous)
    assert found.best_induction_heads(2) == ((1, 1), (2, 0)) and found.previous_token_head() == (0, 1)
    assert found.induction_of((1, 1)).value == pytest.approx(0.9)
    assert repeated_tokens.RepeatScores(scores[:, 1:], previous[:, 1:]).previous_token_head() is None


def test_a_removal_is_compared_with_random_heads_of_the_same_layers() -> None:
    layout = AttentionLayout(3, 4, True, True, True)
    heads, best = [(1, 0), (1, 2), (2, 3)], [(1, 0), (1, 2), (2, 3), (2, 0)]
    groups = repeated_tokens.matched_heads(heads, best, layout, draws=50)
    assert sorted(groups) == [((1, 1), (1, 3), (2, 1)), ((1, 1), (1, 3), (2, 2))], "every possible group, once"
    many = repeated_tokens.matched_heads([(0, 0)], [], AttentionLayout(1, 30, True, True, True), draws=10)
    assert len(many) == len(set(many)) == 10 and ((0, 0),) not in many
    assert repeated_tokens.matched_heads(heads, [(2, 0), (2, 1), (2, 2)], layout) == []
    before, after = np.array([1.0, 1.2, 0.8]), np.array([3.0, 3.1, 2.9])
    controls = np.array([[1.0] * 3, [1.5] * 3, [3.5] * 3])
    found = repeated_tokens.Removal(((0, 0),), before, after, controls)
    assert found.increase.mean == pytest.approx(2) and 1.7 < found.increase.low < 2 < found.increase.high
    assert found.control_losses.tolist() == [1.0, 1.5, 3.5] and found.p == 2 / 4


def test_heads_that_rest_on_the_first_token_are_counted() -> None:
    shares = np.zeros((4, 2, 2), np.float32)
    shares[:, 0, 0], shares[:, 1, 1] = 0.9, (0.4, 0.4, 0.6, 0.9)
    norms = np.ones((4, 2, 2), np.float32)
    norms[:, 0, 0], norms[:, 1, 1] = 0.1, 0.3
    found = first_token.FirstTokenAttention(shares, np.full(4, 0.2), norms)
    assert found.is_resting().tolist() == [[True, False], [False, True]]
    assert found.resting_heads().value == 2 and found.resting_heads().low == 1
    assert found.resting_share_by_text().tolist() == [0.25, 0.25, 0.5, 0.5]
    norm = found.value_norm()
    assert norm is not None and norm.value == pytest.approx(0.2)
    assert first_token.FirstTokenAttention(shares * 0, np.full(4, 0.2), norms).value_norm() is None
    texts = [(1, 2, 3), (4, 5, 6)]
    replaced = first_token.replace_first(texts, pool=(8, 9))
    assert [each[1:] for each in replaced] == [(2, 3), (5, 6)] and {each[0] for each in replaced} <= {8, 9}


class _Mix(nn.Module):
    """A model of one layer: tokens have one-hot vectors, to each of which the layer adds that of its neighbour."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded, self.output = Tap(), Tap()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        vectors = self.embedded(torch.eye(4)[ids])
        return self.output(vectors + vectors.flip(1))  # type: ignore[no-any-return]


class _MixAttention(PretrainedAttention):
    """What the experiment needs of it; everything else is that of a real model, and is not used."""

    def __init__(self) -> None:
        self.module = _Mix()  # type: ignore[assignment]
        self.layout = AttentionLayout(1, 1, False, False, True)
        self.depth_taps = ("embedded", "output")
        self.adds_up = False

    def logits(self, ids: Sequence[int]) -> torch.Tensor:
        return self.module(torch.tensor([tuple(ids)]))[0]  # type: ignore[no-any-return]


def test_the_nearest_occurrence_has_the_same_sense_if_the_context_decides() -> None:
    # Token 0 is the word, 1 and 2 are contexts of its senses.
    occurrences = [senses.Occurrence((0, context), (0,), "w", f"sense {context}") for context in (1, 1, 1, 2, 2, 2)]
    found = senses.sense_neighbours(_MixAttention(), occurrences)
    assert found.same[1].all() and found.chance == pytest.approx(2 / 5)
    assert found.same[0].tolist() == [True] * 3 + [False] * 3, "equal vectors: the first one is the nearest"
    assert found.by_word(1) == {"w": 1.0} and found.by_depth()[1].value == 1


def test_the_depth_from_which_on_an_answer_is_the_most_probable_token() -> None:
    ranks = np.array([[9, 1, 9, 1], [1, 1, 5, 1], [3, 1, 2, 1], [1, 1, 1, 1]])
    probabilities = np.array([[0.0, 0.5, 0.0, 0.1], [0.3, 0.5, 0.1, 0.2], [0.05, 0.5, 0.3, 0.4], [0.4, 0.5, 0.9, 0.8]])
    found = answer_depth.AnswersByDepth(PROMPTS[:4], 4, 4, ranks, probabilities, ranks + 5.0)
    assert found.layers == 3 and found.settled_depths().tolist() == [3, 0, 3, 0]
    assert found.rise_layers().tolist() == [0, 0, 2, 2]
    assert found.median_settled_depth().value == 1.5


def test_a_head_that_switches_with_the_meaning_of_it_is_found_and_others_are_chance() -> None:
    values = np.random.default_rng(0).normal(size=(16, 2, 3, 4)).astype(np.float32)
    chance = coreference.Coreference(values.copy(), "it")
    values[:, 0, 1, 2], values[:, 1, 1, 2] = 1, -1
    found = coreference.Coreference(values, "it")
    assert found.best_head == (1, 2) and found.best_share().value == 1 and found.p() < 0.005
    assert chance.best_share().value < 0.7 and chance.p() > 0.1
    found = coreference.Coreference(np.ones((16, 2, 3, 4), np.float32), "it")
    assert found.best_share().value == 0 and found.p() == 1


def test_information_and_the_best_head_of_an_alignment() -> None:
    identity, uniform = np.eye(4), np.full((4, 4), 0.25)
    always_the_end = np.eye(4)[[3, 3, 3, 3]]
    halves = np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]])
    found = alignment_information(np.stack([identity, uniform, always_the_end, halves]))
    np.testing.assert_allclose(found, [2, 0, 0, 1], atol=1e-6)
    uniform, halves = np.full((2, 2), 0.5), np.array([[0.8, 0.2], [0.2, 0.8]])
    weights = np.stack([np.stack([uniform, halves]), np.stack([np.eye(2), uniform])])
    found = PretrainedTranslation(("a", "b"), ("c", "d"), "c d", True, "", weights)
    assert (found.best_head(), found.best_head(0)) == ((1, 0), (0, 1))
    np.testing.assert_allclose(found.mean_weights(), weights.reshape(4, 2, 2).mean(axis=0))
    np.testing.assert_allclose(found.mean_weights(1), weights[1].mean(axis=0))
