"""The computation of the selected head step by step, and the download of every tap."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from explorer.labs.attention.measurements import (
    ablation_key,
    cache_key,
    compute_head,
    query_position,
    requested_ablation,
    tokenize_text,
)
from explorer.labs.attention.results import HeadActivations
from explorer.labs.attention.state import AttentionState
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.deferred_sections import show_latest
from explorer.ui.state.session import PageSession, write_url
from explorer.ui.training.stored_models import StoredModel
from explorer.web import array_store

WALK_STEPS = 7  # of the walkthrough
_KEY = "walk"
_walk = register("attention_walkthrough")


def section(session: PageSession[AttentionState], stored_model: StoredModel) -> None:
    """Draw the walkthrough of the selected head once its activations are computed."""
    state = session.state
    st.header(f"Inside layer {state.layer + 1}, head {state.head + 1}", anchor=False)
    head = (*cache_key(stored_model, state, "inside"), state.layer, state.head, *ablation_key(state))

    def draw_head(found: Mapping[str, HeadActivations], old: frozenset[str]) -> None:
        for activations in found.values():
            if show_walkthrough(session, stored_model, activations):
                st.rerun()

    name = f"{stored_model.name} {state.seed}"
    show_latest(
        "gaze-inside",
        lambda: {name: (head, partial(compute_head, stored_model, state))},
        draw_head,
        "The head is opened …",
        520,
        pool="quick",
    )


def show_walkthrough(session: PageSession[AttentionState], stored_model: StoredModel, found: HeadActivations) -> bool:
    """Draw the steps from query to weighted sum; return whether the visitor has selected another query."""
    state, count = session.state, len(found.tokens)
    query_changed = False
    if isinstance(event := pop_event(_KEY, "step"), int) and 0 <= event < WALK_STEPS:
        session.state = state = replace(state, walk=event)
        write_url(session)
    if isinstance(event := pop_event(_KEY, "asked"), int) and 0 <= event < count:
        session.state = state = replace(state, at=event)
        write_url(session)
        query_changed = True
    data = {
        "tokens": list(found.tokens),
        "asked": query_position(stored_model, state, count),
        "layer": state.layer,
        "head": state.head,
        "width": found.head_width,
        "address": array_store.register_array(found.content, stored_model.cache_key),
        "step": state.walk,
        "turned": getattr(stored_model.config.model, "positions", "") == "rotary" and not state.unplaced,
        "unit": stored_model.unit,
        "colour": stored_model.row.colour,
        "file": f"head-{state.layer + 1}-{state.head + 1}",
    }
    _walk(data=data, key=_KEY, **event_callbacks(_KEY, "asked", "step"))
    return query_changed


def download_button(stored_model: StoredModel, state: AttentionState) -> None:
    """Offer every tapped array of the forward pass as an npz file, with the names that `inspect` gives them."""

    def make_file() -> bytes:
        from explorer.inspection.attention.logit_lens import tap_arrays

        text = tokenize_text(stored_model, state)
        file = io.BytesIO()
        arrays = tap_arrays(stored_model.model(state.seed, state.step), text.ids, requested_ablation(state))
        np.savez(file, **arrays, tokens=np.array(text.tokens))  # type: ignore[arg-type]  # no tap has a name of its own settings
        return file.getvalue()

    st.download_button(
        "Every number of this reading (npz)",
        make_file,
        file_name=f"attention-{stored_model.name}.npz",
        mime="application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
        help="All layers, heads, queries, keys, values, scores and weights, by the names of the taps.",
    )
