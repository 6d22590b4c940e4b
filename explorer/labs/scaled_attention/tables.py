"""The tables of scaled dot-product attention: those that the visitor edits, and those of a head of a trained model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import TYPED_TEXT_TASKS
from explorer.errors import LineageError
from explorer.inspection.attention import logit_lens
from explorer.labs.scaled_attention.state import MAX_SIZE, MIN_SIZE, ScaledAttentionState
from explorer.model.model import Model
from explorer.ui.state import url_codec
from explorer.ui.training import stored_models
from explorer.ui.training.model_input import HeadSelection

KEY = "dotproduct"
EVENTS = ("set", "size")
_dot_product = ui.register("dot_product")


def apply_pending_event(session: ui.PageSession[ScaledAttentionState]) -> None:
    """Apply the visitor's last change in the component to the state."""
    ui.take_component_message(session, KEY)
    size = ui.pop_event(KEY, "size")
    if isinstance(size, int) and MIN_SIZE <= size <= MAX_SIZE:
        session.change(lambda state: state.with_token_count(size))


def draw_component(state: ScaledAttentionState) -> None:
    """Draw the tables that the visitor edits, and every step."""
    _dot_product(data=component_data(state), key=KEY, **ui.event_callbacks(KEY, *EVENTS))


def component_data(state: ScaledAttentionState, model: Mapping[str, object] | None = None) -> dict[str, object]:
    """Return the data of the component, which `labs/scaled_attention/components/dot_product/view.js` describes.

    model: the trained head that the tables are taken from; None for tables that the visitor edits.
    """
    tokens = model["tokens"] if model else state.tokens
    return {"tokens": tokens, "state": state.component_state, "model": model, "file": "scaled-attention"}


# ---- a head of a trained model


MAX_TOKENS = 12  # the tables have room for
HEIGHT = 900


def select_model(session: ui.PageSession[ScaledAttentionState]) -> Model | None:
    """Return the selected model, or None with a message. If it does not have the selected head, select the first."""
    state = session.state
    try:
        stored = stored_models.find_model(state.model)
        layers, heads = stored.layout.layers, stored.layout.heads
    except LineageError as error:
        session.problems += (str(error),)
        return None
    if state.layer >= layers or state.head >= heads:
        session.problems += (
            f"This model has layers 0 to {layers - 1} and heads 0 to {heads - 1}; there is no head {state.head} in "
            f"layer {state.layer}. The first one is shown.",
        )
        session.state = replace(state, layer=0, head=0)
    return stored


def trained_head_section(session: ui.PageSession[ScaledAttentionState], stored: Model | None) -> None:
    """Draw the controls and the tables of the selected head."""
    _controls(session, stored)
    state = session.state
    if stored is None:
        ui.empty_panel("Choose a model with attention above.", HEIGHT)
        return
    ui.show_problems(stored.describe_unread(state.say))
    ui.show(
        "scaled-model",
        ui.Call(read_head, stored, stored.text_or_example(state.say), state.layer, state.head),
        head_view,
        state,
        waiting="The model is reading …",
        height=HEIGHT,
        pool="quick",
        events={KEY: EVENTS},
        on_event=lambda: _apply_event(session),
    )


def _apply_event(session: ui.PageSession[ScaledAttentionState]) -> None:
    before = session.state
    apply_pending_event(session)
    if session.state != before:
        ui.write_url(session)
        st.rerun()


def head_view(document: ui.Document, found: tuple[dict[str, object], int], state: ScaledAttentionState) -> None:
    """Write the component with the tables of the head, and how much of the text they leave out."""
    head, dropped = found
    document.component("dot_product", component_data(state, head), KEY)
    if dropped:
        document.text(f"The tables hold {MAX_TOKENS} tokens: the model reads these, and {dropped:,} more are left out.")


def read_head(stored: Model, text: str, layer: int, head: int) -> tuple[dict[str, object], int]:
    """Return the tensors of a head on the first tokens of a text, and how many are left out. Raises LineageError."""
    tokenized = stored.tokenize(text)
    ids = tokenized.ids[:MAX_TOKENS]
    activations = logit_lens.head_activations(stored.module(), ids, layer, head)
    id_text = " ".join(map(str, ids))
    data = {
        "name": f"{stored.cache_key} {layer} {head} {id_text}",
        "title": f"layer {layer + 1}, head {head + 1} of {stored.title}",
        "tokens": [t if t.strip() else charts.show_whitespace(t) for t in tokenized.tokens[:MAX_TOKENS]],
        "q": _without_nan(activations.queries),
        "k": _without_nan(activations.keys),
        "v": _without_nan(activations.values),
        "weights": _without_nan(activations.weights),
        "hidden": np.isneginf(activations.mask).tolist(),
    }
    return data, len(tokenized.ids) - len(ids)


def _without_nan(values: ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(v) else float(v) for v in row] for row in values]


def _controls(session: ui.PageSession[ScaledAttentionState], stored: Model | None) -> None:
    state = session.state
    titles = stored_models.model_titles(TYPED_TEXT_TASKS, ("transformer",), selected=(state.model,))
    examples = stored.example_texts if stored else ()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(
            session,
            "model",
            st.selectbox,
            update=lambda s, name: s.with_model(name, examples),
            options=titles,
            width=250,
        )
        if stored:
            ui.bind_widget(
                session,
                "say",
                st.text_input,
                shown=stored.example_texts[0] if state.say is None else state.say,
                update=lambda s, text: replace(s, say=text, at=""),
                width=280,
            )
        layers, heads = (stored.layout.layers, stored.layout.heads) if stored else (1, 1)
        for name, count in (("layer", layers), ("head", heads)):
            shown = min(getattr(state, name), count - 1)
            choices = {i: str(i + 1) for i in range(count)}
            ui.bind_widget(session, name, st.selectbox, shown=shown, options=choices, width=90)
        selection = HeadSelection(state.model, say=state.say, layer=state.layer, head=state.head)
        st.page_link(
            "attention.py",
            label=ui.escape_markdown("All heads of this model"),
            icon=":material/arrow_forward:",
            query_params={"model": state.model, **url_codec.write(selection)},
        )
