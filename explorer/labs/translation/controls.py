"""Task, models and training settings of the translation page."""

from __future__ import annotations

import streamlit as st

from explorer.experiments.translation import VARIANTS
from explorer.labs.translation.state import TranslationState
from explorer.tasks.seq2seq.dates import DATE_FORMATS
from explorer.ui.state.session import PageSession, bind_widget

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
        binding = bind_widget(session, "translation.task", state.task, lambda s, task: s.with_task(task or s.task))
        st.segmented_control("Task", list(TASKS), format_func=TASKS.__getitem__, **binding)
        binding = bind_widget(session, "translation.who", list(state.who), lambda s, who: s.with_models(who))
        st.pills(
            "Who translates",
            list(VARIANTS),
            format_func=lambda name: VARIANTS[name].title,
            selection_mode="multi",
            wrap=True,
            **binding,
        )
        with st.popover("Settings", icon=":material/tune:"):
            settings_popover(session)
    st.caption(TASK_CAPTIONS[state.task])


def settings_popover(session: PageSession[TranslationState]) -> None:
    """Draw the training settings."""
    state = session.state
    if state.task != "dates":
        binding = bind_widget(session, "translation.longest", state.longest, lambda s, v: s.with_settings(longest=v))
        st.number_input("Digits in the longest source that is trained", 1, 40, step=1, **binding)
    binding = bind_widget(session, "translation.seeds", state.seeds, lambda s, v: s.with_settings(seeds=v))
    st.number_input("Seeds", 1, 16, step=1, **binding)
    binding = bind_widget(session, "translation.steps", state.steps, lambda s, v: s.with_settings(steps=v))
    st.number_input("Steps of each (0: as usual)", 0, 1_000_000, step=100, **binding)
    binding = bind_widget(session, "translation.rate", state.rate, lambda s, v: s.with_settings(rate=v))
    st.number_input("Step size (0: as usual)", 0.0, 1.0, step=0.001, format="%.4f", **binding)
    binding = bind_widget(session, "translation.seed", state.seed, lambda s, v: s.with_settings(seed=v))
    st.number_input("First seed", 0, 2**31 - 1, step=1, **binding)
    st.button("Back to the defaults", icon=":material/undo:", on_click=lambda: session.change(lambda s: s.reset()))
