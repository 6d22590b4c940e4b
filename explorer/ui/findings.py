"""Sentences made from numbers: what the screen shows, said as it is, also where it is not what one hoped.

Pure functions, so that a test can hold every word against the numbers it was made from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.errors import shortened
from explorer.inspection.comparing import difference
from explorer.tasks.negation import CLASSES

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")  # digits of a power
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number(count: int) -> str:
    """A small count in words."""
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else f"{count:,}"


def visible(token: str) -> str:
    """A token with its white space made visible."""
    return token.translate({ord(" "): "␣", ord("\n"): "↵", ord("\t"): "⇥"})


def power(value: float) -> str:
    """A positive number of any size with one or two digits: 0.076, 1.3, 4 × 10⁻¹⁷."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "infinitely many"
    if 0.01 <= value < 1_000:
        return f"{float(f'{value:.2g}'):g}"
    digits, _, exponent = f"{value:.0e}".partition("e")
    raised = f"10{str(int(exponent)).translate(RAISED)}"
    return raised if digits == "1" else f"{digits}\u00a0×\u00a0{raised}"  # never on two lines


def seeds(count: int) -> str:
    """Eight seeds, one seed."""
    return f"{number(count)} seed{'' if count == 1 else 's'}"


def capital(words: str) -> str:
    """The same at the beginning of a sentence."""
    return words[:1].upper() + words[1:]


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return "".join(names) if len(names) < 2 else ", ".join(names[:-1]) + " and " + names[-1]


def some(names: Sequence[str], most: int = 4) -> str:
    """The first of some strange words or letters, in quotation marks."""
    quoted = [f"“{shortened(name, 12)}”" for name in names[:most]]
    return listed([*quoted, "others"] if len(names) > most else quoted)


def everybody(count: int) -> str:
    """All of several."""
    return "Both" if count == 2 else f"All {number(count)}"


@dataclass(frozen=True)
class Verdict:
    """What one model says about a sentence: P(sustain) of every seed."""

    title: str
    colour: str
    sustain: Float[ndarray, " replicas"]

    @property
    def mean(self) -> float:
        return float(self.sustain.mean())

    @property
    def answer(self) -> int:
        return int(self.mean > 0.5)

    @property
    def probability(self) -> float:
        """Of the class it answers with."""
        return max(self.mean, 1 - self.mean)

    def right(self, truth: int) -> int:
        """How many seeds are right."""
        return int(((self.sustain > 0.5) == bool(truth)).sum())

    def note(self, truth: int | None) -> str:
        """Right or wrong, and in how many seeds."""
        count = len(self.sustain)
        if truth is None:
            same = int(((self.sustain > 0.5) == bool(self.answer)).sum())
            return f"{same} of {count} seeds say so" if count > 1 else "one seed"
        right = self.right(truth)
        word = "right" if self.answer == truth else "wrong"
        held = right if self.answer == truth else count - right
        if count == 1:
            return word
        return f"{word} in all {count} seeds" if held == count else f"{word} in {held} of {count} seeds"


def verdict_finding(verdicts: Sequence[Verdict], truth: int | None) -> str:
    """The headline of a sentence: who says what, and what the grammar says."""
    if not verdicts:
        return "No model has been trained under these settings yet."
    sides = {answer: [v.title for v in verdicts if v.answer == answer] for answer in (0, 1)}
    grammar = "The grammar has no sentence like this one." if truth is None else None
    if not sides[0] or not sides[1]:
        answer = 0 if sides[0] else 1
        everyone = verdicts[0].title if len(verdicts) == 1 else everybody(len(verdicts))
        says = f"{everyone} {_say(len(verdicts))} {CLASSES[answer]}"
        if truth is None:
            return f"{says}. {grammar}"
        return f"{says}, and so does the grammar." if answer == truth else f"{says}; the grammar says {CLASSES[truth]}."
    few = 0 if len(sides[0]) < len(sides[1]) else 1
    if len(sides[0]) == len(sides[1]):  # neither is few: those who are wrong stand first
        few = 1 - truth if truth is not None else 0
    many = 1 - few
    first = f"{listed(sides[few])} {_say(len(sides[few]))} {CLASSES[few]}"
    rest = (
        f"The other {number(len(sides[many]))}"
        if len(sides[many]) > 1 and len(sides[few]) < len(sides[many])
        else listed(sides[many])
    )
    second = f"{rest} {_say(len(sides[many]))} {CLASSES[many]}"
    if truth is None:
        return f"{first}. {second}. {grammar}"
    if truth == many:
        return f"{first}. {second}, and so does the grammar."
    return f"{second}. {first}, and so does the grammar."


def _say(count: int) -> str:
    return "says" if count == 1 else "say"


def sum_finding(tokens: Sequence[str], values: Float[ndarray, " tokens"]) -> str:
    """What a sum of words is about."""
    if "not" in tokens:
        value = float(values[list(tokens).index("not")])
        often = "" if tokens.count("not") == 1 else ", each time"
        return f"“not” always adds {_signed(value)}{often}, whatever stands next to it."
    strongest = int(np.abs(values).argmax())
    return f"“{tokens[strongest]}” adds most: {_signed(float(values[strongest]))}."


def reading_finding(tokens: Sequence[str], sustain: Float[ndarray, " tokens"]) -> str:
    """Where a reader changed its mind most."""
    turns = np.abs(np.diff(sustain))
    at = int(turns.argmax()) + 1
    return f"The largest turn, {sustain[at - 1]:.2f} to {sustain[at]:.2f}, comes with “{tokens[at]}”."


def attention_finding(tokens: Sequence[str], weights: Float[ndarray, "query key"], layer: int, layers: int) -> str:
    """Where the answer looks. It is read at the first token, so in the last block only that row matters."""
    row = weights[0]
    known = row[~np.isnan(row)]
    where = "The answer is read at" if layer == layers - 1 else f"In block {layer + 1} of {layers},"
    if known.max() < 1.5 / len(known):
        return (
            f"{where} “{tokens[0]}”, which looks almost evenly at everything, {known.min():.2f} to {known.max():.2f}: "
            "here an average of the words is enough for the layer above."
        )
    at = int(np.nanargmax(row))
    return f"{where} “{tokens[0]}”, which looks hardest at “{tokens[at]}”: {row[at]:.2f}."


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def race_finding(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]], ceiling: float) -> str:
    """How a race ended in exact accuracy: who is right everywhere, who ends alike, who depends on the seed."""
    perfect = [title for title, values in ends if _all_right(values).all()]
    parts, lucky = [], []
    if perfect:
        everyone = everybody(len(perfect)) if len(perfect) == len(ends) > 1 else listed(perfect)
        reach = f"reach{'es' if len(perfect) == 1 else ''} 1.000"
        parts.append(f"{everyone} {reach}{_in_every_seed(ends[0][1])}.")
    for title, values in ends:
        if title in perfect:
            continue
        if np.ptp(values) < 5e-4:
            at_ceiling = ", the ceiling of counting" if abs(values.mean() - ceiling) < 5e-4 else ""
            parts.append(f"{title} ends at {values.mean():.3f}{_in_every_seed(values)}{at_ceiling}.")
        elif _all_right(values).any():
            lucky.append((title, values))
        else:
            parts.append(f"{title} ends between {values.min():.3f} and {values.max():.3f}, depending on the seed.")
    if lucky:
        parts.append(f"It depends on the seed: everything right for {_lucky(lucky)}.")
    return " ".join(parts)


def seeds_finding(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]]) -> str:
    """Which differences at the end the seeds alone could have made: everybody against the best, seed by seed."""
    if len(ends) < 2 or len(ends[0][1]) < 2:
        return ""
    best, top = max(ends, key=lambda end: float(np.nanmean(end[1])))
    noise, behind = [], []
    for title, values in ends:
        if title == best:
            continue
        found = difference(values, top, paired=True)
        if found is None:
            continue
        if found.noise:
            noise.append(title)
        else:
            behind.append(f"{title} by {found.mean:.3f} ({found.low:.3f} to {found.high:.3f})")
    parts = []
    if noise:
        parts.append(f"Between {listed([best, *noise])} the difference is within the noise of the seeds.")
    if behind:
        parts.append(f"Behind {best}, by more than the seeds explain: {listed(behind)}.")
    return " ".join(parts)


def _in_every_seed(values: Float[ndarray, " replicas"]) -> str:
    """Said only where there are several."""
    return " in every seed" if len(values) > 1 else ""


def _all_right(values: Float[ndarray, " replicas"]) -> ndarray:
    """Which seeds are right everywhere; accuracies are sums of rounded probabilities."""
    return values > 1 - 1e-6


def _lucky(ends: Sequence[tuple[str, Float[ndarray, " replicas"]]]) -> str:
    """In how many of its seeds each model is right everywhere."""
    return listed([f"{title} in {int(_all_right(values).sum())} of {len(values)} seeds" for title, values in ends])


def counting_finding(ceiling: float, cross_entropy: float, reached: Float[ndarray, " replicas"] | None) -> str:
    """What the two marks of counting say here, and where the training on this page ended."""
    if ceiling > 1 - 1e-9:
        first = "In this world counting is enough: the ceiling is 1."
    else:
        first = f"No counting model passes {ceiling:.4f} here, however long it trains."
    if cross_entropy < ceiling - 5e-4:
        second = (
            f" Training does not even lead there: cross-entropy weighs how wrong an answer is, not whether, and its "
            f"best compromise gets only {cross_entropy:.4f} right."
        )
    else:
        second = " Cross-entropy leads up to the ceiling."
    if reached is None:
        return first + second
    low, high = float(reached.min()), float(reached.max())
    same = high - low < 5e-5
    third = f"{low:.4f}{_in_every_seed(reached)}" if same else f"{low:.4f} to {high:.4f} over its seeds"
    return f"{first}{second} The bag of words on this page ended at {third}."


def held_out_finding(verb: str, ends: Sequence[tuple[str, Float[ndarray, " replicas"]]]) -> str:
    """Who understood a pair that training never showed: seeds that got it all right, model by model."""
    never = [title for title, values in ends if not _all_right(values).any()]
    some = [(title, values) for title, values in ends if title not in never]
    parts = [f"“not {verb}” was never shown in training."]
    if some:
        parts.append(f"It is understood all the same by {_lucky(some)}.")
    if never:
        parts.append(f"{listed(never)} never understand{'s' if len(never) == 1 else ''} it.")
    return " ".join(parts)


def padding_finding(alone: Sequence[Verdict], beside: Sequence[Verdict], truth: int | None) -> str:
    """Whether the answer to one sentence depends on what stands beside it in the batch."""
    turned, shaken = [], []
    for a, b in zip(alone, beside, strict=True):
        if a.answer != b.answer:
            wrong = f", and alone it is {a.note(truth)}" if truth is not None and a.answer != truth else ""
            turned.append(f"{a.title} says {CLASSES[a.answer]} alone, {CLASSES[b.answer]} in company{wrong}.")
        elif abs(a.mean - b.mean) >= 0.005:
            shaken.append(f"{a.title} is {a.probability:.2f} sure alone, {b.probability:.2f} in company.")
    if not turned and not shaken:
        return "The same sentence gets the same answer, alone or in company."
    return " ".join([*(["One sentence, two answers."] if turned else []), *turned, *shaken])
