from __future__ import annotations

import numpy as np
import pytest

from explorer.experiments.recall import VARIANTS
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.gradient_findings import ClippingResult, GradientRatio
from explorer.number_format import format_significant
from tests.words import assert_states

RNN, OPEN = VARIANTS["rnn-usual"].title, VARIANTS["gru-chrono"].title


def test_a_title_fits_into_a_sentence() -> None:
    assert findings.inline_title(RNN) == "RNN (standard initialization)"
    assert findings.inline_title(OPEN) == "GRU (open gates)"
    assert findings.inline_title("LSTM") == "LSTM"


def test_the_ratio_is_the_median_over_seeds_before_and_after_training() -> None:
    norms = np.ones((2, 3, 4))
    norms[0, :, 0] = [1e-18, 1e-17, 1e-3]
    norms[1, :, 0] = [2.0, 6.0, 7.0]
    found = findings.gradient_ratio(RNN, True, norms, 300)
    assert found.before == pytest.approx([1e-18, 1e-17, 1e-3], rel=1e-6, abs=0.0)
    assert found.after == pytest.approx([2.0, 6.0, 7.0])
    assert findings.format_ratio(found.before) == "10⁻¹⁷"
    assert findings.format_ratio_range(found.before) == "10⁻¹⁸ to 10⁻³"
    assert findings.format_ratio(found.after) == "6"


def test_ratios_that_are_not_finite_are_left_out() -> None:
    assert findings.format_ratio(np.array([np.nan, np.inf])) == "–"
    assert findings.format_ratio_range(np.array([1.0])) == findings.format_ratio_range(np.array([np.nan])) == "–"


def test_the_finding_compares_the_smallest_and_largest_ratio_of_recurrent_models() -> None:
    models = [
        GradientRatio("Transformer, no positions", False, np.array([1.0]), np.array([1.0]), 300),
        GradientRatio(OPEN, True, np.array([0.09]), np.array([6.0]), 300),
        GradientRatio(RNN, True, np.array([4e-17]), np.array([3e-9]), 1000),
    ]
    finding = findings.gradient_finding(models, 50)
    assert finding.replace("\u00a0", " ") == (
        "Before training, the RNN (standard initialization) passes 4 × 10⁻¹⁷ of the gradient back over 50 symbols, "
        "the GRU (open gates) 0.09."
    )
    assert len(finding.replace("\u00a0", "").split()) <= 20
    assert_states(
        findings.gradient_finding(models[:1], 50),
        "Before training … Transformer (no positions) passes 1 of the gradient … 50 symbols",
    )
    unfinished = GradientRatio(RNN, True, np.array([np.nan]), np.array([np.nan]), 0)
    for found in (models, [unfinished], []):
        assert "single symbol" in findings.gradient_finding(found, 1)
    assert "single symbol" in findings.gradient_finding([unfinished], 50)


def test_the_factor_of_a_step_is_raised_to_the_number_of_steps() -> None:
    gates = findings.gate_factor(np.array([[0.5, 0.5, 0.9]]), 11)
    assert gates == ("gate 0.5", format_significant(0.5**10), format_significant(0.9**10))
    radius = findings.radius_factor(np.array([0.6, 0.6371, 0.7]), 50)
    assert radius == ("radius 0.637", format_significant(0.637**49), ""), "computed from the number that is printed"


def test_the_finding_has_the_median_half_life() -> None:
    lives = {OPEN: np.array([[1.0, 22.0, 60.0]]), "GRU, standard initialization": np.array([[0.8, 0.8, 1.0]])}
    assert findings.half_life_finding(lives, "before training") == (
        "Before training, the median half-life is 22 symbols in the GRU (open gates), "
        "0.8 symbols in the GRU (standard initialization)."
    )
    assert "no gates" in findings.half_life_finding({}, "before training")


def test_no_half_life_is_extrapolated_beyond_the_longest_tested_sequence() -> None:
    assert findings.longest_half_life(np.array([[27.0, 55_663.0]])) == "more than 1,000 symbols"
    assert findings.longest_half_life(np.array([[np.inf]])) == "more than 1,000 symbols"
    assert findings.longest_half_life(np.array([[27.0, 400.0]])) == "400 symbols"


def test_an_answer_is_right_or_wrong() -> None:
    assert findings.answer_finding(OPEN, "a", 0.99, "a", 50, 0.5).endswith("probability 0.99, which is right.")
    assert findings.answer_finding(OPEN, "a", 0.2, "b", 50, 0.5).endswith("which is wrong: it answers “b”.")
    assert findings.answer_finding(OPEN, "a", 0.51, "a", 50, 0.5).endswith("about as much as guessing (0.50).")


def test_gradients_explode_where_the_first_norm_exceeds_the_last() -> None:
    norms = np.ones((3, 1, 2))
    norms[:, 0, 0] = [1e-9, 5.0, 2e4]
    assert_states(
        findings.exploding_finding((0.5, 1.5, 3.0), norms),
        "spectral radius of 1.5 … gradient grows … 2 × 10⁴ times at 3",
    )
    assert "single symbol" in findings.exploding_finding((0.5, 1.5, 3.0), norms[..., :1])
    assert_states(
        findings.exploding_finding((0.5, 1.5, 3.0), norms * [[[1e-9, 1.0]]]),
        "no spectral radius up to 3 … gradient grow",
    )


def test_clipping_helps_where_gradients_explode_and_nowhere_else() -> None:
    never, always = np.full(8, 0.5), np.full(8, 1.0)
    same = ClippingResult("at a radius of 0.7", never, never, 0.88, True)
    helped = ClippingResult("at a radius of 2", np.array([1.0, *[0.5] * 7]), always, 21.0, False)
    finding = findings.clipping_finding([same, helped])
    assert finding == "At a radius of 2, 8 of 8 seeds learn the task with clipping, 1 without."
    judgements = findings.clipping_judgements([same, helped])
    assert "longer than 0.88, so clipping never acts" in findings.clipping_verdict(same, judgements)
    assert findings.clipping_verdict(helped, judgements) == "different"
    assert "no certain difference" in findings.clipping_finding([same])
    assert findings.clipping_finding([]) == ""


def test_models_without_a_run_are_named() -> None:
    assert findings.missing_runs_caption([]) == ""
    assert_states(findings.missing_runs_caption(["RNN"]), "RNN has no run … is not shown")
    assert_states(findings.missing_runs_caption(["a", "b"]), "A and b have no run … are not shown")
