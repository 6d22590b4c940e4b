from __future__ import annotations

import numpy as np
import pytest

from explorer.labs.induction import findings
from tests.words import assert_states

LOW, HIGH = np.array([0.1, 0.2, 0.3]), np.array([2.0, 2.2, 2.4])
NAN = float("nan")


def test_the_probability_of_repeated_symbols_is_stated() -> None:
    values = np.array([[0.9, 0.0, 0.7], [0.1, 1.0, 0.9]])
    sentence = findings.row_finding([True, False, True], {"A": values, "B": values[:1]})
    assert_states(sentence, "Two pairs … median … 0.65 (0.50 to 0.80) by A … 0.80 by B.")
    assert "One pair of symbols occurs" in findings.row_finding([False, False, True], {"A": values})
    assert "nothing to continue" in findings.row_finding([False] * 3, {"A": values})


def test_seeds_that_continue_the_second_copy_are_counted() -> None:
    sentence = findings.loss_finding({"one": LOW, "two": HIGH, "three": np.array([0.1, 0.7, 0.1])})
    assert_states(
        sentence,
        "One continues the second copy with all three seeds; two with none; three with 2 of three seeds.",
    )
    assert findings.loss_finding({"two": HIGH}) == "Two continues the second copy with no seed of three."
    assert_states(
        findings.loss_text({"one": LOW, "two": HIGH}), "0.20 (0.10 to 0.30) for one … 2.20 (2.00 to 2.40) for two."
    )
    assert findings.loss_finding({}) == findings.loss_text({}) == ""
    assert "its only seed" in findings.loss_finding({"one": LOW[:1]})


def test_models_are_compared_with_a_verdict_from_eight_seeds_on() -> None:
    few = findings.comparison_text({"A": LOW, "B": HIGH})
    assert "too few for a verdict" in few and "2.00" in few
    noise = np.linspace(0, 0.1, 8)
    many = findings.comparison_text({"A": noise, "B": 2 + noise[::-1]})
    assert many.startswith("Worse than A: B by 2.00") and "confidence interval" in many
    assert findings.comparison_text({"A": LOW}) == ""


def test_the_order_in_which_scores_rise_and_the_loss_falls_is_stated_for_seeds_that_learn() -> None:
    previous, induction = np.array([190.0, 210, NAN, 150]), np.array([200.0, 200, 250, 250])
    sentence = findings.moment_finding("A", previous, induction, np.array([300, 320, 300, NAN]))
    assert_states(sentence, "A … 0.5 before … below 0.5 nats, in both seeds … 0.4 before … in 1 of two seeds.")
    sentence = findings.moment_finding("A", previous, induction, np.array([100, 320, 300, NAN]))
    assert_states(sentence, "A … 0.5 before … below 0.5 nats in only 1 of two seeds.")
    assert findings.moment_finding("A", previous, induction, np.full(4, NAN)) == ""


def test_heads_are_named_by_layer_and_number() -> None:
    previous, induction = np.array([[0.8, 0.1], [0.3, 0.2]]), np.array([[0.1, 0.1], [0.05, 0.9]])
    assert_states(
        findings.heads_finding(7, previous, induction, 2),
        "Seed 7: layer 1, head 1 … previous-token head (0.80) … layer 2, head 2 … induction head (0.90).",
    )
    assert "(" not in findings.heads_finding(7, previous[:1], induction[:1], 1)


@pytest.mark.parametrize(("change", "verb"), [(HIGH, "rises"), (LOW - 0.1, "falls")])
def test_the_loss_without_a_head_is_stated(change: np.ndarray, verb: str) -> None:
    sentence = findings.ablation_finding("the head", LOW, change)
    assert f"{verb} from 0.20 to" in sentence


def test_a_head_is_compared_with_its_control() -> None:
    text = findings.control_text("A", HIGH, "B", LOW)
    assert "0.20 (0.10 to 0.30) without B. Removing A costs more in all three seeds." in text
    assert "no verdict with fewer than" in text and "+2.00" in text
    assert "costs more in no seed of three" in findings.control_text("A", LOW, "B", HIGH)
    assert "1 of two seeds" in findings.control_text("A", np.array([1.0, 2.0]), "B", np.array([2.0, 1.0]))


def test_what_changed_heads_do_to_the_row_is_stated() -> None:
    assert_states(findings.changed_row_text(0.1, 0.9, 3), "0.10 … seed; unchanged … 0.90.")
    assert findings.changed_row_text(0.0, 0.0, 0) == ""
