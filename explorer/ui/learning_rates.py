"""The search for the learning rate of each model of a comparison, as pages show it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.experiments.learning_rates import RATES, SEEDS, RateSearch, read_searches
from explorer.number_format import format_number
from explorer.ui.components.table import draw_table
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.wording import count_seeds, join_words, number_word

_NEGLIGIBLE = 0.02  # of the accuracy, which varies by chance
_LARGE = 0.1  # from here on, the result would be another one: it is said outside the fold


def search_finding(searches: Mapping[str, RateSearch]) -> str:
    """Return which models would be more accurate with another learning rate. `searches` is keyed by title."""
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
    return format_number(search.results[rate].mean_accuracy, 3)


def learning_rates_section(comparison: str, titles: Mapping[str, str], measured_on: str) -> None:
    """Draw a folded table of the search.

    titles: of the compared models by their names.
    measured_on: the data of the accuracy, in words.
    """
    searches = {titles[name]: search for name, search in read_searches(comparison).items() if name in titles}
    if not searches:
        return
    is_large = any(search.accuracy_lost >= _LARGE for search in searches.values())
    if is_large:
        explanation(escape_markdown(search_finding(searches)))
    with st.expander("How the learning rates were chosen", icon=":material/tune:"):
        _draw_search(searches, comparison, measured_on, with_finding=not is_large)


def draw_learning_rates(comparison: str, titles: Mapping[str, str], measured_on: str) -> None:
    """Draw the search in a section that is folded already; the parameters are those of `learning_rates_section`."""
    searches = {titles[name]: search for name, search in read_searches(comparison).items() if name in titles}
    if searches:
        _draw_search(searches, comparison, measured_on, with_finding=True)


def changed_result_finding(comparison: str, titles: Mapping[str, str]) -> str:
    """Return which results another learning rate would change by much; "" if it changes none."""
    searches = {titles[name]: search for name, search in read_searches(comparison).items() if name in titles}
    changed = {title: search for title, search in searches.items() if search.accuracy_lost >= _LARGE}
    parts = [f"{title} ({search.best:g} instead of {search.used:g})" for title, search in changed.items()]
    return f"Another learning rate makes these models much more accurate: {join_words(parts)}." if parts else ""


def _draw_search(searches: Mapping[str, RateSearch], comparison: str, measured_on: str, with_finding: bool) -> None:
    st.markdown(
        escape_markdown(
            "The default rates of this page were set by hand, before this search. The search gives every model the "
            f"same {number_word(len(RATES))} rates, {count_seeds(len(SEEDS))} that the comparison does not use "
            f"({SEEDS.start} to {SEEDS.stop - 1}), and the default number of steps. The best rate has the highest "
            f"mean accuracy on {measured_on}; of several, the lowest mean loss. "
            f"{search_finding(searches) * with_finding}"
        )
    )
    _draw_search_table(searches, comparison)


def _draw_search_table(searches: Mapping[str, RateSearch], comparison: str) -> None:
    rates = sorted({rate for search in searches.values() for rate in search.results})
    numbers = {"used": "default", "best": "best", **{f"{rate:g}": f"at {rate:g}" for rate in rates}}
    columns: list[dict[str, object]] = [{"key": "name", "label": "model", "kind": "text", "align": "left"}]
    columns += [
        {"key": key, "label": label, "kind": "number", "align": "right", "minor": label.startswith("at ")}
        for key, label in numbers.items()
    ]
    rows = [
        {"cells": {name: {"text": text} for name, text in _row(title, search).items()}}
        for title, search in searches.items()
    ]
    draw_table(
        columns,
        rows,
        key=f"{comparison}-learning-rates",
        label="Accuracy by learning rate, a row a model",
        caption="The default learning rate, the best of the search, and the mean accuracy of "
        f"{count_seeds(len(SEEDS))} at each rate.",
    )


def _row(title: str, search: RateSearch) -> dict[str, str]:
    """Return the texts of a row of the table by column."""
    accuracies = {f"{rate:g}": _mean(search, rate) for rate in search.results}
    return {"name": title, "used": f"{search.used:g}", "best": f"{search.best:g}", **accuracies}
