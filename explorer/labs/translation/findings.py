"""Findings about reverse, copy and dates: how much one vector holds, and what attention changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.verdicts import compare_with_best
from explorer.number_format import format_interval
from explorer.tasks.seq2seq.config import TranslationConfig
from explorer.tasks.seq2seq.dates import DATE_FORMATS, FIRST_DAY, LAST_DAY, DatesConfig
from explorer.tasks.seq2seq.digits import DigitsConfig, evaluation_lengths
from explorer.training.record import Curves
from explorer.ui.verdict_sentences import compare_pair, comparison_finding, comparison_note
from explorer.ui.wording import capitalize, count_seeds, join_words

SOLVED = 0.95  # exact match from which on a length counts as held
_UNTRAINED = (1, 2, 5, 10)  # digits past the longest trained source
VERBS = {"reverse": "turned around", "copy": "copied", "dates": "read"}


@dataclass(frozen=True)
class TranslationResult:
    """The result of one run."""

    variant: ModelVariant
    task: TranslationConfig
    exact: Float[ndarray, " replicas"]  # over all that was trained, on fresh sources
    parts: Float[ndarray, "replicas parts"]  # by length or by way; NaN where it was stopped before it was asked

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts: lengths, or date formats."""
        if isinstance(self.task, DatesConfig):
            return tuple(DATE_FORMATS)
        return tuple(map(str, evaluation_lengths(self.task)))

    @property
    def is_complete(self) -> bool:
        """Whether every part was evaluated."""
        return not np.isnan(self.parts).any()

    def exact_at(self, length: int) -> Float[ndarray, " replicas"]:
        """Return the exact match at one length."""
        return self.parts[:, self.names.index(str(length))]


def translation_result(variant: ModelVariant, task: TranslationConfig, curves: Curves) -> TranslationResult | None:
    """Return the result of a run, or None before its first evaluation."""
    exact = curves.metrics.get("exact")
    if exact is None or not len(exact):
        return None
    parts = curves.answers["by_way" if isinstance(task, DatesConfig) else "by_length"][-1]
    return TranslationResult(variant, task, exact[-1], parts)


def longest_solved(each: TranslationResult) -> int:
    """Return the longest trained length up to which every seed is nearly always right; 0 if there is none."""
    assert isinstance(each.task, DigitsConfig)
    held = 0
    for length in range(1, each.task.longest + 1):
        if each.exact_at(length).min() < SOLVED:
            break
        held = length
    return held


def exact_match_finding(results: Mapping[str, TranslationResult], task: str) -> str:
    """Return up to how many digits each model is right in every seed; for dates the worst seed."""
    complete = {name: each for name, each in results.items() if each.is_complete}
    if not complete:
        return ""
    if task == "dates":
        worst = {each.variant.words: float(each.exact.min()) for each in complete.values()}
        shares = join_words([f"{words} {share:.3f}" for words, share in worst.items()])
        return (
            f"Of dates never seen in training these shares are {VERBS[task]} without a mistake, worst seed: {shares}."
        )
    parts = []
    for each in complete.values():
        held, longest = longest_solved(each), each.task.longest  # type: ignore[union-attr]  # digits
        parts.append(
            f"{each.variant.words} all {longest:,}"
            if held == longest
            else f"{each.variant.words} up to {held}"
            if held
            else f"{each.variant.words} not even one"
        )
    sentences = "; ".join(parts)
    return f"How many digits come out {VERBS[task]} without a mistake, in every seed? {capitalize(sentences)}."


def other_findings(results: Mapping[str, TranslationResult]) -> list[str]:
    """Return findings about lengths beyond training, and about a vector that is twice as wide."""
    complete = {name: e for name, e in results.items() if e.is_complete and isinstance(e.task, DigitsConfig)}
    sentences = []
    whole = [each for each in complete.values() if longest_solved(each) == each.task.longest]  # type: ignore[union-attr]
    for each in whole:
        longest = each.task.longest  # type: ignore[union-attr]
        shares = [f"{float(each.exact_at(longest + more).mean()):.2f} at {longest + more}" for more in _UNTRAINED]
        falls = min(float(each.exact_at(longest + more).mean()) for more in _UNTRAINED) < SOLVED
        sentences.append(
            f"Past the trained {longest} digits {each.variant.words} {'falls as well' if falls else 'still holds'}: "
            f"right in {join_words(shares)}."
        )
    if {"vector", "wide"} <= set(complete):
        one, two = complete["vector"], complete["wide"]
        longest = one.task.longest  # type: ignore[union-attr]
        lengths = [n for n in (8, 11, 14, longest) if n <= longest]
        pairs = [
            f"{float(one.exact_at(n).mean()):.2f} to {float(two.exact_at(n).mean()):.2f} at {n}"
            for n in dict.fromkeys(lengths)
        ]
        comparison = compare_pair((one.variant.words, one.exact), (two.variant.words, two.exact), paired=True)
        sentences.append(
            f"With a vector twice as wide, exact match goes from {join_words(pairs)}. It is compared over all "
            f"trained lengths. {comparison}"
        )
    return sentences


def exact_match_comparison(results: Mapping[str, TranslationResult]) -> str:
    """Compare the exact match of all models over what was trained; the models share seeds and data."""
    found = compare_with_best({each.variant.words: each.exact for each in results.values()}, paired=True)
    return f"{comparison_finding(found)} {comparison_note(found)}" if found else ""


def capacity_finding(task: TranslationConfig, one: TranslationResult | None, width: int) -> str:
    """Return how many bits a source has, how many a vector of `width` numbers can hold, and what the model learned."""
    if isinstance(task, DatesConfig):
        days = (LAST_DAY - FIRST_DAY).days + 1
        sentence = f"A date is one of {days:,}, no more than {np.log2(days):.0f} bits."
    else:
        sentence = f"{task.longest} random digits are {task.longest * np.log2(10):.0f} bits."
    if one is None or not one.is_complete:
        return sentence
    words = one.variant.words
    if isinstance(task, DatesConfig):
        sentence += f" {capitalize(words)} reads {one.exact.min():.3f} of them without a mistake in its worst seed"
        return (
            f"{sentence}: dates show how alignment looks, and not what it is for."
            if one.exact.min() >= SOLVED
            else sentence + "."
        )
    times, held = 32 * width / (task.longest * np.log2(10)), longest_solved(one)
    sentence += f" A vector of {width} numbers of 32 bits could hold them {times:.0f} times over"
    if held == task.longest:
        return f"{sentence}, and in this race it does hold all."
    return f"{sentence}; in these runs it holds {held}. So the room in the vector is not what these trainings lack."


def ablation_finding(means: Mapping[str, Mapping[str, float]]) -> str:
    """Return how uniform attention changes the exact match of the models with attention."""
    looking = {words: each for words, each in means.items() if np.isfinite(each["uniform"])}
    parts = [f"{words} goes from {each['none']:.2f} to {each['uniform']:.2f}" for words, each in looking.items()]
    if not parts:
        return ""
    return f"Made to look evenly at the whole source, {join_words(parts)}."


def copy_finding(
    plain: Mapping[bool, Float[ndarray, " seeds"]], separated: Mapping[bool, Float[ndarray, " seeds"]], steps: int
) -> str:
    """Return the share of right tokens on each copy task, of every seed with attention and without it."""
    with_it, without, separated_with, separated_without = (
        format_interval(float(values.mean()), float(values.min()), float(values.max()))
        for values in (plain[True], plain[False], separated[True], separated[False])
    )
    learned = "The notebook's copy is learned without attention too" if plain[False].min() >= SOLVED else "Copying"
    return (
        f"{learned}: after {steps} steps {with_it} of the tokens are right with attention and {without} without. "
        f"After a separator it is {separated_with} with and {separated_without} without (mean, and lowest to highest "
        f"of {count_seeds(len(plain[True]))})."
    )
