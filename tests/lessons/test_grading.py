"""The description of a measurement follows from its numbers, whatever they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from explorer.lessons.grading import (
    UndefinedMeasurement,
    describe_measurement,
    describe_result,
    describe_unexpected_answer,
    grade_step,
)
from explorer.lessons.lesson import Step
from explorer.lessons.parse import read_lesson
from tests.lessons.test_parse import GOOD, write_lesson
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
    return read_lesson(write_lesson(tmp_path, GOOD + more)).steps


def test_the_measured_answer_is_that_of_most_seeds(steps: tuple[Step, ...]) -> None:
    result = grade_step(steps[0], lambda name, options: ["sustain", "collapse", "sustain"])
    assert (result.right, result.agrees, result.value) == (("sustain",), True, None)
    assert result.why == "It says sustain in 2 of 3."
    assert result.runs == ("negation-single-bag_of_words",)
    assert_states(describe_result(steps[0], result, "collapse"), "“It sustains” … 2 of 3 seeds … “It collapses”")
    assert describe_result(steps[0], result, "sustain").endswith("So you said “It sustains”.")
    assert describe_result(steps[0], result, None).endswith("You did not guess.")
    assert describe_unexpected_answer(steps[0], result) == ""
    other = grade_step(steps[0], lambda name, options: ["collapse"] * 3)
    assert not other.agrees and "had expected “It sustains”" in describe_unexpected_answer(steps[0], other)


def test_the_measured_number_is_the_median_and_is_compared_with_the_guess(steps: tuple[Step, ...]) -> None:
    result = grade_step(steps[1], lambda name, options: [1.0] if "rnn" in str(options["run"]) else [0.0])
    assert (result.value, result.agrees, result.why) == (1.0, True, "The first has 1, the other 0.")
    assert_states(describe_result(steps[1], result, 1), "1 seed … 1 seed")
    assert describe_result(steps[1], result, 5.0).endswith("You said 5 seeds, 4 seeds too much.")
    far = grade_step(steps[1], lambda name, options: [2.0, 7.0, 8.0])
    assert far.value == 7 and describe_measurement(steps[1], far).startswith("Measured: 7 seeds (2 to 8 over 3")
    assert describe_result(steps[1], far, 3).endswith(", which is inside what was measured.")
    assert describe_result(steps[1], far, 0).endswith("7 seeds too little.")
    assert not far.agrees and "had expected 0 to 3." in describe_unexpected_answer(steps[1], far)


def test_a_measure_without_a_run_names_none(tmp_path: Path) -> None:
    start, _, _ = GOOD.partition("      name: solved")
    text = start + '      {name: left, gate: 0.9}\n    expects: {from: 0, to: 3}\n    why: "{value}."\n'
    step = read_lesson(write_lesson(tmp_path, text)).steps[1]
    result = grade_step(step, lambda name, options: [2.0])
    assert (result.runs, describe_measurement(step, result)) == ((), "Measured: 2 seeds.")


def test_numbers_that_are_formatted_alike_are_described_as_one(steps: tuple[Step, ...]) -> None:
    result = grade_step(steps[1], lambda name, options: [12.41, 12.44, 12.4])
    assert "12.4 seeds in all 3" in describe_measurement(steps[1], result)
    result = grade_step(steps[1], lambda name, options: [12.4, 12.5, 12.4])
    assert "12.4 seeds (12.4 to 12.5 over 3" in describe_measurement(steps[1], result)


def test_the_highest_median_is_the_answer_and_ties_are_reported(steps: tuple[Step, ...]) -> None:
    def grade(rnn: list[float], lstm: list[float]) -> object:
        def measure(name: str, options: Mapping[str, object]) -> list[float]:
            return rnn if "rnn" in str(options["run"]) else lstm

        return grade_step(steps[2], measure)

    result = grade([0.5, 0.6], [0.3, 0.1])
    assert (result.right, result.agrees) == (("rnn",), True)
    assert result.why == "55 and 20, from 50 to 60."
    result = grade([0.5], [0.9])
    assert (result.right, result.agrees) == (("lstm",), False)
    assert describe_measurement(steps[2], result) == "Measured: “The LSTM”."
    result = grade([1.0], [1.0])
    assert (result.right, result.agrees) == (("rnn", "lstm"), True)
    assert "These 2 tie" in describe_measurement(steps[2], result)
    result = grade([0.5, 0.6, 0.7], [0.9, 0.55, 0.4])
    assert result.right == ("rnn", "lstm"), "three seeds that overlap"
    assert "Between these 2 the 3 seeds cannot tell." in describe_measurement(steps[2], result)
    low = [0.1, 0.2, 0.15, 0.12, 0.18, 0.17, 0.13, 0.45]
    assert grade([0.5, 0.6, 0.55, 0.52, 0.58, 0.57, 0.53, 0.4], low).right == ("rnn",), (
        "different, although they overlap"
    )
    assert grade([0.5, 0.6, 0.55, 0.52, 0.58, 0.57, 0.53, 0.4], [0.45] * 7 + [0.9]).right == ("rnn", "lstm")


def test_a_number_selects_the_choice_whose_range_contains_it(steps: tuple[Step, ...]) -> None:
    assert grade_step(steps[3], lambda name, options: [1e-15, 1e-9, 5.0]).right == ("small",)
    result = grade_step(steps[3], lambda name, options: [0.001])
    assert (result.right, result.agrees) == (("large",), False)
    assert describe_measurement(steps[3], result) == "Measured: “Large” (0.001, one seed)."


def test_an_undefined_number_raises_an_error(steps: tuple[Step, ...]) -> None:
    with pytest.raises(UndefinedMeasurement, match="is not a number here"):
        grade_step(steps[1], lambda name, options: [float("nan")])
