"""A second model on the same text, below the first one: a model trained here beside a real one, or any two."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer import ui
from explorer.errors import LineageError
from explorer.labs.attention import head_explorer
from explorer.labs.attention.head_explorer import SCALES, SORTS, VIEWS, answer_sentence, component_data, input_notes
from explorer.labs.attention.measurements import reading_call
from explorer.labs.attention.model_titles import attention_model_titles
from explorer.labs.attention.results import AttentionReading
from explorer.labs.attention.state import MAX_TOKENS, AttentionState
from explorer.model.model import Model
from explorer.ui.training import stored_models
from explorer.ui.training.model_input import parse_head_event

_KEY = "heads_beside"
_EVENTS = ("open", "asked", "scale", "sort", "view")


def model_choice(session: ui.PageSession[AttentionState]) -> None:
    """Draw the choice of a second model."""
    state = session.state
    titles = attention_model_titles(state.beside or state.model)
    titles.pop(state.model, None)
    ui.bind_widget(
        session, "beside", st.selectbox, update=AttentionState.with_second_model, options={"": "no model", **titles}
    )


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
    head_explorer.section(session, first)
    if second is not None:
        section(session, first, second)
        st.caption(f"The sections below are about the first model, {ui.escape_markdown(first.title)}.")


def section(session: ui.PageSession[AttentionState], first: Model, second: Model) -> None:
    """Draw the heads of the second model, and what it predicts."""
    state = second_state(session.state, first)
    ui.show_problems(second.describe_unread(state.say))

    def rerun_after_event() -> None:
        if _apply_events(session, second):
            st.rerun()

    ui.show(
        "gaze-beside",
        reading_call(second, state),
        second_view,
        second,
        state,
        waiting="The second model is reading …",
        height=640,
        pool=second.pool,
        events={_KEY: _EVENTS},
        on_event=rerun_after_event,
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
        view=state.view,
        scale=state.scale,
        sort=state.sort,
    )


def second_view(document: ui.Document, reading: AttentionReading, second: Model, state: AttentionState) -> None:
    """Write what the second model predicts, and the grid of its heads."""
    document.caption(" ".join(filter(None, [second.summary, *input_notes(second, reading)])))
    document.finding(f"{second.title}: {answer_sentence(second, state, reading)}")
    data = component_data(second, reading, "", None, state) | {"fixed": True}
    document.component("attention_heads", data, _KEY)


def _apply_events(session: ui.PageSession[AttentionState], second: Model) -> bool:
    """Apply the events of the component to the state; return whether anything has changed.

    Every value is checked: a browser can send anything.
    """
    before = state = session.state
    if head := parse_head_event(ui.pop_event(_KEY, "open"), (second.layout.layers, second.layout.heads)):
        state = replace(state, beside_layer=head[0], beside_head=head[1])
    if type(value := ui.pop_event(_KEY, "asked")) is int and 0 <= value < MAX_TOKENS:
        state = replace(state, beside_at=value)
    for name, options in (("scale", SCALES), ("sort", SORTS), ("view", VIEWS)):
        if (value := ui.pop_event(_KEY, name)) in options:
            state = replace(state, **{name: value})
    if state != before:
        session.state = state
        ui.write_url(session)
    return state != before
