from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from explorer.tasks import ceiling
from explorer.tasks.ceiling import cross_entropy_accuracy, fit_linear_readout, linear_readout_ceiling
from explorer.tasks.negation import VOCABULARY, Negation, NegationConfig, Sentence
from explorer.tasks.own_sentences import negation_data, own_task
from explorer.tasks.text import corpora

WORLDS: list[dict[str, object]] = [
    {},
    {"p_not": 0.0},
    {"p_not": 0.71},
    {"p_not": 1.0},
    {"max_nots": 2, "p_not": 0.6},
    {"max_nots": 3, "p_not": 0.83},
    {"held_out": "preserve", "p_not": 0.6},
]


def sentences(world: dict[str, object]) -> tuple[Sentence, ...]:
    return Negation(NegationConfig(**world)).sentences  # type: ignore[arg-type]


def counts(data: tuple[Sentence, ...]) -> np.ndarray:
    """Return the token counts of each sentence."""
    return np.array([[s.words.count(token) for token in VOCABULARY.tokens] for s in data], dtype=float)


def test_ceilings_worked_by_hand() -> None:
    assert linear_readout_ceiling(sentences({})) == pytest.approx(1 - 0.35 / 3)  # one of six sentences must be wrong
    assert cross_entropy_accuracy(sentences({})) == pytest.approx(1 - 0.35 / 3)
    assert cross_entropy_accuracy(sentences({"p_not": 0.5})) == pytest.approx(2 / 3)
    for verb in ("preserve", "destroy"):
        alone = [s for s in sentences({}) if s.verb == verb]
        assert linear_readout_ceiling(alone) == pytest.approx(1 / 3)


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_ceiling_is_reached_by_the_best_of_all_step_scores_and_no_higher(world: dict[str, object]) -> None:
    # A sentence's answer depends on a_v + b k only; with b = -1, 0 or 1 half numbers reach every threshold.
    halves = np.arange(-3.5, 4)
    tried = np.array(list(product(halves, halves, halves, (-1, 0, 1)))).T
    weights = np.zeros((len(VOCABULARY.tokens), tried.shape[1]))
    weights[[VOCABULARY.id(word) for word in ("consume", "preserve", "destroy", "not")]] = tried
    data = sentences(world)
    right = (counts(data) @ weights > 0) == np.array([[s.label == 1] for s in data])
    best = linear_readout_ceiling(data)
    assert (np.array([s.probability for s in data]) @ right).max() == pytest.approx(best)
    assert cross_entropy_accuracy(data) <= best + 1e-12


@pytest.mark.parametrize("world", [w for w in WORLDS if w.get("p_not", 0.35) not in (0, 1)], ids=str)
def test_cross_entropy_scores_minimize_the_expected_loss(world: dict[str, object]) -> None:
    data = sentences(world)
    probabilities = torch.tensor([s.train_probability for s in data], dtype=torch.float64)
    labels = torch.tensor([float(s.label) for s in data], dtype=torch.float64)
    weights = torch.zeros(len(VOCABULARY.tokens), dtype=torch.float64, requires_grad=True)
    x = torch.from_numpy(counts(data))
    lbfgs = torch.optim.LBFGS(
        [weights], max_iter=200, tolerance_grad=1e-10, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def loss() -> torch.Tensor:
        lbfgs.zero_grad()
        value = F.binary_cross_entropy_with_logits(x @ weights, labels, weight=probabilities, reduction="sum")
        value.backward()
        return value

    lbfgs.step(loss)
    minimum = (x @ weights).detach()
    scores = torch.from_numpy(ceiling.cross_entropy_scores(data))
    # As probabilities: the score of a verb that training shows only plain has its minimum at infinity.
    torch.testing.assert_close(
        scores[probabilities > 0].sigmoid(), minimum[probabilities > 0].sigmoid(), atol=1e-4, rtol=0
    )
    accuracy = sum(s.probability for s, score in zip(data, minimum, strict=True) if (score > 0) == (s.label == 1))
    assert cross_entropy_accuracy(data) == pytest.approx(accuracy)


def own_data(rows: list[tuple[str, str]]) -> Negation:
    table = "text,label\n" + "".join(f"{text},{label}\n" for text, label in rows)
    return negation_data(own_task(corpora.store_text(table)))


def test_sums_of_weights_separate_what_single_words_decide_and_no_exclusive_or() -> None:
    adjectives = [f"{sound}{i}" for i in range(8) for sound in ("good", "bad")]
    rows = [(f"the {noun} is {a}", "up" if "good" in a else "down") for a in adjectives for noun in ("a", "b", "c")]
    several = [(f"{name}{i} word{i % 5}", name) for name in ("red", "green", "blue", "white") for i in range(10)]
    for each in (rows, several):
        fitted = fit_linear_readout(own_data(each))
        assert fitted and fitted.separable and fitted.training == 1.0
        assert each is several or fitted.held_out == 1.0
    assert fit_linear_readout(own_data(rows), seconds=0.0) is None  # given up
    rows = [
        (f"the {noun} is {'not ' * n}{a}", "up" if ("good" in a) != bool(n) else "down")
        for a in ("good", "bad")
        for noun in (f"w{i}" for i in range(20))
        for n in (0, 1)
    ]
    fitted = fit_linear_readout(own_data(rows))
    assert fitted and fitted.separable is False and 0.5 <= fitted.training < 1.0
