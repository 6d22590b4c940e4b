"""The row of symbols, and what the models predict after each of its symbols."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

import numpy as np
import streamlit as st

from explorer.byte_cache import cached
from explorer.figures.transformer.induction import next_symbol_map
from explorer.inspection import load_model
from explorer.inspection.transformer import induction
from explorer.labs.induction import findings
from explorer.labs.induction.state import InductionState
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.document import Document
from explorer.ui.page_sections import show_problems
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession
from explorer.ui.state.widgets import bind_widget, reset_button
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_train_controls
from explorer.ui.wording import count_seeds

Views: TypeAlias = Mapping[str, RunView]


def controls(session: PageSession[InductionState], request: TrainRequest) -> None:
    """Draw the row of symbols, the training settings, folded, and the button that trains."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        row = session.state.text if session.state.row is None else session.state.row
        bind_widget(session, "row", st.text_input, shown=row, update=InductionState.with_text, width=330)
        st.button(
            "Draw another row",
            icon=":material/casino:",
            on_click=lambda: session.change(InductionState.with_next_draw),
            key="induction.draw",
        )
        with st.popover("Settings", icon=":material/tune:"):
            bind_widget(session, "who", st.pills, selection_mode="multi")
            for name in ("seeds", "steps", "seed"):
                bind_widget(session, name, st.number_input)
            reset_button(session)
        draw_train_controls(request, session.state.configs, keys=("induction.run", "induction.stop"))
    show_problems(filter(None, [session.state.unread]))


def select_finished(views: Views) -> dict[str, RunView]:
    """Return the views of runs whose weights are stored."""
    return {name: view for name, view in views.items() if view.stored is not None}


def loaded_model(view: RunView) -> load_model.LoadedModel:
    """Return the model of a finished run. Raises DamagedRun."""
    assert view.stored is not None
    return load_model.shared_model(view.stored)


@cached(key=lambda view: view.cache_key)
def head_scores(view: RunView) -> induction.InductionScores:
    """Return the scores of the heads of a finished run, measured once for all visitors. Raises DamagedRun."""
    return induction.measure_scores(loaded_model(view))


def row_section(state: InductionState, views: Views) -> None:
    """Draw what each model predicts after each symbol of the row."""
    trained = select_finished(views)
    if not trained:
        return
    requests: dict[str, Request[induction.RowReading]] = {
        name: (("induction-row", *view.cache_key, state.text), partial(_read_row, view, state.text))
        for name, view in trained.items()
    }
    words = tuple((name, state.variants[name].words, state.variants[name].label) for name in trained)
    result_section(
        "induction-row", requests, partial(_draw_row, words, state.row is not None), "The models read the row …", 200
    )


def _read_row(view: RunView, text: str) -> induction.RowReading:
    return induction.read_row(loaded_model(view), text)


def _draw_row(
    words: tuple[tuple[str, str, str], ...],
    typed: bool,
    document: Document,
    results: Mapping[str, induction.RowReading],
) -> None:
    shown = [each for each in words if each[0] in results]
    first = results[shown[0][0]]
    probabilities = {title: results[name].next_probability for name, title, _ in shown}
    if typed and (headline := findings.row_headline(first.repeated, probabilities)):
        document.finding(headline)
    document.text(findings.row_finding(first.repeated, probabilities))
    add_row_map(document, "induction-row-figure", {label: results[name] for name, _, label in shown})
    document.caption(
        "Tiles: the symbol that a model predicts. Below: the actual next symbol; the colour is its probability, median "
        f"of {count_seeds(len(first.next_probability))}."
        + (" The second copy begins at the line." if any(first.repeated) else "")
    )


def add_row_map(document: Document, key: str, readings: Mapping[str, induction.RowReading]) -> None:
    """Add the map of predictions; `readings` of the same row, by label."""
    first = next(iter(readings.values()))
    means = {label: np.median(reading.next_probability, axis=0) for label, reading in readings.items()}
    numbers = "; ".join(
        f"{label}: " + ", ".join(f"{symbol} {p:.2f}" for symbol, p in zip(first.symbols[1:], mean, strict=True))
        for label, mean in means.items()
    )
    chart = next_symbol_map(
        first.symbols[1:],
        first.repeated.index(True) if any(first.repeated) else None,
        list(readings),
        np.stack(list(means.values())),
        [reading.predicted for reading in readings.values()],
    )
    panel = Panel(key, chart, alt=f"Probability of each next symbol. {numbers}.")
    height = 44 + 38 * len(readings)
    add_plot_frame(document, [panel], key=key, height=height, narrow_height=height, columns=1)
