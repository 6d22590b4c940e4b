from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from explorer.tasks.ceiling import (
    cross_entropy_accuracy,
    cross_entropy_scores,
    fit_linear_readout,
    linear_readout_ceiling,
)
from explorer.tasks.negation import VOCABULARY, Negation, NegationConfig, Sentence
from explorer.tasks.own_sentences import negation_data, own_task
from explorer.tasks.text import corpora

WORLDS: list[dict[str, object]] = [
    {},
    {"p_not": 0.0},
    {"p_not": 0.1},
    {"p_not": 0.5},
    {"p_not": 0.71},
    {"p_not": 1.0},
    {"max_nots": 2},
    {"max_nots": 2, "p_not": 0.6},
    {"max_nots": 3, "p_not": 0.83},
    {"held_out": "destroy"},
    {"held_out": "preserve", "p_not": 0.6},
]
worlds = pytest.mark.parametrize("world", WORLDS, ids=str)


def sentences(world: dict[str, object]) -> tuple[Sentence, ...]:
    return Negation(NegationConfig(**world)).sentences  # type: ignore[arg-type]


def counts(data: tuple[Sentence, ...]) -> np.ndarray:
    """Return the token counts of each sentence."""
    return np.array([[s.words.count(token) for token in VOCABULARY.tokens] for s in data], dtype=float)


def accuracies(data: tuple[Sentence, ...], weights: np.ndarray) -> np.ndarray:
    """Return the accuracy of each column of weights (one weight per token)."""
    right = (counts(data) @ weights > 0) == np.array([[s.label == 1] for s in data])
    return np.array([s.probability for s in data]) @ right


def test_ceiling_of_the_default_settings() -> None:
    assert linear_readout_ceiling(sentences({})) == pytest.approx(
        1 - 0.35 / 3
    )  # 0.8833: one of six sentences must be wrong


@worlds
def test_ceiling_is_reached_by_the_best_of_all_step_scores_and_no_higher(world: dict[str, object]) -> None:
    # A sentence's answer depends on a_v + b k only; with b = -1, 0 or 1 half numbers reach every threshold.
    halves = np.arange(-3.5, 4)
    tried = np.array(list(product(halves, halves, halves, (-1, 0, 1)))).T
    weights = np.zeros((len(VOCABULARY.tokens), tried.shape[1]))
    weights[[VOCABULARY.id(word) for word in ("consume", "preserve", "destroy", "not")]] = tried
    assert accuracies(sentences(world), weights).max() == pytest.approx(linear_readout_ceiling(sentences(world)))


@worlds
def test_no_random_linear_readout_exceeds_the_ceiling(world: dict[str, object]) -> None:
    weights = np.random.default_rng(3).normal(size=(len(VOCABULARY.tokens), 20_011))
    assert accuracies(sentences(world), weights).max() <= linear_readout_ceiling(sentences(world)) + 1e-9


def test_cross_entropy_accuracy_of_the_default_settings() -> None:
    assert cross_entropy_accuracy(sentences({})) == pytest.approx(1 - 0.35 / 3)
    assert cross_entropy_accuracy(sentences({"p_not": 0.5})) == pytest.approx(2 / 3)


@worlds
def test_cross_entropy_accuracy_does_not_exceed_the_ceiling(world: dict[str, object]) -> None:
    assert cross_entropy_accuracy(sentences(world)) <= linear_readout_ceiling(sentences(world)) + 1e-12


@pytest.mark.parametrize("world", [w for w in WORLDS if w.get("p_not", 0.35) not in (0, 1)], ids=str)
def test_cross_entropy_scores_minimize_the_expected_loss(world: dict[str, object]) -> None:
    data = sentences(world)
    probabilities = torch.tensor([s.train_probability for s in data], dtype=torch.float64)
    labels = torch.tensor([float(s.label) for s in data], dtype=torch.float64)
    weights = torch.zeros(len(VOCABULARY.tokens), dtype=torch.float64, requires_grad=True)
    x = torch.from_numpy(counts(data))
    lbfgs = torch.optim.LBFGS(
        [weights], max_iter=500, tolerance_grad=1e-12, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        lbfgs.zero_grad()
        value = F.binary_cross_entropy_with_logits(x @ weights, labels, weight=probabilities, reduction="sum")
        value.backward()
        return value

    lbfgs.step(loss)
    minimum = (x @ weights).detach()
    scores = torch.from_numpy(cross_entropy_scores(data))
    # As probabilities: the score of a verb that training shows only plain has its minimum at infinity.
    torch.testing.assert_close(
        scores[probabilities > 0].sigmoid(), minimum[probabilities > 0].sigmoid(), atol=1e-4, rtol=0
    )
    accuracy = sum(s.probability for s, score in zip(data, minimum, strict=True) if (score > 0) == (s.label == 1))
    assert cross_entropy_accuracy(data) == pytest.approx(accuracy)


def test_a_single_verb_has_a_ceiling_of_one_for_either_sign() -> None:
    for verb in ("preserve", "destroy"):
        alone = [s for s in sentences({}) if s.verb == verb]
        assert linear_readout_ceiling(alone) == pytest.approx(1 / 3)


# own sentences


def own_data(rows: list[tuple[str, str]]) -> Negation:
    table = "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)
    return negation_data(own_task(corpora.store_text(table)))


ADJECTIVES = [f"{sound}{i}" for i in range(8) for sound in ("good", "bad")]


def test_a_sum_of_weights_separates_what_single_words_decide() -> None:
    rows = [(f"the {noun} is {a}", "up" if "good" in a else "down") for a in ADJECTIVES for noun in ("a", "b", "c")]
    fitted = fit_linear_readout(own_data(rows))
    assert fitted and fitted.separable and fitted.training == fitted.held_out == 1.0


def test_no_sum_of_weights_separates_an_exclusive_or() -> None:
    rows = [
        (f"the {noun} is {'not ' * n}{a}", "up" if ("good" in a) != bool(n) else "down")
        for a in ("good", "bad")
        for noun in (f"w{i}" for i in range(20))
        for n in (0, 1)
    ]
    fitted = fit_linear_readout(own_data(rows))
    assert fitted and fitted.separable is False and 0.5 <= fitted.training < 1.0


def test_several_classes_are_separated_by_several_sums() -> None:
    rows = [(f"{name}{i} word{i % 5}", name) for name in ("red", "green", "blue", "white") for i in range(10)]
    fitted = fit_linear_readout(own_data(rows))
    assert fitted and fitted.separable and fitted.training == 1.0


@settings(deadline=None, max_examples=15)
@given(st.lists(st.tuples(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), st.booleans()), min_size=8))
def test_the_programme_agrees_with_a_fine_search_over_the_weights(rows: list[tuple[list[str], bool]]) -> None:
    distinct = {tuple(sorted(words)): label for words, label in rows}
    assume(min(list(distinct.values()).count(label) for label in (True, False)) >= 2)
    data = own_data([(" ".join(words), str(label)) for words, label in distinct.items()])
    fitted = fit_linear_readout(data)
    assert fitted
    train = [s for s in data.sentences if s.train_probability]
    counts = np.array([[s.words.count(word) for word in "abcd"] for s in train])
    signs = np.array([2 * s.label - 1 for s in train])
    rng = np.random.default_rng(0)
    weights, bias = rng.normal(size=(4, 4_000)), rng.normal(size=4_000) * 2
    best = ((counts @ weights + bias) * signs[:, None] > 0).mean(axis=0).max()
    if best == 1:
        assert fitted.separable  # the search has found such weights
    if not fitted.separable:
        assert best < 1


def test_a_programme_that_takes_too_long_is_given_up() -> None:
    rows = [(f"{a}{i} {b}", a) for a in ("x", "y") for b in "klmnop" for i in range(60)]
    assert fit_linear_readout(own_data(rows), seconds=0.0) is None
