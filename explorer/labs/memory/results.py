"""All results on recall: a table, statistical comparisons, learning rates, and a sweep over lengths."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from explorer import ui
from explorer.labs.memory import length_sweep, training_chart
from explorer.labs.memory.findings import RecallResult
from explorer.labs.memory.state import MemoryState
from explorer.tasks.recall import RecallConfig
from explorer.ui.learning_rates import changed_result_finding, draw_learning_rates

_SEARCHED = RecallConfig()  # the task of the search for the learning rates


def learning_rate_finding(state: MemoryState) -> str:
    """Return which results another learning rate would change by much; "" if the state is not that of the search."""
    if state.task != _SEARCHED or state.rate or state.steps:
        return ""
    return changed_result_finding("recall", {name: each.full_label for name, each in state.variants.items()})


def section(
    session: ui.PageSession[MemoryState], results: Mapping[str, RecallResult], views: Mapping[str, ui.RunView]
) -> None:
    """Draw the results of the finished runs, and the sweep.

    results: the finished runs by the name of their variant.
    views: the run views of the page, by the same names.
    """
    state = session.state
    ui.draw_now(training_chart.results_view, state, results, views)
    st.subheader("Which lengths can each model learn?", anchor=False)
    length_sweep.section(session)
    st.subheader("How the learning rates were chosen", anchor=False)
    draw_learning_rates("recall", {name: each.full_label for name, each in state.variants.items()})
