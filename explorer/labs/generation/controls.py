"""Prompt, models and sampling settings of the generation page."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer import ui
from explorer.catalogue import task_row
from explorer.errors import InvalidSetting, LineageError
from explorer.labs.generation.state import MAX_MODELS, GenerationState
from explorer.model.model import Model
from explorer.model.run_model import RunModel
from explorer.tasks.text.config import TextConfig
from explorer.ui.state.widgets import draw_examples
from explorer.ui.training import stored_models
from explorer.ui.training.stored_models import real_model_titles

PROMPTS = ("Romeo", "ROMEO:", "To be, or not to be", "The king ", "")


def prompt_row(session: ui.PageSession[GenerationState]) -> None:
    """Draw the controls for the prompt and the models."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "prompt", st.text_input, placeholder="Empty: the start of a line", width=330)
        model_picker(session)
    examples = {prompt: prompt.strip() or "empty prompt" for prompt in PROMPTS}
    draw_examples(session, "pick", "Example prompts", state.prompt, examples, with_prompt, width="content")


def with_prompt(state: GenerationState, prompt: str) -> GenerationState:
    """Return the state with one of the example prompts."""
    return state.with_settings(prompt=prompt)


def model_picker(session: ui.PageSession[GenerationState]) -> None:
    """Draw the choice of models."""
    titles = stored_models.model_titles(("text",), selected=session.state.models) | real_model_titles("decoder")
    ui.bind_widget(session, "models", st.multiselect, options=titles, max_selections=MAX_MODELS, width=420)


def sampling_row(session: ui.PageSession[GenerationState]) -> None:
    """Draw which tokens may be sampled, the seed, and the length of the texts."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "top_k", st.number_input, disabled=state.greedy, width=150)
        ui.bind_widget(session, "top_p", st.slider, disabled=state.greedy, width=150)
        ui.bind_widget(session, "min_p", st.slider, disabled=state.greedy, width=150)
        with st.popover("Sampling settings", icon=":material/tune:"):
            ui.bind_widget(session, "greedy", st.toggle)
            ui.bind_widget(session, "seed", st.number_input)
            ui.bind_widget(session, "tokens", st.slider)
            if state.reset() != replace(state, t=state.reset().t, at=0, of=0, path=None, focus=""):
                ui.reset_button(session)


def selected_models(session: ui.PageSession[GenerationState]) -> dict[str, Model]:
    """Return the selected models that can generate, by name; show why others cannot."""
    found, messages = {}, []
    for name in session.state.models:
        try:
            stored_model = stored_models.find_model(name)
            check_generates_text(stored_model)
            found[name] = stored_model
        except LineageError as error:
            messages.append(str(error))
    ui.show_problems(messages)
    for stored_model in found.values():
        if stored_model.summary:
            st.caption(ui.escape_markdown(stored_model.summary))
    return found


def check_generates_text(stored_model: Model) -> None:
    """Raise InvalidSetting for a model that generates no text; a run of another task may be linked to this page."""
    if isinstance(stored_model, RunModel) and not isinstance(stored_model.config.task, TextConfig):
        task = task_row(stored_model.config.task).title.lower()
        raise InvalidSetting(
            f"The run “{stored_model.name}” learned {task}, it cannot write. Choose a language model above."
        )
    stored_model.check_generates_text()
