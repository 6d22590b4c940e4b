"""Task, models and training settings of the translation page."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.labs.translation.model_picker import loaded_views, seed_picker
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, reset_button
from explorer.ui.training.run_view import RunView

TASK_CAPTIONS = {
    "reverse": "Reverse: random digits, written from the last to the first.",
    "copy": "Copy: random digits, written again in the same order.",
    "dates": f"Dates: a day between 1950 and 2049 in one of {len(DATE_FORMATS)} formats becomes year, month and day. "
    "In a format with numbers only, the day comes before the month.",
}


def settings_row(session: PageSession[TranslationState], views: Mapping[str, RunView]) -> None:
    """Draw the choice of task, models and seed, and the training settings. `views`: the run views of the page."""
    loaded = loaded_views(views, session.state.variants)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "task", st.segmented_control, update=TranslationState.with_task)
        bind_widget(session, "who", st.pills, selection_mode="multi", wrap=True)
        with st.popover("Settings", icon=":material/tune:"):
            if loaded:
                seed_picker(session, next(iter(loaded.values())), "translation.answers", "Seed whose answers are shown")
            settings_popover(session)
    st.caption(TASK_CAPTIONS[session.state.task])


def settings_popover(session: PageSession[TranslationState]) -> None:
    """Draw the training settings."""
    if session.state.task != "dates":
        bind_widget(session, "longest", st.number_input)
    bind_widget(session, "seeds", st.number_input)
    bind_widget(session, "steps", st.number_input)
    bind_widget(session, "rate", st.number_input, format="%.4f")
    bind_widget(session, "seed", st.number_input)
    if session.state != session.state.reset():
        reset_button(session)
