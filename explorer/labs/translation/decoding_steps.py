"""Decoding step by step: greedy and beam search, and exposure bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from explorer.errors import InvalidSetting
from explorer.experiments.translation import TranslationVariant
from explorer.figures.translation_steps import curves_by_position, teacher_forcing_lines
from explorer.labs.translation import answer_findings as findings
from explorer.labs.translation.answers import load_view_model
from explorer.labs.translation.model_picker import loaded_views, model_picker, selected_replica, show_missing_runs
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.config import (
    BOS,
    EOS,
    TranslationConfig,
    source_ids,
    source_text,
    target_ids,
    target_text,
    target_vocabulary,
)
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.components.plot_frame import Panel, draw_plot_frame, value_tracks
from explorer.ui.deferred_sections import show_latest, show_when_ready
from explorer.ui.page_sections import empty_panel, escape_markdown, explanation
from explorer.ui.state.session import PageSession, bind_widget, write_url
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import count_seeds
from explorer.web import array_store

if TYPE_CHECKING:
    from explorer.inspection.seq2seq.decoding import ExposureBias

SOURCES, SOURCES_PER_FORMAT = 200, 20  # fresh sources of a length, or in each way of writing a date
HEIGHT = 320
_KEY = "translation-beams"
_DECODER_INPUTS = ("after the right tokens", "after its own")
_MARKS = {BOS: "begin", EOS: "end"}
_beams = register("beam_search")


@dataclass(frozen=True)
class BeamSearches:
    """The beam searches of one seed on one source with every width, for the browser."""

    task: TranslationConfig
    source: tuple[int, ...]
    starts: tuple[int, ...]
    best: tuple[tuple[int, ...], ...]
    content: bytes


def section(session: PageSession[TranslationState], views: Mapping[str, RunView]) -> None:
    """Draw beam search and exposure bias of one model. `views` are the run views of the page, by name."""
    st.header("Step by step", anchor=False)
    explanation(
        "Greedy decoding takes the likeliest token at each step and never looks back. Beam search keeps several "
        "sequences and goes on from all of them: what began badly may still end well."
    )
    state = session.state
    loaded = loaded_views(views, state.variants)
    show_missing_runs(views, state.variants)
    if not loaded:
        empty_panel("No model with a run to look into: choose one above and train it.", HEIGHT)
        return
    name = model_picker(session, loaded, "translation.steps")
    _beam_search(session, loaded[name], state.variants[name])
    _exposure_bias(session, loaded[name], state.variants[name])


# ---- beam search


def _beam_search(session: PageSession[TranslationState], view: RunView, variant: TranslationVariant) -> None:
    state = session.state
    try:
        source = source_ids(state.task_config, state.source)
    except InvalidSetting:  # shown where it is typed
        empty_panel("There is no source to read: correct it above.", HEIGHT)
        return
    replica = selected_replica(state, view)
    key = ("translation-beams", *view.cache_key, replica, source)
    result_name = f"{state.task} {variant.name}"  # of these alone something old may stay meanwhile
    pending = {result_name: (key, partial(compute_beams, view, state.task_config, source, replica))}

    def draw(found: Mapping[str, BeamSearches], old: frozenset[str]) -> None:
        if result_name in found:
            _apply_width_event(session, len(found[result_name].best))
            _show_beams(session.state, variant, found[result_name])

    show_latest(_KEY, lambda: pending, draw, "The model writes with every width …", 640)


def compute_beams(view: RunView, task: TranslationConfig, source: tuple[int, ...], replica: int) -> BeamSearches:
    """Search with every width. Raises DamagedRun."""
    from explorer.inspection.seq2seq.decoding import beam_trees, require_translator

    found = beam_trees(require_translator(load_view_model(view).single_replica(replica)), task, source)
    content = array_store.pack({"nodes": found.nodes, "logs": found.logs})
    return BeamSearches(task, source, found.starts, found.best, content)


def _apply_width_event(session: PageSession[TranslationState], widest: int) -> None:
    """Apply the width that the visitor has chosen in the component."""
    width = pop_event(_KEY, "width")
    if type(width) is int and 1 <= width <= widest and width != session.state.width:
        session.state = replace(session.state, width=width)
        write_url(session)


def _show_beams(state: TranslationState, variant: TranslationVariant, found: BeamSearches) -> None:
    task, right = found.task, target_ids(found.task, found.source)
    _beams(
        data={
            "title": variant.title,
            "colour": variant.colour,
            "source": source_text(task, found.source),
            "right": None if right is None else target_text(task, right),
            "tokens": [_MARKS.get(token, token) for token in target_vocabulary(task)],
            "width": state.width,
            "starts": list(found.starts),
            "best": [list(positions) for positions in found.best],
            "address": array_store.register_array(found.content),
            "file": f"{state.task}-beams-{variant.name}",
        },
        key=_KEY,
        **event_callbacks(_KEY, "width"),
    )


# ---- exposure bias


def _exposure_bias(session: PageSession[TranslationState], view: RunView, variant: TranslationVariant) -> None:
    state = session.state
    st.subheader("Teacher forcing and free running", anchor=False)
    explanation(
        "In training the right tokens stand before every question, whatever the model would have written (teacher "
        "forcing). In use it reads its own writing, mistakes and all (free running). What lies between the two is "
        "exposure bias."
    )
    length = selected_length(state)
    if state.task != "dates":
        binding = bind_widget(
            session, "translation.fed", length, lambda s, new: replace(s, fed=0 if new == s.longest else new)
        )
        labels = {
            n: f"{n} digits" + (", beyond training" if n > state.longest else "") for n in selectable_lengths(state)
        }
        st.selectbox("Length of the sources", list(labels), format_func=lambda n: labels[n], width=280, **binding)
    key = ("translation-exposure", *view.cache_key, length)
    make = partial(compute_exposure, view, state.task_config, length)
    show = partial(_show_exposure, state, variant, length)
    show_when_ready(
        "translation-exposure", key, make, show, "Every seed writes beside the right target …", HEIGHT + 120
    )


def selectable_lengths(state: TranslationState) -> list[int]:
    """Return a few of the trained lengths, and two beyond."""
    n = state.longest
    return sorted({max(1, n // 4), max(1, n // 2), max(1, 3 * n // 4), n, n + 1, n + 5})


def selected_length(state: TranslationState) -> int:
    """Return the selected length; 0 for dates."""
    if state.task == "dates":
        return 0
    return state.fed if state.fed in selectable_lengths(state) else state.longest


def compute_exposure(view: RunView, task: TranslationConfig, length: int) -> ExposureBias:
    """Evaluate every seed after right tokens and after its own. Raises DamagedRun."""
    from explorer.inspection.seq2seq.decoding import exposure_bias as asked
    from explorer.inspection.seq2seq.decoding import require_translator

    return asked(
        require_translator(load_view_model(view).stack), task, length, SOURCES if length else SOURCES_PER_FORMAT
    )


def _show_exposure(state: TranslationState, variant: TranslationVariant, length: int, found: ExposureBias) -> None:
    losses = (found.teacher_forced_loss, found.free_running_loss)
    finding = findings.exposure_finding(
        variant.words, found.teacher_forced_accuracy, found.free_running_accuracy, losses
    )
    st.subheader(escape_markdown(finding), anchor=False)
    accuracy = teacher_forcing_lines(
        found.teacher_forced_accuracy, found.free_running_accuracy, variant.words, variant.colour
    )
    loss = teacher_forcing_lines(*losses, variant.words, variant.colour)
    panels = [
        Panel(
            f"{state.task}-exposure-{name}",
            curves_by_position(lines, loss=name == "loss"),
            alt=f"{title}, by place in the target. {finding}",
            title=title,
            tracks=value_tracks([(words, variant.colour) for words in _DECODER_INPUTS], 3 if name == "loss" else 2),
        )
        for name, title, lines in (("accuracy", "Accuracy", accuracy), ("loss", "Loss, nats", loss))
    ]
    draw_plot_frame(panels, key="translation-exposure-curves", height=HEIGHT, narrow_height=260, columns=2)
    asked = (
        f"{SOURCES} fresh sources of {length} digits"
        if length
        else f"{SOURCES_PER_FORMAT * len(DATE_FORMATS)} fresh dates in all ways"
    )
    band = "; band: lowest to highest" if len(found.free_running_loss) > 1 else ""
    st.caption(
        f"{variant.title} on {asked}; the last place is the end. Solid: after the right tokens, dotted: after its "
        f"own. Mean of {count_seeds(len(found.free_running_loss))}{band}."
    )
