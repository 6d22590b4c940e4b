"""All results of a task: a table, statistical comparisons, and the formulas of both connections."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.labs.translation import findings, training_chart
from explorer.labs.translation.alignment_findings import additive_formula, vector_formula
from explorer.labs.translation.findings import TranslationResult
from explorer.labs.translation.state import TranslationState
from explorer.ui.budgets import budget_sentence, learning_rates_sentence
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.training.run_view import RunView


def section(state: TranslationState, results: Mapping[str, TranslationResult], views: Mapping[str, RunView]) -> None:
    """Draw the results of the finished runs, and the formulas.

    results: the finished runs by the name of their variant.
    views: the run views of the page, by the same names.
    """
    if state.task != "pairs":  # for pairs, the table is drawn above, in place of a chart by length
        training_chart.results_table(state, results, views)
    compared = {each.variant.words: views[name].config for name, each in results.items()}
    sentences = (
        findings.exact_match_comparison(results),
        *findings.other_findings(results),
        f"{budget_sentence(compared)} {learning_rates_sentence(compared)}".strip(),
        findings.capacity_finding(state.task_config, results.get("vector"), _vector_width(state, results)),
    )
    for sentence in filter(None, sentences):
        explanation(escape_markdown(sentence))
    explanation("With one vector, the decoder knows the source only through the last state of the encoder:")
    st.latex(vector_formula())
    explanation("With attention, it receives at every step a sum of all encoder states, weighted by how well they fit:")
    st.latex(additive_formula())


def _vector_width(state: TranslationState, results: Mapping[str, TranslationResult]) -> int:
    return getattr(state.configs["vector"].model, "hidden", 0) if "vector" in results else 0
