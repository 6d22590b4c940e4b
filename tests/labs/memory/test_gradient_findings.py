from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.experiments.recall import VARIANTS
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.gradient_findings import ClippingResult, GradientRatio
from explorer.number_format import format_significant

RNN, OPEN = VARIANTS["rnn-usual"].title, VARIANTS["gru-chrono"].title


def test_sentences(snapshot: SnapshotAssertion) -> None:
    lives = {OPEN: np.array([[1.0, 22.0, 60.0]]), "GRU, standard initialization": np.array([[0.8, 0.8, 1.0]])}
    norms = np.ones((3, 1, 2))
    norms[:, 0, 0] = [1e-9, 5.0, 2e4]
    never, always = (np.full(8, 0.5), np.full(8, 1.0))
    same = ClippingResult("at a radius of 0.7", never, never, 0.88, True)
    helped = ClippingResult("at a radius of 2", np.array([1.0, *[0.5] * 7]), always, 21.0, False)
    judgements = findings.clipping_judgements([same, helped])
    assert [
        *(findings.inline_title(each) for each in (RNN, OPEN, "LSTM")),
        findings.format_ratio(np.array([np.nan, np.inf])),
        findings.format_ratio_range(np.array([1.0])),
        findings.format_ratio_range(np.array([np.nan])),
        findings.half_life_finding(lives, "before training"),
        findings.half_life_finding({}, "before training"),
        *(
            findings.longest_half_life(each)
            for each in (np.array([[27.0, 55663.0]]), np.array([[np.inf]]), np.array([[27.0, 400.0]]))
        ),
        findings.answer_finding(OPEN, "a", 0.99, "a", 50, 0.5),
        findings.answer_finding(OPEN, "a", 0.2, "b", 50, 0.5),
        findings.answer_finding(OPEN, "a", 0.51, "a", 50, 0.5),
        *(
            findings.exploding_finding((0.5, 1.5, 3.0), each)
            for each in (norms, norms[..., :1], norms * [[[1e-09, 1.0]]])
        ),
        findings.clipping_finding([same, helped]),
        findings.clipping_verdict(same, judgements),
        findings.clipping_verdict(helped, judgements),
        findings.clipping_finding([same]),
        findings.clipping_finding([]),
        *(findings.missing_runs_caption(each) for each in ([], ["RNN"], ["a", "b"])),
    ] == snapshot


def test_the_ratio_is_the_median_over_seeds_before_and_after_training(snapshot: SnapshotAssertion) -> None:
    norms = np.ones((2, 3, 4))
    norms[0, :, 0] = [1e-18, 1e-17, 1e-3]
    norms[1, :, 0] = [2.0, 6.0, 7.0]
    found = findings.gradient_ratio(RNN, True, norms, 300)
    assert [
        findings.format_ratio(found.before),
        findings.format_ratio_range(found.before),
        findings.format_ratio(found.after),
    ] == snapshot
    assert found.before == pytest.approx([1e-18, 1e-17, 1e-3], rel=1e-6, abs=0.0)
    assert found.after == pytest.approx([2.0, 6.0, 7.0])


def test_the_finding_compares_the_smallest_and_largest_ratio_of_recurrent_models(snapshot: SnapshotAssertion) -> None:
    models = [
        GradientRatio("Transformer, no positions", False, np.array([1.0]), np.array([1.0]), 300),
        GradientRatio(OPEN, True, np.array([0.09]), np.array([6.0]), 300),
        GradientRatio(RNN, True, np.array([4e-17]), np.array([3e-09]), 1000),
    ]
    unfinished = GradientRatio(RNN, True, np.array([np.nan]), np.array([np.nan]), 0)
    for found in (models, [unfinished], []):
        assert "single symbol" in findings.gradient_finding(found, 1)
    assert [
        findings.gradient_finding(models, 50),
        findings.gradient_finding(models[:1], 50),
        findings.gradient_finding([unfinished], 50),
    ] == snapshot


def test_the_factor_of_a_step_is_raised_to_the_number_of_steps() -> None:
    gates = findings.gate_factor(np.array([[0.5, 0.5, 0.9]]), 11)
    assert gates == ("gate 0.5", format_significant(0.5**10), format_significant(0.9**10))
    radius = findings.radius_factor(np.array([0.6, 0.6371, 0.7]), 50)
    assert radius == ("radius 0.637", format_significant(0.637**49), ""), "computed from the number that is printed"
