"""How the learning rates of compared runs were chosen, as pages show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from explorer.charts import Column, Table
from explorer.experiments.compared_groups import TRAINING_LOSS, RateSearch, find_search
from explorer.experiments.learning_rates import SEEDS
from explorer.number_format import format_number
from explorer.training.config import RunConfig
from explorer.ui.document import Document
from explorer.ui.result_section import draw_now
from explorer.ui.wording import count_seeds, join_words, number_word

_CRITERIA: Final = {TRAINING_LOSS: "loss", "val_loss": "loss in nats per token", "val_error": "share of wrong answers"}


def learning_rates_sentence(configs: Iterable[RunConfig]) -> str:
    """Return whether each of several trained runs has the best learning rate of a search, or which rates they have."""
    searches = [(config.optimiser.learning_rate, find_search(config)) for config in configs]
    rates = sorted({rate for rate, _ in searches})
    if not all(search and search.best == rate for rate, search in searches):
        between = f"{rates[0]:g}" if len(rates) == 1 else f"{rates[0]:g} to {rates[-1]:g}"
        return f"Learning rate: {between}, not searched for each model with these settings."
    many = max((len(search.losses) for _, search in searches if search), default=0)
    return f"Each has its own learning rate, the best of {number_word(many)} in a search." if many else ""


def draw_learning_rates(configs: Mapping[str, RunConfig]) -> None:
    """Draw the searches of runs, which are given by their titles; nothing for runs that were not searched."""
    if searches := {title: search for title, config in configs.items() if (search := find_search(config))}:
        draw_now(_search_view, searches)


def search_description(searches: Mapping[str, RateSearch]) -> str:
    """Return how the search was made, and for which runs the best rate is at an end of the search."""
    group = next(iter(searches.values())).group
    edges = [title for title, each in searches.items() if each.best in (min(each.losses), max(each.losses))]
    beyond = f" For {join_words(edges)} it is the lowest or the highest one: a rate beyond it may be better."
    return (
        f"The search gives every model the same {number_word(len(group.rates))} learning rates, "
        f"{count_seeds(len(SEEDS))} that no comparison uses ({SEEDS.start} to {SEEDS.stop - 1}), and the number of "
        f"steps of the comparison. The best of these rates has the lowest mean {_CRITERIA[group.criterion]} on "
        f"{group.validation}; of equally good rates it is the lowest.{beyond * bool(edges)}"
    )


def _search_view(document: Document, searches: Mapping[str, RateSearch]) -> None:
    document.text(search_description(searches))
    document.text(" ".join(f"{reason}." for reason in next(iter(searches.values())).group.unequal.values()))
    rates = sorted({rate for search in searches.values() for rate in search.losses})
    columns = {"name": Column("model"), "best": Column("best", "number")}
    columns |= {f"{rate:g}": Column(f"at {rate:g}", "number", minor=True) for rate in rates}
    rows = [
        {"name": title, "best": f"{search.best:g}"}
        | {f"{rate:g}": format_number(loss, 3) for rate, loss in search.losses.items()}
        for title, search in searches.items()
    ]
    what = _CRITERIA[next(iter(searches.values())).group.criterion]
    caption = f"The best learning rate of the search, and the mean {what} of {count_seeds(len(SEEDS))} at each rate."
    document.table("learning-rates", Table(columns, rows, f"{what.capitalize()} by learning rate", caption))
