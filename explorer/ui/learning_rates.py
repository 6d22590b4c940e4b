"""The search for the learning rate of each model of a comparison, as pages show it."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.charts import Column, Table
from explorer.experiments.learning_rates import SEEDS, RateSearch, rates_of, read_searches
from explorer.number_format import format_number
from explorer.ui.document import Document
from explorer.ui.result_section import draw_now
from explorer.ui.wording import count_seeds, join_words, number_word

_NEGLIGIBLE = 0.02  # of the accuracy, which varies by chance
_LARGE = 0.1  # from here on, the result would be another one: it is said outside the fold
_VALIDATION = {  # on which the best rate is chosen
    "negation": "the test sentences",
    "recall": "new sequences of 50 symbols",
    "sentiment": "validation sentences, half of them reviews",
    "text": "a part of the text that neither the search trains on nor the comparison measures",
}
_SHOWN = {
    "negation": "accuracy over all sentences of the grammar",
    "recall": "accuracy on new sequences of 50 symbols",
    "text": "loss in nats per character",
    "sentiment": "share of wrong answers on validation sentences",
}


def search_finding(searches: Mapping[str, RateSearch]) -> str:
    """Return which models would be more accurate with another learning rate. `searches` is keyed by title.

    "" for a task without an accuracy.
    """
    if any(not search.results[search.best].accuracy for search in searches.values()):
        return ""
    better = {title: search for title, search in searches.items() if search.accuracy_lost >= _NEGLIGIBLE}
    if not better:
        return "In the search, no model is more accurate with another learning rate than with the default."
    parts = [
        f"{title} with {search.best:g} ({_mean(search, search.best)} instead of {_mean(search, search.used)} with "
        f"{search.used:g})"
        for title, search in better.items()
    ]
    others = "The other models are not more accurate with another rate." if len(better) < len(searches) else ""
    sentence = f"these models are more accurate with another learning rate than the default: {join_words(parts)}."
    return f"In the search, {sentence} {others}".strip()


def _mean(search: RateSearch, rate: float) -> str:
    result = search.results[rate]
    return format_number(result.mean_accuracy if result.accuracy else result.mean_loss, 3)


def _searches_of(comparison: str, titles: Mapping[str, str]) -> dict[str, RateSearch]:
    return {titles[name]: search for name, search in read_searches(comparison).items() if name in titles}


def draw_learning_rates(comparison: str, titles: Mapping[str, str]) -> None:
    """Draw the search, for the models with these titles by their names; nothing for models that were not searched."""
    if searches := _searches_of(comparison, titles):
        draw_now(_search_view, comparison, searches)


def changed_result_finding(comparison: str, titles: Mapping[str, str]) -> str:
    """Return which results another learning rate would change by much; "" if it changes none."""
    searches = _searches_of(comparison, titles)
    changed = {title: search for title, search in searches.items() if search.accuracy_lost >= _LARGE}
    parts = [f"{title} ({search.best:g} instead of {search.used:g})" for title, search in changed.items()]
    return f"Another learning rate makes these models much more accurate: {join_words(parts)}." if parts else ""


def search_description(comparison: str, searches: Mapping[str, RateSearch]) -> str:
    """Return how the search was made, and which models would be more accurate with another rate than their default."""
    rates, loss = rates_of(comparison), "share of wrong answers" if comparison == "sentiment" else "loss"
    defaults = "The default rates were set by hand, before this search. " * _has_defaults(searches)
    return (
        f"{defaults}The search gives every model the same {number_word(len(rates))} rates "
        f"({join_words([f'{rate:g}' for rate in rates])}), {count_seeds(len(SEEDS))} that the comparison does not use "
        f"({SEEDS.start} to {SEEDS.stop - 1}), and the number of steps of the comparison. The best of these rates has "
        f"the lowest mean {loss} on {_VALIDATION[comparison]}. {search_finding(searches) * _has_defaults(searches)}"
    ).strip()


def _has_defaults(searches: Mapping[str, RateSearch]) -> bool:
    """Return whether the runs that the pages show by default have other rates than the best ones of the search."""
    return any(search.used != search.best for search in searches.values())


def _search_view(document: Document, comparison: str, searches: Mapping[str, RateSearch]) -> None:
    document.text(search_description(comparison, searches))
    rates = sorted({rate for search in searches.values() for rate in search.results})
    defaults = {"used": Column("default", "number")} if _has_defaults(searches) else {}
    columns = {"name": Column("model"), **defaults, "best": Column("best", "number")}
    columns |= {f"{rate:g}": Column(f"at {rate:g}", "number", minor=True) for rate in rates}
    rows = [
        {"name": title}
        | ({"used": f"{search.used:g}"} if defaults else {})
        | {"best": f"{search.best:g}", **{f"{rate:g}": _mean(search, rate) for rate in search.results}}
        for title, search in searches.items()
    ]
    label = f"{_SHOWN[comparison].capitalize()} by learning rate, a row a model"
    caption = (
        f"{'The default learning rate, the' if defaults else 'The'} best of the search, and the mean "
        f"{_SHOWN[comparison]} of {count_seeds(len(SEEDS))} at each rate."
    )
    document.table(f"{comparison}-learning-rates", Table(columns, rows, label, caption))
