"""What was measured, beside what somebody predicted and what the author expected. Sentences come from the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from explorer.errors import LineageError
from explorer.lessons.lesson import Asked, Step

Measuring = Callable[[str, Mapping[str, object]], "list[float] | list[str]"]


class NothingMeasured(LineageError):
    """A measurement that came to no number."""


@dataclass(frozen=True)
class Row:
    """What was measured of one subject: one number, or one label, for each seed."""

    name: str
    title: str
    values: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def middle(self) -> float:
        """The median: one seed that is far off does not move it."""
        return median(self.values)

    @property
    def most(self) -> str:
        """The label that most seeds give."""
        return Counter(self.labels).most_common(1)[0][0]

    @property
    def count(self) -> int:
        return len(self.values) or len(self.labels)


@dataclass(frozen=True)
class Answer:
    """The answer to a step's question, from its measurement."""

    rows: tuple[Row, ...]
    right: tuple[str, ...]  # the choices that are right: several where they tie; none for a number
    value: float | None  # the number, where one was asked
    agrees: bool  # whether it is as the author expected
    why: str  # with the numbers in it
    runs: tuple[str, ...]


def answer(step: Step, measuring: Measuring) -> Answer:
    """Measure what a step asks. Raises LineageError."""
    rows = tuple(
        _row(each.name, each.title, step.asked, measuring(step.asked.measure.name, each.settings))
        for each in step.asked.subjects
    )
    right = _right(step, rows)
    value = rows[0].middle if step.question.scale else None
    if isinstance(step.expects, str):
        agrees = step.expects in right
    else:
        agrees = value is not None and step.expects[0] <= value <= step.expects[1]
    runs = dict.fromkeys(str(each.settings["run"]) for each in step.asked.subjects if "run" in each.settings)
    return Answer(rows, right, value, agrees, step.why.format_map(_numbers(rows)), tuple(runs))


def _row(name: str, title: str, asked: Asked, found: Sequence[float] | Sequence[str]) -> Row:
    if asked.measure.labels:
        return Row(name, title, labels=tuple(map(str, found)))
    values = tuple(asked.times * float(value) for value in found)
    if any(value != value for value in values):
        raise NothingMeasured(f"“{asked.measure.name}” came to no number. Choose another run or another setting.")
    return Row(name, title, values)


def _right(step: Step, rows: tuple[Row, ...]) -> tuple[str, ...]:
    """The choices that the measurement makes right."""
    if step.question.scale is not None:
        return ()
    if step.asked.which:
        best = (max if step.asked.which == "highest" else min)(row.middle for row in rows)
        return tuple(row.name for row in rows if row.middle == best)
    if step.asked.measure.labels:
        return (rows[0].most,)
    return tuple(each.name for each in step.question.choices if each.holds(rows[0].middle))


def _numbers(rows: Sequence[Row]) -> dict[str, str]:
    """What a sentence may name: of the first subject alone, and of each with its name before."""
    found = _of(rows[0])
    for row in rows:
        if row.name:
            found |= {f"{row.name}_{kind}": text for kind, text in _of(row).items()}
    return found


def _of(row: Row) -> dict[str, str]:
    if row.labels:
        return {
            "most": row.most,
            "share": str(row.labels.count(row.most)),
            "seeds": str(row.count),
        }
    return {
        "value": shown(row.middle),
        "low": shown(min(row.values)),
        "high": shown(max(row.values)),
        "seeds": str(row.count),
    }


_POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shown(value: float) -> str:
    """A number as it is read: two or three digits, tiny ones as a power of ten."""
    if value and abs(value) < 1e-3:
        first, power = f"{value:.0e}".split("e")
        return f"{first}·10{str(int(power)).translate(_POWERS)}".replace("-", "−")
    if abs(value - round(value)) < 1e-6 * max(1.0, abs(value)):  # what single precision leaves of a whole number
        return f"{value:,.0f}".replace("-", "−")
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    while digits < 4 and float(f"{value:.{digits}f}").is_integer():  # 99.98 is not 100
        digits += 1
    return f"{value:,.{digits}f}".replace("-", "−")


# ---- in words


def verdict(step: Step, found: Answer, said: object | None) -> str:
    """The measured answer beside what a visitor said; None: they did not guess."""
    measured = measured_words(step, found)
    if said is None:
        return f"{measured} You did not guess."
    if step.question.scale is None:
        said_so, instead = ("So you said", "") if said in found.right else ("You said", " instead")
        return f"{measured} {said_so} “{step.question.said(said)}”{instead}."
    return f"{measured} You said {step.question.said(said)}{_away(step, found, float(said))}."  # type: ignore[arg-type]


def measured_words(step: Step, found: Answer) -> str:
    """What was measured, alone."""
    if found.value is not None:
        return f"Measured: {_with_unit(step, found.value)}{_spread(step, found.rows[0])}."
    texts = [f"“{step.question.choice(name).text}”" for name in found.right]
    tie = f" These {len(texts)} tie." if len(texts) > 1 else ""
    return f"Measured: {' and '.join(texts)}{_spread(step, found.rows[0]) if not step.asked.which else ''}.{tie}"


def _with_unit(step: Step, value: float) -> str:
    scale = step.question.scale
    return scale.with_unit(shown(value)) if scale else shown(value)


def _spread(step: Step, row: Row) -> str:
    if row.labels:
        return f", by {row.labels.count(row.most)} of {row.count} {step.asked.measure.over}"
    if row.count == 1:
        known = [_with_unit(step, row.values[0])] if step.question.scale is None else []
        one = [f"one {step.asked.measure.over.removesuffix('s')}"] if step.asked.measure.over else []
        return f" ({', '.join(known + one)})" if known or one else ""
    low, high = min(row.values), max(row.values)
    over = f"{row.count} {step.asked.measure.over}"
    if shown(low) == shown(high):
        return f" ({shown(low)} in all {over})" if step.question.scale is None else f" in all {over}"
    middle = f"{shown(row.middle)}, " if step.question.scale is None else ""
    return f" ({middle}{shown(low)} to {shown(high)} over {over})"


def _away(step: Step, found: Answer, said: float) -> str:
    """How far a guess is off."""
    scale, value = step.question.scale, found.value
    assert scale is not None and value is not None
    if abs(said - value) <= scale.step / 2:
        return ", and that is it"
    if min(found.rows[0].values) <= said <= max(found.rows[0].values):
        return ", which is inside what was measured"
    off = f"{shown(abs(said - value))} points" if scale.unit == "%" else _with_unit(step, abs(said - value))
    return f", {off} too {'much' if said > value else 'little'}"


def opinion(step: Step, found: Answer) -> str:
    """Whether the author had expected it."""
    if found.agrees:
        return ""
    if isinstance(step.expects, str):
        expected = f"“{step.question.choice(step.expects).text}”"
    else:
        low, high = step.expects
        expected = f"{shown(low)} to {shown(high)}"
    return f"The author of this lesson had expected {expected}. These runs say otherwise, so read the reason with care:"
