"""Trained networks, by the value at which their gates were initialized."""

from __future__ import annotations

import streamlit as st
from jaxtyping import Bool
from numpy import ndarray

from explorer import charts, ui
from explorer.catalogue import MODELS
from explorer.experiments.recall import SOLVED, VARIANTS
from explorer.labs.gates.findings import Outcomes, gate_init_comparison, gate_init_finding, initial_gate
from explorer.labs.gates.state import STEPS


def gate_init_outcomes(model: str) -> dict[float, Bool[ndarray, " seeds"]]:
    """Return which seeds of the stored runs of one architecture solve the task, by bias; the default is around 0."""
    initializations = {0.0: "usual", 1.0: "forget-1", 3.0: "forget-3"}
    configs = {f"{bias}": VARIANTS[f"{model}-{name}"].config(length=STEPS) for bias, name in initializations.items()}
    results = {bias: view.result for bias, view in ui.run_views(configs, set()).items() if ui.is_finished(view)}
    return {
        float(bias): result.last("accuracy") >= SOLVED
        for bias, result in results.items()
        if result and "accuracy" in result.metrics
    }


def trained_nets_section() -> None:
    """Draw how many trained networks remember, by the value at which their gates were initialized."""
    ui.draw_now(trained_nets_view, {MODELS[model].title: gate_init_outcomes(model) for model in ("lstm", "gru")})
    st.page_link("memory.py", label="How long does a network remember?", icon=":material/arrow_forward:")


def trained_nets_view(document: ui.Document, outcomes: Outcomes) -> None:
    """Write the finding, the table of the seeds that remember, and a comparison of the biases of each network."""
    document.finding(gate_init_finding(outcomes, STEPS))
    document.text("In a trained network the gates are computed from the input. Their bias decides how open they begin.")
    biases = sorted({bias for by_bias in outcomes.values() for bias in by_bias})
    columns = {"name": charts.Column("network", "model")} | {
        f"{bias:g}": charts.Column(initial_gate(bias), "number", wrap=True) for bias in biases
    }
    rows = [
        {"name": charts.Cell(title, f"--m-{title.lower()}")}
        | {f"{bias:g}": f"{each.sum()} of {len(each)}" for bias, each in by_bias.items()}
        for title, by_bias in outcomes.items()
        if biases
    ]
    label = "Seeds that recall the first symbol, by network and initial gate value"
    caption = (
        f"Seeds that name the first of {STEPS} symbols, by the initial value of the forget gate (LSTM) or the update "
        "gate (GRU)."
    )
    document.table("gates-trained", charts.Table(columns, rows, label, caption))
    for title, by_bias in outcomes.items():
        document.text(gate_init_comparison(by_bias, title))
