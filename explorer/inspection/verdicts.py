"""Whether models differ: exact tests, t tests, a correction for many comparisons, and a verdict that may be
"cannot tell".

A model that was trained with several seeds has one value for each of them. Two models are compared by
`mean_difference` (values: Student's t test of pairs, or Welch's), by `solved_difference` (seeds that solve the task or
do not: Fisher's exact test) or by `time_difference` (times until something happens, which may not have happened before
the end: Wilcoxon's exact rank test). What is measured decides which of them, never the values. `compare_with_best`
compares several models with the best of them. Because the values decide which model is the best, all pairs of models
count as comparisons: with equal models, at least one is called worse in at most 5 % of cases
(`python -m benchmarks.verdicts`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from explorer.lazy_libraries import special

LEVEL = 0.05  # of all tests together
POWER = 0.8  # with which the seeds that `seeds_needed` returns would find a difference
EVERY_RIGHT = 1 - 1e-6  # accuracy from which every answer is right: accuracies are sums of rounded probabilities
MINIMUM_SEEDS = 8  # with fewer, differences are shown without a verdict
MAXIMUM_SEEDS = 200  # `seeds_needed` searches no further

# "different"; "equal": practically, the interval lies within a margin; "undecided": one cannot tell; "identical": the
# same value in every seed; "few seeds": fewer than MINIMUM_SEEDS
Verdict = Literal["different", "equal", "undecided", "identical", "few seeds"]


@dataclass(frozen=True)
class MeanDifference:
    """The mean of the second of two models minus that of the first, with its 95 % confidence interval over seeds."""

    mean: float
    low: float
    high: float
    seeds: int  # in the smaller of the two models
    paired: bool  # whether the models share seeds and data, so that each seed is compared with itself
    p: float  # of the test that the means are equal
    spread: float  # standard deviation of the difference between one seed of each
    identical: bool = False  # whether both have the same value in every seed

    def lies_within(self, margin: float) -> bool:
        """Return whether the whole interval lies within the margin."""
        return max(abs(self.low), abs(self.high)) <= margin

    def attainable_p(self, p: float) -> float:
        """Return the probability that the test of two equal models gives a p value of at most `p`."""
        return p

    def seeds_needed(self, level: float) -> int | None:
        """Return how many seeds find this difference with a probability of 80 %; None if too many."""
        if not self.mean or not self.spread:
            return None

        def power(seeds: int) -> float:
            degrees = float(seeds - 1 if self.paired else 2 * seeds - 2)
            effect = abs(self.mean) / self.spread * np.sqrt(seeds)
            return float(1 - special.nctdtr(degrees, effect, special.stdtrit(degrees, 1 - level / 2)))

        return _first_number_with_power(power, self.seeds)


def mean_difference(
    first: Float[ndarray, " first"], second: Float[ndarray, " second"], paired: bool
) -> MeanDifference | None:
    """Return the difference of means by the t test of pairs, or of Welch (1947); None with fewer than two seeds."""
    if paired:
        shared = ~np.isnan(first) & ~np.isnan(second)
        first, second = first[shared], second[shared]
        differences = second - first
        if len(differences) < 2:
            return None
        mean, variance, degrees = differences.mean(), differences.var(ddof=1) / len(differences), len(differences) - 1.0
        seeds, spread = len(differences), differences.std(ddof=1)
        identical = not differences.any()
    else:
        first, second = first[~np.isnan(first)], second[~np.isnan(second)]
        seeds = min(len(first), len(second))
        if seeds < 2:
            return None
        mean = second.mean() - first.mean()
        variances = [values.var(ddof=1) / len(values) for values in (first, second)]
        variance = sum(variances)
        weights = sum(p**2 / (len(values) - 1) for p, values in zip(variances, (first, second), strict=True))
        degrees = variance**2 / weights if weights > 0 else seeds - 1.0
        spread = np.sqrt(first.var(ddof=1) + second.var(ddof=1))
        identical = not np.ptp(np.concatenate([first, second]))
    error = float(np.sqrt(variance))
    margin = float(special.stdtrit(degrees, 0.975)) * error
    p = float(2 * special.stdtr(degrees, -abs(mean) / error)) if error else float(mean == 0)
    return MeanDifference(
        float(mean), float(mean) - margin, float(mean) + margin, seeds, paired, p, float(spread), identical
    )


@dataclass(frozen=True)
class SolvedDifference:
    """How many seeds of two models solve a task."""

    first: int
    second: int
    totals: tuple[int, int]

    @property
    def mean(self) -> float:
        """The share of the second minus that of the first."""
        return self.second / self.totals[1] - self.first / self.totals[0]

    @property
    def seeds(self) -> int:
        """The number of seeds of the smaller of the two models."""
        return min(self.totals)

    @property
    def identical(self) -> bool:
        """Whether both have the same outcome in every seed."""
        return self.first + self.second in (0, sum(self.totals))

    @property
    def p(self) -> float:
        """The two-sided p value of Fisher's exact test."""
        return self._attainable[self.first]

    @property
    def _attainable(self) -> Mapping[int, float]:
        return _fisher(*self.totals, self.first + self.second)

    def lies_within(self, margin: float) -> bool:
        """Return False: so few seeds never show that two shares are practically equal."""
        return False

    def attainable_p(self, p: float) -> float:
        """Return the probability that the test of two equal models gives a p value of at most `p`."""
        return max((value for value in self._attainable.values() if value <= p * (1 + 1e-9)), default=0.0)

    def seeds_needed(self, level: float) -> int | None:
        """Return how many seeds find this difference with a probability of 80 %; None if too many."""
        return _first_number_with_power(lambda seeds: self._power(seeds, level), self.seeds) if self.mean else None

    def _power(self, seeds: int, level: float) -> float:
        """Return the power of Fisher's test, approximately (Casagrande, Pike and Smith 1978)."""
        shares = self.first / self.totals[0], self.second / self.totals[1]
        mean, gap = sum(shares) / 2, abs(self.mean)
        effective = max(seeds - 1 / gap, 0.0) ** 2 / seeds  # after the correction for continuity
        error = np.sqrt(sum(share * (1 - share) for share in shares))
        above = gap * np.sqrt(effective) - special.ndtri(1 - level / 2) * np.sqrt(2 * mean * (1 - mean))
        return float(special.ndtr(above / error)) if error else float(above > 0)


def solved_difference(first: Bool[ndarray, " first"], second: Bool[ndarray, " second"]) -> SolvedDifference:
    """Return the comparison of two models whose seeds solve a task or do not."""
    return SolvedDifference(int(first.sum()), int(second.sum()), (len(first), len(second)))


@lru_cache(maxsize=256)
def _fisher(first: int, second: int, solved: int) -> Mapping[int, float]:
    """Return the two-sided p value for every number of seeds of the first model that may be among the solved."""
    table = {
        i: math.comb(first, i) * math.comb(second, solved - i) / math.comb(first + second, solved)
        for i in range(max(0, solved - second), min(first, solved) + 1)
    }
    return {i: min(1.0, sum(p for p in table.values() if p <= here * (1 + 1e-7))) for i, here in table.items()}


@dataclass(frozen=True)
class TimeDifference:
    """How the times of two models compare, pair by pair of a seed of each."""

    later: float  # pairs in which the second model is later; half of those with equal times
    pairs: int
    seeds: int  # of the smaller of the two models
    identical: bool  # whether all times are equal, for example because nothing happened before the end
    p: float  # two-sided, of the test that both have the same distribution

    @property
    def mean(self) -> float:
        """The share of pairs in which the second is later, minus a half."""
        return self.later / self.pairs - 0.5

    def lies_within(self, margin: float) -> bool:
        """Return False: ranks never show that two models are practically equal."""
        return False

    def attainable_p(self, p: float) -> float:
        """Return the probability that the test of two equal models gives a p value of at most `p`: at most `p`."""
        return p

    def seeds_needed(self, level: float) -> int | None:
        """Return how many seeds find this difference with a probability of 80 % (Noether 1987); None if too many."""
        needed = ((special.ndtri(1 - level / 2) + special.ndtri(POWER)) / (self.mean or math.nan)) ** 2 / 6
        return max(math.ceil(needed), self.seeds + 1) if needed <= MAXIMUM_SEEDS else None


def time_difference(first: Float[ndarray, " first"], second: Float[ndarray, " second"], end: float) -> TimeDifference:
    """Return the comparison of the times at which something happens, by the exact rank test of Wilcoxon (1945).

    end: the time up to which both were observed. Later times, infinity and NaN all mean “not before the end”: these
        seeds are censored at the same time, so they have the same rank, later than all others, and the test is exact.
    """
    times = np.concatenate([first, second])
    _, index, counts = np.unique(np.where(times <= end, times, np.inf), return_inverse=True, return_counts=True)
    ranks = (2 * np.cumsum(counts) - counts + 1)[index]  # twice the mean rank of equal times, a whole number
    size, observed = len(second), int(ranks[len(first) :].sum())
    expected, sums = size * (len(times) + 1), _rank_sums(tuple(ranks.tolist()), size)
    as_far = sum(ways for value, ways in sums.items() if abs(value - expected) >= abs(observed - expected))
    later = (observed - size * (size + 1)) / 2
    p = as_far / math.comb(len(times), size)
    return TimeDifference(later, len(first) * size, min(len(first), size), len(counts) < 2, p)


@lru_cache(maxsize=256)
def _rank_sums(ranks: tuple[int, ...], size: int) -> Mapping[int, int]:
    """Return how many choices of `size` of these ranks have each sum."""
    ways: list[Counter[int]] = [Counter({0: 1}), *(Counter() for _ in range(size))]  # by how many are chosen
    for rank in ranks:
        for chosen in range(size, 0, -1):
            for value, count in ways[chosen - 1].items():
                ways[chosen][value + rank] += count
    return ways[size]


def _first_number_with_power(power: Callable[[int], float], seeds: int) -> int | None:
    """Return the smallest number of seeds above `seeds` with a power of 80 %; None if there is none."""
    low, high = seeds, MAXIMUM_SEEDS
    if power(high) < POWER:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


Difference = MeanDifference | SolvedDifference | TimeDifference


@dataclass(frozen=True)
class Judgement:
    """A difference, its p value corrected for all comparisons, and the verdict."""

    difference: Difference
    p: float
    verdict: Verdict
    margin: float = 0.0
    comparisons: int = 1

    @property
    def seeds_needed(self) -> int | None:
        """How many seeds would find this difference with a probability of 80 %; None if more than MAXIMUM_SEEDS."""
        return _seeds_needed(self.difference, LEVEL / self.comparisons)


@lru_cache(maxsize=256)
def _seeds_needed(difference: Difference, level: float) -> int | None:
    return difference.seeds_needed(level)


def corrected_p(differences: Sequence[Difference]) -> list[float]:
    """Return the p values corrected for the number of comparisons (Holm 1979).

    The probability of any p value below 0.05 among comparisons of equal models is then at most 0.05. An exact test
    counts only with the p values that it can give (Westfall and Wolfinger 1997), so that comparisons that cannot be
    decided by any outcome cost nothing.
    """
    order = sorted(range(len(differences)), key=lambda i: differences[i].p)
    corrected, largest = [1.0] * len(differences), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, sum(differences[j].attainable_p(differences[i].p) for j in order[rank:]))
        corrected[i] = min(1.0, largest)
    return corrected


def judge(differences: Sequence[Difference], margin: float = 0.0) -> list[Judgement]:
    """Return the verdicts of comparisons that are shown together; their p values are corrected for their number."""
    judgements = []
    for difference, p in zip(differences, corrected_p(differences), strict=True):
        verdict: Verdict = "undecided"
        if difference.identical:
            verdict = "identical"
        elif difference.seeds < MINIMUM_SEEDS:
            verdict = "few seeds"
        elif difference.lies_within(margin):
            verdict = "equal"
        elif p <= LEVEL:
            verdict = "different"
        judgements.append(Judgement(difference, p, verdict, margin, len(differences)))
    return judgements


@dataclass(frozen=True)
class BestComparison:
    """The best of several models, and the others compared with it: each difference is the best minus the other."""

    best: str
    others: Mapping[str, Judgement]

    def with_verdict(self, *verdicts: Verdict) -> list[str]:
        """Return the models whose comparison with the best has one of these verdicts."""
        return [name for name, judgement in self.others.items() if judgement.verdict in verdicts]


def compare_with_best(values: Mapping[str, ndarray], paired: bool, higher: bool = True) -> BestComparison | None:
    """Return the best model and the verdict of its comparison with every other one.

    values: one array of seeds for each model. Arrays of booleans say which seeds solve the task.
    paired: whether the models share seeds and data, which counts for numbers only: McNemar's test of pairs could not
        decide 8 of 8 seeds against 0 of 8 after the correction for all pairs of six models, and where seeds agree
        between models, Fisher's test is conservative.
    higher: whether the best is the one with the highest mean, or with the lowest.
    Models with fewer than two finite seeds are left out. None with fewer than two models.
    """
    finite = {name: array for name, array in values.items() if (~np.isnan(array.astype(float))).sum() >= 2}
    if len(finite) < 2:
        return None
    best = (max if higher else min)(finite, key=lambda name: float(np.nanmean(finite[name])))
    pairs, differences = [], []
    for other, second in combinations([name for name in finite if name != best] + [best], 2):  # so the best is second
        one, best_of_pair = finite[other], finite[second]
        is_solved = one.dtype == bool
        if difference := (
            solved_difference(one, best_of_pair) if is_solved else mean_difference(one, best_of_pair, paired)
        ):
            pairs.append((other, second))
            differences.append(difference)
    judged = zip(pairs, judge(differences), strict=True)
    return BestComparison(best, {other: judgement for (other, second), judgement in judged if second == best})
