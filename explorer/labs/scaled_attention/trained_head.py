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
from explorer.labs.scaled_attention.component import draw_component
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.ui.deferred_sections import show_latest
from explorer.ui.page_sections import empty_panel, escape_markdown, show_problems
from explorer.ui.state import url_codec
from explorer.ui.state.session import PageSession, bind_widget
from explorer.ui.training import stored_models
from explorer.ui.training.model_input import MAX_TEXT_LENGTH, attention_size, example_texts, text_or_example
from explorer.ui.training.stored_models import StoredModel

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

    hand: StoredModel | None
    layers: int = 1
    heads: int = 1
    error: str = ""


def select_model(session: PageSession[ScaledAttentionState]) -> SelectedModel:
    """Return the selected model. If it does not have the selected head, report that and select the first head."""
    state = session.state
    try:
        stored = stored_models.find_model(state.model)
        layers, heads = attention_size(stored.config)
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
    state, stored = session.state, selected.hand
    if stored is None:
        show_problems([selected.error])
        empty_panel("Choose a model with attention above.", HEIGHT)
        return

    def draw(results: Mapping[str, HeadActivations], old: frozenset[str]) -> None:
        for head in results.values():
            draw_component(session.state, head.head)
            if head.dropped_tokens:
                st.caption(
                    f"The tables hold {MAX_TOKENS} tokens: the model reads these, and {head.dropped_tokens:,} more "
                    "are left out."
                )

    key = ("scaled-model", *stored.cache_key, text_or_example(stored.config, state.say), state.layer, state.head)
    jobs = {stored.name: (key, partial(read_head, stored, state))}
    show_latest("scaled-model", lambda: jobs, draw, "The model is reading …", HEIGHT, pool="quick")


def read_head(stored: StoredModel, state: ScaledAttentionState) -> HeadActivations:
    """Run the model on the first tokens of a text and return the tensors of the selected head. Raises LineageError."""
    from explorer.inspection.attention.attend import tokenize_input
    from explorer.inspection.attention.logit_lens import head_activations

    text = tokenize_input(stored.config, stored.tokenizer, text_or_example(stored.config, state.say))
    ids = text.ids[:MAX_TOKENS]
    activations = head_activations(stored.model(), ids, state.layer, state.head)
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
    state, stored = session.state, selected.hand
    titles = stored_models.model_titles(TYPED_TEXT_TASKS, ("transformer",))
    titles = {**({} if state.model in titles else {state.model: state.model}), **titles}
    examples = example_texts(stored.config) if stored else ()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        binding = bind_widget(
            session, "scaled.model", state.model, lambda s, name: s.with_model(name or s.model, examples)
        )
        st.selectbox("Model", list(titles), format_func=titles.__getitem__, width=250, **binding)
        if stored:
            text_read = text_or_example(stored.config, state.say)
            binding = bind_widget(session, "scaled.say", text_read, lambda s, text: replace(s, say=text, at=""))
            st.text_input("What it reads", width=280, max_chars=MAX_TEXT_LENGTH, **binding)
        binding = bind_widget(
            session, "scaled.layer", min(state.layer, selected.layers - 1), lambda s, new: replace(s, layer=new)
        )
        st.selectbox("Layer", list(range(selected.layers)), width=90, **binding)
        binding = bind_widget(
            session, "scaled.head", min(state.head, selected.heads - 1), lambda s, new: replace(s, head=new)
        )
        st.selectbox("Head", list(range(selected.heads)), width=90, **binding)
        st.page_link(
            "attention.py",
            label=escape_markdown("All heads of this model"),
            icon=":material/arrow_forward:",
            query_params=url_codec.write(state.head_selection),
        )
