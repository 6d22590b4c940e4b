"""The task, the number of layers and the training settings of the encoder."""

from __future__ import annotations

import streamlit as st

from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, reset_button

TASK_DESCRIPTIONS = {
    "gloss": "The encoder is trained to name the sense of every word: for “bank”, money or river.",
    "gist": "One word is hidden, and the encoder is trained to name it. No example says what “bank” means.",
}


def controls(session: PageSession[SentenceEncoderState]) -> None:
    """Draw the choice of the task and, folded, the settings."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "task", st.segmented_control, update=lambda s, task: s.with_settings(task=task))
        with st.popover("Settings", icon=":material/tune:"):
            _training_settings(session)
    st.caption(escape_markdown(TASK_DESCRIPTIONS[state.task]))


def _training_settings(session: PageSession[SentenceEncoderState]) -> None:
    """Draw the number of layers and the settings of both trainings."""
    bind_widget(
        session, "layers", st.segmented_control, update=lambda s, layers: s.with_settings(layers=layers, layer=-1)
    )
    bind_widget(session, "seeds", st.number_input)
    bind_widget(session, "steps", st.number_input)
    bind_widget(session, "rate", st.number_input, format="%.4f")
    bind_widget(session, "seed", st.number_input)
    reset_button(session)
