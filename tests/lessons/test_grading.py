"""What is said of a measurement follows from its numbers, also where they are others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from explorer.lessons.grading import (
    UndefinedMeasurement,
    describe_measurement,
    describe_result,
    describe_unexpected_answer,
    format_number,
    grade_step,
)
from explorer.lessons.lesson import Step
from explorer.lessons.parse import read_lesson
from tests.lessons.test_parse import GOOD, written
from tests.words import assert_states


@pytest.fixture
def steps(tmp_path: Path) -> tuple[Step, ...]:
    more = """\
  - title: Third
    text: And this.
    page: memory
    predict:
      question: Who is better?
      choices: {rnn: The RNN, lstm: The LSTM}
    measure:
      name: score
      metric: accuracy
      times: 100
      which: highest
      of:
        rnn: {run: recall-50-rnn-usual}
        lstm: {run: recall-50-lstm-usual}
    expects: rnn
    why: "{rnn_value} and {lstm_value}, from {rnn_low} to {rnn_high}."
  - title: Fourth
    text: And this.
    page: memory
    predict:
      question: How large?
      choices:
        small: {text: Small, below: 0.001}
        large: {text: Large, from: 0.001}
    measure: {name: gradient, run: recall-50-rnn-usual, step: 0}
    expects: small
    why: "{value}."
"""
    return read_lesson(written(tmp_path, GOOD + more)).steps


def test_a_word_is_what_most_seeds_say(steps: tuple[Step, ...]) -> None:
    found = grade_step(steps[0], lambda name, given: ["sustain", "collapse", "sustain"])
    assert (found.right, found.agrees, found.value) == (("sustain",), True, None)
    assert found.why == "It says sustain in 2 of 3."
    assert found.runs == ("negation-single-bag_of_words",)
    assert_states(describe_result(steps[0], found, "collapse"), "“It sustains” … 2 of 3 seeds … “It collapses”")
    assert describe_result(steps[0], found, "sustain").endswith("So you said “It sustains”.")
    assert describe_result(steps[0], found, None).endswith("You did not guess.")
    assert describe_unexpected_answer(steps[0], found) == ""
    other = grade_step(steps[0], lambda name, given: ["collapse"] * 3)
    assert not other.agrees and "had expected “It sustains”" in describe_unexpected_answer(steps[0], other)


def test_a_number_is_the_median_and_a_guess_stands_beside_it(steps: tuple[Step, ...]) -> None:
    found = grade_step(steps[1], lambda name, given: [1.0] if "rnn" in str(given["run"]) else [0.0])
    assert (found.value, found.agrees, found.why) == (1.0, True, "The first has 1, the other 0.")
    assert_states(describe_result(steps[1], found, 1), "1 seed … 1 seed")
    assert describe_result(steps[1], found, 5.0).endswith("You said 5 seeds, 4 seeds too much.")
    far = grade_step(steps[1], lambda name, given: [2.0, 7.0, 8.0])
    assert far.value == 7 and describe_measurement(steps[1], far).startswith("Measured: 7 seeds (2 to 8 over 3")
    assert describe_result(steps[1], far, 3).endswith(", which is inside what was measured.")
    assert describe_result(steps[1], far, 0).endswith("7 seeds too little.")
    assert not far.agrees and "had expected 0 to 3." in describe_unexpected_answer(steps[1], far)


def test_what_needs_no_run_names_none(tmp_path: Path) -> None:
    start, _, _ = GOOD.partition("      name: solved")
    text = start + '      {name: left, gate: 0.9}\n    expects: {from: 0, to: 3}\n    why: "{value}."\n'
    step = read_lesson(written(tmp_path, text)).steps[1]
    found = grade_step(step, lambda name, given: [2.0])
    assert (found.runs, describe_measurement(step, found)) == ((), "Measured: 2 seeds.")


def test_numbers_that_read_alike_are_one(steps: tuple[Step, ...]) -> None:
    found = grade_step(steps[1], lambda name, given: [12.41, 12.44, 12.4])
    assert "12.4 seeds in all 3" in describe_measurement(steps[1], found)
    found = grade_step(steps[1], lambda name, given: [12.4, 12.5, 12.4])
    assert "12.4 seeds (12.4 to 12.5 over 3" in describe_measurement(steps[1], found)


def test_which_of_them_follows_from_the_medians_and_ties_are_said(steps: tuple[Step, ...]) -> None:
    def measuring(rnn: list[float], lstm: list[float]) -> object:
        def asked(name: str, given: Mapping[str, object]) -> list[float]:
            return rnn if "rnn" in str(given["run"]) else lstm

        return grade_step(steps[2], asked)

    found = measuring([0.5, 0.6], [0.9, 0.1])
    assert (found.right, found.agrees) == (("rnn",), True)
    assert found.why == "55 and 50, from 50 to 60."
    found = measuring([0.5], [0.9])
    assert (found.right, found.agrees) == (("lstm",), False)
    assert describe_measurement(steps[2], found) == "Measured: “The LSTM”."
    found = measuring([1.0], [1.0])
    assert (found.right, found.agrees) == (("rnn", "lstm"), True)
    assert "These 2 tie" in describe_measurement(steps[2], found)


def test_bands_answer_for_numbers(steps: tuple[Step, ...]) -> None:
    assert grade_step(steps[3], lambda name, given: [1e-15, 1e-9, 5.0]).right == ("small",)
    found = grade_step(steps[3], lambda name, given: [0.001])
    assert (found.right, found.agrees) == (("large",), False)
    assert describe_measurement(steps[3], found) == "Measured: “Large” (0.001, one seed)."


def test_no_number_is_said_to_be_none(steps: tuple[Step, ...]) -> None:
    with pytest.raises(UndefinedMeasurement, match="is not a number here"):
        grade_step(steps[1], lambda name, given: [float("nan")])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (3.0, "3"),
        (62.99999952, "63"),
        (88.329, "88.3"),
        (99.98, "99.98"),
        (0.998, "0.998"),
        (-0.5, "−0.50"),
        (1234.0, "1,234"),
        (5.6e-15, "6·10⁻¹⁵"),
        (0.13, "0.13"),
    ],
)
def test_numbers_are_short_and_never_rounder_than_they_are(value: float, text: str) -> None:
    assert format_number(value) == text
