"""Prompt, models and sampling settings of the generation page."""

from __future__ import annotations

import streamlit as st

from explorer.errors import LineageError
from explorer.labs.generation import findings
from explorer.labs.generation.models import check_generates_text
from explorer.labs.generation.state import MAX_MODELS, MAX_PROMPT_LENGTH, GenerationState
from explorer.ui.page_sections import show_problems
from explorer.ui.state.session import PageSession, bind_widget
from explorer.ui.training import stored_models
from explorer.ui.training.stored_models import StoredModel

PROMPTS = ("Romeo", "ROMEO:", "To be, or not to be", "The king ", "")


def prompt_row(session: PageSession[GenerationState]) -> None:
    """Draw the controls for the prompt, the models and the sampling settings."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        binding = bind_widget(session, "studio.prompt", state.prompt, lambda s, p: s.with_settings(prompt=p))
        st.text_input("Prompt", width=330, max_chars=MAX_PROMPT_LENGTH, placeholder="from a line end", **binding)
        model_picker(session)
        sampling_popover(session)
    shown = state.prompt if state.prompt in PROMPTS else None
    binding = bind_widget(session, "studio.pick", shown, lambda s, p: s if p is None else s.with_settings(prompt=p))
    st.pills(
        "Take a prompt",
        PROMPTS,
        format_func=lambda p: p.strip() or "nothing",
        label_visibility="collapsed",
        wrap=True,
        width="content",
        **binding,
    )


def model_picker(session: PageSession[GenerationState]) -> None:
    """Draw the choice of models."""
    titles = stored_models.model_titles(("text",))
    selected = list(session.state.models)
    titles = {**{name: name for name in selected if name not in titles}, **titles}
    binding = bind_widget(session, "studio.models", selected, lambda s, models: s.with_models(models))
    st.multiselect(
        f"Who writes, up to {MAX_MODELS} side by side",
        list(titles),
        format_func=titles.__getitem__,
        max_selections=MAX_MODELS,
        width=420,
        **binding,
    )


def sampling_popover(session: PageSession[GenerationState]) -> None:
    """Draw the sampling settings and the length of the texts."""
    state = session.state
    with st.popover(findings.describe_sampling(state) or "Cut and dice", icon=":material/casino:"):
        binding = bind_widget(session, "studio.greedy", state.greedy, lambda s, on: s.with_settings(greedy=on))
        st.toggle("Greedy: always the likeliest", **binding)
        binding = bind_widget(session, "studio.top_k", state.top_k, lambda s, v: s.with_settings(top_k=v))
        st.number_input("top-k: so many of the likeliest (0: all)", 0, 20_000, step=1, disabled=state.greedy, **binding)
        binding = bind_widget(session, "studio.top_p", float(state.top_p), lambda s, v: s.with_settings(top_p=v))
        st.slider(
            "top-p: the likeliest that reach this together", 0.0, 1.0, step=0.01, disabled=state.greedy, **binding
        )
        binding = bind_widget(session, "studio.min_p", float(state.min_p), lambda s, v: s.with_settings(min_p=v))
        st.slider("min-p: this share of the likeliest", 0.0, 1.0, step=0.01, disabled=state.greedy, **binding)
        binding = bind_widget(session, "studio.seed", state.seed, lambda s, v: s.with_settings(seed=v))
        st.number_input("Seed of the dice", 0, 2**31 - 1, step=1, **binding)
        binding = bind_widget(session, "studio.tokens", state.tokens, lambda s, v: s.with_settings(tokens=v))
        st.slider("Tokens", 20, 400, step=10, **binding)
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda s: GenerationState(models=s.models, prompt=s.prompt)),
        )


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
