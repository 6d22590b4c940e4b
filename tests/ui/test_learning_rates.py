"""The search for learning rates: what the file holds, and what the pages say of it."""

from __future__ import annotations

import pytest

from explorer.experiments.learning_rates import (
    COMPARISONS,
    SEEDS,
    RateResult,
    RateSearch,
    read_searches,
    searched_rates,
)
from explorer.ui.learning_rates import _row, search_finding


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_every_compared_model_was_searched_at_every_rate_with_other_seeds(comparison: str) -> None:
    searches, configs = read_searches(comparison), COMPARISONS[comparison]()
    assert list(searches) == list(configs)
    for name, search in searches.items():
        assert tuple(search.results) == searched_rates(configs[name].optimiser.learning_rate)
        assert {len(result.accuracy) for result in search.results.values()} == {len(SEEDS)}
        assert not set(SEEDS) & set(configs[name].seeds)


def rate_search(used: float, **accuracies: float) -> RateSearch:
    """Return a search with one seed; the loss is lowest at the highest rate."""
    results = {float(rate[1:]): RateResult((value,), (1 / float(rate[1:]),)) for rate, value in accuracies.items()}
    return RateSearch(used, results)


def test_the_best_rate_has_the_highest_accuracy_and_then_the_lowest_loss() -> None:
    search = rate_search(1.0, _1=0.5, _2=0.9, _3=0.9)
    assert (search.best, search.accuracy_lost) == (3.0, pytest.approx(0.4))
    row = {"name": "GRU", "used": "1", "best": "3", "1": "0.500", "2": "0.900", "3": "0.900"}
    assert _row("GRU", search) == row


def test_models_that_lose_by_their_rate_are_named() -> None:
    lost, even = rate_search(1.0, _1=0.5, _2=0.9), rate_search(1.0, _1=0.9, _2=0.9)
    assert search_finding({"GRU": lost, "RNN": even}) == (
        "In the search, these models are more accurate with another learning rate than the default: GRU with 2 "
        "(0.900 instead of 0.500 with 1). "
        "The other models are not more accurate with another rate."
    )
    assert search_finding({"RNN": even}).startswith(
        "In the search, no model is more accurate with another learning rate"
    )
