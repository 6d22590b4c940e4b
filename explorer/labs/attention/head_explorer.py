"""The grid of attention heads: the component, the results that it needs, and its events."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_type_hints

import numpy as np
import streamlit as st

from explorer.errors import shorten
from explorer.labs.attention import ablation
from explorer.labs.attention.measurements import (
    ablation_key,
    cache_key,
    compute_reading,
    compute_snapshots,
    context_length,
    is_causal,
    loss_curve,
    query_position,
    select_snapshots,
    snapshot_steps,
)
from explorer.labs.attention.results import AttentionReading, AttentionSnapshots
from explorer.labs.attention.state import MAX_TOKENS, AttentionState, Head, format_heads, parse_heads
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.deferred_sections import show_latest
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.session import PageSession, write_url
from explorer.ui.training.model_input import attention_size
from explorer.ui.training.stored_models import StoredModel
from explorer.ui.wording import quote_first
from explorer.web import array_store

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadImportance

Result: TypeAlias = AttentionReading | AttentionSnapshots
PendingResult: TypeAlias = tuple[tuple[Hashable, ...], Callable[[], Result]]  # cache key, and what computes it
VIEWS, SCALES, SORTS = (get_args(get_type_hints(AttentionState)[name]) for name in ("view", "scale", "sort"))
SNAPSHOTS = "the snapshots"  # the key of a result; no run has such a name
_SNAPSHOTS_REQUESTED = "lineage.gaze.through"  # in the session: the cache key of the requested snapshots
_KEY = "heads"
_EVENTS = ("open", "asked", "scale", "sort", "view", "step", "snapshots", "touch", "stands")
_heads = register("attention_heads")


def section(
    session: PageSession[AttentionState], stored_model: StoredModel, importance: HeadImportance | None
) -> AttentionReading | None:
    """Draw the grid of heads and return the reading that it shows; None while the model reads.

    After an event of the component the grid is drawn first, then the rest of the page.
    """
    page_state, component_ready, readings = session.state, False, list[AttentionReading]()

    def pending() -> Mapping[str, PendingResult]:
        nonlocal component_ready
        component_ready = apply_events(session, stored_model)
        return pending_results(stored_model, session.state)

    def draw(results: Mapping[str, Result], outdated: frozenset[str]) -> None:
        reading = next((one for one in results.values() if isinstance(one, AttentionReading)), None)
        snapshots = None if SNAPSHOTS in outdated else results.get(SNAPSHOTS)
        if reading is None:
            return
        show_input_notes(stored_model, reading)
        ablation.show_finding(session.state, stored_model, reading)
        page_outdated = session.state != page_state
        data = component_data(
            stored_model,
            reading,
            snapshots if isinstance(snapshots, AttentionSnapshots) else None,
            importance,
            session.state,
        )
        data |= {"old": bool(outdated - {SNAPSHOTS}), "follow": page_outdated and not component_ready}
        _heads(data=data, key=_KEY, **event_callbacks(_KEY, *_EVENTS))
        if page_outdated and component_ready:
            st.rerun()
        readings.append(reading)

    show_latest("gaze", pending, draw, "The model is reading …", 640, pool="quick")
    return readings[-1] if readings else None


def pending_results(stored_model: StoredModel, state: AttentionState) -> dict[str, PendingResult]:
    """Return what the component needs: the reading, and the snapshots once the browser has requested them."""
    reading_key = (*cache_key(stored_model, state, "heads"), *ablation_key(state))
    results: dict[str, PendingResult] = {
        f"{stored_model.name} {state.seed}": (reading_key, partial(compute_reading, stored_model, state))
    }
    snapshots_key = cache_key(stored_model, state, "through")
    if st.session_state.get(_SNAPSHOTS_REQUESTED) == snapshots_key:
        key = (*snapshots_key, state.step, state.unmasked)
        results[SNAPSHOTS] = key, partial(compute_snapshots, stored_model, state)
    return results


def show_input_notes(stored_model: StoredModel, reading: AttentionReading) -> None:
    """Show what of the text was changed or left out for the model."""
    text, notes = reading.input, []
    if text.empty:
        from explorer.generation.generate import FROM_NOTHING

        notes.append(FROM_NOTHING)
    if text.truncated:
        where = "The beginning" if text.truncated_at == "start" else "The end"
        limit = "The model sees" if len(text.ids) == context_length(stored_model) else "There is room here for"
        count = f"{len(text.ids)} {stored_model.unit}s"
        notes.append(f"{limit} {count} at once. {where} was left out: “{shorten(text.truncated)}”.")
    if text.lowercased:
        notes.append("It learned from small letters only: the text is read in small letters.")
    for unseen, become in ((text.dropped, "left out"), (text.unknown, "read as <unk>")):
        if unseen:
            notes.append(f"It never saw {quote_first(unseen)}: {become}.")
    if stored_model.tokenizer is None:
        notes.append("The answer is read at <BOS>: of the last layer only its row counts.")
    if notes:
        st.caption(escape_markdown(" ".join(notes)))


def component_data(
    stored_model: StoredModel,
    reading: AttentionReading,
    snapshots: AttentionSnapshots | None,
    importance: HeadImportance | None,
    state: AttentionState,
) -> dict[str, object]:
    """Return the data of the component.

    reading: what is drawn; the state may be ahead of it while a new reading is computed.
    snapshots: None until the browser requests them.
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
        "address": array_store.register_array(reading.content, stored_model.cache_key),
        "open": [state.layer, state.head],
        "asked": query_position(stored_model, state, len(tokens)),
        "scale": state.scale,
        "sort": state.sort,
        "view": state.view,
        "snapshots": _snapshot_data(stored_model, reading, snapshots, state.seed),
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
        "worth_of": "held-out text" if stored_model.tokenizer else "all sentences of the grammar",
        "unit": stored_model.unit,
        "colour": stored_model.row.colour,
        "title": stored_model.title,
        "file": f"attention-{stored_model.name}",
    }


def _snapshot_data(
    stored_model: StoredModel, reading: AttentionReading, snapshots: AttentionSnapshots | None, seed: int
) -> dict[str, object] | None:
    """Return the steps of the training slider; None if the run has too few snapshots."""
    if snapshots:
        steps = list(snapshots.steps)
    else:
        steps = select_snapshots(stored_model, len(reading.input.tokens), reading.state.step)
    if not steps:
        return None
    address = array_store.register_array(snapshots.content, stored_model.cache_key) if snapshots else None
    return {"steps": steps, "curve": loss_curve(stored_model, seed), "unit": "nats", "address": address}


def apply_events(session: PageSession[AttentionState], stored_model: StoredModel) -> bool:
    """Apply the component's events to the state; return whether the component shows what it was last sent.

    Every value is checked: a browser can send anything.
    """
    state, size = session.state, attention_size(stored_model.config)
    if _is_head(value := pop_event(_KEY, "open"), size):
        state = replace(state, layer=value[0], head=value[1])
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
    if pop_event(_KEY, "snapshots"):
        st.session_state[_SNAPSHOTS_REQUESTED] = cache_key(stored_model, state, "through")
    if state != session.state:
        session.state = state
        write_url(session)
    return pop_event(_KEY, "stands") is True


def _with_ablation(state: AttentionState, event: dict[str, Any], size: tuple[int, int]) -> AttentionState:
    def valid_heads(value: object) -> tuple[str, ...]:
        heads: list[Head] = [tuple(one) for one in value if _is_head(one, size)] if isinstance(value, list) else []
        return format_heads(set(heads))

    return replace(
        state,
        off=valid_heads(event.get("off")),
        flat=valid_heads(event.get("flat")),
        unmasked=event.get("unmasked") is True,
        unplaced=event.get("unplaced") is True,
    )


def _is_head(value: object, size: tuple[int, int]) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2 and all(type(one) is int for one in value)
    return is_pair and 0 <= value[0] < size[0] and 0 <= value[1] < size[1]  # type: ignore[index]


def possible_ablations(stored_model: StoredModel) -> dict[str, bool]:
    """Return which ablations besides those of heads the model allows: its causal mask, its positions."""
    positions = getattr(stored_model.config.model, "positions", "learned")
    return {"mask": is_causal(stored_model), "positions": positions != "none"}
