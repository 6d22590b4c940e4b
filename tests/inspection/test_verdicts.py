"""The tests of models against scipy's, the correction for many comparisons against simulations, and the verdicts."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from explorer.inspection import verdicts
from explorer.inspection.verdicts import (
    MeanDifference,
    judge,
    mean_difference,
    solved_difference,
    time_difference,
)


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # scipy's, where seeds are nearly alike
@pytest.mark.parametrize("paired", [True, False])
@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=2, max_size=8), st.integers(0, 6))
def test_the_interval_and_the_p_value_are_those_of_scipys_t_tests(
    paired: bool, pairs: list[tuple[int, int]], fewer: int
) -> None:
    first, second = np.array(pairs).T / 1000
    if not paired:
        second = second[: max(2, len(second) - fewer)]
        assume(np.ptp(first) + np.ptp(second) > 0)
        expected = stats.ttest_ind(second, first, equal_var=False)
    else:
        assume(np.ptp(np.round(second - first, 6)) > 0)
        expected = stats.ttest_rel(second, first)
    found = mean_difference(first, second, paired)
    assert found is not None
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert found.mean == pytest.approx(second.mean() - first.mean()) and found.p == pytest.approx(expected.pvalue)
    assert (found.seeds, found.paired, found.identical) == (len(second), paired, False)
    spread = np.std(second - first, ddof=1) if paired else np.hypot(first.std(ddof=1), second.std(ddof=1))
    assert found.spread == pytest.approx(spread)


@pytest.mark.parametrize("same_seeds", [True, False])
def test_too_few_nan_and_equal_seeds(same_seeds: bool) -> None:
    nan = np.nan
    for first, second in (([0.9], [0.8]), ([0.9, nan], [nan, 0.8])):
        assert mean_difference(np.array(first), np.array(second), same_seeds) is None
    first, second = np.array([[0.9, 0.8, 0.7, nan], [0.8, 0.9, 0.9, nan]])
    assert mean_difference(first, second, same_seeds) == mean_difference(first[:3], second[:3], same_seeds)
    difference = mean_difference(np.full(3, 0.75), np.full(3, 1.0), same_seeds)
    assert difference is not None
    assert (difference.mean, difference.low, difference.high, difference.identical) == (0.25, 0.25, 0.25, False)
    equal = mean_difference(np.full(3, 0.75), np.full(3, 0.75), same_seeds)
    assert equal is not None and equal.identical and (difference.p, equal.p) == (0, 1)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12), st.integers(0, 5))
def test_the_tests_of_solved_seeds_are_fishers(pairs: list[tuple[bool, bool]], fewer: int) -> None:
    first, second = np.array(pairs).T
    some = second[: max(1, len(second) - fewer)]
    table = [[sum(seeds), len(seeds) - sum(seeds)] for seeds in (first, some)]
    groups = solved_difference(first, some)
    assert groups.p == pytest.approx(stats.fisher_exact(table).pvalue) and groups.seeds == len(some)
    assert groups.identical == (len({*first.tolist(), *some.tolist()}) == 1)
    assert groups.mean == pytest.approx(some.mean() - first.mean()) and not groups.lies_within(1.0)


def test_the_correction_is_holms_and_an_exact_test_that_cannot_decide_costs_nothing() -> None:
    found = verdicts.corrected_p([MeanDifference(0.1, 0.0, 0.2, 8, True, p, 0.1) for p in (0.01, 0.04, 0.03, 0.005)])
    assert found == pytest.approx([0.03, 0.06, 0.06, 0.02])
    eight, none, five = np.ones(8, bool), np.zeros(8, bool), np.arange(8) < 5
    alone: list[verdicts.Difference] = [solved_difference(none, eight)]
    lowest = 2 / comb(16, 8)
    assert verdicts.corrected_p(alone) == [pytest.approx(lowest)]
    undecidable = solved_difference(eight, five)  # three of 16 seeds do not solve it: p is 0.2 at best
    assert verdicts.corrected_p([*alone, undecidable])[0] == pytest.approx(lowest)
    assert verdicts.corrected_p(alone * 6)[0] == pytest.approx(6 * lowest)


STEADY = np.array([0.01, -0.01, 0.02, -0.02, 0.01, -0.01, 0.0, 0.0])


def test_verdicts() -> None:
    for second, verdict in (
        (0.5 + STEADY[::-1], "different"),
        (0.02 + STEADY[::-1] / 4, "equal"),
        (0.03 + 10 * STEADY[::-1], "undecided"),
        (STEADY, "identical"),
    ):
        found = mean_difference(STEADY, second, paired=True)
        assert found is not None and judge([found], margin=0.1)[0].verdict == verdict
    assert MeanDifference(0.0, -0.1, 0.05, 8, True, 1.0, 1.0).lies_within(0.1)
    assert not MeanDifference(0.0, -0.05, 0.11, 8, True, 1.0, 1.0).lies_within(0.1)
    found = mean_difference(np.arange(7.0), np.arange(7.0) + 9 + STEADY[:7], paired=True)
    assert found is not None and judge([found])[0].verdict == "few seeds"
    assert judge([solved_difference(np.zeros(7, bool), np.ones(7, bool))])[0].verdict == "few seeds"
    assert judge([solved_difference(np.zeros(8, bool), np.ones(8, bool))])[0].verdict == "different"


def test_the_seeds_that_would_find_the_difference_in_four_of_five_cases() -> None:
    for paired, spread, seeds in ((True, 1.0, 34), (False, 2**0.5, 64)):  # the tables of Cohen (1988)
        difference = MeanDifference(0.5, -0.3, 1.3, 8, paired, 0.2, spread)
        assert judge([difference])[0].seeds_needed == pytest.approx(seeds, abs=1)
    six, four = np.arange(8) < 6, np.arange(8) < 4
    groups = judge([solved_difference(six, four)])[0]
    assert groups.seeds_needed == pytest.approx(66, abs=2)  # statsmodels and the formula of Casagrande et al.
    assert judge([solved_difference(four, four[::-1])])[0].seeds_needed is None


def test_the_best_is_compared_with_every_other_model_and_all_pairs_are_counted() -> None:
    values = {"low": STEADY, "top": 0.5 + STEADY[::-1], "near": 0.49 + 3 * STEADY, "short": np.array([9.0])}
    found = verdicts.compare_with_best(values, paired=True)
    assert found is not None
    assert (found.best, list(found.others)) == ("top", ["low", "near"])
    assert {each.comparisons for each in found.others.values()} == {3}
    assert (found.with_verdict("different"), found.with_verdict("undecided")) == (["low"], ["near"])
    assert found.others["low"].difference.mean == pytest.approx(0.5)
    lowest = verdicts.compare_with_best(values, paired=True, higher=False)
    assert lowest is not None and lowest.best == "low"
    assert verdicts.compare_with_best({"top": STEADY}, paired=True) is None


def test_the_rank_test_of_times_counts_all_choices_and_seeds_that_are_not_there_at_the_end_are_equal() -> None:
    first, second, end = np.array([2.0, 3.0, 3.0, 9.0]), np.array([3.0, 5.0, np.inf, np.nan, 8.0]), 7.0
    times = [time if time <= end else np.inf for time in (*first, *second)]

    def later(of_second: tuple[int, ...]) -> float:
        others = [time for i, time in enumerate(times) if i not in of_second]
        return sum((times[i] > other) + (times[i] == other) / 2 for i in of_second for other in others)

    found, choices = time_difference(first, second, end), list(combinations(range(9), 5))
    assert (found.later, found.pairs, found.seeds) == (later((4, 5, 6, 7, 8)), 20, 4)
    as_far = [abs(later(each) - 10) >= abs(found.later - 10) for each in choices]
    assert found.p == pytest.approx(np.mean(as_far)) and not found.identical
    eight = np.arange(8.0)
    (judgement,) = judge([time_difference(eight, eight + 8, np.inf)])
    assert judgement.verdict == "different" and judgement.difference.p == pytest.approx(2 / comb(16, 8))
    never = judge([time_difference(eight, np.full(8, np.inf), -1.0), time_difference(eight, eight + 1, np.inf)])
    assert [each.verdict for each in never] == ["identical", "undecided"]
    # Noether: (1.960 + 0.842)² / 6 / (39.5 / 64 - 0.5)² = 95.2
    assert (
        never[1].difference.seeds_needed(0.05) == 96 and time_difference(eight, eight, 9.0).seeds_needed(0.05) is None
    )
