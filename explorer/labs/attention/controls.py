"""Text and model of the attention explorer, and the checks of what a URL requests."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.errors import LineageError, SentenceError
from explorer.labs.attention.measurements import snapshot_steps
from explorer.labs.attention.model_titles import attention_model_titles
from explorer.labs.attention.state import MAX_TOKENS, AttentionState
from explorer.tasks.negation import VOCABULARY
from explorer.tasks.sequence_labelling.agreement import AgreementConfig
from explorer.tasks.sequence_labelling.config import PAD
from explorer.tokenization.words import Words
from explorer.ui.page_sections import empty_panel, show_problems
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training import stored_models
from explorer.ui.training.model_input import attention_size, example_texts, text_or_example
from explorer.ui.training.stored_models import StoredModel

UNNAMED_HEAD = AttentionState.url_base()  # a URL that names no head asks for this one


def text_row(session: PageSession[AttentionState], stored_model: StoredModel | None) -> None:
    """Draw the controls for text, model and seed."""
    state = session.state
    titles = attention_model_titles(state.model)
    examples = example_texts(stored_model.config) if stored_model else ()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if stored_model:
            text = text_or_example(stored_model.config, state.say)
            bind_widget(session, "say", st.text_input, shown=text, update=AttentionState.with_text, width=430)
        with st.popover(titles[state.model], icon=":material/tune:"):
            bind_widget(
                session,
                "model",
                st.selectbox,
                update=lambda s, name: s.with_model(name, examples),
                options=titles,
                width=400,
            )
            if stored_model and stored_model.config.replicas > 1:
                seeds = {i: f"seed {seed}" for i, seed in enumerate(stored_model.config.seeds)}
                bind_widget(session, "seed", st.selectbox, options=seeds, width=110)
    if stored_model:
        bind_widget(
            session,
            "pick",
            st.pills,
            shown=text if text in examples else None,
            update=AttentionState.with_text,
            label="or choose a text",
            options=examples,
            wrap=True,
            label_visibility="collapsed",
        )


def selected_model(session: PageSession[AttentionState]) -> tuple[StoredModel | None, str]:
    """Return the requested model, or None and why it cannot be shown.

    What the state requests and the model does not have becomes a problem of the session, and the default is taken.
    """
    state = session.state
    try:
        stored_model = stored_models.find_model(state.model)
        requested, state = state, state.clamp(*attention_size(stored_model.config), MAX_TOKENS)
    except LineageError as error:
        return None, str(error)
    missing_heads = {*requested.off, *requested.flat} - {*state.off, *state.flat}
    if (state.layer, state.head) != (requested.layer, requested.head) != (UNNAMED_HEAD.layer, UNNAMED_HEAD.head):
        missing_heads.add(f"{requested.layer}.{requested.head}")
    if missing_heads:
        layers, heads = attention_size(stored_model.config)
        session.problems += (
            f"This model has no head {', '.join(sorted(missing_heads))}; it has layers 0 to {layers - 1}, heads 0 to "
            f"{heads - 1}.",
        )
    if state.seed >= stored_model.config.replicas:
        session.problems += (f"This run has no seed {state.seed:,}, counted from 0; its first seed is shown.",)
        state = replace(state, seed=0)
    if state.step is not None and state.step not in snapshot_steps(stored_model):
        session.problems += (f"There are no weights of step {state.step:,}; the end of the training is shown.",)
        state = replace(state, step=None)
    session.state = state
    return stored_model, ""


def check_text(session: PageSession[AttentionState], stored_model: StoredModel) -> bool:
    """Return whether the model can read the text; if not, show why, with similar words to choose."""
    text = text_or_example(stored_model.config, session.state.say)
    task, words = stored_model.config.task, VOCABULARY
    if isinstance(task, AgreementConfig):
        words = Words(task.vocabulary, first=PAD, last=PAD, padding=PAD)
    try:
        if stored_model.tokenizer is None:
            words.split(text)
        return True
    except SentenceError as error:
        show_problems([str(error)])
        for word, known in list(getattr(error, "nearest", {}).items())[:3]:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text(f"{word[:24]} →")
                for near in known:
                    better = words.replace_word(text, word, near)
                    st.button(
                        near,
                        key=f"gaze.near.{word[:24]}.{near}",
                        on_click=lambda better=better: session.change(lambda state: state.with_text(better)),
                    )
    empty_panel("Write a sentence of words that the model knows.", 600)
    return False
