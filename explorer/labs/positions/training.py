"""The copy task with each kind of position encoding and with none, also at lengths beyond training."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.compare import last_answers, median_and_range
from explorer.labs.positions import findings
from explorer.labs.positions.findings import CopyAccuracy
from explorer.labs.positions.state import PositionsState
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig, evaluation_lengths

_METRICS = [ui.Metric("exact", "Exact match on new rows")]
_OUTPUT_ORDERS = {"copy": "in the same order", "reverse": "in reverse order"}


def training_section(session: ui.PageSession[PositionsState]) -> None:
    """Draw the verdict, accuracy by length, and the training curves."""
    request = ui.TrainRequest.for_section("echo")
    shown = request.session_with_results(session).state
    state, views = session.state, request.views(shown.configs)
    ui.explanation(
        f"Causal Transformers that differ only in their positions read digits and a bar, then write the digits again, "
        f"{_OUTPUT_ORDERS[state.again]}. They were trained on 1 to {state.longest} digits and are tested on more."
    )
    ui.show_problems(request.problems)
    ui.draw_train_offer(request, state)
    ui.draw_earlier_note(request)
    ui.draw_now(lengths_view, copy_accuracies(shown, views), shown.variants, shown.longest)
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.popover("Settings", icon=":material/tune:"):
            ui.bind_widget(session, "who", st.pills, selection_mode="multi")
            ui.bind_widget(session, "again", st.selectbox, width=230)
            ui.bind_widget(session, "longest", st.number_input, width=140)
            ui.draw_training_settings(session)
        ui.draw_train_controls(request, state.configs, keys=("positions.run", "positions.stop"))
    ui.draw_learning_chart(
        "positions-race",
        request,
        state.configs,
        ui.curve_panels(_METRICS, state.variants),
        "Exact match on a few new rows of every trained length, by training step.",
        height=300,
        narrow_height=240,
        columns=1,
    )


def copy_accuracies(state: PositionsState, views: Mapping[str, ui.RunView]) -> dict[str, CopyAccuracy]:
    """Return the accuracy by length of the runs that were trained to the end."""
    results = {}
    for name, view in views.items():
        accuracy = last_answers(view.result, "by_length") if ui.is_finished(view) else None
        if accuracy is not None:
            lengths = evaluation_lengths(view.config.task_as(DelayedCopyConfig))
            results[name] = CopyAccuracy(state.variants[name].words, lengths, accuracy)
    return results


def lengths_view(
    document: ui.Document, results: Mapping[str, CopyAccuracy], variants: Mapping[str, ModelVariant], trained: int
) -> None:
    """Write the exact match at every length, one chart for each model because the lines overlap, and what it shows."""
    if not results:
        return
    document.finding(findings.length_verdict(results, trained))
    longest = max(each.lengths[-1] for each in results.values())
    panels = [
        ui.Panel(
            f"positions-lengths-{name}",
            length_chart(variants[name], each, trained, longest),
            title=variants[name].title,
            rest=float(trained + 1),
        )
        for name, each in results.items()
    ]
    document.figures("positions-lengths", panels, height=260, narrow_height=190, columns=len(panels))
    document.caption(
        "Exact match: the share of new rows of a length in which the model predicts every digit correctly. "
        + ui.describe_line(len(next(iter(results.values())).exact))
    )
    document.text(findings.extrapolation_finding(results, trained))
    document.text(findings.beyond_training_finding(results, trained))
    document.text(findings.no_positions_finding(results, trained))


def length_chart(variant: ModelVariant, accuracy: CopyAccuracy, trained: int, longest: int) -> charts.LineChart:
    """Return the exact match of one model by the number of digits."""
    line = ui.variant_line(variant, np.array(accuracy.lengths), median_and_range(accuracy.exact.T))
    return charts.LineChart(
        f"{variant.title}: exact match by the number of digits",
        [line],
        charts.Axis("digits", (0, longest), ticks=5, upright=True),
        charts.ACCURACY,
        [charts.limit(trained + 0.5, "not trained")],
        labels="none",
    )
