"""The grid of attention heads: its data and its events."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, get_args, get_type_hints

import numpy as np
import streamlit as st

from explorer import ui
from explorer.errors import LineageError
from explorer.inspection.attention import head_scores
from explorer.labs.attention import findings
from explorer.labs.attention.head_importance import importance_call
from explorer.labs.attention.measurements import (
    AttentionReading,
    compute_snapshots,
    query_position,
    reading_call,
    select_snapshots,
    tokenize_text,
)
from explorer.labs.attention.state import MAX_TOKENS, AttentionState
from explorer.model.model import Model
from explorer.ui.result_section import tab_token
from explorer.ui.training import model_input, stored_models
from explorer.ui.training.model_input import parse_head_event, parse_heads, parse_heads_event
from explorer.ui.wording import visible_whitespace
from explorer.web import background
from explorer.web.background import Pool
from explorer.web.results import Content, Section, register, register_arrays

_CHOICES = {name: get_args(get_type_hints(AttentionState)[name]) for name in ("view", "scale", "sort")}
_KEY, _BESIDE = "heads", "heads_beside"  # of the component of the first and of the second model
_KIND_TITLES = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention"}
_EVENTS = ("open", "asked", "scale", "sort", "view")  # of both; the first model has more


def section(session: ui.PageSession[AttentionState], stored_model: Model) -> None:
    """Draw the grid of heads and the model's answer; the importance of the heads follows once it is measured."""
    state = session.state
    calls: dict[str, ui.Call[Any]] = {"reading": reading_call(stored_model, state)}
    measured = importance_call(stored_model, state)
    # Of a visitor's text it takes a minute, so it is shown once it was asked for.
    if measured and (stored_model.importance_text != "this text" or measured.key in background.results()):
        calls["importance"] = measured
        background.submit(measured.key, measured, "patient")  # it must not wait among quick results

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
        events={_KEY: (*_EVENTS, "step", "touch", "kind")},
        on_event=lambda: _apply_events(session, stored_model, _KEY),
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
    document.text(" ".join(input_notes(stored_model, reading)))
    name = f"{stored_model.title}: " if state.beside else ""
    document.finding(name + answer_sentence(stored_model, state, reading))
    document.component("attention_heads", component_data(stored_model, reading, token, importance, state), _KEY)


def answer_row(stored_model: Model, at: int | None, reading: AttentionReading) -> int:
    """Return the row of the answer: the one at the query, or the only one of a classifier."""
    every_token = stored_model.layout.answers_every_token
    return query_position(stored_model, at, reading.queries) if every_token else 0


def answer_place(stored_model: Model, row: int, reading: AttentionReading) -> str:
    """Return where the model predicts something, as the end of a sentence; empty for a classifier."""
    if not stored_model.layout.answers_every_token:
        return ""
    if stored_model.predicts_in_place:
        return f"in place of “{reading.queries[row].strip()}”"
    return f"after “{findings.text_end(reading.queries[: row + 1], stored_model.separator)}”"


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


def _answer_data(stored_model: Model, at: int | None, reading: AttentionReading) -> dict[str, object] | None:
    """Return the most probable answers with and without the ablation; None for a model that predicts nothing."""
    if reading.answers is None:
        return None
    row, answers = answer_row(stored_model, at, reading), reading.answers
    outcomes = zip(answers.outcomes[row], answers.probabilities[row], answers.original[row], strict=True)
    return {
        "where": answer_place(stored_model, row, reading) or "read at the first token",
        "rows": [
            {
                "text": visible_whitespace(stored_model.outcome_text(int(outcome), reading.query_ids)),
                "now": round(float(now), 6),
                "before": round(float(before), 6),
            }
            for outcome, now, before in outcomes
        ],
        "changed": reading.state.is_ablated,
    }


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
        **{name: getattr(state, name) for name in _CHOICES},
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
        "answers": _answer_data(stored_model, state.at, reading),
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

    def answer(futures: Mapping[str, Future[bytes]]) -> Content:
        return {"address": register_arrays(futures["snapshots"].result(), stored_model.cache_key)}

    pool: Pool = "quick" if stored_model.pool == "quick" else "patient"  # checkpoints of a real model take seconds
    section = Section(lambda: {"snapshots": background.submit(call.key, call, pool)}, answer)
    address = register(f"{token}{hash(call.key):x}", section, call.key)  # computed once the browser fetches it
    return {"steps": steps, "curve": stored_model.held_out_losses(state.seed), "unit": "nats", "address": address}


def _apply_events(session: ui.PageSession[AttentionState], stored_model: Model, key: str) -> None:
    """Apply the events of a model's heads to the state; the page reruns if other parts of it show what has changed."""
    before, steps, first = session.state, stored_model.steps, key == _KEY
    size = stored_model.layout.layers, stored_model.layout.heads
    chosen = ui.pop_choices(key, {**_CHOICES, "asked": range(MAX_TOKENS), "kind": stored_model.parts, "step": steps})
    if "asked" in chosen:
        chosen["at" if first else "beside_at"] = chosen.pop("asked")
    if "kind" in chosen:
        chosen["at"] = None
    if "step" in chosen and chosen["step"] == steps[-1]:
        chosen["step"] = None
    if head := parse_head_event(ui.pop_event(key, "open"), size):
        chosen |= zip(("layer", "head") if first else ("beside_layer", "beside_head"), head, strict=True)
    if isinstance(ablation := ui.pop_event(key, "touch"), dict):
        chosen |= {name: parse_heads_event(ablation.get(name), size) for name in ("off", "flat")}
        chosen |= {name: ablation.get(name) is True for name in ("unmasked", "unplaced")}
    session.state = replace(before, **chosen)
    if session.state == before:
        return
    ui.write_url(session)
    # The browser has changed the score and the view; a second model is shown with the same ones.
    if before.beside or chosen.keys() - _CHOICES.keys():
        st.rerun()


def find_second_model(session: ui.PageSession[AttentionState]) -> Model | None:
    """Return the second model that the URL names; if it cannot be shown, say why and return None."""
    name = session.state.beside
    if name == session.state.model:
        session.state = session.state.with_second_model("")
        return None
    if not name:
        return None
    try:
        found = stored_models.find_model(name)
        found.layout  # noqa: B018  # raises for a model without attention
    except LineageError as error:
        session.problems += (f"The second model cannot be shown: {error}",)
        return None
    return found


def heads_of_both(session: ui.PageSession[AttentionState], first: Model, second: Model | None) -> None:
    """Draw the heads of the model, and below them those of the second one, if there is one."""
    section(session, first)
    if second is not None:
        second_section(session, first, second)
        ui.caption(f"The sections below are about the first model, {ui.escape_markdown(first.title)}.")


def second_section(session: ui.PageSession[AttentionState], first: Model, second: Model) -> None:
    """Draw the heads of the second model, and what it predicts."""
    state = second_state(session.state, first)
    ui.show_problems(second.describe_unread(state.say))

    ui.show(
        "gaze-beside",
        reading_call(second, state),
        second_view,
        second,
        state,
        waiting="The second model is reading …",
        height=640,
        pool=second.pool,
        events={_BESIDE: _EVENTS},
        on_event=lambda: _apply_events(session, second, _BESIDE),
    )


def second_state(state: AttentionState, first: Model) -> AttentionState:
    """Return the state of the second model: the text, the score and the view of the first, with its own open head."""
    return replace(
        AttentionState(),
        model=state.beside,
        say=first.text_or_example(state.say),
        layer=state.beside_layer,
        head=state.beside_head,
        at=state.beside_at,
        **{name: getattr(state, name) for name in _CHOICES},
    )


def second_view(document: ui.Document, reading: AttentionReading, second: Model, state: AttentionState) -> None:
    """Write what the second model predicts, and the grid of its heads."""
    document.text(" ".join(filter(None, [second.summary, *input_notes(second, reading)])))
    document.finding(f"{second.title}: {answer_sentence(second, state, reading)}")
    data = component_data(second, reading, "", None, state) | {"fixed": True}
    document.component("attention_heads", data, _BESIDE)
