"""The comparison at equal tuning budget: every architecture of a task at the learning rate that is best for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import streamlit as st
from jaxtyping import Bool, Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.experiments import recall
from explorer.experiments.learning_rates import COMPARISONS, RATES, RateSearch, read_searches, tuned_configs
from explorer.experiments.recall import SOLVED
from explorer.inspection.compare import is_paired
from explorer.inspection.verdicts import EVERY_RIGHT, BestComparison, compare_with_best
from explorer.labs.compare.state import Comparison
from explorer.number_format import format_number
from explorer.run_store import store
from explorer.training.config import RunConfig, key
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.learning_chart import describe_state, live_training_section, seconds_to_next
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, solved_comparison
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

RULE: Final = (
    "Each architecture was given the learning rate that was best for it among "
    f"{number_word(len(RATES))}; every one had the same {number_word(len(RATES))}."
)
METRICS: Final = {
    "negation": "exact_accuracy",
    "recall": "accuracy",
    "text": "val_loss",
    "sentiment": "test_accuracy_reviews",
}
MEANS: Final = {  # of comparisons without solutions: what is compared, and of each seed
    "text": ("loss, nats per character", "its loss on the last twentieth of the text; the number is the mean."),
    "sentiment": ("accuracy on held-out reviews", "its accuracy; the number is the mean."),
}
_LEAST: Final = {"negation": EVERY_RIGHT, "recall": SOLVED}
_ACHIEVEMENTS: Final = {
    "negation": "classify every sentence correctly",
    "recall": f"are right on {SOLVED:.0%} of new sequences or more",
}


_SETTINGS: Final = {  # what is compared, and on which data
    "negation": "The default models of the page Negation. Search and comparison are evaluated on the same sentences, "
    "with other seeds.",
    "recall": "The default models of the page Memory, on sequences of 50 symbols. Search and comparison are evaluated "
    "on the same new sequences, with other seeds.",
    "sentiment": "The included models of English sentences. The search is evaluated on validation sentences, the "
    "comparison on reviews that were held out from both.",
    "text": "Networks with about 29,000 parameters, trained for 400 steps on Tiny Shakespeare.",
}


@dataclass(frozen=True, eq=False)
class TunedResult:
    """What a model reaches at its own learning rate, with one value for each seed of the comparison."""

    title: str
    search: RateSearch
    config: RunConfig
    values: Float[ndarray, " seeds"]
    default_values: Float[ndarray, " seeds"] | None  # at its default rate; None if that run is not stored

    def seeds_that_solve(self, comparison: str) -> Bool[ndarray, " seeds"]:
        """Return which seeds solve the task."""
        return self.values >= _LEAST[comparison]

    def default_solved(self, comparison: str) -> Bool[ndarray, " seeds"] | None:
        """Return which seeds solve the task at the default rate; None if that run is not stored."""
        return None if self.default_values is None else self.default_values >= _LEAST[comparison]


def has_solutions(comparison: str) -> bool:
    """Return whether a seed of this task solves it or does not; otherwise means are compared."""
    return comparison in _LEAST


def headline(comparison: str, results: Sequence[TunedResult]) -> str:
    """Return the result of the comparison in one sentence."""
    if not results:
        return "No run of this comparison is stored yet."
    if not has_solutions(comparison):
        is_accuracy = comparison == "sentiment"
        best = (max if is_accuracy else min)(results, key=lambda each: float(each.values.mean()))
        mean = format_number(float(best.values.mean()), 3)
        found = _compare_means(comparison, results)
        unclear = [name for name in found.others if name not in found.with_verdict("different")] if found else []
        doubt = f"; one cannot tell it from that of {join_words(unclear)}" if unclear else ""
        what = (
            f"highest mean accuracy on reviews, {mean}"
            if is_accuracy
            else f"lowest mean loss, {mean} nats per character"
        )
        return f"At equal tuning budget, {best.title} has the {what}{doubt}."
    names = [each.title for each in results if each.seeds_that_solve(comparison).all()]
    seeds = count_seeds(len(results[0].values))
    count = f"{number_word(len(names))} of {number_word(len(results))} models" if names else "no model"
    return f"At equal tuning budget, {count} {_verb(comparison, len(names))} with all {seeds}."


def _verb(comparison: str, count: int) -> str:
    singular = count <= 1
    if comparison == "negation":
        return f"get{'s' * singular} every sentence right"
    return f"name{'s' * singular} the first symbol"


def verdict(comparison: str, results: Sequence[TunedResult]) -> str:
    """Return which models are worse than the best one, and for which one cannot tell."""
    if has_solutions(comparison):
        return solved_comparison(
            {each.title: each.seeds_that_solve(comparison) for each in results}, _ACHIEVEMENTS[comparison]
        )
    found = _compare_means(comparison, results)
    unit = "" if comparison == "sentiment" else "nats"
    return f"{comparison_finding(found, 3, unit)} {comparison_note(found)}".strip()


def _compare_means(comparison: str, results: Sequence[TunedResult]) -> BestComparison | None:
    paired = all(is_paired(results[0].config, each.config) for each in results)
    return compare_with_best({each.title: each.values for each in results}, paired, comparison == "sentiment")


def changed_by_tuning(comparison: str, results: Sequence[TunedResult]) -> str:
    """Return which models solve the task with more or fewer seeds than at their default learning rate."""
    if not has_solutions(comparison):
        return ""
    parts = []
    for each in results:
        before, after = each.default_solved(comparison), each.seeds_that_solve(comparison)
        if before is not None and before.sum() != after.sum():
            rates = f"{each.search.best:g} instead of {each.search.used:g}"
            parts.append(f"{each.title} {int(after.sum())} instead of {int(before.sum())} (rate {rates})")
    if not parts:
        return "With its default rate, every model solves the task with as many seeds as with its own best one."
    total = len(results[0].values)
    return f"Seeds of {total} that solve the task, compared with the default rates: {join_words(parts)}."


def edge_note(results: Sequence[TunedResult]) -> str:
    """Return for which models the best rate is the lowest or the highest one of the search."""
    names = [each.title for each in results if each.search.is_at_edge]
    if not names:
        return ""
    return (
        f"For {join_words(names)} the best rate is the lowest or the highest of the {number_word(len(RATES))}: a rate "
        "beyond it, which was not tried, may be better."
    )


def method_note(comparison: str, results: Sequence[TunedResult]) -> str:
    """Return what is compared with which seeds, and what was not tuned."""
    if not results:
        return ""
    seeds = results[0].config.seeds
    return (
        f"{_SETTINGS[comparison]} The comparison has seeds {seeds[0]} to {seeds[-1]}. Only the learning rate was "
        "tuned: with another number of steps, size or schedule the result may be another one."
    )


def describe_default(comparison: str, each: TunedResult) -> str:
    """Return how many seeds solve the task at the default learning rate, with that rate."""
    before = each.default_solved(comparison)
    rate = f"at {each.search.used:g}"
    return f"– ({rate})" if before is None else f"{int(before.sum())} of {len(before)} ({rate})"


_ROW, _TEXTS = 44, 300  # pixels


def tuned_section(session: ui.PageSession[Comparison]) -> None:
    """Draw the choice of the task, the comparison, and the search for the rates."""
    comparison, request = session.state.tuned, ui.TrainRequest.for_section("tuned")
    ui.explanation(RULE)
    ui.bind_widget(session, "tuned", st.segmented_control)
    ui.show_problems(request.problems)
    configs, visitor_id = tuned_configs(comparison), current_visitor().id

    def draw(document: ui.Document) -> float | None:
        views = request.views(configs, visitor_id)
        draw_comparison(document, comparison, views)
        return seconds_to_next(views.values(), 1.0)

    live_training_section(f"tuned-{comparison}", request, draw, _TEXTS + _ROW * len(configs))
    with st.container(horizontal=True, vertical_alignment="center"):
        ui.draw_train_controls(request, configs)
        st.page_link(
            "compare.py",
            label="Compare these runs",
            query_params={"runs": ",".join(key(config) for config in configs.values()), "y": _measure(comparison)},
            icon=":material/stacked_line_chart:",
        )
    draw_learning_rates(comparison, {name: model_title(comparison, name) for name in configs})


def _measure(comparison: str) -> str:
    return "val_loss_part" if comparison == "text" else METRICS[comparison]


def model_title(comparison: str, name: str) -> str:
    """Return the title of a model of a comparison."""
    return recall.VARIANTS[name].full_label if comparison == "recall" else MODELS[name].title


def tuned_results(comparison: str, views: Mapping[str, ui.RunView]) -> dict[str, TunedResult]:
    """Return the results of the runs that have finished, by name."""
    metric, searches, defaults = METRICS[comparison], read_searches(comparison), COMPARISONS[comparison]()
    results = {}
    for name, view in views.items():
        if view.result is not None:
            default = _stored_values(defaults[name], metric) if has_solutions(comparison) else None
            values = view.result.last(metric).astype(float)
            title = model_title(comparison, name)
            results[name] = TunedResult(title, searches[name], view.config, values, default)
    return results


def _stored_values(config: RunConfig, metric: str) -> Float[ndarray, " seeds"] | None:
    """Return the values of a stored run at its end; None if there is no run."""
    run = store.find_by_config(config)
    return run.curves.last(metric).astype(float) if run else None


def draw_comparison(document: ui.Document, comparison: str, views: Mapping[str, ui.RunView]) -> None:
    """Draw the finding, the table and the notes."""
    results = tuned_results(comparison, views)
    each = list(results.values())
    document.finding(headline(comparison, each))
    if any(view.live for view in views.values()):
        document.caption(f"{capitalize(describe_state(views))}.")
    if not each:
        return
    document.table(f"tuned-{comparison}-results", results_table(comparison, each))
    document.text(verdict(comparison, each))
    document.text(changed_by_tuning(comparison, each))
    document.text(edge_note(each))
    document.caption(method_note(comparison, each))


def results_table(comparison: str, results: Sequence[TunedResult]) -> charts.Table:
    """Return a row for each model, with a dot for each seed."""
    solves = has_solutions(comparison)
    values = [float(v) for each in results for v in each.values]
    span = (0.0, 1.0) if solves else (min(values) - 0.01, max(values) + 0.01)
    what, of_seed = MEANS.get(comparison, ("seeds that solve the task", "its accuracy."))
    columns = {
        "name": charts.Column("model", "model", wrap=True),
        "value": charts.Column(what, "strip", range=span),
        "rate": charts.Column("its best rate", "number"),
    }
    if solves:
        columns["default"] = charts.Column("with the default rate", "number", minor=True)
    rows = []
    for each in results:
        solved = each.seeds_that_solve(comparison) if solves else None
        text = f"{each.values.mean():.3f}" if solved is None else f"{int(solved.sum())} of {len(solved)}"
        row: dict[str, charts.Cell | str] = {
            "name": charts.Cell(each.title, MODELS[each.config.model_name].colour),
            "value": charts.strip(text, each.values),
            "rate": f"{each.search.best:g}",
        }
        rows.append(row | ({"default": describe_default(comparison, each)} if solves else {}))
    caption = f"A dot for each seed: {of_seed}"
    return charts.Table(columns, rows, "Results at equal tuning budget, a row a model", caption)
