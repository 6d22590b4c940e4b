"""Compare the measured answer of a step with a visitor's prediction and with what the author expects."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, mode

import numpy as np

from explorer.errors import LineageError
from explorer.inspection.verdicts import MINIMUM_SEEDS, compare_with_best
from explorer.lessons.lesson import Axis, Measurement, Step, Task
from explorer.lessons.parse import fill_settings
from explorer.number_format import format_rounded, format_scientific, format_significant
from explorer.run_store import store

MeasureFunction = Callable[[str, Mapping[str, object]], "list[float] | list[str]"]


class UndefinedMeasurement(LineageError):
    """A measurement whose value is not a number (NaN)."""


@dataclass(frozen=True)
class Row:
    """The measured values of one subject: one number, or one label, for each seed."""

    name: str
    title: str
    values: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def median(self) -> float:
        """The median, which a single outlying seed does not move."""
        return median(self.values)

    @property
    def most_common(self) -> str:
        """The most frequent label."""
        return Counter(self.labels).most_common(1)[0][0]

    @property
    def count(self) -> int:
        return len(self.values) or len(self.labels)


@dataclass(frozen=True)
class NumberStyle:
    """How all numbers of one step are written: with the same number of decimals, or (None) as powers of ten."""

    decimals: int | None
    unit: str

    def format(self, value: float) -> str:
        """Return a number without its unit; one that is not 0 or 100 % is never written so."""
        if self.decimals is None:
            return format_significant(value)
        text = f"{value:z,.{self.decimals}f}".replace("-", "−")
        if not value or text.strip("−0.,"):
            is_almost_all = self.unit == "%" and text == "100.0" and value < 100 - _ROUNDING
            return ">99.9" if is_almost_all else text
        return f"<{10**-self.decimals:.{self.decimals}f}" if self.unit == "%" else format_scientific(value)

    def with_unit(self, value: float) -> str:
        """Return a number with its unit: 1 seed, 2 seeds, 50 %."""
        text = self.format(value)
        return f"{text} {self.unit.removesuffix('s') if text == '1' else self.unit}".strip()


_ROUNDING = 1e-4  # a share of 0.9999999 in single precision is 1


def number_style(values: Sequence[float], axis: Axis) -> NumberStyle:
    """Return how numbers like these are written: whole ones without decimals, shares in percent with one."""
    finite = [abs(value) for value in values if math.isfinite(value)]
    largest = max(finite, default=0.0)
    if axis.powers or 0 < largest < 1e-3:
        return NumberStyle(None, axis.unit)
    if all(abs(value - round(value)) < _ROUNDING for value in finite):
        return NumberStyle(0, axis.unit)
    return NumberStyle(1 if axis.unit == "%" or largest >= 10 else 2 if largest >= 0.1 else 3, axis.unit)


@dataclass(frozen=True)
class Answer:
    """The measured answer to the question of a step."""

    rows: tuple[Row, ...]
    right: tuple[str, ...]  # the right choices: several if they tie; none if the answer is a number
    value: float | None  # None if the question has choices
    agrees: bool  # whether the author expected this answer
    why: str  # the explanation, with the measured numbers inserted
    runs: tuple[str, ...]
    axis: Axis
    style: NumberStyle


def grade_step(step: Step, measure_function: MeasureFunction) -> Answer:
    """Measure the subjects of a step and return the answer. Raises LineageError."""
    rows = tuple(
        _measure_subject(
            each.name, each.title, step.measurement, measure_function(step.measurement.measure.name, each.settings)
        )
        for each in step.measurement.subjects
    )
    right = _right_choices(step, rows)
    value = rows[0].median if step.question.scale else None
    if isinstance(step.expects, str):
        agrees = step.expects in right
    else:
        agrees = value is not None and step.expects[0] <= value <= step.expects[1]
    runs = dict.fromkeys(str(each.settings["run"]) for each in step.measurement.subjects if "run" in each.settings)
    axis = answer_axis(step)
    style = number_style([number for row in rows if row.values for number in (*row.values, row.median)], axis)
    why = step.why.format_map(_placeholders(rows, style))
    return Answer(rows, right, value, agrees, why, tuple(runs), axis, style)


def answer_axis(step: Step) -> Axis:
    """Return the axis of the answer, which spans what is possible and not only what was measured."""
    measurement, scale = step.measurement, step.question.scale
    if measurement.axis is not None:
        return measurement.axis
    if scale is not None:
        return Axis(scale.low, scale.high, scale.unit)
    low, high, unit = measurement.measure.limits(measurement.subjects[0].settings)
    scaled = [None if end is None else measurement.times * end for end in (low, high)]
    return Axis(scaled[0], scaled[1], unit or ("%" if measurement.times == 100 else ""))


def _measure_subject(name: str, title: str, measurement: Measurement, found: Sequence[float] | Sequence[str]) -> Row:
    if measurement.measure.labels:
        return Row(name, title, labels=tuple(map(str, found)))
    values = tuple(measurement.times * float(value) for value in found)
    if any(value != value for value in values):
        raise UndefinedMeasurement(
            f"“{measurement.measure.name}” is not a number here. Choose another run or another setting."
        )
    return Row(name, title, values)


def _right_choices(step: Step, rows: tuple[Row, ...]) -> tuple[str, ...]:
    if step.question.scale is not None:
        return ()
    if step.measurement.which:
        return _undistinguished_from_best(rows, higher=step.measurement.which == "highest")
    if step.measurement.measure.labels:
        return (rows[0].most_common,)
    return tuple(each.name for each in step.question.choices if each.contains(rows[0].median))


def _undistinguished_from_best(rows: tuple[Row, ...], higher: bool) -> tuple[str, ...]:
    """Return the subject with the extreme median, and those of which the seeds do not show that they are behind it.

    With the seeds of a verdict, those are all without the verdict “different”. With fewer, those whose values overlap
    with the values of the best; so one seed each is compared by its value.
    """
    sign = 1 if higher else -1
    best = max(rows, key=lambda row: sign * row.median)
    worst_of_best = min(sign * value for value in best.values)
    found = compare_with_best({row.name: np.array(row.values) for row in rows}, paired=False, higher=higher)
    enough = found is not None and min(row.count for row in rows) >= MINIMUM_SEEDS
    if found is not None and enough:
        return tuple(row.name for row in rows if row.name not in found.with_verdict("different"))
    return tuple(row.name for row in rows if row is best or max(sign * v for v in row.values) >= worst_of_best)


def _placeholders(rows: Sequence[Row], style: NumberStyle) -> dict[str, str]:
    """Return the placeholders of an explanation: those of the first subject, and of each subject by its name."""
    named = [(f"{row.name}_", row) for row in rows if row.name]
    return {
        f"{prefix}{kind}": text
        for prefix, row in [("", rows[0]), *named]
        for kind, text in _row_placeholders(row, style).items()
    }


def _row_placeholders(row: Row, style: NumberStyle) -> dict[str, str]:
    if row.labels:
        return {"most": row.most_common, "share": str(row.labels.count(row.most_common)), "seeds": str(row.count)}
    return {
        "value": style.format(row.median),
        "low": style.format(min(row.values)),
        "high": style.format(max(row.values)),
        "seeds": str(row.count),
    }


# ---- in words


def describe_result(step: Step, found: Answer, said: object | None) -> str:
    """Return the visitor's prediction and the measured answer in words; None means that they did not predict."""
    if said is None:
        return describe_measurement(step, found)
    if step.question.scale is not None:
        guess, measured = _describe_guess(step, found, float(said)), describe_measurement(step, found)  # type: ignore[arg-type]
        return guess if measured == f"Measured: {step.question.scale.format(float(said))}." else f"{guess} {measured}"  # type: ignore[arg-type]
    choice = step.question.find_choice(str(said)).short_text
    if said not in found.right:
        return f"You said: {choice}. {describe_measurement(step, found)}"
    if len(found.right) > 1:
        return f"You were right. {describe_measurement(step, found)}"
    measured = _describe_values(step, found)
    return f"You were right: {choice}. Measured: {'this answer ' if found.rows[0].labels else ''}{measured}."


def describe_measurement(step: Step, found: Answer) -> str:
    """Return the measured answer in words."""
    values = _describe_values(step, found)
    if found.value is not None:
        return f"Measured: {values}."
    texts = [step.question.find_choice(name).short_text for name in found.right]
    if len(texts) > 1:
        seeds = min(row.count for row in found.rows)
        tie = f"The {seeds} seeds do not tell them apart." if seeds > 1 else "They are equal."
        return f"Measured: {' and '.join(texts)}. {tie}"
    return f"Measured: {texts[0]}{f' ({values})' if values else ''}."


def _describe_values(step: Step, found: Answer) -> str:
    """Return the measured values of the subject that the question is about, with their spread."""
    names = [row.name for row in found.rows]
    row = found.rows[names.index(found.right[0])] if step.measurement.which else found.rows[0]
    if row.labels:
        share = row.labels.count(row.most_common)
        return f"with {'all' if share == row.count else f'{share} of'} {row.count} {step.measurement.measure.over}"
    middle, over = found.style.with_unit(row.median), step.measurement.measure.over
    if found.axis.unit == "seeds" and found.axis.high:
        return f"{found.style.format(row.median)} of {found.axis.high:g} seeds"
    if row.count == 1:
        return f"{middle}, one {over.removesuffix('s')}" if over and not _is_deterministic(step, row) else middle
    low, high = found.style.format(min(row.values)), found.style.format(max(row.values))
    if low == high:
        return f"{middle}, {'the same ' * (max(row.values) - min(row.values) < _ROUNDING)}in all {row.count} {over}"
    return f"{middle}, the median over {row.count} {over}; they range from {low} to {high}"


def _is_deterministic(step: Step, row: Row) -> bool:
    """Return whether nothing in a measurement is random: a model that is fitted by counting, or temperature 0."""
    settings = next(each.settings for each in step.measurement.subjects if each.name == row.name)
    counted = "run" in settings and store.find(str(settings["run"])).config.model_name == "ngram"
    return counted or settings.get("temperature") == 0


def _describe_guess(step: Step, found: Answer, said: float) -> str:
    scale, value = step.question.scale, found.value
    assert scale is not None and value is not None
    guess = scale.format(said)
    if abs(said - value) <= scale.step / 2:
        return f"You were right: {guess}."
    if min(found.rows[0].values) <= said <= max(found.rows[0].values):
        return f"You said {guess}: within the measured range."
    off = (
        f"{found.style.format(abs(said - value))} points"
        if scale.unit == "%"
        else found.style.with_unit(abs(said - value))
    )
    return f"You said {guess}: {off} too {'high' if said > value else 'low'}."


def describe_unexpected_answer(step: Step, found: Answer) -> str:
    """Return a sentence if the answer is not what the author expects, otherwise an empty text."""
    if found.agrees:
        return ""
    if isinstance(step.expects, str):
        expected = f"“{step.question.find_choice(step.expects).text}”"
    else:
        low, high = step.expects
        expected = f"{format_rounded(low)} to {format_rounded(high)}"
    return (
        f"The author of this lesson expected {expected}. These runs measure something else, so read the explanation "
        "with care:"
    )


@dataclass(frozen=True)
class TaskResult:
    """What a task measured, and whether its goal is reached."""

    is_done: bool
    text: str


def check_task(task: Task, state: Mapping[str, str], measure_function: MeasureFunction) -> TaskResult:
    """Measure a task with the state of its page (texts by field). Raises LineageError."""
    settings = task.measure.parse_settings(fill_settings(task.settings, state))
    values = measure_function(task.measure.name, settings)
    if task.measure.labels:
        label = mode(map(str, values))
        return TaskResult(task.goal.is_reached(label), f"With your settings the answer is “{label}”.")
    value = task.times * median(map(float, values))
    edges = [edge for edge in (task.goal.low, task.goal.high) if edge is not None]
    style = number_style([value, *edges], Axis(unit=task.unit))
    over = f" (the median over {len(values)} {task.measure.over})" if len(values) > 1 else ""
    measured = f"With your settings it is {style.with_unit(value)}{over}."
    if task.goal.is_reached(value):
        return TaskResult(True, measured)
    if task.goal.low is not None and value < task.goal.low:
        return TaskResult(False, f"{measured} The goal is at least {style.with_unit(task.goal.low)}.")
    assert task.goal.high is not None
    return TaskResult(False, f"{measured} The goal is less than {style.with_unit(task.goal.high)}.")
