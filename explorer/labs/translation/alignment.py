"""Alignment: the attention between source and target while one seed of a model decodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import get_args

import streamlit as st

from explorer import ui
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.attention import alignment
from explorer.labs.translation import alignment_findings as findings
from explorer.labs.translation.controls import model_picker, selected_replica, selected_variant
from explorer.labs.translation.state import MAX_STEP, Look, TranslationState
from explorer.models.configs import TransformerEncoderDecoderConfig
from explorer.tasks.seq2seq.config import source_ids, target_vocabulary
from explorer.training.config import RunConfig
from explorer.ui.state.session import fragment
from explorer.ui.training.model_input import parse_head_event
from explorer.web.background import Pool
from explorer.web.results import pack, register_arrays

HEIGHT, EMPTY = 720, 200
ATTENTION_KINDS: tuple[Look, ...] = get_args(Look)
_KEY = "translation-alignment"


def section(session: ui.PageSession[TranslationState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the alignment of one model."""
    runs = ui.loaded_runs(views, "No finished run yet: select and train a model.", EMPTY)
    if not runs:
        return
    fragment(session, "translation-inside", lambda: _draw_alignment(session, runs))


def _draw_alignment(session: ui.PageSession[TranslationState], runs: Mapping[str, ui.Run]) -> None:
    state, name = session.state, selected_variant(session.state, runs)
    call, pool = _call(state, runs[name])

    def rerun_after_event() -> None:
        if apply_events(session):
            st.rerun()  # the formula shows the numbers of the selected row

    ui.show(
        _KEY,
        call,
        attention_view,
        state,
        state.variants[name],
        runs[name].config,
        selected_replica(state, runs[name]),
        waiting="The model translates the source …",
        height=HEIGHT,
        pool=pool,
        events={_KEY: ("look", "open", "at")},
        on_event=rerun_after_event,
    )
    model_picker(session, runs, "translation")


def _call(state: TranslationState, run: ui.Run) -> tuple[ui.Call[alignment.AlignmentArrays], Pool]:
    """Return the call that aligns the source with one seed, and the threads for it."""
    source = source_ids(state.task_config, state.source)
    call = ui.Call(alignment.align_with, run, state.task_config, selected_replica(state, run), source)
    # The sensitivity of the vector needs one forward pass for every symbol at every position.
    return call, "usual" if _attention_kind(run.config) == "vector" else "quick"


def formula_section(state: TranslationState, views: Mapping[str, ui.RunView]) -> None:
    """Draw how the weights of the shown model are computed, with the numbers of the selected row."""
    runs = ui.loaded_runs(views, "No finished run yet: select and train a model.", EMPTY)
    if not runs:
        return
    run = runs[selected_variant(state, runs)]
    if _attention_kind(run.config) == "vector":
        st.latex(findings.VECTOR_FORMULA, width="content")
        ui.explanation("Every step receives the same c; only the state s and the previous token y change.")
        return
    (call, pool), draw = _call(state, run), partial(_draw_example, state, run.config)
    waiting = "The model reads the source …"
    ui.show_when_ready("translation-alignment-example", call.key, call, draw, waiting, 160, lambda _: None, pool)


def selected_head(state: TranslationState, data: alignment.AlignmentArrays) -> tuple[int, int]:
    """Return the selected layer and head, within those that exist; by default the best head."""
    weights = data.arrays["source"]
    if min(state.layer, state.head) < 0:
        return findings.best_head(state.task_config, "".join(data.source), data.target, weights)
    layers, heads = weights.shape[:2]
    return min(state.layer, layers - 1), min(state.head, heads - 1)


def apply_events(session: ui.PageSession[TranslationState]) -> bool:
    """Apply the component's events to the state and return whether it has changed."""
    before, chosen = session.state, ui.pop_choices(_KEY, {"look": ATTENTION_KINDS, "at": range(-1, MAX_STEP + 1)})
    if head := parse_head_event(ui.pop_event(_KEY, "open"), (8, 16)):
        chosen |= {"layer": head[0], "head": head[1]}
    session.state = replace(before, **chosen)
    return session.state != before


def _selected_attention(
    state: TranslationState, config: RunConfig, data: alignment.AlignmentArrays
) -> tuple[Look, tuple[int, int]]:
    """Return which attention is shown, and its layer and head."""
    kind = _attention_kind(config)
    return (
        state.look if kind == "transformer" else "source",
        selected_head(state, data) if kind != "vector" else (0, 0),
    )


def attention_view(
    document: ui.Document,
    data: alignment.AlignmentArrays,
    state: TranslationState,
    variant: ModelVariant,
    config: RunConfig,
    replica: int,
) -> None:
    """Write where one seed of a model attends while it decodes, or what its vector depends on."""
    look, head = _selected_attention(state, config, data)
    if "source" in data.arrays:
        text, weights = "".join(data.source), data.arrays["source"]
        more = findings.head_comparison(state.task_config, text, data.target, weights, head)
        finding = findings.attention_finding(state.task_config, variant.words, text, data.target, weights, head)
    else:
        finding = findings.vector_finding(variant.words, len(data.target), len(data.arrays["vector"]))
        more = findings.sensitivity_finding(data.source, data.arrays["moved"])
    shown = {
        "kind": _attention_kind(config),
        "source": list(data.source),
        "target": list(data.target),
        "right": None if data.right is None else list(data.right),
        "vocabulary": list(target_vocabulary(state.task_config)),
        "address": register_arrays(pack(data.arrays)),
        "look": look,
        "open": list(head),
        "at": state.at,
        "title": variant.title,
        "colour": variant.colour,
        "file": f"translation-{state.task}-{variant.name}-seed-{config.seeds[replica]}",
    }
    document.component("alignment", shown, _KEY)
    document.text(f"{finding} {findings.output_finding(data.target, data.right)} {more}".strip())


def _attention_kind(config: RunConfig) -> str:
    if getattr(config.model, "attention", "") == "none":
        return "vector"
    return "transformer" if isinstance(config.model, TransformerEncoderDecoderConfig) else "additive"


def _draw_example(state: TranslationState, config: RunConfig, data: alignment.AlignmentArrays) -> None:
    """Draw the attention formula with the numbers of the selected row."""
    look, head = _selected_attention(state, config, data)
    weights, scores = data.arrays[look][head], data.arrays[f"{look}_scores"][head]
    row = min(max(state.at, 0), len(weights) - 1)
    keys = row + 1 if look == "decoder" else weights.shape[-1]
    queries = data.source if look == "encoder" else data.target
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        if isinstance(config.model, TransformerEncoderDecoderConfig):
            width = config.model.width // config.model.heads
            st.latex(findings.SCALED_FORMULA, width="content")
            st.latex(findings.scaled_example(row, width, scores[row, :keys], weights[row, :keys]), width="content")
        else:
            st.latex(findings.ADDITIVE_FORMULA, width="content")
            st.latex(findings.additive_example(row, scores[row], weights[row]), width="content")
    where = "the row that is kept" if state.at >= 0 else "the first row; a click keeps another"
    ui.caption(
        ui.escape_markdown(f"With the numbers of row {row + 1}, “{queries[row]}”, and its strongest weight: {where}.")
    )
