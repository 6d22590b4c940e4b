"""The copy task with each kind of position encoding and with none, also at lengths beyond training."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st

from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.figures.comparison import variant_line
from explorer.figures.seq2seq.translation import exact_match_by_step
from explorer.figures.transformer.positions import exact_match_by_length
from explorer.inspection.compare import last_answers, median_and_range
from explorer.labs.positions import findings
from explorer.labs.positions.findings import CopyAccuracy
from explorer.labs.positions.state import PositionsState
from explorer.tasks.sequence_labelling.delayed_copy import DelayedCopyConfig, evaluation_lengths
from explorer.ui.components.plot_frame import Panel, draw_plot_frame, value_tracks
from explorer.ui.page_sections import escape_markdown, explanation, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training import comparison_settings
from explorer.ui.training.learning_chart import draw_learning_chart, last_step
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import (
    TrainRequest,
    draw_earlier_note,
    draw_missing_runs,
    draw_train_controls,
    is_finished,
)
from explorer.ui.training.variant_charts import VariantCurves, curves_of_variants, metric_lines
from explorer.ui.wording import describe_line, join_words

_OUTPUT_ORDERS = {"copy": "in the same order", "reverse": "in reverse order"}


def training_section(session: PageSession[PositionsState]) -> None:
    """Draw the verdict, accuracy by length, and the training curves."""
    request = TrainRequest.for_section("echo")
    shown = request.session_with_results(session).state
    state, views = session.state, request.views(shown.configs)
    explanation(
        f"Causal Transformers that differ only in their positions read digits and a bar, then write the digits again, "
        f"{_OUTPUT_ORDERS[state.again]}. They were trained on 1 to {state.longest} digits and are tested on more."
    )
    show_problems(request.problems)
    words = {name: each.words for name, each in state.variants.items()}
    draw_missing_runs(request, state.configs, lambda names: join_words([words[name] for name in names]))
    ends = copy_accuracies(shown, views)
    draw_earlier_note(request)
    if ends:
        st.subheader(escape_markdown(findings.length_verdict(ends, shown.longest)), anchor=False)
        _length_charts(shown, ends)
        explanation(escape_markdown(findings.extrapolation_finding(ends, shown.longest)))
        if sentence := findings.beyond_training_finding(ends, shown.longest):
            explanation(escape_markdown(sentence))
        if sentence := findings.no_positions_finding(ends, shown.longest):
            explanation(escape_markdown(sentence))
    with st.container(horizontal=True, vertical_alignment="center"):
        _settings(session)
        draw_train_controls(request, state.configs, keys=("positions.run", "positions.stop"))
    draw_learning_chart(
        "positions-race",
        request,
        state.configs,
        partial(_training_panels, state),
        "Exact match on a few new rows of every trained length, by training step.",
        height=300,
        narrow_height=240,
        columns=1,
    )


def _settings(session: PageSession[PositionsState]) -> None:
    with st.popover("Settings", icon=":material/tune:"):
        bind_widget(session, "who", st.pills, selection_mode="multi")
        bind_widget(session, "again", st.selectbox, width=230)
        bind_widget(session, "longest", st.number_input, width=140)
        comparison_settings.draw_training_settings(session)


def copy_accuracies(state: PositionsState, views: Mapping[str, RunView]) -> dict[str, CopyAccuracy]:
    """Return the accuracy by length of the runs that were trained to the end."""
    results = {}
    for name, view in views.items():
        accuracy = last_answers(view.result, "by_length") if is_finished(view) else None
        if accuracy is not None:
            lengths = evaluation_lengths(view.config.task_as(DelayedCopyConfig))
            results[name] = CopyAccuracy(state.variants[name].words, lengths, accuracy)
    return results


def _length_charts(state: PositionsState, ends: Mapping[str, CopyAccuracy]) -> None:
    """Draw exact match at every length, one panel per model because the lines overlap."""
    longest = max(each.lengths[-1] for each in ends.values())
    panels = [_length_panel(state.variants[name], each, state.longest, longest) for name, each in ends.items()]
    draw_plot_frame(panels, key="positions-lengths", height=260, narrow_height=190, columns=len(panels))
    st.caption(
        "Exact match: the share of new rows of a length in which the model predicts every digit correctly. "
        + describe_line(state.seeds)
    )


def _length_panel(variant: ModelVariant, accuracy: CopyAccuracy, trained: int, longest: int) -> Panel:
    line = variant_line(variant, np.array(accuracy.lengths, float), *median_and_range(accuracy.exact.T).T)
    summary = (
        f"at {trained} {accuracy.accuracy_at(trained):.2f}, at {trained + 1} {accuracy.accuracy_at(trained + 1):.2f}"
    )
    return Panel(
        f"positions-lengths-{variant.name}",
        exact_match_by_length(line, trained, longest),
        alt=f"{variant.title}: exact match by the number of digits; {summary}.",
        title=variant.title,
        tracks=value_tracks([(line.label, line.colour)]),
        rest=float(trained + 1),
    )


def _training_panels(state: PositionsState, views: Mapping[str, RunView]) -> list[Panel]:
    return [_training_panel(curves_of_variants(state.variants, views), last_step(views))]


@cached()
def _training_panel(curves_by_variant: VariantCurves, last: int) -> Panel:
    """Draw exact match by step; cached for all visitors who look at the same runs."""
    lines = metric_lines(curves_by_variant, "exact")
    return Panel(
        "learning-echo",
        exact_match_by_step(lines, last),
        alt=f"Exact match on fresh rows by step: {join_words([variant.words for variant, _ in curves_by_variant])}.",
        tracks=value_tracks([(line.label, line.colour) for line in lines]),
    )
