"""Models and training settings of the memory page."""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.experiments.learning_rates import RATES
from explorer.experiments.recall import LEARNING_RATES, VARIANTS
from explorer.labs.memory.state import MemoryState
from explorer.labs.memory.training_chart import group_by_architecture
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, reset_button


def model_row(session: PageSession[MemoryState]) -> None:
    """Draw the choice of variants, a group for each architecture."""
    with st.container(horizontal=True, vertical_alignment="top", gap="medium"):
        for model, names in group_by_architecture(VARIANTS).items():
            selected = [name for name in names if name in session.state.who]
            others = tuple(name for name in VARIANTS if name not in names)

            def make(state: MemoryState, selected: list[str], others: tuple[str, ...] = others) -> MemoryState:
                return state.with_models({*selected, *(name for name in state.who if name in others)})

            bind_widget(
                session,
                f"who-{model}",
                st.pills,
                shown=selected,
                update=make,
                label=MODELS[model].title,
                options={name: VARIANTS[name].label for name in names},
                selection_mode="multi",
                wrap=True,
                width="content",
            )


def settings_row(session: PageSession[MemoryState]) -> None:
    """Draw the task and training settings."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "length", st.number_input, width=150)
        bind_widget(session, "symbols", st.number_input, width=150)
        rates = sorted({0.0, *LEARNING_RATES, *RATES, state.rate})
        bind_widget(session, "rate", st.selectbox, options={r: f"{r:g}" if r else "as usual" for r in rates}, width=150)
        bind_widget(session, "seeds", st.number_input, width=110)
        bind_widget(session, "steps", st.number_input, width=170)
        bind_widget(session, "seed", st.number_input, width=120)
        reset_button(session)
