"""Sentences about comparisons of models, in the same words on every page. All functions are pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from numpy import ndarray

from explorer.inspection.verdicts import (
    MAXIMUM_SEEDS,
    MINIMUM_SEEDS,
    BestComparison,
    Difference,
    Judgement,
    MeanDifference,
    SolvedDifference,
    TimeDifference,
    compare_with_best,
)
from explorer.number_format import format_interval, format_number, format_signed
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

SHARED_TEST_SET = (
    "All seeds are evaluated on the same test set. The interval over seeds does not contain its sampling error."
)


def verdict_words(judgement: Judgement) -> str:
    """Return the verdict in a few words, for a table or brackets."""
    match judgement.verdict:
        case "different":
            return "different"
        case "equal":
            return f"practically equal (within ±{format_number(judgement.margin, 3)})"
        case "identical":
            return "the same value in every seed"
        case "few seeds":
            return f"no verdict with fewer than {number_word(MINIMUM_SEEDS)} seeds"
    return f"cannot tell ({seeds_needed_words(judgement)})"


def seeds_needed_words(judgement: Judgement) -> str:
    """Return how many seeds would probably decide between two models."""
    if not judgement.difference.mean:
        return "the means are equal"
    needed = judgement.seeds_needed
    if needed is None:
        return f"more than {MAXIMUM_SEEDS} seeds would be needed"
    step = 1 if needed < 20 else 5 if needed < 100 else 10
    return f"about {-(-needed // step) * step} seeds would probably decide"


def describe_judgement(judgement: Judgement, write: Callable[[float], str] = format_signed) -> str:
    """Return a difference with its interval and its verdict, for a table. `write` formats a signed number."""
    difference = judgement.difference
    if not isinstance(difference, MeanDifference):
        return f"{_counts(difference)}: {verdict_words(judgement)}"
    if judgement.verdict == "identical":
        return verdict_words(judgement)
    mean, low, high = (write(value) for value in (difference.mean, difference.low, difference.high))
    return f"{mean} ({low} to {high}): {verdict_words(judgement)}"


def comparison_finding(found: BestComparison | None, digits: int = 3, unit: str = "") -> str:
    """Return sentences that compare every model with the best one; "" without a comparison."""
    if found is None:
        return ""
    sentences, best = [], capitalize(found.best)
    if names := found.with_verdict("different"):
        sentences.append(f"Worse than {found.best}: {_sizes(found, names, digits, unit)}.")
    if names := found.with_verdict("identical"):
        kind = "result" if isinstance(found.others[names[0]].difference, SolvedDifference) else "value"
        sentences.append(f"{capitalize(join_words([found.best, *names]))} have the same {kind} in every seed.")
    if names := found.with_verdict("undecided"):
        others = {name: found.others[name] for name in names}
        sizes = [f"{name} ({_size(each, digits, unit)}; {seeds_needed_words(each)})" for name, each in others.items()]
        sentences.append(f"Cannot tell whether {found.best} is better than {join_words(sizes)}.")
    if names := found.with_verdict("few seeds"):
        count = count_seeds(min(found.others[name].difference.seeds for name in names))
        sentences.append(f"{best} is best on average, ahead of {_sizes(found, names, digits, unit)}.")
        sentences.append(f"{capitalize(count)} are too few for a verdict.")
    return " ".join(sentences)


def compare_pair(first: tuple[str, ndarray], second: tuple[str, ndarray], paired: bool) -> str:
    """Return sentences that compare two models, given their names and one value for each seed; "" with single seeds."""
    found = compare_with_best(dict([first, second]), paired)
    return f"{comparison_finding(found, 2)} {comparison_note(found)}".strip()


def solved_comparison(solved: Mapping[str, ndarray], counted: str) -> str:
    """Return sentences that compare the seeds of several models that solve a task with those of the best model.

    solved: an array of booleans for each model, one for each seed.
    counted: what the counted seeds do, in the plural: "classify every sentence correctly".
    "" if there is nothing to compare: one model, single seeds, or no seed that solves the task.
    """
    found = compare_with_best(solved, paired=False)
    if found is None or not any(seeds.any() for seeds in solved.values()):
        return ""
    sentences = f"The seeds that {counted} are compared. {comparison_finding(found)} {comparison_note(found)}"
    return sentences.strip()


def comparison_note(found: BestComparison | None) -> str:
    """Return how the comparisons of `comparison_finding` were tested, and what stands in brackets."""
    shown = [] if found is None else [each for each in found.others.values() if each.verdict != "identical"]
    intervals = any(isinstance(each.difference, MeanDifference) for each in shown)
    brackets = "In brackets: 95 % confidence intervals over seeds." if intervals else ""
    if all(each.verdict == "few seeds" for each in shown):
        return brackets
    count = shown[0].comparisons
    names = {_test_name(each.difference) for each in shown}
    correction = f", corrected for {number_word(count)} comparisons (Holm)" if count > 1 else ""
    return f"{brackets} Tests: {join_words(sorted(names))}{correction}.".strip()


def _test_name(difference: Difference) -> str:
    if not isinstance(difference, MeanDifference):
        return "Fisher’s exact test" if isinstance(difference, SolvedDifference) else "Wilcoxon’s exact rank test"
    return "Student’s t test of pairs of seeds" if difference.paired else "Welch’s t test"


def _sizes(found: BestComparison, names: Sequence[str], digits: int, unit: str) -> str:
    """Return the models, each with how far it is behind."""
    judged = {name: (found.others[name], _size(found.others[name], digits, unit)) for name in names}
    return join_words(
        [
            f"{name} ({size})" if isinstance(each.difference, SolvedDifference) else f"{name} by {size}"
            for name, (each, size) in judged.items()
        ]
    )


def _size(judgement: Judgement, digits: int, unit: str) -> str:
    """Return how far the best is ahead, with the interval."""
    difference = judgement.difference
    if not isinstance(difference, MeanDifference):
        return _counts(difference)
    low, high = sorted([difference.low, difference.high], key=lambda end: end if difference.mean > 0 else -end)
    sign = 1 if difference.mean > 0 else -1
    return f"{format_interval(abs(difference.mean), sign * low, sign * high, digits)} {unit}".strip()


def _counts(difference: SolvedDifference | TimeDifference) -> str:
    if isinstance(difference, TimeDifference):
        return f"later in {difference.later:g} of {difference.pairs} pairs of seeds"
    first, second = difference.totals
    return f"{difference.first} of {first} against {difference.second} of {second} seeds"
