"""Decoding step by step: greedy and beam search, and exposure bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from explorer.experiments.model_variant import ModelVariant
from explorer.figures.seq2seq.translation_steps import curves_by_position, teacher_forcing_lines
from explorer.inspection.seq2seq import decoding
from explorer.labs.translation import answer_findings as findings
from explorer.labs.translation.answers import load_view_model
from explorer.labs.translation.model_picker import (
    loaded_views,
    model_picker,
    selected_replica,
)
from explorer.labs.translation.state import MAX_WIDTH, Task, TranslationState
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
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig
from explorer.ui.components.base import pop_event
from explorer.ui.components.plot_frame import Panel, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.run_view import RunView, untrained_panel
from explorer.ui.wording import count_seeds
from explorer.web.results import pack, register_arrays

SOURCES, SOURCES_PER_FORMAT = 200, 20  # fresh sources of a length, or in each way of writing a date
HEIGHT = 320
_KEY = "translation-beams"
_DECODER_INPUTS = ("after correct tokens", "after its own output")
_MARKS = {BOS: "begin", EOS: "end"}


@dataclass(frozen=True)
class BeamSearches:
    """The beam searches of one seed on one source with every width, for the browser."""

    task: TranslationConfig
    source: tuple[int, ...]
    right: str | None  # the right answer, if it is known
    starts: tuple[int, ...]
    best: tuple[tuple[int, ...], ...]
    content: bytes


def section(session: PageSession[TranslationState], views: Mapping[str, RunView]) -> None:
    """Draw beam search and exposure bias of one model. `views` are the run views of the page, by name."""
    explanation(
        "Greedy decoding takes the most likely token at each step. Beam search keeps several sequences and continues "
        "all of them, so a sequence that begins with a less likely token can still win."
    )
    state = session.state
    loaded = loaded_views(views, state.variants)
    if not loaded:
        untrained_panel(views, "No finished run yet: select and train a model.", HEIGHT)
        return
    name = model_picker(session, loaded, "translation.steps")
    _beam_search(session, loaded[name], state.variants[name])
    _exposure_bias(session, loaded[name], state.variants[name])


# ---- beam search


def _beam_search(session: PageSession[TranslationState], view: RunView, variant: ModelVariant) -> None:
    state = session.state
    source = source_ids(state.task_config, state.source)
    replica = selected_replica(state, view)
    key = ("translation-beams", *view.cache_key, replica, source, state.text)
    make = partial(compute_beams, view, state.task_config, source, replica)

    def requests() -> Mapping[str, Request[BeamSearches]]:
        _apply_width_event(session)
        return {"beams": (key, make)}

    draw = partial(_draw_beams, state.task, state.width, variant)
    result_section(_KEY, requests, draw, "Beam search runs with every width …", 640, events={_KEY: ("width",)})


def compute_beams(view: RunView, task: TranslationConfig, source: tuple[int, ...], replica: int) -> BeamSearches:
    """Search with every width. Raises DamagedRun."""
    found = decoding.beam_trees(
        decoding.require_translator(load_view_model(view).single_replica(replica)), task, source
    )
    content = pack({"nodes": found.nodes, "logs": found.logs})
    right = target_ids(task, source)
    return BeamSearches(
        task, source, None if right is None else target_text(task, right), found.starts, found.best, content
    )


def _apply_width_event(session: PageSession[TranslationState]) -> None:
    """Apply the width that the visitor has chosen in the component; the page is then drawn again."""
    width = pop_event(_KEY, "width")
    if type(width) is int and 1 <= width <= MAX_WIDTH and width != session.state.width:
        session.state = replace(session.state, width=width)
        st.rerun()


def _draw_beams(
    name: Task, width: int, variant: ModelVariant, document: Document, results: Mapping[str, BeamSearches]
) -> None:
    found = results["beams"]
    task = found.task
    document.component(
        "beam_search",
        {
            "title": variant.title,
            "colour": variant.colour,
            "source": source_text(task, found.source),
            "right": found.right,
            "tokens": [_MARKS.get(token, token) for token in target_vocabulary(task)],
            "width": width,
            "starts": list(found.starts),
            "best": [list(positions) for positions in found.best],
            "address": register_arrays(found.content),
            "file": f"{name}-beams-{variant.name}",
        },
        key=_KEY,
    )


# ---- exposure bias


def _exposure_bias(session: PageSession[TranslationState], view: RunView, variant: ModelVariant) -> None:
    state = session.state
    st.subheader("Teacher forcing and free running", anchor=False)
    explanation(
        "In training the decoder reads the correct tokens before each position (teacher forcing). In use it reads its "
        "own output, errors included (free running). The difference is called exposure bias."
    )
    length = selected_length(state)
    if state.has_lengths:
        options = selectable_lengths(state)
        bind_widget(
            session,
            "fed",
            st.selectbox,
            shown=length,
            update=lambda s, new: replace(s, fed=0 if new == s.longest else new),
            options={n: f"{n} digits" + (" (not in training)" if n > state.longest else "") for n in options},
            width=280,
        )
    key = ("translation-exposure", *view.cache_key, length, state.text)
    make = partial(compute_exposure, view, state.task_config, length)
    result_section(
        "translation-exposure",
        {"exposure": (key, make)},
        partial(_draw_exposure, state.task, variant, length),
        "Every seed is evaluated with both inputs …",
        HEIGHT + 120,
    )


def selectable_lengths(state: TranslationState) -> list[int]:
    """Return a few of the trained lengths, and two beyond."""
    n = state.longest
    return sorted({max(1, n // 4), max(1, n // 2), max(1, 3 * n // 4), n, n + 1, n + 5})


def selected_length(state: TranslationState) -> int:
    """Return the selected length; 0 for dates and pairs."""
    if not state.has_lengths:
        return 0
    return state.fed if state.fed in selectable_lengths(state) else state.longest


def compute_exposure(view: RunView, task: TranslationConfig, length: int) -> decoding.ExposureBias:
    """Evaluate every seed after right tokens and after its own. Raises DamagedRun."""
    count = SOURCES_PER_FORMAT if isinstance(task, DatesConfig) else SOURCES
    return decoding.exposure_bias(decoding.require_translator(load_view_model(view).stack), task, length, count)


def _draw_exposure(
    task: Task, variant: ModelVariant, length: int, document: Document, results: Mapping[str, decoding.ExposureBias]
) -> None:
    found = results["exposure"]
    losses = (found.teacher_forced_loss, found.free_running_loss)
    finding = findings.exposure_finding(found.teacher_forced_accuracy, found.free_running_accuracy)
    document.finding(finding)
    document.text(findings.exposure_caption(found.teacher_forced_accuracy, found.free_running_accuracy, losses))
    accuracy = teacher_forcing_lines(
        found.teacher_forced_accuracy, found.free_running_accuracy, variant.words, variant.colour
    )
    loss = teacher_forcing_lines(*losses, variant.words, variant.colour)
    panels = [
        Panel(
            f"{task}-exposure-{name}",
            curves_by_position(lines, loss=name == "loss"),
            alt=f"{title}, by position in the target. {finding}",
            title=title,
            tracks=value_tracks([(words, variant.colour) for words in _DECODER_INPUTS], 3 if name == "loss" else 2),
        )
        for name, title, lines in (("accuracy", "Accuracy", accuracy), ("loss", "Loss, nats", loss))
    ]
    add_plot_frame(document, panels, key="translation-exposure-curves", height=HEIGHT, narrow_height=260, columns=2)
    asked = {
        "dates": f"{SOURCES_PER_FORMAT * len(DATE_FORMATS)} new dates in all formats",
        "pairs": f"the held-out pairs (at most {SOURCES})",
    }.get(task, f"{SOURCES} new sources of {length} digits")
    band = "; band: lowest to highest" if len(found.free_running_loss) > 1 else ""
    document.caption(
        f"{variant.title} on {asked}; the last position is the end token. Solid: after correct tokens; dotted: after "
        f"its own output. Median of {count_seeds(len(found.free_running_loss))}{band}."
    )
