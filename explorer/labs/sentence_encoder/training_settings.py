"""The task, the number of layers and the training settings of the encoder."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.session import PageSession, bind_widget

TASKS = {"gloss": "Gloss", "gist": "Gist"}
TASK_DESCRIPTIONS = {
    "gloss": "Gloss: every word has to say what it means; “bank” has to choose between money and river.",
    "gist": "Gist: one word is hidden, and every word has to say which. Nobody tells the encoder what “bank” means.",
}


def controls(session: PageSession[SentenceEncoderState]) -> None:
    """Draw the choice of task and layers."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        binding = bind_widget(
            session, "sentences.task", state.task, lambda s, task: s.with_training_settings(task=task or s.task)
        )
        st.segmented_control("Task", list(TASKS), format_func=TASKS.__getitem__, **binding)
        binding = bind_widget(
            session,
            "sentences.layers",
            state.layers,
            lambda s, new: replace(s.with_training_settings(layers=new or s.layers), layer=-1),
        )
        st.segmented_control("Layers", [1, 2], **binding)
        with st.popover("Settings", icon=":material/tune:"):
            _training_settings(session)
    st.caption(escape_markdown(TASK_DESCRIPTIONS[state.task]))


def _training_settings(session: PageSession[SentenceEncoderState]) -> None:
    """Draw the settings of both trainings."""
    state = session.state
    binding = bind_widget(session, "sentences.seeds", state.seeds, lambda s, v: s.with_training_settings(seeds=v))
    st.number_input("Seeds", 1, 16, step=1, **binding)
    binding = bind_widget(session, "sentences.steps", state.steps, lambda s, v: s.with_training_settings(steps=v))
    st.number_input("Steps (0: as usual)", 0, 100_000, step=50, **binding)
    binding = bind_widget(session, "sentences.rate", state.rate, lambda s, v: s.with_training_settings(rate=v))
    st.number_input("Step size (0: as usual)", 0.0, 1.0, step=0.001, format="%.4f", **binding)
    binding = bind_widget(session, "sentences.seed", state.seed, lambda s, v: s.with_training_settings(seed=v))
    st.number_input("First seed", 0, 2**31 - 1, step=1, **binding)
    st.button(
        "Back to the defaults",
        icon=":material/undo:",
        disabled=state == state.reset(),
        on_click=lambda: session.change(lambda s: s.reset()),
    )
