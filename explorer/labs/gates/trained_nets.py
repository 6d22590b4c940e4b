"""Trained networks, by the value at which their gates were initialized."""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.experiments.recall import SOLVED, VARIANTS
from explorer.labs.gates.findings import GateInitOutcome, gate_init_finding
from explorer.labs.gates.state import STEPS
from explorer.ui.page_sections import escape_markdown, explanation


def gate_init_outcomes(model: str, length: int = STEPS) -> dict[float, GateInitOutcome]:
    """Return the outcomes of the stored runs of one architecture, by initial gate bias; the default is around 0."""
    from explorer.ui.training.run_view import run_views

    initializations = {0.0: "usual", 1.0: "forget-1", 3.0: "forget-3"}
    configs = {f"{bias}": VARIANTS[f"{model}-{name}"].config(length=length) for bias, name in initializations.items()}
    outcomes = {}
    for bias, view in run_views(configs, set()).items():
        result = view.result
        if result and "accuracy" in result.metrics:
            accuracy = result.last("accuracy")
            outcomes[float(bias)] = GateInitOutcome(float(bias), int((accuracy >= SOLVED).sum()), len(accuracy))
    return outcomes


def trained_nets_section() -> None:
    """Draw what networks learn that were initialized with such gates."""
    st.header("And in nets that are trained", anchor=False)
    for model in ("lstm", "gru"):
        sentence = gate_init_finding(gate_init_outcomes(model), STEPS, MODELS[model].title)
        if sentence:
            explanation(escape_markdown(sentence))
    explanation(
        "A start decides how much of the first gradients comes back. The races, the gates of trained nets and their "
        "half-lives:"
    )
    st.page_link("memory.py", label="How long does a net remember?", icon=":material/arrow_forward:")
