"""Task, models and training settings of the translation page."""

from __future__ import annotations

import streamlit as st

from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, reset_button

TASKS = {"reverse": "Reverse", "copy": "Copy", "dates": "Dates"}
TASK_CAPTIONS = {
    "reverse": "Digits are read as a whole, then written from the last to the first.",
    "copy": "Digits are read as a whole, then written once more.",
    "dates": f"A day between 1950 and 2049, written in one of {len(DATE_FORMATS)} ways, becomes year, month and day. "
    "Where a month is a number, the day comes first.",
}


def settings_row(session: PageSession[TranslationState]) -> None:
    """Draw the choice of task and models, and the training settings."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "task", st.segmented_control, update=TranslationState.with_task)
        bind_widget(session, "who", st.pills, selection_mode="multi", wrap=True)
        with st.popover("Settings", icon=":material/tune:"):
            settings_popover(session)
    st.caption(TASK_CAPTIONS[state.task])


def settings_popover(session: PageSession[TranslationState]) -> None:
    """Draw the training settings."""
    if session.state.task != "dates":
        bind_widget(session, "longest", st.number_input)
    bind_widget(session, "seeds", st.number_input)
    bind_widget(session, "steps", st.number_input)
    bind_widget(session, "rate", st.number_input, format="%.4f")
    bind_widget(session, "seed", st.number_input)
    reset_button(session)
