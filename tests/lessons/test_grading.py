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
    number_style,
)
from explorer.lessons.lesson import Axis, Step
from explorer.lessons.parse import read_lesson
from tests.lessons.test_parse import GOOD, write_lesson


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
    assert describe_result(steps[0], result, "collapse") == (
        "You said: it collapses. Measured: it sustains (with 2 of 3 seeds)."
    )
    assert describe_result(steps[0], result, "sustain") == (
        "You were right: it sustains. Measured: this answer with 2 of 3 seeds."
    )
    assert describe_result(steps[0], result, None) == "Measured: it sustains (with 2 of 3 seeds)."
    assert describe_unexpected_answer(steps[0], result) == ""
    other = grade_step(steps[0], lambda name, options: ["collapse"] * 3)
    assert not other.agrees and "expected “It sustains”" in describe_unexpected_answer(steps[0], other)


def test_the_measured_number_is_the_median_and_is_compared_with_the_guess(steps: tuple[Step, ...]) -> None:
    result = grade_step(steps[1], lambda name, options: [1.0] if "rnn" in str(options["run"]) else [0.0])
    assert (result.value, result.agrees, result.why) == (1.0, True, "The first has 1, the other 0.")
    assert describe_result(steps[1], result, 1) == "You were right: 1 seed. Measured: 1 of 8 seeds."
    assert describe_result(steps[1], result, 5.0).startswith("You said 5 seeds: 4 seeds too high.")
    far = grade_step(steps[1], lambda name, options: [2.0, 7.0, 8.0])
    assert far.value == 7 and describe_measurement(steps[1], far) == "Measured: 7 of 8 seeds."
    assert describe_result(steps[1], far, 3).startswith("You said 3 seeds: within the measured range.")
    assert describe_result(steps[1], far, 0).startswith("You said 0 seeds: 7 seeds too low.")
    assert not far.agrees and "expected 0 to 3." in describe_unexpected_answer(steps[1], far)


@pytest.mark.parametrize(
    ("values", "unit", "texts"),
    [
        ((12.41, 12.44), "letters", ["12.4", "12.4"]),
        ((62.0, 67.6, 5.25), "%", ["62.0", "67.6", "5.2"]),
        ((0.0, 100.0), "%", ["0", "100"]),
        ((0.003, 99.98, 99.99999), "%", ["<0.1", ">99.9", "100.0"]),
        ((2.83, 12345.678), "", ["2.8", "12,345.7"]),
        ((0.04, 0.0), "", ["0.040", "0.000"]),
        ((1e-7, 0.5), "", ["10⁻⁷", "0.50"]),
        ((3e-17, 6e-13), "", ["3\u00a0×\u00a010⁻¹⁷", "6\u00a0×\u00a010⁻¹³"]),
    ],
)
def test_all_numbers_of_a_step_are_written_alike(values: tuple[float, ...], unit: str, texts: list[str]) -> None:
    style = number_style(values, Axis(unit=unit))
    assert [style.format(value) for value in values] == texts


def test_an_axis_by_powers_of_ten_and_a_unit_in_the_singular() -> None:
    assert number_style([1e-20, 11.0], Axis(powers=True)).format(11.0) == "11"
    assert number_style([1.0], Axis(unit="letters")).with_unit(1.0) == "1 letter"
    assert number_style([1.5], Axis(unit="letters")).with_unit(1.0) == "1.00 letters"


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
    assert describe_measurement(steps[2], result) == "Measured: the LSTM (90 %, one seed)."
    result = grade([1.0], [1.0])
    assert (result.right, result.agrees) == (("rnn", "lstm"), True)
    assert "They are equal." in describe_measurement(steps[2], result)
    result = grade([0.5, 0.6, 0.7], [0.9, 0.55, 0.4])
    assert result.right == ("rnn", "lstm"), "three seeds that overlap"
    assert "the RNN and the LSTM. The 3 seeds do not tell them apart." in describe_measurement(steps[2], result)
    low = [0.1, 0.2, 0.15, 0.12, 0.18, 0.17, 0.13, 0.45]
    assert grade([0.5, 0.6, 0.55, 0.52, 0.58, 0.57, 0.53, 0.4], low).right == ("rnn",), (
        "different, although they overlap"
    )
    assert grade([0.5, 0.6, 0.55, 0.52, 0.58, 0.57, 0.53, 0.4], [0.45] * 7 + [0.9]).right == ("rnn", "lstm")


def test_a_number_selects_the_choice_whose_range_contains_it(steps: tuple[Step, ...]) -> None:
    assert grade_step(steps[3], lambda name, options: [1e-15, 1e-9, 5.0]).right == ("small",)
    result = grade_step(steps[3], lambda name, options: [0.001])
    assert (result.right, result.agrees) == (("large",), False)
    assert describe_measurement(steps[3], result) == "Measured: large (0.001, one seed)."


def test_an_undefined_number_raises_an_error(steps: tuple[Step, ...]) -> None:
    with pytest.raises(UndefinedMeasurement, match="is not a number here"):
        grade_step(steps[1], lambda name, options: [float("nan")])


def test_every_sentence_names_the_spread_once(steps: tuple[Step, ...]) -> None:
    result = grade_step(steps[3], lambda name, options: [0.2, 0.4, 0.3])
    assert describe_result(steps[3], result, "large") == (
        "You were right: large. Measured: 0.30, the median over 3 seeds; they range from 0.20 to 0.40."
    )
    same = grade_step(steps[3], lambda name, options: [0.25, 0.25])
    assert describe_measurement(steps[3], same) == "Measured: large (0.25, the same in all 2 seeds)."
