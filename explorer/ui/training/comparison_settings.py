"""The settings row of a page that trains labelling models: seeds, steps, first seed, and back to the defaults."""

from __future__ import annotations

from typing import TypeVar

import streamlit as st

from explorer.ui.state.experiment_state import LabellingComparison
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, reset_button

Compared = TypeVar("Compared", bound=LabellingComparison)


def draw_training_settings(session: PageSession[Compared]) -> None:
    """Draw the inputs for seeds, steps and first seed, and a button for the defaults."""
    bind_widget(session, "seeds", st.number_input, width=110)
    bind_widget(session, "steps", st.number_input, width=170)
    bind_widget(session, "seed", st.number_input, width=120)
    reset_button(session)
