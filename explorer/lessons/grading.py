"""Compare the measured answer of a step with a visitor's prediction and with what the author expects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from explorer.errors import LineageError
from explorer.inspection.verdicts import MINIMUM_SEEDS, compare_with_best
from explorer.lessons.lesson import Measurement, Step
from explorer.number_format import format_rounded

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
class Answer:
    """The measured answer to the question of a step."""

    rows: tuple[Row, ...]
    right: tuple[str, ...]  # the right choices: several if they tie; none if the answer is a number
    value: float | None  # None if the question has choices
    agrees: bool  # whether the author expected this answer
    why: str  # the explanation, with the measured numbers inserted
    runs: tuple[str, ...]


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
    return Answer(rows, right, value, agrees, step.why.format_map(_placeholders(rows)), tuple(runs))


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
    """Return the names of the choices that the measurement confirms."""
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


def _placeholders(rows: Sequence[Row]) -> dict[str, str]:
    """Return the values of the placeholders in an explanation: those of the first subject, and of each subject by
    name.
    """
    found = _row_placeholders(rows[0])
    for row in rows:
        if row.name:
            found |= {f"{row.name}_{kind}": text for kind, text in _row_placeholders(row).items()}
    return found


def _row_placeholders(row: Row) -> dict[str, str]:
    if row.labels:
        return {
            "most": row.most_common,
            "share": str(row.labels.count(row.most_common)),
            "seeds": str(row.count),
        }
    return {
        "value": format_rounded(row.median),
        "low": format_rounded(min(row.values)),
        "high": format_rounded(max(row.values)),
        "seeds": str(row.count),
    }


# ---- in words


def describe_result(step: Step, found: Answer, said: object | None) -> str:
    """Return the measured answer and the visitor's prediction in words; None means that they did not predict."""
    measured = describe_measurement(step, found)
    if said is None:
        return f"{measured} You did not guess."
    if step.question.scale is None:
        said_so, instead = ("So you said", "") if said in found.right else ("You said", " instead")
        return f"{measured} {said_so} “{step.question.format_answer(said)}”{instead}."
    return f"{measured} You said {step.question.format_answer(said)}{_describe_error(step, found, float(said))}."  # type: ignore[arg-type]


def describe_measurement(step: Step, found: Answer) -> str:
    """Return the measured answer in words."""
    if found.value is not None:
        return f"Measured: {_with_unit(step, found.value)}{_describe_spread(step, found.rows[0])}."
    texts = [f"“{step.question.find_choice(name).text}”" for name in found.right]
    seeds = min(row.count for row in found.rows)
    tie = f" These {len(texts)} tie." if len(texts) > 1 else ""
    if len(texts) > 1 and seeds > 1:
        tie = f" Between these {len(texts)} the {seeds} seeds cannot tell."
    spread = "" if step.measurement.which else _describe_spread(step, found.rows[0])
    return f"Measured: {' and '.join(texts)}{spread}.{tie}"


def _with_unit(step: Step, value: float) -> str:
    scale = step.question.scale
    return scale.with_unit(format_rounded(value)) if scale else format_rounded(value)


def _describe_spread(step: Step, row: Row) -> str:
    if row.labels:
        return f", by {row.labels.count(row.most_common)} of {row.count} {step.measurement.measure.over}"
    if row.count == 1:
        known = [_with_unit(step, row.values[0])] if step.question.scale is None else []
        one = [f"one {step.measurement.measure.over.removesuffix('s')}"] if step.measurement.measure.over else []
        return f" ({', '.join(known + one)})" if known or one else ""
    low, high = min(row.values), max(row.values)
    over = f"{row.count} {step.measurement.measure.over}"
    if format_rounded(low) == format_rounded(high):
        return f" ({format_rounded(low)} in all {over})" if step.question.scale is None else f" in all {over}"
    middle = f"{format_rounded(row.median)}, " if step.question.scale is None else ""
    return f" ({middle}{format_rounded(low)} to {format_rounded(high)} over {over})"


def _describe_error(step: Step, found: Answer, said: float) -> str:
    """Return in words how far a prediction is from the measured number."""
    scale, value = step.question.scale, found.value
    assert scale is not None and value is not None
    if abs(said - value) <= scale.step / 2:
        return ", and that is it"
    if min(found.rows[0].values) <= said <= max(found.rows[0].values):
        return ", which is inside what was measured"
    off = f"{format_rounded(abs(said - value))} points" if scale.unit == "%" else _with_unit(step, abs(said - value))
    return f", {off} too {'much' if said > value else 'little'}"


def describe_unexpected_answer(step: Step, found: Answer) -> str:
    """Return a sentence if the answer is not what the author expects, otherwise an empty text."""
    if found.agrees:
        return ""
    if isinstance(step.expects, str):
        expected = f"“{step.question.find_choice(step.expects).text}”"
    else:
        low, high = step.expects
        expected = f"{format_rounded(low)} to {format_rounded(high)}"
    return f"The author of this lesson had expected {expected}. These runs say otherwise, so read the reason with care:"
