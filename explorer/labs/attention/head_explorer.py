"""The grid of attention heads: its data and its events."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, get_args, get_type_hints

import numpy as np
import streamlit as st

from explorer import ui
from explorer.inspection.attention import head_scores
from explorer.labs.attention import findings
from explorer.labs.attention.ablation import answer_data, answer_place, answer_row, importance_call
from explorer.labs.attention.measurements import (
    compute_snapshots,
    query_position,
    reading_call,
    select_snapshots,
    tokenize_text,
)
from explorer.labs.attention.results import AttentionReading, AttentionSnapshots
from explorer.labs.attention.state import MAX_TOKENS, AttentionState
from explorer.model.model import Model
from explorer.ui.result_section import tab_token
from explorer.ui.training import model_input
from explorer.ui.training.model_input import parse_head_event, parse_heads, parse_heads_event
from explorer.ui.wording import visible_whitespace
from explorer.web import background
from explorer.web.background import Pool
from explorer.web.results import Content, Section, register, register_arrays

VIEWS, SCALES, SORTS = (get_args(get_type_hints(AttentionState)[name]) for name in ("view", "scale", "sort"))
_KEY = "heads"
_KIND_TITLES = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention"}
_EVENTS = ("open", "asked", "scale", "sort", "view", "step", "touch", "kind")


def section(session: ui.PageSession[AttentionState], stored_model: Model) -> None:
    """Draw the grid of heads and the model's answer; the importance of the heads follows once it is measured."""
    state = session.state
    calls: dict[str, ui.Call[Any]] = {"reading": reading_call(stored_model, state)}
    measured = importance_call(stored_model, state)
    # Of a visitor's text it takes a minute, so it is shown once it was asked for.
    if measured and (stored_model.importance_text != "this text" or measured.key in background.results()):
        calls["importance"] = measured
        background.submit(measured.key, measured, "patient")  # it must not wait among quick results

    def rerun_after_event() -> None:
        if apply_events(session, stored_model):
            st.rerun()

    ui.show_each(
        "gaze",
        calls,
        heads_view,
        stored_model,
        state,
        tab_token("gaze-snapshots"),
        waiting="The model is reading …",
        height=640,
        pool=stored_model.pool,
        partly=True,
        events={_KEY: _EVENTS},
        on_event=rerun_after_event,
    )


def heads_view(
    document: ui.Document,
    results: Mapping[str, AttentionReading | head_scores.HeadImportance],
    stored_model: Model,
    state: AttentionState,
    token: str,
) -> None:
    """Write what the model predicts, and the grid of its heads; `token` is the secret of the browser tab."""
    reading, importance = results.get("reading"), results.get("importance")
    if not isinstance(reading, AttentionReading):
        return
    importance = importance if isinstance(importance, head_scores.HeadImportance) else None
    document.caption(" ".join(input_notes(stored_model, reading)))
    name = f"{stored_model.title}: " if state.beside else ""
    document.finding(name + answer_sentence(stored_model, state, reading))
    document.component("attention_heads", component_data(stored_model, reading, token, importance, state), _KEY)


def answer_sentence(stored_model: Model, state: AttentionState, reading: AttentionReading) -> str:
    """Return what the model predicts at the query, as a sentence."""
    row = answer_row(stored_model, state.at, reading)
    return findings.answer_finding(
        reading,
        row,
        lambda outcome: visible_whitespace(stored_model.outcome_text(outcome, reading.query_ids)),
        answer_place(stored_model, row, reading),
        stored_model.is_trained_position(reading.queries, row),
    )


def input_notes(stored_model: Model, reading: AttentionReading) -> list[str]:
    """Return what of the text was changed or left out for the model, and where its answer is read, in sentences."""
    notes = model_input.input_notes(stored_model, reading.input)
    if not stored_model.layout.answers_every_token:
        notes.append("The answer is read at <BOS>, so in the last layer only its row matters.")
    return notes


def component_data(
    stored_model: Model,
    reading: AttentionReading,
    token: str,
    importance: head_scores.HeadImportance | None,
    state: AttentionState,
) -> dict[str, object]:
    """Return the data of the component.

    token: the secret of the browser tab for the address of the snapshots; empty: without the training slider
    importance: None until it is measured.
    """
    computed, tokens = reading.state, reading.queries
    state = state.clamp(*reading.size, len(tokens))
    return {
        "tokens": list(tokens),
        **({} if state.shows_one_text(stored_model.parts) else {"keys": list(reading.input.tokens)}),
        "ids": list(reading.query_ids),
        "layers": reading.size[0],
        "heads": reading.size[1],
        "causal": reading.causal,
        "masked": list(reading.padding_positions),
        "address": register_arrays(reading.content, stored_model.cache_key),
        "open": [state.layer, state.head],
        "asked": query_position(stored_model, state.at, tokens),
        "kinds": {part: _KIND_TITLES[part] for part in stored_model.parts},
        "kind": state.kind or "cross",
        "scale": state.scale,
        "sort": state.sort,
        "view": state.view,
        "snapshots": _snapshot_data(stored_model, state, token) if token else None,
        "step": max(stored_model.steps, default=0) if computed.step is None else computed.step,
        "touch": {
            "off": sorted(map(list, parse_heads(computed.off))),
            "flat": sorted(map(list, parse_heads(computed.flat))),
            "unmasked": computed.unmasked,
            "unplaced": computed.unplaced,
        },
        "can": {"mask": stored_model.layout.causal, "positions": stored_model.layout.positions},
        "worth": None if importance is None else np.round(importance.importance, 5).tolist(),
        "worth_error": None if importance is None else np.round(importance.error, 5).tolist(),
        "worth_of": stored_model.importance_text,
        "answers": answer_data(stored_model, state.at, reading),
        "unit": stored_model.unit,
        "colour": stored_model.colour,
        "title": stored_model.title,
        "file": f"attention-{stored_model.name}",
    }


def _snapshot_data(stored_model: Model, state: AttentionState, token: str) -> dict[str, object] | None:
    """Return the steps of the training slider; None if the run has too few snapshots."""
    unchanged = state.computation_settings(ablated=False)
    steps = select_snapshots(stored_model, len(tokenize_text(stored_model, unchanged).ids), state.step)
    if not steps:
        return None
    call = ui.Call(compute_snapshots, stored_model, replace(unchanged, step=None), tuple(steps))

    def answer(futures: Mapping[str, Future[AttentionSnapshots]]) -> Content:
        return {"address": register_arrays(futures["snapshots"].result().content, stored_model.cache_key)}

    pool: Pool = "quick" if stored_model.pool == "quick" else "patient"  # checkpoints of a real model take seconds
    section = Section(lambda: {"snapshots": background.submit(call.key, call, pool)}, answer)
    address = register(f"{token}{hash(call.key):x}", section, call.key)  # computed once the browser fetches it
    return {
        "steps": steps,
        "curve": stored_model.held_out_losses(state.seed),
        "unit": "nats",
        "address": address,
    }


def apply_events(session: ui.PageSession[AttentionState], stored_model: Model) -> bool:
    """Apply the component's events to the state; return whether other parts of the page show what has changed.

    Every value is checked: a browser can send anything.
    """
    before, size = session.state, (stored_model.layout.layers, stored_model.layout.heads)
    state = before
    if head := parse_head_event(ui.pop_event(_KEY, "open"), size):
        state = replace(state, layer=head[0], head=head[1])
    if type(value := ui.pop_event(_KEY, "asked")) is int and 0 <= value < MAX_TOKENS:
        state = replace(state, at=value)
    for name, options in (("scale", SCALES), ("sort", SORTS), ("view", VIEWS)):
        if (value := ui.pop_event(_KEY, name)) in options:
            state = replace(state, **{name: value})
    if (value := ui.pop_event(_KEY, "kind")) in stored_model.parts:
        state = replace(state, kind=value, at=None)
    steps = stored_model.steps
    if type(value := ui.pop_event(_KEY, "step")) is int and value in steps:
        state = replace(state, step=None if value == steps[-1] else value)
    if isinstance(value := ui.pop_event(_KEY, "touch"), dict):
        state = _with_ablation(state, value, size)
    if state != before:
        session.state = state
        ui.write_url(session)
    if state.beside:  # the second model is shown with the same score and view
        return state != before
    return replace(state, scale=before.scale, sort=before.sort, view=before.view) != before


def _with_ablation(state: AttentionState, event: dict[str, Any], size: tuple[int, int]) -> AttentionState:
    return replace(
        state,
        off=parse_heads_event(event.get("off"), size),
        flat=parse_heads_event(event.get("flat"), size),
        unmasked=event.get("unmasked") is True,
        unplaced=event.get("unplaced") is True,
    )
