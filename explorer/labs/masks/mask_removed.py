"""Two models, trained with and without the causal mask, on sentences and on random symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from random import Random

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.byte_cache import cached
from explorer.experiments.model_variant import ModelVariant
from explorer.figures.comparison import Line, variant_line
from explorer.figures.transformer.masks import loss_figure
from explorer.inspection.compare import last_answers, median_and_range
from explorer.labs.masks import findings
from explorer.labs.masks.findings import FinalLosses
from explorer.labs.masks.generated_text import generated_text_section
from explorer.labs.masks.state import MasksState
from explorer.tasks.sequence_labelling.grammar_text import GrammarTextConfig, draw_sentence
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
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

AXIS_MIN = 1e-3  # nats; lower values are drawn at the edge
HEIGHT, NARROW = 260, 200
_METRIC_TITLES = {"loss": "Whole row at once, as in training", "prefix_loss": "Letter by letter, as in generation"}


def mask_removed_section(session: PageSession[MasksState]) -> None:
    """Draw the finding and the texts that both models generate, then the settings."""
    request = TrainRequest.for_section(session.state.reads)
    shown = request.session_with_results(session)
    state, views, task = session.state, request.views(shown.state.configs), task_config(shown.state)
    bind_widget(session, "reads", st.segmented_control, update=lambda s, reads: s.with_settings(reads=reads))
    show_problems(request.problems)
    words = {name: each.words for name, each in state.variants.items()}
    draw_missing_runs(request, state.configs, lambda names: join_words([words[name] for name in names]))
    draw_earlier_note(request)
    losses, baseline = final_losses(views), findings.loss_baseline(task)
    causal, unmasked = losses.get("causal"), losses.get("open")
    if sentence := findings.leak_verdict(baseline, causal, unmasked):
        st.subheader(escape_markdown(sentence), anchor=False)
    generated_text_section(shown, views)
    if unmasked is not None:
        explanation(escape_markdown(findings.generation_finding(baseline, causal, unmasked)))
    with st.container(horizontal=True, vertical_alignment="center"):
        _settings(session)
    st.caption(escape_markdown(_task_description(task_config(state))))


def training_section(session: PageSession[MasksState]) -> None:
    """Draw the losses by training step and by position."""
    state, request = session.state, TrainRequest.for_section(session.state.reads)
    shown = request.session_with_results(session).state
    views, baseline = request.views(shown.configs), findings.loss_baseline(task_config(shown))
    draw_train_controls(request, state.configs, keys=("masks.run", "masks.stop"))
    _training_chart(state, request)
    draw_earlier_note(request)
    unmasked = final_losses(views).get("open")
    if unmasked is not None:
        _position_charts(shown, views)
        explanation(escape_markdown(findings.position_finding(baseline, unmasked)))


def task_config(state: MasksState) -> GrammarTextConfig | RandomSymbolsConfig:
    """Return the task that the two models learn."""
    return RandomSymbolsConfig(symbols=state.symbols) if state.reads == "noise" else GrammarTextConfig()


def _task_description(task: GrammarTextConfig | RandomSymbolsConfig) -> str:
    both = "Two Transformers, equal except for the mask, predict the next"
    if isinstance(task, RandomSymbolsConfig):
        return (
            f"{both} symbol of random rows, at all positions at once. Nothing can be learned: without seeing the next "
            f"symbol, the lowest possible loss is that of a uniform guess, ln {task.symbols} nats."
        )
    example = draw_sentence(Random("masks")).strip()
    return (
        f"{both} letter, at all positions at once. The rows come from a small random grammar, for example “{example}” "
        f"A model that sees only earlier letters cannot have a loss below {task.loss_floor:.2f} nats per letter."
    )


def _settings(session: PageSession[MasksState]) -> None:
    with st.popover("Settings", icon=":material/tune:"):
        if session.state.reads == "noise":
            bind_widget(session, "symbols", st.number_input, width=150)
        comparison_settings.draw_training_settings(session)


def final_losses(views: Mapping[str, RunView]) -> dict[str, FinalLosses]:
    """Return the final losses of the runs that were trained to the end."""
    results = {}
    for name, view in views.items():
        curves = view.result
        if is_finished(view) and curves is not None and len(curves.evaluated):
            results[name] = FinalLosses(
                curves.last("loss"), curves.last("prefix_loss"), last_answers(curves, "by_place")
            )
    return results


# ---- during training


def _training_chart(state: MasksState, request: TrainRequest) -> None:
    task = task_config(state)
    baseline = findings.loss_baseline(task)
    draw_learning_chart(
        "masks-race",
        request,
        state.configs,
        partial(_training_panels, state),
        f"Loss in nats per {baseline.unit} on new rows of {task.max_length} {baseline.unit}s, logarithmic axis. Left: "
        f"the model reads the whole row. Right: it reads only the {baseline.unit}s before the one it predicts. "
        f"{describe_line(state.seeds)} Dashed line: the lowest possible loss.",
        run=state.reads,
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )


def _training_panels(state: MasksState, views: Mapping[str, RunView]) -> list[Panel]:
    last = last_step(views)
    curves_by_variant = curves_of_variants(state.variants, views)
    return [_training_panel(metric, curves_by_variant, last, task_config(state)) for metric in _METRIC_TITLES]


@cached()
def _training_panel(
    metric: str,
    curves_by_variant: VariantCurves,
    last: int,
    task: GrammarTextConfig | RandomSymbolsConfig,
) -> Panel:
    """Draw one metric of all runs by step; cached for all visitors who look at the same runs."""
    all_lines = [line for name in _METRIC_TITLES for line in metric_lines(curves_by_variant, name)]
    lines = metric_lines(curves_by_variant, metric)
    return _loss_panel(
        f"leak-{metric}", _METRIC_TITLES[metric], lines, "step", float(last), _axis_range(all_lines, task), task
    )


def _axis_range(lines: Iterable[Line], task: GrammarTextConfig | RandomSymbolsConfig) -> tuple[float, float]:
    """Return the loss axis that all panels share: from a power of ten to a little above the largest value."""
    values = np.concatenate([np.concatenate([line.low, line.high]) for line in lines])
    values = values[np.isfinite(values) & (values > 0)]
    baseline = findings.loss_baseline(task)
    low = min(values.min(initial=baseline.floor), baseline.floor / 2)
    return float(10 ** np.floor(np.log10(max(low, AXIS_MIN)))), float(1.3 * values.max(initial=baseline.uniform_loss))


def _loss_panel(
    name: str,
    title: str,
    lines: list[Line],
    axis: str,
    last: float,
    span: tuple[float, float],
    task: GrammarTextConfig | RandomSymbolsConfig,
) -> Panel:
    baseline = findings.loss_baseline(task)
    # The first letter of a word has more entropy than the last: over positions the floor is no constant.
    floor = None if axis == "place" and isinstance(task, GrammarTextConfig) else (baseline.floor, baseline.floor_label)
    ends = join_words([f"{line.title} {line.mean[-1]:.2f}" for line in lines if len(line.mean)])
    shown_axis = "position" if axis == "place" else axis
    return Panel(
        name,
        loss_figure(lines, axis == "place", last, span, floor),
        alt=f"{title}: loss by {shown_axis}; at the end {ends or 'nothing yet'}; the lowest possible is "
        f"{baseline.floor:.2f}.",
        title=title,
        tracks=value_tracks([(line.label, line.colour) for line in lines]),
        rest=last if axis == "place" else None,
    )


# ---- by position


def _position_charts(state: MasksState, views: Mapping[str, RunView]) -> None:
    """Draw the loss at each position of the row at the end of training."""
    lines_by_answer: dict[tuple[str, str], list[Line]] = {}
    for answer, title in (
        ("by_place", "Whole row at once, by position"),
        ("prefix_by_place", "As in generation, by position"),
    ):
        for name, view in views.items():
            values = last_answers(view.result, answer)
            if values is not None:
                lines_by_answer.setdefault((answer, title), []).append(_position_line(state.variants[name], values))
    if not lines_by_answer:
        return
    task, all_lines = task_config(state), [line for lines in lines_by_answer.values() for line in lines]
    last, span = max(float(line.x[-1]) for line in all_lines), _axis_range(all_lines, task)
    draw_plot_frame(
        [
            _loss_panel(f"leak-{answer}", title, lines, "place", last, span, task)
            for (answer, title), lines in lines_by_answer.items()
        ],
        key="masks-places",
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )


def _position_line(variant: ModelVariant, values: Float[ndarray, "replicas places"]) -> Line:
    x = np.arange(1, values.shape[1] + 1, dtype=float)
    return variant_line(variant, x, *median_and_range(values.T).T)
