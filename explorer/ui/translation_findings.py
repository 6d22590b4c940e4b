"""Sentences about reverse, copy and dates, made from numbers: where a vector is full, and what attention changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.tasks.dates import FIRST, LAST, WAYS, DatesConfig
from explorer.tasks.digits import DigitsConfig, asked_lengths
from explorer.tasks.translation import TranslationConfig
from explorer.training.record import Curves
from explorer.training.translation_runs import Contestant
from explorer.ui.findings import capital, listed

WHOLE = 0.95  # exact match from which on a length counts as held
LITTLE = 0.02  # exact match that is too little to speak of
_BEYOND = (1, 2, 5, 10)  # digits past the longest trained source
VERBS = {"reverse": "turned around", "copy": "copied", "dates": "read"}


@dataclass(frozen=True)
class Translated:
    """What became of one run."""

    contestant: Contestant
    task: TranslationConfig
    exact: Float[ndarray, " replicas"]  # over all that was trained, on fresh sources
    parts: Float[ndarray, "replicas parts"]  # by length or by way; NaN where it was stopped before it was asked

    @property
    def names(self) -> tuple[str, ...]:
        """What the parts are."""
        if isinstance(self.task, DatesConfig):
            return tuple(WAYS)
        return tuple(map(str, asked_lengths(self.task)))

    @property
    def asked(self) -> bool:
        """Whether the parts are known."""
        return not np.isnan(self.parts).any()

    def at(self, length: int) -> Float[ndarray, " replicas"]:
        """Exact match at one length."""
        return self.parts[:, self.names.index(str(length))]


def translated(contestant: Contestant, task: TranslationConfig, curves: Curves) -> Translated | None:
    """None before the first evaluation."""
    exact = curves.metrics.get("exact")
    if exact is None or not len(exact):
        return None
    parts = curves.answers["by_way" if isinstance(task, DatesConfig) else "by_length"][-1]
    return Translated(contestant, task, exact[-1], parts)


def holds_to(each: Translated) -> int:
    """The longest trained length up to which every seed is right nearly always; 0 if there is none."""
    assert isinstance(each.task, DigitsConfig)
    held = 0
    for length in range(1, each.task.longest + 1):
        if each.at(length).min() < WHOLE:
            break
        held = length
    return held


def verdict(found: Mapping[str, Translated], task: str) -> str:
    """Who holds how many digits, in every seed; or how well dates are read."""
    known = {name: each for name, each in found.items() if each.asked}
    if not known:
        return ""
    if task == "dates":
        worst = {each.contestant.words: float(each.exact.min()) for each in known.values()}
        told = listed([f"{words} {share:.3f}" for words, share in worst.items()])
        return f"Of dates never seen in training these shares are {VERBS[task]} without a mistake, worst seed: {told}."
    parts = []
    for each in known.values():
        held, longest = holds_to(each), each.task.longest  # type: ignore[union-attr]  # digits
        parts.append(
            f"{each.contestant.words} all {longest:,}"
            if held == longest
            else f"{each.contestant.words} up to {held}"
            if held
            else f"{each.contestant.words} not even one"
        )
    told = "; ".join(parts)
    return f"How many digits come out {VERBS[task]} without a mistake, in every seed? {capital(told)}."


def beyond(found: Mapping[str, Translated]) -> list[str]:
    """What becomes of those that hold all trained lengths past these, and of a vector that is twice as wide."""
    known = {name: e for name, e in found.items() if e.asked and isinstance(e.task, DigitsConfig)}
    told = []
    whole = [each for each in known.values() if holds_to(each) == each.task.longest]  # type: ignore[union-attr]
    for each in whole:
        longest = each.task.longest  # type: ignore[union-attr]
        shares = [f"{float(each.at(longest + more).mean()):.2f} at {longest + more}" for more in _BEYOND]
        falls = min(float(each.at(longest + more).mean()) for more in _BEYOND) < WHOLE
        told.append(
            f"Past the trained {longest} digits {each.contestant.words} {'falls as well' if falls else 'still holds'}: "
            f"right in {listed(shares)}."
        )
    if {"vector", "wide"} <= set(known):
        one, two = known["vector"], known["wide"]
        longest = one.task.longest  # type: ignore[union-attr]
        lengths = [n for n in (8, 11, 14, longest) if n <= longest]
        pairs = [
            f"{float(one.at(n).mean()):.2f} to {float(two.at(n).mean()):.2f} at {n}" for n in dict.fromkeys(lengths)
        ]
        trained = [n for n in range(1, longest + 1) if n in asked_lengths(one.task)]  # type: ignore[arg-type]
        gains = [float(two.at(n).mean() - one.at(n).mean()) for n in trained]
        moves = "moves the cliff" if float(np.mean(gains)) > LITTLE else "does not move the cliff here"
        told.append(f"A vector twice as wide {moves}: from {listed(pairs)}.")
    return told


def room(task: TranslationConfig, one: Translated | None, width: int) -> str:
    """How much there is to hold, how much a vector of so many numbers could, and what came of it in this race."""
    if isinstance(task, DatesConfig):
        days = (LAST - FIRST).days + 1
        said = f"A date is one of {days:,}, no more than {np.log2(days):.0f} bits."
    else:
        said = f"{task.longest} random digits are {task.longest * np.log2(10):.0f} bits."
    if one is None or not one.asked:
        return said
    words = one.contestant.words
    if isinstance(task, DatesConfig):
        said += f" {capital(words)} reads {one.exact.min():.3f} of them without a mistake in its worst seed"
        return (
            f"{said}: dates show how alignment looks, and not what it is for."
            if one.exact.min() >= WHOLE
            else said + "."
        )
    times, held = 32 * width / (task.longest * np.log2(10)), holds_to(one)
    said += f" A vector of {width} numbers of 32 bits could hold them {times:.0f} times over"
    if held == task.longest:
        return f"{said}, and in this race it does hold all."
    return (
        f"{said}; in this race it holds {held}. What is missing is not room but a way, found by gradient descent in "
        "this time, to lay so many digits side by side and take each out again. With attention there is nothing to "
        "lay down: each digit stays where it was read."
    )


def touched(means: Mapping[str, Mapping[str, float]]) -> str:
    """What looking evenly takes from those that can look, and a cut bridge from all."""
    looking = {words: each for words, each in means.items() if np.isfinite(each["uniform"])}
    parts = [f"{words} goes from {each['none']:.2f} to {each['uniform']:.2f}" for words, each in looking.items()]
    if not parts:
        return ""
    return f"Made to look evenly at the whole source, {listed(parts)}."


def copies(plain: Mapping[bool, float], separated: Mapping[bool, float], steps: int) -> str:
    """Whether a copy needs attention: of the token just read, and after a separator."""
    return (
        f"The notebook's copy needs no attention: after {steps} steps {plain[True]:.2f} of the tokens are right with "
        f"it and {plain[False]:.2f} without. After a separator it is {separated[True]:.2f} with and "
        f"{separated[False]:.2f} without."
    )
