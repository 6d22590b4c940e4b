"""The comparison at equal tuning budget: every architecture of a task at the learning rate that is best for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.experiments import recall
from explorer.experiments.learning_rates import COMPARISONS, read_searches, tuned_configs
from explorer.labs.compare import tuned_findings as findings
from explorer.labs.compare.state import Comparison
from explorer.labs.compare.tuned_findings import TunedResult
from explorer.run_store import store
from explorer.training.config import RunConfig, key
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.learning_chart import describe_state, live_training_section, seconds_to_next
from explorer.ui.wording import capitalize

_ROW, _TEXTS = 44, 300  # pixels


def tuned_section(session: ui.PageSession[Comparison]) -> None:
    """Draw the choice of the task, the comparison, and the search for the rates."""
    comparison, request = session.state.tuned, ui.TrainRequest.for_section("tuned")
    ui.explanation(findings.RULE)
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
    return "val_loss_part" if comparison == "text" else findings.METRICS[comparison]


def model_title(comparison: str, name: str) -> str:
    """Return the title of a model of a comparison."""
    return recall.VARIANTS[name].full_label if comparison == "recall" else MODELS[name].title


def tuned_results(comparison: str, views: Mapping[str, ui.RunView]) -> dict[str, TunedResult]:
    """Return the results of the runs that have finished, by name."""
    metric, searches, defaults = findings.METRICS[comparison], read_searches(comparison), COMPARISONS[comparison]()
    results = {}
    for name, view in views.items():
        if view.result is not None:
            default = _stored_values(defaults[name], metric) if findings.has_solutions(comparison) else None
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
    document.finding(findings.headline(comparison, each))
    if any(view.live for view in views.values()):
        document.caption(f"{capitalize(describe_state(views))}.")
    if not each:
        return
    document.table(f"tuned-{comparison}-results", results_table(comparison, each))
    document.text(findings.verdict(comparison, each))
    document.text(findings.changed_by_tuning(comparison, each))
    document.text(findings.edge_note(each))
    document.caption(findings.method_note(comparison, each))


def results_table(comparison: str, results: Sequence[TunedResult]) -> charts.Table:
    """Return a row for each model, with a dot for each seed."""
    solves = findings.has_solutions(comparison)
    values = [float(v) for each in results for v in each.values]
    span = (0.0, 1.0) if solves else (min(values) - 0.01, max(values) + 0.01)
    what, of_seed = findings.MEANS.get(comparison, ("seeds that solve the task", "its accuracy."))
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
        rows.append(row | ({"default": findings.describe_default(comparison, each)} if solves else {}))
    caption = f"A dot for each seed: {of_seed}"
    return charts.Table(columns, rows, "Results at equal tuning budget, a row a model", caption)
