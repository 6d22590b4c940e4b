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
from explorer.ui.findings import capital, listed, number, seeds

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
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
    def broken(self) -> int:
        """Seeds of a training that broke out; where numbers ended, nobody can tell whose, so it counts for all."""
        return self.broke_out if self.numbers else self.trial.config.replicas

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


def against_without(experiment: Experiment, part: Field, found: Mapping[str, Outcome]) -> list[Compared]:
    """With against without, at every value of the setting that has both."""
    without, with_it = (by_value(experiment, part, line, found) for line in experiment.lines[:2])
    return [
        _compared(value, without[value], with_it[value])
        for value in part.values
        if value in without and value in with_it
    ]


def against_smaller(experiment: Experiment, found: Mapping[str, Outcome]) -> list[Compared]:
    """Where nothing but the setting varies: each of its values against the one before."""
    ends = list(by_value(experiment, experiment.fields[0], experiment.lines[0], found).items())
    return [_compared(value, before, now) for (_, before), (value, now) in pairwise(ends)]


def by_value(
    experiment: Experiment, part: Field, line: Line, found: Mapping[str, Outcome]
) -> dict[int | float, Outcome]:
    """The runs of one line."""
    trials = (trial for trial in experiment.trials if (trial.field, trial.line) == (part, line))
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
    if experiment.diverges:
        return f"{breaking_out(experiment, found)} {holds(experiment, found)}"
    return " ".join([with_and_without(experiment, found), spreads(experiment, found), holds(experiment, found)])


def window_finding(steps: Sequence[Compared]) -> str:
    """What every widening brought, and whether the one that is said to bring nothing does."""
    told = []
    for index, step in enumerate(steps):
        unit = (" character" if step.value == 1 else " characters") if not index else ""
        pair = f"{step.value:g}{unit} instead of {step.first.trial.value:g}"
        by = f"{abs(step.found.mean):.3f}" if step.found else ""
        bits = f"{by} bits a character" if not index else by
        told.append(
            {
                "lower": f"{pair} saves {bits}",
                "higher": f"{pair} costs {bits}",
                "luck": f"{pair} could be luck",
                "same": f"{pair} changes nothing",
                "unknown": f"of {pair} one seed says nothing",
            }[step.verdict]
        )
    first = f"A window of {listed(told)}."
    claimed = next((step for step in steps if step.value == CLAIMED), None)
    if claimed is None or claimed.verdict == "unknown":
        return first
    if claimed.verdict == "lower":
        return f"{first} So {CLAIMED} characters do help here."
    return f"{first} So with {CLAIMED} there is no improvement here either."


_OPEN: dict[Verdict, str] = {
    "luck": "the difference could be luck",
    "same": "nothing changes",
    "unknown": "there are no numbers to compare",
}


def with_and_without(experiment: Experiment, found: Mapping[str, Outcome]) -> str:
    """Where with ends lower or higher than without, and where nobody can tell."""
    words = capital(experiment.lines[1].words)
    every = [(part, each) for part in experiment.fields for each in against_without(experiment, part, found)]
    told = []
    for verdict in ("lower", "higher"):
        places = [f"{_place(part, each.value)} ({_by(each)})" for part, each in every if each.verdict == verdict]
        if places:
            told.append(f"{verdict} at {listed(places)}")
    open_ = {
        meaning: places
        for verdict, meaning in _OPEN.items()
        if (places := [_place(part, each.value) for part, each in every if each.verdict == verdict])
    }
    if not told and all(each.verdict == "luck" for _, each in every):
        return (
            f"{words} no end is lower or higher than luck could make it, at any of {number(len(every))} learning rates."
        )
    first = f"{words} it ends {', '.join(told) if told else 'lower or higher at no learning rate'}"
    if not open_:
        return f"{first}."
    rest = "the other " if told and len(open_) == 1 else ""
    where = [
        f"at {listed(places) if len(places) <= 3 else f'{rest}{number(len(places))}'} {meaning}"
        for meaning, places in open_.items()
    ]
    return f"{first}; {', '.join(where)}."


def _place(part: Field, value: int | float) -> str:
    return f"{value:g} with {part.words}" if part.words else f"{value:g}"


def _by(each: Compared) -> str:
    if each.found is None or each.first.lost != each.second.lost:
        return f"{'it' if each.second.lost else 'the other'} ends worse than blind guessing"
    return f"by {abs(each.found.mean):.3f} bits a character"


def spreads(experiment: Experiment, found: Mapping[str, Outcome]) -> str:
    """How far apart the seeds end at most: what it means to be stable."""
    widest = []
    for line in experiment.lines[:2]:
        ends = [each for each in found.values() if each.trial.line == line]
        lost = any(not each.numbers for each in ends)
        widest.append(math.inf if lost else max(float(np.ptp(each.bits)) for each in ends))
    if any(math.isinf(each) for each in widest):
        return ""
    without, with_it = widest
    return f"The seeds end at most {without:.2f} bits apart {experiment.lines[0].words}, {with_it:.2f} with."


def breaking_out(experiment: Experiment, found: Mapping[str, Outcome]) -> str:
    """In which runs a net that had learned something came to know less than nothing."""
    without, with_it = (_broken(experiment, line, found) for line in experiment.lines[:2])
    words = [capital(line.words) for line in experiment.lines[:2]]
    if not without and not with_it:
        return f"{words[0]} nothing diverges: no batch comes to cost more than blind guessing."
    if not without:
        return f"{words[0]} nothing diverges; {words[1][0].lower()}{words[1][1:]} it does: {listed(with_it)}."
    worst = max(each.worst for each in found.values() if each.trial.line == experiment.lines[0])
    cost = f"batches come to cost up to {short(worst)} bits a character, where blind guessing costs {BLIND:.0f}"
    first = f"{words[0]} {cost}: at {listed(without)}."
    return f"{first} {words[1]} that happens {f'at {listed(with_it)}' if with_it else 'at none of them'}."


def _broken(experiment: Experiment, line: Line, found: Mapping[str, Outcome]) -> list[str]:
    """Where, and in how many seeds."""
    told = []
    for part in experiment.fields:
        for value, each in by_value(experiment, part, line, found).items():
            count, of = each.broken, each.trial.config.replicas
            if count:
                told.append(f"{_place(part, value)} ({'all' if count == of else f'{number(count)} of'} {seeds(of)})")
    return told


def holds(experiment: Experiment, found: Mapping[str, Outcome]) -> str:
    """At how many values of the setting the popular sentence is true here."""
    if experiment.diverges:
        ends = [each for each in found.values() if each.trial.line == experiment.lines[0]]
        true, all_of = sum(each.broken > 0 for each in ends), len(ends)
    else:
        every = [each for part in experiment.fields for each in against_without(experiment, part, found)]
        true, all_of = sum(each.verdict == "lower" for each in every), len(every)
    count = "none" if not true else "all" if true == all_of else number(true)
    return f"So the sentence holds here at {count} of {number(all_of)} learning rates."


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
    if each.first.lost != each.second.lost:
        return f"the {'first' if each.first.lost else 'second'} is worse than blind guessing"
    if each.found is None:
        return "–"
    interval = f"{_signed(each.found.mean)} ({_signed(each.found.low)} to {_signed(each.found.high)})"
    return f"{interval}, could be luck" if each.found.noise else interval


def short(value: float) -> str:
    """A length in a few letters: 1.3, or 1.3·10⁸."""
    if not math.isfinite(value):
        return "endless"
    if value < 10_000:
        return f"{value:.2g}" if value < 100 else f"{value:,.0f}"
    power = math.floor(math.log10(value))
    return f"{value / 10**power:.1f}·10{str(power).translate(_RAISED)}"


def _signed(value: float) -> str:
    text = f"{value:+.3f}"
    return text.replace("-", "−") if float(text) else "0.000"
