"""What connects encoder and decoder: the formulas of both models, with the numbers of their runs."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer.labs.translation import findings
from explorer.labs.translation.alignment_findings import additive_formula, vector_formula
from explorer.labs.translation.findings import TranslationResult
from explorer.labs.translation.state import TranslationState
from explorer.ui.page_sections import escape_markdown, explanation


def section(state: TranslationState, results: Mapping[str, TranslationResult]) -> None:
    """Draw the formulas of both models, and how much one vector could hold."""
    st.header("Why: what stands between the two halves", anchor=False)
    explanation("With one vector the half that writes knows the source only by the last state of the half that reads:")
    st.latex(vector_formula())
    explanation("With attention it asks at every step, and gets a sum of all states, weighted by how well each fits:")
    st.latex(additive_formula())
    result = results.get("vector")
    width = getattr(state.configs["vector"].model, "hidden", 0) if result else 0
    explanation(escape_markdown(findings.capacity_finding(state.task_config, result, width)))
