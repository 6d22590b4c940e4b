"""The grid of attention heads: its data and its events."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_type_hints

import numpy as np
import streamlit as st

from explorer.errors import shorten
from explorer.inspection.compare import held_out_losses
from explorer.labs.attention import findings
from explorer.labs.attention.ablation import answer_data, answer_row, importance_request, separator
from explorer.labs.attention.measurements import (
    answers_every_token,
    cache_key,
    compute_snapshots,
    context_length,
    is_causal,
    is_trained_position,
    outcome_text,
    query_position,
    reading_request,
    select_snapshots,
    snapshot_input,
    snapshot_steps,
)
from explorer.labs.attention.results import AttentionReading, AttentionSnapshots
from explorer.labs.attention.state import MAX_TOKENS, AttentionState
from explorer.models.configs import TransformerTextConfig
from explorer.ui.components.base import pop_event
from explorer.ui.document import Document
from explorer.ui.result_section import Request, result_section, tab_token
from explorer.ui.state.session import PageSession, write_url
from explorer.ui.training.model_input import attention_size, parse_head_event, parse_heads, parse_heads_event
from explorer.ui.training.stored_models import StoredModel
from explorer.ui.wording import quote_first
from explorer.web.background import submit
from explorer.web.results import Content, Section, register, register_arrays

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadImportance

VIEWS, SCALES, SORTS = (get_args(get_type_hints(AttentionState)[name]) for name in ("view", "scale", "sort"))
_KEY = "heads"
_EVENTS = ("open", "asked", "scale", "sort", "view", "step", "touch")


Results: TypeAlias = Mapping[str, "AttentionReading | HeadImportance"]


def section(session: PageSession[AttentionState], stored_model: StoredModel) -> None:
    """Draw the grid of heads and the model's answer; the importance of the heads follows once it is measured."""
    state = session.state

    def requests() -> Mapping[str, Request[AttentionReading | HeadImportance]]:
        if apply_events(session, stored_model):
            st.rerun()
        return {"reading": reading_request(stored_model, state), **importance_request(stored_model, state)}

    result_section(
        "gaze",
        requests,
        partial(_draw, state, stored_model, tab_token("gaze-snapshots")),
        "The model is reading …",
        640,
        pool="quick",
        partly=True,
        events={_KEY: _EVENTS},
    )


def _draw(
    state: AttentionState,
    stored_model: StoredModel,
    token: str,
    document: Document,
    results: Results,
) -> None:
    from explorer.inspection.attention.head_scores import HeadImportance

    reading, importance = results.get("reading"), results.get("importance")
    if not isinstance(reading, AttentionReading):
        return
    importance = importance if isinstance(importance, HeadImportance) else None
    if notes := input_notes(stored_model, reading):
        document.caption(" ".join(notes))
    document.finding(
        findings.answer_finding(
            reading,
            answer_row(stored_model, state.at, reading),
            partial(outcome_text, stored_model, reading),
            answers_every_token(stored_model),
            is_trained_position(stored_model, reading.input.tokens, answer_row(stored_model, state.at, reading)),
            separator(stored_model),
        )
    )
    document.component("attention_heads", component_data(stored_model, reading, token, importance, state), _KEY)


def input_notes(stored_model: StoredModel, reading: AttentionReading) -> list[str]:
    """Return what of the text was changed or left out for the model, in sentences."""
    text, notes = reading.input, list[str]()
    if text.empty:
        from explorer.generation.generate import FROM_NOTHING

        notes.append(FROM_NOTHING)
    if text.truncated:
        where = "The beginning" if text.truncated_at == "start" else "The end"
        limit = "The model reads" if len(text.ids) == context_length(stored_model) else "There is room for"
        count = f"{len(text.ids)} {stored_model.unit}s"
        notes.append(f"{limit} {count} at once. {where} was left out: “{shorten(text.truncated)}”.")
    if text.lowercased:
        notes.append("The model was trained on lower-case letters, so the text is read in lower case.")
    for unseen, become in ((text.dropped, "left out"), (text.unknown, "read as <unk>")):
        if unseen:
            notes.append(f"The training text has no {quote_first(unseen)}: {become}.")
    if not answers_every_token(stored_model):
        notes.append("The answer is read at <BOS>, so in the last layer only its row matters.")
    return notes


def component_data(
    stored_model: StoredModel,
    reading: AttentionReading,
    token: str,
    importance: HeadImportance | None,
    state: AttentionState,
) -> dict[str, object]:
    """Return the data of the component.

    token: the secret of the browser tab for the address of the snapshots.
    importance: None until it is measured.
    """
    computed, tokens = reading.state, reading.input.tokens
    state = state.clamp(*reading.size, len(tokens))
    return {
        "tokens": list(tokens),
        "ids": list(reading.input.ids),
        "layers": reading.size[0],
        "heads": reading.size[1],
        "causal": is_causal(stored_model) and not computed.unmasked,
        "masked": list(reading.padding_positions),
        "address": register_arrays(reading.content, stored_model.cache_key),
        "open": [state.layer, state.head],
        "asked": query_position(stored_model, state.at, len(tokens)),
        "scale": state.scale,
        "sort": state.sort,
        "view": state.view,
        "snapshots": _snapshot_data(stored_model, state, token),
        "step": snapshot_steps(stored_model)[-1] if computed.step is None else computed.step,
        "touch": {
            "off": sorted(map(list, parse_heads(computed.off))),
            "flat": sorted(map(list, parse_heads(computed.flat))),
            "unmasked": computed.unmasked,
            "unplaced": computed.unplaced,
        },
        "can": possible_ablations(stored_model),
        "worth": None if importance is None else np.round(importance.importance, 5).tolist(),
        "worth_error": None if importance is None else np.round(importance.error, 5).tolist(),
        "worth_of": "held-out text" if stored_model.tokenizer else "sentences of the task",
        "answers": answer_data(stored_model, state.at, reading),
        "unit": stored_model.unit,
        "colour": stored_model.row.colour,
        "title": stored_model.title,
        "file": f"attention-{stored_model.name}",
    }


def _snapshot_data(stored_model: StoredModel, state: AttentionState, token: str) -> dict[str, object] | None:
    """Return the steps of the training slider; None if the run has too few snapshots."""
    steps = select_snapshots(stored_model, len(snapshot_input(stored_model, state).ids), state.step)
    if not steps:
        return None
    key = (*cache_key(stored_model, state, "through"), *steps)

    def answer(futures: Mapping[str, Future[AttentionSnapshots]]) -> Content:
        return {"address": register_arrays(futures["snapshots"].result().content, stored_model.cache_key)}

    compute = partial(compute_snapshots, stored_model, state)
    section = Section(lambda: {"snapshots": submit(key, compute, "quick")}, answer)
    address = register(f"{token}{hash(key):x}", section, key)  # computed once the browser fetches it
    return {
        "steps": steps,
        "curve": held_out_losses(stored_model.run.curves, state.seed),
        "unit": "nats",
        "address": address,
    }


def apply_events(session: PageSession[AttentionState], stored_model: StoredModel) -> bool:
    """Apply the component's events to the state; return whether other parts of the page show what has changed.

    Every value is checked: a browser can send anything.
    """
    before, size = session.state, attention_size(stored_model.config)
    state = before
    if head := parse_head_event(pop_event(_KEY, "open"), size):
        state = replace(state, layer=head[0], head=head[1])
    if type(value := pop_event(_KEY, "asked")) is int and 0 <= value < MAX_TOKENS:
        state = replace(state, at=value)
    for name, options in (("scale", SCALES), ("sort", SORTS), ("view", VIEWS)):
        if (value := pop_event(_KEY, name)) in options:
            state = replace(state, **{name: value})
    steps = snapshot_steps(stored_model)
    if type(value := pop_event(_KEY, "step")) is int and value in steps:
        state = replace(state, step=None if value == steps[-1] else value)
    if isinstance(value := pop_event(_KEY, "touch"), dict):
        state = _with_ablation(state, value, size)
    if state != before:
        session.state = state
        write_url(session)
    return replace(state, scale=before.scale, sort=before.sort, view=before.view) != before


def _with_ablation(state: AttentionState, event: dict[str, Any], size: tuple[int, int]) -> AttentionState:
    return replace(
        state,
        off=parse_heads_event(event.get("off"), size),
        flat=parse_heads_event(event.get("flat"), size),
        unmasked=event.get("unmasked") is True,
        unplaced=event.get("unplaced") is True,
    )


def possible_ablations(stored_model: StoredModel) -> dict[str, bool]:
    """Return which ablations besides those of heads the model allows: its causal mask, its positions."""
    positions = getattr(stored_model.config.model, "positions", "learned")
    can_remove_mask = isinstance(stored_model.config.model, TransformerTextConfig)
    return {"mask": can_remove_mask, "positions": positions != "none"}
