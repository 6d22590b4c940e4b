"""Models and training settings of the memory page."""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.experiments.recall import LEARNING_RATES, VARIANTS
from explorer.labs.memory.state import MemoryState
from explorer.labs.memory.training_chart import group_by_architecture
from explorer.ui.state.session import PageSession, bind_widget


def model_row(session: PageSession[MemoryState]) -> None:
    """Draw the choice of variants, a group for each architecture."""
    with st.container(horizontal=True, vertical_alignment="top", gap="medium"):
        for model, names in group_by_architecture(VARIANTS).items():
            selected = [name for name in names if name in session.state.who]
            others = tuple(name for name in VARIANTS if name not in names)

            def make(state: MemoryState, selected: list[str], others: tuple[str, ...] = others) -> MemoryState:
                return state.with_models({*selected, *(name for name in state.who if name in others)})

            binding = bind_widget(session, f"memory.who-{model}", selected, make)
            st.pills(
                MODELS[model].title,
                names,
                format_func=lambda name: VARIANTS[name].label,
                selection_mode="multi",
                wrap=True,
                width="content",
                **binding,
            )


def settings_row(session: PageSession[MemoryState]) -> None:
    """Draw the task and training settings."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        binding = bind_widget(session, "memory.length", state.length, lambda m, v: m.with_settings(length=v))
        st.number_input("Symbols to read (T)", 1, 1_000_000, step=10, width=150, **binding)
        binding = bind_widget(session, "memory.symbols", state.symbols, lambda m, v: m.with_settings(symbols=v))
        st.number_input("Different symbols", 2, 26, step=1, width=150, **binding)
        rates = sorted({0.0, *LEARNING_RATES, state.rate})
        binding = bind_widget(session, "memory.rate", state.rate, lambda m, v: m.with_settings(rate=v))
        st.selectbox("Step size", rates, format_func=lambda r: f"{r:g}" if r else "as usual", width=150, **binding)
        binding = bind_widget(session, "memory.seeds", state.seeds, lambda m, v: m.with_settings(seeds=v))
        st.number_input("Seeds", 1, 32, step=1, width=110, **binding)
        binding = bind_widget(session, "memory.steps", state.steps, lambda m, v: m.with_settings(steps=v))
        st.number_input("Steps (0: as usual)", 0, 1_000_000, step=100, width=170, **binding)
        binding = bind_widget(session, "memory.seed", state.seed, lambda m, v: m.with_settings(seed=v))
        st.number_input("First seed", 0, 2**31 - 1, step=1, width=120, **binding)
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda m: m.reset()),
            disabled=state == state.reset(),
        )
