"""All results of a task: a table, statistical comparisons, and the formulas of both connections."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer import ui
from explorer.labs.translation import findings, training_chart
from explorer.labs.translation.alignment_findings import additive_formula, vector_formula
from explorer.labs.translation.findings import TranslationResult
from explorer.labs.translation.state import TranslationState
from explorer.ui.budgets import budget_sentence, learning_rates_sentence


def section(state: TranslationState, results: Mapping[str, TranslationResult], views: Mapping[str, ui.RunView]) -> None:
    """Draw the results of the finished runs, and the formulas.

    results: the finished runs by the name of their variant.
    views: the run views of the page, by the same names.
    """
    if state.task != "pairs":  # for pairs, the table is drawn above, in place of a chart by length
        ui.draw_now(training_chart.table_view, state, results, views)
    compared = {each.variant.words: views[name].config for name, each in results.items()}
    width = getattr(state.configs["vector"].model, "hidden", 0) if "vector" in results else 0
    for sentence in (
        findings.exact_match_comparison(results),
        *findings.other_findings(results),
        f"{budget_sentence(compared)} {learning_rates_sentence(compared)}".strip(),
        findings.capacity_finding(state.task_config, results.get("vector"), width),
    ):
        ui.paragraph(sentence)
    ui.explanation("With one vector, the decoder knows the source only through the last state of the encoder:")
    st.latex(vector_formula())
    ui.explanation(
        "With attention, it receives at every step a sum of all encoder states, weighted by how well they fit:"
    )
    st.latex(additive_formula())
