"""Prompt, models and sampling settings of the generation page."""

from __future__ import annotations

import streamlit as st

from explorer.errors import LineageError
from explorer.labs.generation import findings
from explorer.labs.generation.models import check_generates_text
from explorer.labs.generation.state import MAX_MODELS, GenerationState
from explorer.ui.page_sections import show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, reset_button
from explorer.ui.training import stored_models
from explorer.ui.training.stored_models import StoredModel

PROMPTS = ("Romeo", "ROMEO:", "To be, or not to be", "The king ", "")


def prompt_row(session: PageSession[GenerationState]) -> None:
    """Draw the controls for the prompt, the models and the sampling settings."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "prompt", st.text_input, placeholder="from a line end", width=330)
        model_picker(session)
        sampling_popover(session)
    bind_widget(
        session,
        "pick",
        st.pills,
        shown=state.prompt if state.prompt in PROMPTS else None,
        update=lambda s, prompt: s.with_settings(prompt=prompt),
        label="Take a prompt",
        options={prompt: prompt.strip() or "nothing" for prompt in PROMPTS},
        label_visibility="collapsed",
        wrap=True,
        width="content",
    )


def model_picker(session: PageSession[GenerationState]) -> None:
    """Draw the choice of models."""
    titles = stored_models.model_titles(("text",), selected=session.state.models)
    bind_widget(session, "models", st.multiselect, options=titles, max_selections=MAX_MODELS, width=420)


def sampling_popover(session: PageSession[GenerationState]) -> None:
    """Draw the sampling settings and the length of the texts."""
    state = session.state
    with st.popover(findings.describe_sampling(state) or "Cut and dice", icon=":material/casino:"):
        bind_widget(session, "greedy", st.toggle)
        bind_widget(session, "top_k", st.number_input, disabled=state.greedy)
        bind_widget(session, "top_p", st.slider, disabled=state.greedy)
        bind_widget(session, "min_p", st.slider, disabled=state.greedy)
        bind_widget(session, "seed", st.number_input)
        bind_widget(session, "tokens", st.slider)
        reset_button(session)


def selected_models(session: PageSession[GenerationState]) -> dict[str, StoredModel]:
    """Return the selected models that can generate, by name; show why others cannot."""
    found, messages = {}, []
    for name in session.state.models:
        try:
            stored_model = stored_models.find_model(name)
            check_generates_text(stored_model)
            found[name] = stored_model
        except LineageError as error:
            messages.append(str(error))
    show_problems(messages)
    return found
