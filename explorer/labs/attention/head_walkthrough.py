"""The computation of the selected head step by step, and the download of every tap."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import streamlit as st

from explorer import ui
from explorer.inspection.attention import logit_lens
from explorer.labs.attention.measurements import (
    HeadActivations,
    compute_head,
    query_position,
    requested_ablation,
    tokenize_text,
)
from explorer.labs.attention.state import MAX_TOKENS, AttentionState
from explorer.model.model import Model
from explorer.web.results import register_arrays

WALK_STEPS = 7  # of the walkthrough
_KEY = "walk"


def section(session: ui.PageSession[AttentionState], stored_model: Model) -> None:
    """Draw the walkthrough of the selected head once its activations are computed."""
    state = session.state
    ui.show(
        "gaze-inside",
        ui.Call(compute_head, stored_model, state.computation_settings("layer", "head")),
        head_view,
        stored_model,
        state,
        waiting="The head is computed …",
        height=520,
        pool=stored_model.pool,
        events={_KEY: ("asked", "step")},
        on_event=lambda: _apply_events(session),
    )
    download_button(stored_model, state)


def _apply_events(session: ui.PageSession[AttentionState]) -> None:
    """Apply the component's events to the state; the page reruns for another query, which all its parts show."""
    before, chosen = session.state, ui.pop_choices(_KEY, {"step": range(WALK_STEPS), "asked": range(MAX_TOKENS)})
    session.state = replace(before, walk=chosen.get("step", before.walk), at=chosen.get("asked", before.at))
    if session.state != before:
        ui.write_url(session)
    if session.state.at != before.at:
        st.rerun()


def head_view(document: ui.Document, found: HeadActivations, stored_model: Model, state: AttentionState) -> None:
    """Write the steps from query to weighted sum."""
    data = {
        "tokens": list(found.tokens),
        "asked": query_position(stored_model, state.at, found.tokens),
        "layer": state.layer,
        "head": state.head,
        "width": found.head_width,
        "address": register_arrays(found.content, stored_model.cache_key),
        "step": state.walk,
        "turned": stored_model.has_rotary_positions and not state.unplaced,
        "unit": stored_model.unit,
        "colour": stored_model.colour,
        "file": f"head-{state.layer + 1}-{state.head + 1}",
    }
    document.component("attention_walkthrough", data, _KEY)


def download_button(stored_model: Model, state: AttentionState) -> None:
    """Offer every tapped array of the forward pass as an npz file, with the names that `inspect` gives them."""

    def make_file() -> bytes:
        text = tokenize_text(stored_model, state)
        file = io.BytesIO()
        model = stored_model.attention(text, state.kind, state.seed, state.step).model
        arrays = logit_lens.tap_arrays(model, text.ids, requested_ablation(state))
        np.savez(file, **arrays, tokens=np.array(text.tokens))  # type: ignore[arg-type]  # no tap has a name of its own settings
        return file.getvalue()

    st.download_button(
        "Download all tensors (npz)",
        make_file,
        file_name=f"attention-{stored_model.name}.npz",
        mime="application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
        help="Queries, keys, values, scores and weights of all layers and heads, by tap name.",
    )
