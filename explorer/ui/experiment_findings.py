"""What came of an experiment, in numbers and in sentences made from them; also where a popular sentence is false."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.comparing import Difference, difference, paired
from explorer.training.experiments import BLIND, CLAIMED, Experiment, Field, Line, Trial
from explorer.training.record import Curves
from explorer.ui.findings import listed, number, seeds

Verdict = Literal["lower", "higher", "luck", "same", "unknown"]


@dataclass(frozen=True)
class Outcome:
    """How one run ended, over its seeds."""

    trial: Trial
    bits: Float[ndarray, " replicas"]  # a character of all held-out text; NaN where the run ended without numbers
    broke_out: int  # seeds that guessed better than blind and then, in some batch, worse
    worst: float  # bits a character of the dearest such batch
    longest: float  # the longest gradient

    @property
    def numbers(self) -> bool:
        return bool(np.isfinite(self.bits).all())

    @property
    def lost(self) -> bool:
        """Whether every seed ends knowing less than nothing."""
        return bool((~(self.bits < BLIND)).all())

    @property
    def mean(self) -> float:
        return float(self.bits.mean())


def outcome(trial: Trial, curves: Curves, diverged: bool) -> Outcome | None:
    """What there is to tell of a run that is over; None of one that is not."""
    if curves.step < trial.config.steps and not diverged:
        return None
    bits = np.full(trial.config.replicas, np.nan)
    if not diverged:
        bits = np.asarray(curves.last("bits_per_char"), float)
    lost = [_after_learning(losses / math.log(2)) for losses in curves.losses.T]
    norms = curves.signals.get("gradient_norm", np.zeros((0, 1)))
    return Outcome(
        trial,
        bits,
        sum(worst > BLIND for worst in lost),
        max(lost, default=0.0),
        float(np.nanmax(norms)) if norms.size else math.nan,
    )


def _after_learning(losses: Float[ndarray, " steps"]) -> float:
    """The dearest batch after the first that cost less than blind guessing; 0 where there is none."""
    below = np.flatnonzero(losses < BLIND)
    return float(np.nanmax(losses[below[0] :])) if len(below) else 0.0


@dataclass(frozen=True)
class Compared:
    """One run against another that is the same but for one thing."""

    value: int | float
    first: Outcome
    second: Outcome
    found: Difference | None  # how far the second ends above the first

    @property
    def verdict(self) -> Verdict:
        if self.first.lost != self.second.lost:  # by how much is then a matter of chance, that it does is not
            return "lower" if self.first.lost else "higher"
        if self.found is None:
            return "unknown"
        if np.array_equal(self.first.bits, self.second.bits):
            return "same"
        return "luck" if self.found.noise else "lower" if self.found.mean < 0 else "higher"


def _compared(value: int | float, first: Outcome, second: Outcome) -> Compared:
    same_data = paired(first.trial.config, second.trial.config)
    found = difference(first.bits, second.bits, same_data) if first.numbers and second.numbers else None
    return Compared(value, first, second, found)


def against_without(experiment: Experiment, field: Field, found: Mapping[str, Outcome]) -> list[Compared]:
    """With against without, at every value of the setting that has both."""
    without, with_it = (by_value(experiment, field, line, found) for line in experiment.lines[:2])
    return [
        _compared(value, without[value], with_it[value])
        for value in field.values
        if value in without and value in with_it
    ]


def against_smaller(experiment: Experiment, found: Mapping[str, Outcome]) -> list[Compared]:
    """Where nothing but the setting varies: each of its values against the one before."""
    ends = list(by_value(experiment, experiment.fields[0], experiment.lines[0], found).items())
    return [_compared(value, before, now) for (_, before), (value, now) in pairwise(ends)]


def by_value(
    experiment: Experiment, field: Field, line: Line, found: Mapping[str, Outcome]
) -> dict[int | float, Outcome]:
    """The runs of one line."""
    trials = (trial for trial in experiment.trials if (trial.field, trial.line) == (field, line))
    return {trial.value: found[trial.name] for trial in trials if trial.name in found}


# ---- sentences


def finding(experiment: Experiment, found: Mapping[str, Outcome]) -> str:
    """The heading of an experiment."""
    missing = len(experiment.trials) - len(found)
    if not found:
        return "Nobody has asked this here yet."
    if missing:
        return f"{len(found)} of {len(experiment.trials)} runs are there. What they say comes with the last."
    if len(experiment.lines) == 1:
        return window_finding(against_smaller(experiment, found))
    parts = [breaking_out(experiment, found)] if experiment.diverges else []
    for field in experiment.fields:
        said = field_finding(experiment, against_without(experiment, field, found))
        parts.append(f"{field.title}: {said[0].lower()}{said[1:]}" if field.title else said)
    return " ".join([*parts, holds(experiment, found)])


def window_finding(steps: Sequence[Compared]) -> str:
    """What every widening brought, and whether the one that is said to bring nothing does."""
    told: dict[Verdict, list[str]] = {}
    for step in steps:
        small, large = f"{step.first.trial.value:g}", f"{step.value:g}"
        by = f"{abs(step.found.mean):.3f}" if step.found else ""
        text = {
            "lower": f"from {small} to {large} by {by}",
            "higher": f"from {small} to {large} by {by}",
        }.get(step.verdict, f"{large} instead of {small}")
        told.setdefault(step.verdict, []).append(text)
    parts = []
    if "lower" in told:
        parts.append(f"A wider window saves bits a character {listed(told['lower'])}")
    if "luck" in told:
        parts.append(f"{listed(told['luck'])} could be luck")
    if "higher" in told:
        parts.append(f"it costs {listed(told['higher'])}")
    first = "; ".join(parts)
    claimed = next((step for step in steps if step.value == CLAIMED), None)
    if claimed is None:
        return f"{first[0].upper()}{first[1:]}."
    helps = claimed.verdict == "lower"
    verdict = f"So {CLAIMED} characters do help here." if helps else f"So {CLAIMED} indeed bring no improvement."
    return f"{first[0].upper()}{first[1:]}. {verdict}"


def field_finding(experiment: Experiment, every: Sequence[Compared]) -> str:
    """With against without, over the values of the setting."""
    words = experiment.lines[1].words
    groups: dict[Verdict, list[Compared]] = {}
    for each in every:
        groups.setdefault(each.verdict, []).append(each)
    parts = []
    for verdict in ("lower", "higher"):
        if verdict in groups:
            parts.append(f"{verdict} at {listed([_by(each) for each in groups[verdict]])}")
    rest = [
        f"at {listed([f'{each.value:g}' for each in groups[verdict]])} {text}"
        for verdict, text in (
            ("luck", "the difference could be luck"),
            ("same", "nothing changes"),
            ("unknown", "nobody can tell"),
        )
        if verdict in groups
    ]
    if not parts:
        return f"{words[0].upper()}{words[1:]} no end is lower or higher for more than luck: {', '.join(rest)}."
    first = f"{words[0].upper()}{words[1:]} it ends {', '.join(parts)}"
    return f"{first}; {', '.join(rest)}." if rest else f"{first}."


def _by(each: Compared) -> str:
    if each.found is None:
        return f"{each.value:g} (the other ends without numbers)"
    return f"{each.value:g} by {abs(each.found.mean):.3f}"


def breaking_out(experiment: Experiment, found: Mapping[str, Outcome]) -> str:
    """In which runs a net that had learned something came to know less than nothing."""
    without, with_it = (_broken(experiment, line, found) for line in experiment.lines[:2])
    words = [line.words for line in experiment.lines[:2]]
    if not without and not with_it:
        return f"Nothing diverges, {words[0]} or with: no batch ever costs more than blind guessing."
    if not without:
        return f"{words[0].capitalize()} nothing diverges; {words[1]} {listed(with_it)}."
    worst = max((o.worst for o in found.values() if o.trial.line == experiment.lines[0]), default=0.0)
    first = (
        f"{words[0].capitalize()} batches come to cost more than blind guessing, up to {worst:.0f} bits a character: "
        f"{listed(without)}."
    )
    return f"{first} {words[1].capitalize()}: {listed(with_it) if with_it else 'none'}."


def _broken(experiment: Experiment, line: Line, found: Mapping[str, Outcome]) -> list[str]:
    """Where, and in how many seeds."""
    told = []
    for field in experiment.fields:
        for value, each in by_value(experiment, field, line, found).items():
            count = each.trial.config.replicas if not each.numbers else each.broke_out
            if count:
                where = f"{field.title} at {value:g}" if field.title else f"at {value:g}"
                told.append(f"{where} in {number(count)} of {seeds(each.trial.config.replicas)}")
    return told


def holds(experiment: Experiment, found: Mapping[str, Outcome]) -> str:
    """At how many values of the setting the popular sentence is true here."""
    if experiment.diverges:
        line = experiment.lines[0]
        ends = [o for f in experiment.fields for o in by_value(experiment, f, line, found).values()]
        true, all_of = sum(not o.numbers or o.broke_out > 0 for o in ends), len(ends)
    else:
        every = [each for f in experiment.fields for each in against_without(experiment, f, found)]
        true, all_of = sum(each.verdict == "lower" for each in every), len(every)
    if not true:
        return f"The sentence holds here at none of {number(all_of)} learning rates."
    if true == all_of:
        return f"The sentence holds here at all {number(all_of)} learning rates."
    return f"The sentence holds here at {number(true)} of {number(all_of)} learning rates."


def ended(found: Outcome | None) -> str:
    """Mean and range of one run."""
    if found is None:
        return "–"
    if not found.numbers:
        return "no numbers any more"
    return f"{found.mean:.3f} ({found.bits.min():.3f} to {found.bits.max():.3f})"


def told(each: Compared) -> str:
    """A difference with its interval, and whether it is more than luck."""
    if each.verdict == "same":
        return "none, bit for bit"
    if each.found is None:
        return "the other ends without numbers" if each.verdict in ("lower", "higher") else "–"
    interval = f"{_signed(each.found.mean)} ({_signed(each.found.low)} to {_signed(each.found.high)})"
    return f"{interval}, could be luck" if each.found.noise else interval


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return text.replace("-", "−") if float(text) else "0.000"
