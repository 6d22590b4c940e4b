"""The search for learning rates: what the file holds, and what the pages say of it."""

from __future__ import annotations

import pytest

from explorer.experiments.learning_rates import (
    ACCURACIES,
    COMPARISONS,
    SEEDS,
    RateResult,
    RateSearch,
    read_searches,
    searched_rates,
)
from explorer.ui.learning_rates import _row, search_description, search_finding


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_every_compared_model_was_searched_at_every_rate_with_other_seeds(comparison: str) -> None:
    searches, configs = read_searches(comparison), COMPARISONS[comparison]()
    assert list(searches) == list(configs)
    for name, search in searches.items():
        assert tuple(search.results) == searched_rates(configs[name].optimiser.learning_rate)
        assert {len(result.loss) for result in search.results.values()} == {len(SEEDS)}
        seeds = {len(SEEDS)} if comparison in ACCURACIES else {0}
        assert {len(result.accuracy) for result in search.results.values()} == seeds
        assert not set(SEEDS) & set(configs[name].seeds)


def rate_search(used: float, **accuracies: float) -> RateSearch:
    """Return a search with one seed; the loss is lowest at the highest rate."""
    results = {
        float(f"0.{rate[1:]}"): RateResult((1 / float(f"0.{rate[1:]}"),), (v,)) for rate, v in accuracies.items()
    }
    return RateSearch(used, results)


def test_the_best_rate_has_the_lowest_loss_of_those_that_all_models_were_given() -> None:
    search = rate_search(0.01, _01=0.5, _03=0.9, _05=0.95)  # 0.05 is not one of them
    assert (search.best, search.accuracy_lost) == (0.03, pytest.approx(0.4))
    assert not search.is_at_edge and rate_search(0.01, _01=0.5, _1=0.9).is_at_edge
    row = {"name": "GRU", "used": "0.01", "best": "0.03", "0.01": "0.500", "0.03": "0.900", "0.05": "0.950"}
    assert _row("GRU", search) == row


def test_models_that_lose_by_their_rate_are_named() -> None:
    lost, even = rate_search(0.01, _01=0.5, _03=0.9), rate_search(0.01, _01=0.9, _03=0.9)
    assert search_finding({"GRU": lost, "RNN": even}) == (
        "In the search, these models are more accurate with another learning rate than the default: GRU with 0.03 "
        "(0.900 instead of 0.500 with 0.01). "
        "The other models are not more accurate with another rate."
    )
    assert search_finding({"RNN": even}).startswith(
        "In the search, no model is more accurate with another learning rate"
    )


def test_the_description_names_defaults_only_where_they_are_not_the_best_rates() -> None:
    tuned = RateSearch(0.03, {0.03: RateResult((1.0,)), 0.01: RateResult((2.0,))})
    assert search_finding({"GRU": tuned}) == ""
    assert search_description("text", {"GRU": tuned}).startswith(
        "The search gives every model the same five rates (0.001, 0.003, 0.01, 0.03 and 0.1), three seeds that the "
        "comparison does not use (100 to 102)"
    )
    assert search_description("recall", {"GRU": rate_search(0.01, _01=0.5, _03=0.9)}).startswith("The default rates")
