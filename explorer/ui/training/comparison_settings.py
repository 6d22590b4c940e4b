"""The settings row of a page that trains labelling models: seeds, steps, first seed, and back to the defaults."""

from __future__ import annotations

import streamlit as st

from explorer.ui.state.comparison_state import AnyComparison
from explorer.ui.state.session import PageSession, bind_widget


def draw_training_settings(session: PageSession[AnyComparison], page: str, step_size: int) -> None:
    """Draw the inputs for seeds, steps (in increments of `step_size`) and first seed, and a button for the defaults."""
    state = session.state
    widget_args = bind_widget(session, f"{page}.seeds", state.seeds, lambda s, v: s.with_training_settings(seeds=v))
    st.number_input("Seeds", 1, 16, step=1, width=110, **widget_args)
    widget_args = bind_widget(session, f"{page}.steps", state.steps, lambda s, v: s.with_training_settings(steps=v))
    st.number_input("Steps (0: as usual)", 0, 1_000_000, step=step_size, width=170, **widget_args)
    widget_args = bind_widget(session, f"{page}.seed", state.seed, lambda s, v: s.with_training_settings(seed=v))
    st.number_input("First seed", 0, 2**31 - 1, step=1, width=120, **widget_args)
    st.button(
        "Back to the defaults",
        icon=":material/undo:",
        on_click=lambda: session.change(lambda s: s.reset()),
        disabled=state == state.reset(),
        key=f"{page}.reset",
    )
