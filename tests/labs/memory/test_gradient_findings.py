from __future__ import annotations

import numpy as np
import pytest

from explorer.experiments.recall import VARIANTS
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.gradient_findings import ClippingResult, GradientRatio
from explorer.number_format import format_significant
from tests.words import assert_mentions, assert_states

RNN, OPEN = VARIANTS["rnn-usual"].title, VARIANTS["gru-chrono"].title


def test_a_title_fits_into_a_sentence() -> None:
    assert findings.inline_title(RNN) == "RNN (usual start)"
    assert findings.inline_title(OPEN) == "GRU (gates open, chrono)"
    assert findings.inline_title("LSTM") == "LSTM"


def test_the_ratio_is_the_median_over_seeds_before_and_after_training() -> None:
    norms = np.ones((2, 3, 4))
    norms[0, :, 0] = [1e-18, 1e-17, 1e-3]
    norms[1, :, 0] = [2.0, 6.0, 7.0]
    found = findings.gradient_ratio(RNN, True, norms, 300)
    assert found.before == pytest.approx([1e-18, 1e-17, 1e-3], rel=1e-6, abs=0.0)
    assert found.after == pytest.approx([2.0, 6.0, 7.0])
    sentence = findings.gradient_finding([found], 4)
    assert_mentions(sentence, "10⁻¹⁷ … 10⁻¹⁸ to 10⁻³ … three seeds")
    assert "RNN (usual start) 6." in findings.trained_finding([found])


def test_the_finding_compares_the_smallest_and_largest_ratio_of_recurrent_models() -> None:
    models = [
        GradientRatio("Transformer, no positions", False, np.array([1.0]), np.array([1.0]), 300),
        GradientRatio(OPEN, True, np.array([0.09]), np.array([6.0]), 300),
        GradientRatio(RNN, True, np.array([4e-17]), np.array([3e-9]), 1000),
    ]
    assert_states(
        findings.gradient_finding(models, 50),
        "Before training … first of 50 symbols … loss … RNN … 4 × 10⁻¹⁷ times … last … GRU … 0.09 times … last",
    )
    assert "Transformer" in findings.gradient_finding(models[:1], 50)
    assert "about as much as the last" in findings.gradient_finding(models[:1], 50)
    assert "single symbol" in findings.gradient_finding(models, 1)
    assert "RNN (usual start) 3\u00a0×\u00a010⁻⁹" in findings.trained_finding(models)


def test_the_gate_product_is_the_share_to_the_power_of_the_steps() -> None:
    sentence = findings.gate_product_finding("GRU, usual start", np.array([[0.5, 0.5, 0.9]]), 11)
    assert "keeps 0.5 of" in sentence
    assert f"leaves {format_significant(0.5**10)} in the middle unit and {format_significant(0.9**10)} in" in sentence


def test_the_spectral_radius_is_raised_to_the_number_of_steps() -> None:
    sentence = findings.spectral_radius_finding("RNN, usual start", np.array([0.6, 0.5, 0.7]), 50)
    assert_mentions(sentence, "0.600 before training … 0.500 to 0.700 … three seeds … 0.600⁴⁹ … 10⁻¹¹")
    sentence = findings.spectral_radius_finding("RNN, usual start", np.array([0.6371]), 50)
    assert f"0.637⁴⁹ is {format_significant(0.637**49)}" in sentence, "computed from the number that is printed"


def test_the_finding_has_the_median_half_life() -> None:
    lives = {OPEN: np.array([[1.0, 22.0, 60.0]]), "GRU, usual start": np.array([[0.8, 0.8, 1.0]])}
    assert_states(
        findings.half_life_finding(lives, "before training"),
        "Before training, half of the units … GRU … 22 symbols or longer … longest … 60 symbols … GRU … 0.8 symbols",
    )
    assert "no gate" in findings.half_life_finding({}, "before training")
    assert "for ever or longer" not in findings.half_life_finding({OPEN: np.array([[1.0]])}, "after training")


def test_an_answer_is_right_or_wrong() -> None:
    assert findings.answer_finding(OPEN, "a", 0.99, "a", 50, 0.5).endswith("“a”, 0.99, and that is right.")
    assert findings.answer_finding(OPEN, "a", 0.2, "b", 50, 0.5).endswith("and that is wrong: it says “b”.")
    assert findings.answer_finding(OPEN, "a", 0.51, "a", 50, 0.5).endswith("guessing, which is 0.50.")


def test_gradients_explode_where_the_first_norm_exceeds_the_last() -> None:
    norms = np.ones((3, 1, 2))
    norms[:, 0, 0] = [1e-9, 5.0, 2e4]
    assert_states(
        findings.exploding_finding((0.5, 1.5, 3.0), norms),
        "radius of 0.5 … first … 10⁻⁹ … last … from 1.5 … more … at 3 … 2 × 10⁴ times … last",
    )
    assert "nothing to carry" in findings.exploding_finding((0.5, 1.5, 3.0), norms[..., :1])
    assert "nowhere explodes" in findings.exploding_finding((0.5, 1.5, 3.0), norms * [[[1e-9, 1.0]]])


def test_clipping_helps_where_gradients_explode_and_nowhere_else() -> None:
    never, always = np.full(8, 0.5), np.full(8, 1.0)
    one = np.array([1.0, *[0.5] * 7])
    sentence = findings.clipping_finding(
        [
            ClippingResult("at a radius of 0.7", never, never, 0.88, True),
            ClippingResult("at a radius of 2", one, always, 21.0, False),
        ]
    )
    assert_mentions(sentence, "no gradient … longer than 0.88 … clipping at 1 never")
    assert "no of eight seeds" not in sentence
    assert_mentions(sentence, "radius of 2 … one of eight seeds … without clipping, eight with it: different.")
    assert findings.clipping_finding([]) == "No run with and without clipping yet."


def test_models_without_a_run_are_named() -> None:
    assert findings.missing_runs_caption([]) == ""
    assert findings.missing_runs_caption(["RNN, usual start"]).startswith("RNN, usual start has no run")
    assert findings.missing_runs_caption(["a", "b"]).startswith("A and b have no run")
