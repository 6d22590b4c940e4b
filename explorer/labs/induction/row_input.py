"""The row of symbols, and what the models predict after each of its symbols."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer import charts, ui
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.transformer import induction
from explorer.labs.induction import findings
from explorer.labs.induction.state import InductionState
from explorer.run_store.store import StoredRun


def controls(session: ui.PageSession[InductionState]) -> None:
    """Draw the row of symbols and, folded, the training settings."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = session.state.text if session.state.row is None else session.state.row
        ui.bind_widget(session, "row", st.text_input, shown=row, update=InductionState.with_text, width=330)
        st.button(
            "Draw another row",
            icon=":material/casino:",
            on_click=lambda: session.change(InductionState.with_next_draw),
            key="induction.draw",
        )
        with st.popover("Settings", icon=":material/tune:"):
            ui.bind_widget(session, "who", st.pills, selection_mode="multi")
            for name in ("seeds", "steps", "seed"):
                ui.bind_widget(session, name, st.number_input)
            ui.reset_button(session)
    ui.show_problems(filter(None, [session.state.unread]))


def finished_runs(views: Mapping[str, ui.RunView]) -> dict[str, StoredRun]:
    """Return the runs whose weights are stored."""
    return {name: view.stored for name, view in views.items() if view.stored is not None}


def row_section(state: InductionState, views: Mapping[str, ui.RunView]) -> None:
    """Draw what each model predicts after each symbol of the row."""
    if runs := finished_runs(views):
        ui.show_each(
            "induction-row",
            {name: ui.Call(induction.predict_row, run, state.text) for name, run in runs.items()},
            row_view,
            {name: state.variants[name] for name in runs},
            state.row is not None,
            waiting="The models read the row …",
            height=200,
        )


def row_view(
    document: ui.Document,
    results: Mapping[str, induction.RowReading],
    variants: Mapping[str, ModelVariant],
    typed: bool,
) -> None:
    """Write how well the models continue the row, and a map of their predictions; `typed`: whether it was typed."""
    shown = {variant: results[name] for name, variant in variants.items() if name in results}
    first = next(iter(shown.values()))
    probabilities = {variant.words: reading.next_probability for variant, reading in shown.items()}
    sentence = findings.row_finding(first.repeated, probabilities)
    document.finding(sentence * typed)
    add_row_map(document, "induction-row-figure", {variant.label: reading for variant, reading in shown.items()})
    document.caption(
        f"{'' if typed else sentence} Tiles: the symbol that a model predicts. Below: the actual next symbol; the "
        f"colour is its probability, median of {ui.count_seeds(len(first.next_probability))}."
        + (" The second copy begins at the line." if any(first.repeated) else "")
    )


def add_row_map(document: ui.Document, key: str, readings: Mapping[str, induction.RowReading]) -> None:
    """Add the map of predictions; `readings` of the same row, by label."""
    first = next(iter(readings.values()))
    following = first.symbols[1:]
    medians = {label: np.median(reading.next_probability, axis=0) for label, reading in readings.items()}
    numbers = "; ".join(
        f"{label}: " + ", ".join(f"{symbol} {p:.2f}" for symbol, p in zip(following, values, strict=True))
        for label, values in medians.items()
    )
    chart = charts.HeatMap(
        "",
        "probability of the next symbol",
        list(readings),
        list(following),
        np.stack(list(medians.values())),
        [list(reading.predicted) for reading in readings.values()],
        columns_on_top=False,
        rules=[charts.limit(first.repeated.index(True) - 0.5)] if any(first.repeated) else [],
        words=f"Probability of each next symbol. {numbers}.",
    )
    height = 44 + 38 * len(readings)
    document.figures(key, [ui.Panel(key, chart)], height=height, narrow_height=height, columns=1)
