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
from explorer.experiments.default_runs import growth_runs, negation_runs, sentiment_runs
from explorer.experiments.recall import SOLVED
from explorer.inspection.compare import is_paired
from explorer.inspection.verdicts import EVERY_RIGHT, BestComparison, compare_with_best
from explorer.labs.compare.state import Comparison
from explorer.number_format import format_number
from explorer.training.config import RunConfig, key
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.learning_chart import describe_state, live_training_section, seconds_to_next
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, solved_comparison
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

RULE: Final = (
    "Each architecture has the learning rate that was best for it in a search; every one was given the same rates."
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
_SETTINGS: Final = {  # what is compared
    "negation": "The default models of the page Negation.",
    "recall": "The default models of the page Memory, on sequences of 50 symbols.",
    "sentiment": "The included models of English sentences, on reviews that no model has seen.",
    "text": "Networks with about 29,000 parameters, trained for 400 steps on Tiny Shakespeare.",
}


def tuned_configs(comparison: str) -> dict[str, RunConfig]:
    """Return the runs of a comparison, each with its searched learning rate, by name."""
    if comparison == "recall":
        return {name: recall.VARIANTS[name].config() for name in recall.DEFAULT_VARIANTS}
    return {"negation": negation_runs, "text": growth_runs, "sentiment": sentiment_runs}[comparison]()


@dataclass(frozen=True, eq=False)
class TunedResult:
    """What a model reaches at its own learning rate, with one value for each seed of the comparison."""

    title: str
    config: RunConfig
    values: Float[ndarray, " seeds"]

    def seeds_that_solve(self, comparison: str) -> Bool[ndarray, " seeds"]:
        """Return which seeds solve the task."""
        return self.values >= _LEAST[comparison]


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


def method_note(comparison: str, results: Sequence[TunedResult]) -> str:
    """Return what is compared with which seeds, and what was not tuned."""
    if not results:
        return ""
    seeds = results[0].config.seeds
    return (
        f"{_SETTINGS[comparison]} The comparison has seeds {seeds[0]} to {seeds[-1]}. Only the learning rate was "
        "tuned: with another number of steps, size or schedule the result may be another one."
    )


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
    draw_learning_rates({model_title(comparison, name): config for name, config in configs.items()})


def _measure(comparison: str) -> str:
    return "val_loss_part" if comparison == "text" else METRICS[comparison]


def model_title(comparison: str, name: str) -> str:
    """Return the title of a model of a comparison."""
    return recall.VARIANTS[name].full_label if comparison == "recall" else MODELS[name].title


def tuned_results(comparison: str, views: Mapping[str, ui.RunView]) -> list[TunedResult]:
    """Return the results of the runs that have finished."""
    return [
        TunedResult(model_title(comparison, name), view.config, view.result.last(METRICS[comparison]).astype(float))
        for name, view in views.items()
        if view.result is not None
    ]


def draw_comparison(document: ui.Document, comparison: str, views: Mapping[str, ui.RunView]) -> None:
    """Draw the finding, the table and the notes."""
    results = tuned_results(comparison, views)
    document.finding(headline(comparison, results))
    if any(view.live for view in views.values()):
        document.caption(f"{capitalize(describe_state(views))}.")
    if not results:
        return
    document.table(f"tuned-{comparison}-results", results_table(comparison, results))
    document.text(verdict(comparison, results))
    document.caption(method_note(comparison, results))


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
    rows = []
    for each in results:
        solved = each.seeds_that_solve(comparison) if solves else None
        text = f"{each.values.mean():.3f}" if solved is None else f"{int(solved.sum())} of {len(solved)}"
        row: dict[str, charts.Cell | str] = {
            "name": charts.Cell(each.title, MODELS[each.config.model_name].colour),
            "value": charts.strip(text, each.values),
            "rate": f"{each.config.optimiser.learning_rate:g}",
        }
        rows.append(row)
    caption = f"A dot for each seed: {of_seed}"
    return charts.Table(columns, rows, "Results at equal tuning budget, a row a model", caption)
