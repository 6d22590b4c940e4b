"""Decoding step by step: greedy and beam search, and exposure bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.compare import median_and_range
from explorer.inspection.seq2seq import decoding
from explorer.labs.translation import answer_findings as findings
from explorer.labs.translation.answers import right_answer
from explorer.labs.translation.controls import model_picker, selected_replica
from explorer.labs.translation.state import MAX_WIDTH, TranslationState
from explorer.tasks.seq2seq.config import BOS, EOS, source_ids, source_text, target_vocabulary
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.ui.wording import count_seeds
from explorer.web.results import pack, register_arrays

SOURCES, SOURCES_PER_FORMAT = 200, 20  # fresh sources of a length, or in each way of writing a date
HEIGHT = 320
_KEY = "translation-beams"
_MARKS = {BOS: "begin", EOS: "end"}


def section(session: ui.PageSession[TranslationState], views: Mapping[str, ui.RunView]) -> None:
    """Draw beam search and exposure bias of one model."""
    ui.explanation(
        "Greedy decoding takes the most likely token at each step. Beam search keeps several sequences and continues "
        "all of them, so a sequence that begins with a less likely token can still win."
    )
    runs = ui.loaded_runs(views, "No finished run yet: select and train a model.", HEIGHT)
    if not runs:
        return
    name = model_picker(session, runs, "translation.steps")
    _beam_search(session, runs[name], session.state.variants[name])
    _exposure_bias(session, runs[name], session.state.variants[name])


# ---- beam search


def _beam_search(session: ui.PageSession[TranslationState], run: ui.Run, variant: ModelVariant) -> None:
    state = session.state
    source = source_ids(state.task_config, state.source)

    def apply_width() -> None:
        width = ui.pop_choices(_KEY, {"width": range(1, MAX_WIDTH + 1)}).get("width", session.state.width)
        if width != session.state.width:
            session.state = replace(session.state, width=width)
            st.rerun()

    ui.show(
        _KEY,
        ui.Call(decoding.search_with, run, state.task_config, source, selected_replica(state, run)),
        beams_view,
        state,
        source,
        variant,
        waiting="Beam search runs with every width …",
        height=640,
        events={_KEY: ("width",)},
        on_event=apply_width,
    )


def beams_view(
    document: ui.Document,
    found: decoding.BeamTrees,
    state: TranslationState,
    source: tuple[int, ...],
    variant: ModelVariant,
) -> None:
    """Write the beam searches of one seed on one source."""
    task = state.task_config
    data = {
        "title": variant.title,
        "colour": variant.colour,
        "source": source_text(task, source),
        "right": right_answer(task, source),
        "tokens": [_MARKS.get(token, token) for token in target_vocabulary(task)],
        "width": state.width,
        "starts": list(found.starts),
        "best": [list(positions) for positions in found.best],
        "address": register_arrays(pack({"nodes": found.nodes, "logs": found.logs})),
        "file": f"{state.task}-beams-{variant.name}",
    }
    document.component("beam_search", data, _KEY)


# ---- exposure bias


def _exposure_bias(session: ui.PageSession[TranslationState], run: ui.Run, variant: ModelVariant) -> None:
    state = session.state
    st.subheader("Teacher forcing and free running", anchor=False)
    ui.explanation(
        "In training the decoder reads the correct tokens before each position (teacher forcing). In use it reads its "
        "own output, errors included (free running). The difference is called exposure bias."
    )
    length = selected_length(state)
    if state.has_lengths:
        ui.bind_widget(
            session,
            "fed",
            st.selectbox,
            shown=length,
            update=lambda s, new: replace(s, fed=0 if new == s.longest else new),
            options={
                n: f"{n} digits{' (not in training)' if n > state.longest else ''}" for n in selectable_lengths(state)
            },
            width=280,
        )
    count = SOURCES_PER_FORMAT if state.task == "dates" else SOURCES
    call = ui.Call(decoding.exposure_of, run, state.task_config, length, count)
    waiting = "Every seed is evaluated with both inputs …"
    context = state.task, variant, length
    ui.show("translation-exposure", call, exposure_view, *context, waiting=waiting, height=HEIGHT + 120)


def selectable_lengths(state: TranslationState) -> list[int]:
    """Return a few of the trained lengths, and two beyond."""
    n = state.longest
    return sorted({max(1, n // 4), max(1, n // 2), max(1, 3 * n // 4), n, n + 1, n + 5})


def selected_length(state: TranslationState) -> int:
    """Return the selected length; 0 for dates and pairs."""
    if not state.has_lengths:
        return 0
    return state.fed if state.fed in selectable_lengths(state) else state.longest


def exposure_view(
    document: ui.Document, found: decoding.ExposureBias, task: str, variant: ModelVariant, length: int
) -> None:
    """Write accuracy and loss by target position after correct tokens, and after the model's own."""
    accuracies = found.teacher_forced_accuracy, found.free_running_accuracy
    losses = found.teacher_forced_loss, found.free_running_loss
    document.finding(findings.exposure_finding(*accuracies))
    document.text(findings.exposure_caption(*accuracies, losses))
    loss_axis = charts.Axis(span=(0.0, max(1.1 * float(np.nanmax(losses)), 0.01)))
    panels = [
        ui.Panel(
            f"{task}-exposure-{name}",
            exposure_chart(f"{title}, by position in the target", variant, *each),
            title=title,
        )
        for name, title, each in (
            ("accuracy", "Accuracy", (*accuracies, charts.ACCURACY, 2)),
            ("loss", "Loss, nats", (*losses, loss_axis, 3)),
        )
    ]
    document.figures("translation-exposure-curves", panels, height=HEIGHT, narrow_height=260, columns=2)
    asked = {
        "dates": f"{SOURCES_PER_FORMAT * len(DATE_FORMATS)} new dates in all formats",
        "pairs": f"the held-out pairs (at most {SOURCES})",
    }.get(task, f"{SOURCES} new sources of {length} digits")
    band = "; band: lowest to highest" if len(found.free_running_loss) > 1 else ""
    document.caption(
        f"{variant.title} on {asked}; the last position is the end token. Solid: after correct tokens; dotted: after "
        f"its own output. Median of {count_seeds(len(found.free_running_loss))}{band}."
    )


def exposure_chart(
    subject: str,
    variant: ModelVariant,
    given: Float[ndarray, "replicas positions"],
    own: Float[ndarray, "replicas positions"],
    y: charts.Axis,
    digits: int,
) -> charts.LineChart:
    """Return a measure by target position after correct tokens (`given`) and after the model's own."""
    positions = np.arange(1, given.shape[1] + 1)
    lines = [
        charts.Line(
            label, f"{variant.words}, {name}", variant.colour, dash, positions, median_and_range(values.T), name=name
        )
        for label, name, dash, values in (
            ("correct", "after correct tokens", "solid", given),
            ("own", "after its own output", "2px,4px", own),
        )
    ]
    x = charts.Axis("position in the target", (0.5, len(positions) + 0.5))
    return charts.LineChart(subject, lines, x, y, margin=60, digits=digits)
