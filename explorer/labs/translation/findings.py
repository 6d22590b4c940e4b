"""Findings about the results of a task: how much one vector holds, and what attention changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.experiments.recall import SOLVED
from explorer.inspection.verdicts import compare_with_best
from explorer.number_format import format_percent
from explorer.tasks.seq2seq.config import TranslationConfig
from explorer.tasks.seq2seq.dates import DATE_FORMATS, FIRST_DAY, LAST_DAY, DatesConfig
from explorer.tasks.seq2seq.digits import DigitsConfig, evaluation_lengths
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.training.record import Curves
from explorer.ui.verdict_sentences import compare_pair, comparison_finding, comparison_note
from explorer.ui.wording import count_seeds, join_words

_UNTRAINED = (1, 2, 5, 10)  # digits past the longest trained source
MAX_WORDS = 20  # of a headline
_HEADLINES = {
    "reverse": "Longest source reversed correctly, in digits",
    "copy": "Longest source copied correctly, in digits",
    "dates": "New dates that the worst seed reads correctly",
    "pairs": "Held-out pairs that the worst seed gets right",
}


@dataclass(frozen=True)
class TranslationResult:
    """The result of one run."""

    variant: ModelVariant
    task: TranslationConfig
    exact: Float[ndarray, " replicas"]  # over all that was trained, on fresh sources
    # By length or by way, NaN where it was stopped before it was asked; pairs have no parts.
    parts: Float[ndarray, "replicas parts"]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts: lengths, or date formats."""
        if isinstance(self.task, PairsConfig):
            return ()
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


@cached()
def translation_result(variant: ModelVariant, task: TranslationConfig, curves: Curves) -> TranslationResult | None:
    """Return the result of a run, or None before its first evaluation."""
    exact = curves.metrics.get("exact")
    if exact is None or not len(exact):
        return None
    if isinstance(task, PairsConfig):
        return TranslationResult(variant, task, exact[-1], np.empty((len(exact[-1]), 0)))
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
    """Return up to how many digits each model is right with every seed; for dates and pairs the worst seed.

    At most 20 words: of many models only the best.
    """
    complete = [each for each in results.values() if each.is_complete]
    if not complete:
        return ""
    in_digits = task in ("reverse", "copy")
    ends = {e.variant.label: longest_solved(e) if in_digits else float(e.exact.min()) for e in complete}

    def sentence(beginning: str, labels: Iterable[str]) -> str:
        texts = (f"{ends[each]} ({each})" if in_digits else f"{format_percent(ends[each])} ({each})" for each in labels)
        return f"{beginning}: {', '.join(texts)}."

    finding = sentence(_HEADLINES[task], ends)
    best = max(ends, key=lambda label: ends[label])
    return finding if len(finding.split()) <= MAX_WORDS else sentence(f"{_HEADLINES[task]}, at best", [best])


def other_findings(results: Mapping[str, TranslationResult]) -> list[str]:
    """Return findings about lengths beyond training, and about a vector that is twice as wide (medians over seeds)."""
    complete = {name: e for name, e in results.items() if e.is_complete and isinstance(e.task, DigitsConfig)}
    sentences = []
    for each in complete.values():
        longest = each.task.longest  # type: ignore[union-attr]
        if longest_solved(each) < longest:
            continue
        shares = {longest + more: float(np.median(each.exact_at(longest + more))) for more in _UNTRAINED}
        worst = min(shares, key=lambda length: (shares[length], -length))
        sentences.append(
            f"Beyond the {longest} digits of training, {each.variant.words} "
            f"{'fails too' if shares[worst] < SOLVED else 'still works'}: {format_percent(shares[worst], 0)} right at "
            f"{worst} digits (median)."
        )
    if {"vector", "wide"} <= set(complete):
        one, two = complete["vector"], complete["wide"]
        comparison = compare_pair((one.variant.words, one.exact), (two.variant.words, two.exact), paired=True)
        sentences.append(f"A vector twice as wide, over all trained lengths: {comparison}")
    return sentences


def exact_match_comparison(results: Mapping[str, TranslationResult]) -> str:
    """Compare the exact match of all models over what was trained; the models share seeds and data."""
    found = compare_with_best({each.variant.words: each.exact for each in results.values()}, paired=True)
    return f"{comparison_finding(found)} {comparison_note(found)}" if found else ""


def capacity_finding(task: TranslationConfig, one: TranslationResult | None, width: int) -> str:
    """Return how many bits a source has, how many a vector of `width` numbers can hold, and what the model learned.

    Nothing for pairs: how much information their sources have is not known.
    """
    if isinstance(task, PairsConfig):
        return ""
    if isinstance(task, DatesConfig):
        days = (LAST_DAY - FIRST_DAY).days + 1
        sentence = f"A date is one of {days:,}, which is less than {np.ceil(np.log2(days)):.0f} bits."
        if one is None or not one.is_complete:
            return sentence
        share = format_percent(one.exact.min())
        return f"{sentence} The worst seed of {one.variant.words} reads {share} of new dates correctly."
    bits = task.longest * np.log2(10)
    sentence = f"{task.longest} random digits are {bits:.0f} bits."
    if one is None or not one.is_complete or not width:
        return sentence
    return (
        f"{sentence} A vector of {width} numbers of 32 bits has room for {32 * width / bits:.0f} times as many; in "
        f"these runs it holds {longest_solved(one)} digits."
    )


def ablation_finding(medians: Mapping[str, Mapping[str, float]]) -> str:
    """Return how uniform attention changes the exact match of the models with attention; keyed by label."""
    parts = [
        f"from {format_percent(each['none'], 0)} to {format_percent(each['uniform'], 0)} ({label})"
        for label, each in medians.items()
        if np.isfinite(each["uniform"])
    ]
    return f"With uniform attention, exact match changes {join_words(parts[:3])}." if parts else ""


def copy_finding(
    plain: Mapping[bool, Float[ndarray, " seeds"]], separated: Mapping[bool, Float[ndarray, " seeds"]], steps: int
) -> str:
    """Return the share of right tokens on each copy task, with attention and without it, as medians over the seeds."""
    without, separated_without, with_it, separated_with = (
        format_percent(float(np.median(values)), 0)
        for values in (plain[False], separated[False], plain[True], separated[True])
    )
    return (
        f"Without attention, {without} of the tokens are right after {steps} steps if the current one is repeated, and "
        f"{separated_without} if the sequence is repeated after a separator; with attention, {with_it} and "
        f"{separated_with} (medians of {count_seeds(len(plain[True]))})."
    )
