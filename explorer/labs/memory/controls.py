"""Models and training settings of the memory page."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer import ui
from explorer.catalogue import MODELS
from explorer.experiments.learning_rates import RATES
from explorer.experiments.recall import LEARNING_RATES, SWEEP_LENGTHS, VARIANTS
from explorer.labs.memory.state import MemoryState
from explorer.labs.memory.training_chart import group_by_architecture


def input_row(session: ui.PageSession[MemoryState]) -> None:
    """Draw the choice of a length whose runs are included, and the popover with everything else."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(
            session,
            "length_pick",
            st.segmented_control,
            shown=session.state.length if session.state.length in SWEEP_LENGTHS else None,
            update=lambda state, length: replace(state, length=length),
            label="Sequence length (symbols)",
            options={length: f"{length:,}" for length in SWEEP_LENGTHS},
        )
        with st.popover("Models and settings", icon=":material/tune:"):
            _draw_models(session)
            _draw_settings(session)


def _draw_models(session: ui.PageSession[MemoryState]) -> None:
    for model, names in group_by_architecture(VARIANTS).items():
        selected = [name for name in names if name in session.state.who]
        others = tuple(name for name in VARIANTS if name not in names)

        def make(state: MemoryState, selected: list[str], others: tuple[str, ...] = others) -> MemoryState:
            return state.with_models({*selected, *(name for name in state.who if name in others)})

        ui.bind_widget(
            session,
            f"who-{model}",
            st.pills,
            shown=selected,
            update=make,
            label=f"{MODELS[model].title}: {'positions' if model == 'transformer' else 'initialization'}",
            options={name: VARIANTS[name].label for name in names},
            selection_mode="multi",
        )


def _draw_settings(session: ui.PageSession[MemoryState]) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.bind_widget(session, "length", st.number_input, label="Any other length (needs training)", width=230)
        ui.bind_widget(session, "symbols", st.number_input, width=210)
        rates = sorted({0.0, *LEARNING_RATES, *RATES, state.rate})
        ui.bind_widget(
            session, "rate", st.selectbox, options={r: f"{r:g}" if r else "default" for r in rates}, width=150
        )
        ui.bind_widget(session, "steps", st.number_input, width=210)
        ui.bind_widget(session, "seeds", st.number_input, width=110)
        ui.bind_widget(session, "seed", st.number_input, width=120)
    ui.reset_button(session)
