"""Queries, keys and values of a head of a trained model, for the tables of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from numpy import ndarray

from explorer.catalogue import TYPED_TEXT_TASKS
from explorer.errors import LineageError
from explorer.inspection.attention import logit_lens
from explorer.labs.scaled_attention import component
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.model.model import Model
from explorer.ui.document import Document
from explorer.ui.page_sections import empty_panel, escape_markdown, show_problems
from explorer.ui.result_section import Request, result_section
from explorer.ui.state import url_codec
from explorer.ui.state.session import PageSession, write_url
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training import stored_models

MAX_TOKENS = 12  # the tables have room for
HEIGHT = 900


@dataclass(frozen=True, eq=False)
class HeadActivations:
    """The tensors of one head on one text, as the component draws them."""

    head: Mapping[str, object]
    dropped_tokens: int  # number of tokens of the text that were left out


@dataclass(frozen=True)
class SelectedModel:
    """The selected model, or the reason why it has no attention to show."""

    stored: Model | None
    layers: int = 1
    heads: int = 1
    error: str = ""


def select_model(session: PageSession[ScaledAttentionState]) -> SelectedModel:
    """Return the selected model. If it does not have the selected head, report that and select the first head."""
    state = session.state
    try:
        stored = stored_models.find_model(state.model)
        layers, heads = stored.layout.layers, stored.layout.heads
    except LineageError as error:
        return SelectedModel(None, error=str(error))
    if state.layer >= layers or state.head >= heads:
        session.problems += (
            f"This model has layers 0 to {layers - 1} and heads 0 to {heads - 1}; there is no head {state.head} in "
            f"layer {state.layer}. The first one is shown.",
        )
        session.state = replace(state, layer=0, head=0)
    return SelectedModel(stored, layers, heads)


def trained_head_section(session: PageSession[ScaledAttentionState], selected: SelectedModel) -> None:
    """Draw the controls and the tables of the selected head."""
    _controls(session, selected)
    state, stored = session.state, selected.stored
    if stored is None:
        show_problems([selected.error])
        empty_panel("Choose a model with attention above.", HEIGHT)
        return

    show_problems(stored.describe_unread(state.say))
    key = ("scaled-model", *stored.cache_key, stored.text_or_example(state.say), state.layer, state.head)

    def requests() -> Mapping[str, Request[HeadActivations]]:
        before = session.state
        session.state = component.apply_pending_event(before)
        if session.state != before:
            write_url(session)
            st.rerun()
        return {"head": (key, partial(read_head, stored, state))}

    result_section(
        "scaled-model",
        requests,
        partial(_draw, state),
        "The model is reading …",
        HEIGHT,
        pool="quick",
        events={component.KEY: component.EVENTS},
    )


def _draw(state: ScaledAttentionState, document: Document, results: Mapping[str, HeadActivations]) -> None:
    head = results["head"]
    document.component("dot_product", component.component_data(state, head.head), component.KEY)
    if head.dropped_tokens:
        document.caption(
            f"The tables hold {MAX_TOKENS} tokens: the model reads these, and {head.dropped_tokens:,} more are left "
            "out."
        )


def read_head(stored: Model, state: ScaledAttentionState) -> HeadActivations:
    """Run the model on the first tokens of a text and return the tensors of the selected head. Raises LineageError."""
    text = stored.tokenize(stored.text_or_example(state.say))
    ids = text.ids[:MAX_TOKENS]
    activations = logit_lens.head_activations(stored.module(), ids, state.layer, state.head)
    id_text = " ".join(map(str, ids))
    head = {
        "name": f"{stored.cache_key} {state.layer} {state.head} {id_text}",
        "title": f"layer {state.layer}, head {state.head} of {stored.title}",
        "tokens": [
            token if token.strip() else token.replace(" ", "␣").replace("\n", "↵") for token in text.tokens[:MAX_TOKENS]
        ],
        "q": _without_nan(activations.queries),
        "k": _without_nan(activations.keys),
        "v": _without_nan(activations.values),
        "weights": _without_nan(activations.weights),
        "hidden": np.isneginf(activations.mask).tolist(),
    }
    return HeadActivations(head, len(text.ids) - len(ids))


def _without_nan(values: ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(v) else float(v) for v in row] for row in values]


def _controls(session: PageSession[ScaledAttentionState], selected: SelectedModel) -> None:
    state, stored = session.state, selected.stored
    titles = stored_models.model_titles(TYPED_TEXT_TASKS, ("transformer",), selected=(state.model,))
    examples = stored.example_texts if stored else ()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(
            session,
            "model",
            st.selectbox,
            update=lambda s, name: s.with_model(name, examples),
            options=titles,
            width=250,
        )
        if stored:
            bind_widget(
                session,
                "say",
                st.text_input,
                shown=stored.example_texts[0] if state.say is None else state.say,
                update=lambda s, text: replace(s, say=text, at=""),
                width=280,
            )
        for name, count in (("layer", selected.layers), ("head", selected.heads)):
            shown = min(getattr(state, name), count - 1)
            bind_widget(session, name, st.selectbox, shown=shown, options=range(count), width=90)
        st.page_link(
            "attention.py",
            label=escape_markdown("All heads of this model"),
            icon=":material/arrow_forward:",
            query_params={"model": state.model, **url_codec.write(state.head_selection)},
        )
