"""The masks of a batch, and two models trained with and without the causal mask: losses and generated texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.inspection.compare import last_answers, median_and_range
from explorer.inspection.transformer import unmasked_generation
from explorer.inspection.transformer.example_attention import layer_matrices, word_vectors
from explorer.labs.masks import findings
from explorer.labs.masks.state import MAX_PROMPT, MasksState
from explorer.tasks.sequence_labelling.grammar_text import LETTERS, GrammarTextConfig, draw_sentence
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig

AXIS_MIN = 1e-3  # nats; lower values are drawn at the edge
KEY = "masks"  # of the component
_component = ui.register("masks")
SIZES: dict[str, Any] = {"height": 260, "narrow_height": 200, "columns": 2}


def mask_removed_section(session: ui.PageSession[MasksState]) -> None:
    """Draw the prompt and the settings, then the finding and the texts that both models generate."""
    request = ui.TrainRequest.for_section(session.state.reads)
    shown = request.session_with_results(session)
    state, views = session.state, request.views(shown.state.configs)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if state.reads == "tale":
            ui.bind_widget(session, "begin", st.text_input, width=400)
        with st.popover("Settings", icon=":material/tune:"):
            ui.bind_widget(session, "reads", st.segmented_control, update=lambda s, reads: s.with_settings(reads=reads))
            if state.reads == "noise":
                ui.bind_widget(session, "symbols", st.number_input, width=150)
            ui.draw_training_settings(session)
    ui.show_problems(request.problems)
    ui.draw_train_offer(request, state)
    ui.draw_earlier_note(request)
    generated_text_section(shown, views)


def training_section(session: ui.PageSession[MasksState]) -> None:
    """Draw the losses by training step and by position."""
    state, request = session.state, ui.TrainRequest.for_section(session.state.reads)
    shown = request.session_with_results(session).state
    views, baseline = request.views(shown.configs), findings.loss_baseline(task_config(shown))
    ui.draw_train_controls(request, state.configs, keys=("masks.run", "masks.stop"))
    unit = findings.loss_baseline(task_config(state)).unit
    ui.draw_learning_chart(
        "masks-race",
        request,
        state.configs,
        ui.curve_panels(_metrics(task_config(state)), state.variants),
        f"Loss in nats per {unit} on new rows of {task_config(state).max_length} {unit}s, logarithmic axis. Left: the "
        f"model reads the whole row. Right: it reads only the {unit}s before the one it predicts. "
        f"{ui.describe_line(state.seeds)} Dashed line: the lowest possible loss.",
        run=state.reads,
        **SIZES,
    )
    ui.draw_earlier_note(request)
    losses = final_losses(views)
    causal, unmasked = losses.get("causal"), losses.get("open")
    ui.paragraph(findings.leak_verdict(baseline, causal, unmasked))
    if unmasked is not None:
        ui.paragraph(findings.generation_finding(baseline, causal, unmasked))
        answers = {
            answer: {name: v for name, view in views.items() if (v := last_answers(view.result, answer)) is not None}
            for answer in ("by_place", "prefix_by_place")
        }
        ui.draw_now(positions_view, shown, answers)
        ui.paragraph(findings.position_finding(baseline, unmasked))


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


def final_losses(views: Mapping[str, ui.RunView]) -> dict[str, findings.FinalLosses]:
    """Return the final losses of the runs that were trained to the end."""
    results = {}
    for name, view in views.items():
        curves = view.result
        if ui.is_finished(view) and curves is not None and len(curves.evaluated):
            by_place = last_answers(curves, "by_place")
            results[name] = findings.FinalLosses(curves.last("loss"), curves.last("prefix_loss"), by_place)
    return results


# ---- charts


@cache
def _metrics(task: GrammarTextConfig | RandomSymbolsConfig) -> tuple[ui.Metric, ...]:
    """Return both losses by training step, on one axis."""

    def with_baseline(chart: charts.LineChart, lines: ui.LinesByMetric) -> charts.LineChart:
        y = loss_axis([line for each in lines.values() for line in each], task)
        return replace(chart, y=y, rules=[_loss_floor(task)])

    titles = {"loss": "Whole row at once, as in training", "prefix_loss": "Letter by letter, as in generation"}
    return tuple(ui.Metric(name, title, finish=with_baseline) for name, title in titles.items())


def loss_axis(lines: Iterable[charts.Line], task: GrammarTextConfig | RandomSymbolsConfig) -> charts.Axis:
    """Return the loss axis that all charts share: from a power of ten to a little above the largest value."""
    baseline = findings.loss_baseline(task)
    low, high = charts.span_of(
        [*(line.values for line in lines), [baseline.floor / 2, baseline.uniform_loss]], 0.0, log=True
    )
    return charts.Axis(span=(10.0 ** math.floor(math.log10(max(low, AXIS_MIN))), 1.3 * high), log=True)


def _loss_floor(task: GrammarTextConfig | RandomSymbolsConfig) -> charts.Rule:
    baseline = findings.loss_baseline(task)
    return charts.level(baseline.floor, baseline.floor_label)


def positions_view(
    document: ui.Document, state: MasksState, answers: Mapping[str, Mapping[str, Float[ndarray, "replicas places"]]]
) -> None:
    """Write the loss at each position of the row at the end of training; `answers`: by reading, by model."""
    task = task_config(state)
    titles = {"by_place": "Whole row at once, by position", "prefix_by_place": "As in generation, by position"}
    lines = {
        name: [
            ui.variant_line(state.variants[model], np.arange(1, values.shape[1] + 1), median_and_range(values.T))
            for model, values in by_model.items()
        ]
        for name, by_model in answers.items()
        if by_model
    }
    y = loss_axis([line for each in lines.values() for line in each], task)
    # The first letter of a word has more entropy than the last: over positions the floor is no constant.
    rules = [] if isinstance(task, GrammarTextConfig) else [_loss_floor(task)]
    panels = []
    for name, each in lines.items():
        last = max(len(line.x) for line in each)
        marks = [1, *range(3 if last < 20 else 10, last + 1, 3 if last < 20 else 10)]
        x = charts.Axis("position", (0.8, last), ticks=marks)
        panels.append(ui.Panel(f"leak-{name}", charts.LineChart(titles[name], each, x, y, rules), title=titles[name]))
    document.figures("masks-places", panels, **SIZES)


# ---- generated text


LENGTH = 120  # characters of a text, including the prompt
TEXTS_PER_SEED, SHOWN_SEEDS = 6, 2  # texts of every seed; seeds of which one text is shown
ROWS_PER_SEED, SHOWN_ROWS, PROMPT_SYMBOLS = 64, 10, 2  # rows of symbols of every seed; rows shown; given symbols


def generated_text_section(session: ui.PageSession[MasksState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the texts that both models generate, once there are trained models."""
    state, runs = session.state, {name: view.loaded_run for name, view in views.items() if view.loaded_run}
    if not runs:
        return
    if state.reads == "tale":
        prompt, problems = state.prompt
        ui.show_problems(problems)
        calls = {
            name: ui.Call(unmasked_generation.continue_text, run, prompt, TEXTS_PER_SEED, LENGTH)
            for name, run in runs.items()
        }
    else:
        calls = {
            name: ui.Call(unmasked_generation.continue_symbols, run, ROWS_PER_SEED, PROMPT_SYMBOLS)
            for name, run in runs.items()
        }
    name, waiting = f"masks-written-{state.reads}", "The models generate text …"
    ui.show_each(name, calls, texts_view, state, waiting=waiting, height=330)


def texts_view(
    document: ui.Document, texts: Mapping[str, unmasked_generation.GeneratedSigns], state: MasksState
) -> None:
    """Write what each model generated in a column, that without the mask first, and how good it is."""
    ordered = sorted(texts.items(), key=lambda item: item[0] != "open")
    if state.reads == "tale":
        document.finding(findings.spelling_finding({state.variants[name].title: each for name, each in ordered}))
    for (name, generated), column in zip(ordered, document.columns(len(texts)), strict=True):
        title, ids, first = state.variants[name].title, generated.ids, generated.prompt_length
        if state.reads == "tale":
            column.text(f"{title}:")
            few = range(min(SHOWN_SEEDS, len(ids)))
            column.code("\n\n".join(findings.decode_rows(ids[few, few], LETTERS)))  # each seed its own random numbers
        else:
            column.text(findings.repetition_finding(state.symbols, title, ids, first, generated.top_probability))
            letters = RandomSymbolsConfig(symbols=state.symbols).labels
            column.code(findings.format_rows(ids[0, :SHOWN_ROWS], first, letters))
    sampled = (
        f"Sampled letter by letter from the last {MAX_PROMPT} letters, with the same random numbers for both models. "
        f"Shown: one text of each of at most {ui.number_word(SHOWN_SEEDS)} seeds. The percentages are over "
        f"{TEXTS_PER_SEED} texts of each of {ui.count_seeds(state.seeds)}."
        if state.reads == "tale"
        else f"Two symbols are given, the others are sampled one by one. Shown: {SHOWN_ROWS} rows of the first seed; "
        f"the percentages are over {ROWS_PER_SEED} rows of every seed."
    )
    document.caption(f"{_task_description(task_config(state))} {sampled}")


def draw_component(state: MasksState) -> None:
    """Draw the matrices of the batch; the data is described in `labs/masks/components/masks/view.js`."""
    batch = state.batch
    vectors_by_word = word_vectors(word for words in batch for word in words)
    data = {
        "batch": batch,
        "vectors": {word: np.round(vector, 4).tolist() for word, vector in sorted(vectors_by_word.items())},
        "layers": [{name: np.round(each, 4).tolist() for name, each in layer.items()} for layer in layer_matrices()],
        "state": state.component_state,
        "file": "masks",
    }
    _component(data=data, key=KEY, **ui.event_callbacks(KEY, "set"))
