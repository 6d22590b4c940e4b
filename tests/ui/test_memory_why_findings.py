from __future__ import annotations

import numpy as np
import pytest

from explorer.training.recall_runs import CONTESTANTS
from explorer.ui import memory_why_findings as findings
from explorer.ui.memory_why_findings import Clipped, Reached

RNN, OPEN = CONTESTANTS["rnn-usual"].title, CONTESTANTS["gru-chrono"].title


def test_powers_have_few_digits() -> None:
    values = (4.2e-17, 1e-4, 0.0764, 1.0, 13.2, 25_000.0, 0.0)
    said = [findings.power(v).replace("\u00a0", " ") for v in values]
    assert said == ["4 × 10⁻¹⁷", "10⁻⁴", "0.076", "1", "13", "2 × 10⁴", "0"]


def test_a_title_fits_into_a_sentence() -> None:
    assert findings.within(RNN) == "RNN (usual start)"
    assert findings.within(OPEN) == "GRU (gates open, chrono)"
    assert findings.within("LSTM") == "LSTM"


def test_the_ratio_is_that_of_the_middle_seed_before_and_after() -> None:
    norms = np.ones((2, 3, 4))
    norms[0, :, 0] = [1e-18, 1e-17, 1e-3]
    norms[1, :, 0] = [2.0, 6.0, 7.0]
    found = findings.reached(RNN, True, norms, 300)
    assert found.before == pytest.approx([1e-18, 1e-17, 1e-3], rel=1e-6, abs=0.0)
    assert found.after == pytest.approx([2.0, 6.0, 7.0])
    said = findings.gradient_finding([found], 4)
    assert said.endswith("(usual start) 10⁻¹⁷ times as much as the last (10⁻¹⁸ to 10⁻³ over three seeds).")
    assert "RNN (usual start) 6." in findings.trained_finding([found])


def test_the_finding_sets_the_least_against_the_most_of_the_recurrent_nets() -> None:
    models = [
        Reached("Transformer, no positions", False, np.array([1.0]), np.array([1.0]), 300),
        Reached(OPEN, True, np.array([0.09]), np.array([6.0]), 300),
        Reached(RNN, True, np.array([4e-17]), np.array([3e-9]), 1000),
    ]
    assert findings.gradient_finding(models, 50) == (
        "Before training, the first of 50 symbols moves the loss of the RNN (usual start) 4\u00a0×\u00a010⁻¹⁷ times as "
        "much as the last; of the GRU (gates open, chrono), 0.09 times as much as the last."
    )
    assert "Transformer" in findings.gradient_finding(models[:1], 50)
    assert "about as much as the last" in findings.gradient_finding(models[:1], 50)
    assert "single symbol" in findings.gradient_finding(models, 1)
    assert "RNN (usual start) 3\u00a0×\u00a010⁻⁹" in findings.trained_finding(models)


def test_the_straight_path_is_the_share_to_the_power_of_the_steps() -> None:
    said = findings.straight_path("GRU, usual start", np.array([[0.5, 0.5, 0.9]]), 11)
    assert "keeps 0.5 of" in said
    assert f"leaves {findings.power(0.5**10)} in the middle unit and {findings.power(0.9**10)} in" in said


def test_a_matrix_is_raised_to_its_steps() -> None:
    said = findings.shrinking("RNN, usual start", np.array([0.6, 0.5, 0.7]), 50)
    assert "0.600 before training (0.500 to 0.700 over three seeds), and 0.600⁴⁹ is 10⁻¹¹" in said
    said = findings.shrinking("RNN, usual start", np.array([0.6371]), 50)
    assert f"0.637⁴⁹ is {findings.power(0.637**49)}" in said, "computed from the number that is printed"


def test_half_of_the_units_hold_for_the_median() -> None:
    lives = {OPEN: np.array([[1.0, 22.0, 60.0]]), "GRU, usual start": np.array([[0.8, 0.8, 1.0]])}
    assert findings.half_life_finding(lives, "before training") == (
        "Before training, half of the units of the GRU (gates open, chrono) keep half of what they hold for 22 symbols "
        "or longer, the longest for 60 symbols; those of the GRU (usual start) for 0.8 symbols."
    )
    assert "no gate" in findings.half_life_finding({}, "before training")
    assert "for ever or longer" not in findings.half_life_finding({OPEN: np.array([[1.0]])}, "after training")


def test_an_answer_is_right_or_wrong() -> None:
    assert findings.answer_finding(OPEN, "a", 0.99, "a", 50, 0.5).endswith("“a”, 0.99, and that is right.")
    assert findings.answer_finding(OPEN, "a", 0.2, "b", 50, 0.5).endswith("and that is wrong: it says “b”.")
    assert findings.answer_finding(OPEN, "a", 0.51, "a", 50, 0.5).endswith("guessing, which is 0.50.")


def test_exploding_begins_where_the_first_has_more_than_the_last() -> None:
    norms = np.ones((3, 1, 2))
    norms[:, 0, 0] = [1e-9, 5.0, 2e4]
    assert findings.exploding_finding((0.5, 1.5, 3.0), norms) == (
        "At a radius of 0.5 the first symbol has 10⁻⁹ of the last one’s gradient; from 1.5 on it has more than "
        "that one, and at 3 it has 2\u00a0×\u00a010⁴ times as much as the last."
    )
    assert "nothing to carry" in findings.exploding_finding((0.5, 1.5, 3.0), norms[..., :1])
    assert "nowhere explodes" in findings.exploding_finding((0.5, 1.5, 3.0), norms * [[[1e-9, 1.0]]])


def test_clipping_helps_where_gradients_explode_and_nowhere_else() -> None:
    never, always = np.full(8, 0.5), np.full(8, 1.0)
    one = np.array([1.0, *[0.5] * 7])
    said = findings.clipping_finding(
        [Clipped("at a radius of 0.7", never, never, 0.88, True), Clipped("at a radius of 2", one, always, 21.0, False)]
    )
    assert "no gradient is longer than 0.88: clipping at 1 never acts" in said
    assert "no of eight seeds" not in said
    assert said.endswith("At a radius of 2 one of eight seeds learns it without clipping, eight with it.")
    assert findings.clipping_finding([]) == "No run with and without clipping yet."


def test_who_has_no_run_is_named() -> None:
    assert findings.missing([]) == ""
    assert findings.missing(["RNN, usual start"]).startswith("RNN, usual start has no run")
    assert findings.missing(["a", "b"]).startswith("A and b have no run")
