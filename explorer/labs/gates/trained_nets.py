"""Trained networks, by the value at which their gates were initialized."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.catalogue import MODELS
from explorer.experiments.recall import SOLVED, VARIANTS
from explorer.labs.gates.findings import (
    GateInitOutcome,
    gate_init_comparison,
    gate_init_finding,
    initial_gate,
)
from explorer.labs.gates.state import STEPS
from explorer.ui.components.table import column, draw_table
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.training.run_view import run_views
from explorer.ui.training.train_controls import is_finished


def gate_init_outcomes(model: str) -> dict[float, GateInitOutcome]:
    """Return the outcomes of the stored runs of one architecture, by initial gate bias; the default is around 0."""
    initializations = {0.0: "usual", 1.0: "forget-1", 3.0: "forget-3"}
    configs = {f"{bias}": VARIANTS[f"{model}-{name}"].config(length=STEPS) for bias, name in initializations.items()}
    outcomes = {}
    for bias, view in run_views(configs, set()).items():
        result = view.result if is_finished(view) else None
        if result and "accuracy" in result.metrics:
            accuracy = result.last("accuracy")
            outcomes[float(bias)] = GateInitOutcome(float(bias), int((accuracy >= SOLVED).sum()), len(accuracy))
    return outcomes


def trained_nets_section() -> None:
    """Draw how many trained networks remember, by the value at which their gates were initialized."""
    outcomes = {MODELS[model].title: gate_init_outcomes(model) for model in ("lstm", "gru")}
    if finding := gate_init_finding(outcomes, STEPS):
        st.subheader(escape_markdown(finding), anchor=False)
    explanation("In a trained network the gates are computed from the input. Their bias decides how open they begin.")
    _draw_table(outcomes)
    for title, by_bias in outcomes.items():
        if comparison := gate_init_comparison(by_bias, title):
            explanation(escape_markdown(comparison))
    st.page_link("memory.py", label="How long does a network remember?", icon=":material/arrow_forward:")


def _draw_table(outcomes: Mapping[str, Mapping[float, GateInitOutcome]]) -> None:
    biases = sorted({bias for by_bias in outcomes.values() for bias in by_bias})
    if not biases:
        return
    columns = [column("name", "network", "model")]
    columns += [column(f"{bias:g}", initial_gate(bias), "number", wrap=True) for bias in biases]
    rows = []
    for title, by_bias in outcomes.items():
        cells: dict[str, object] = {"name": {"text": title, "colour": f"--m-{title.lower()}"}}
        cells |= {f"{bias:g}": f"{each.solved} of {each.seeds}" for bias, each in by_bias.items()}
        rows.append(cells)
    draw_table(
        columns,
        rows,
        key="gates-trained",
        label="Seeds that recall the first symbol, by network and initial gate value",
        caption=f"Seeds that name the first of {STEPS} symbols, by the initial value of the forget gate (LSTM) or the "
        "update gate (GRU).",
    )
