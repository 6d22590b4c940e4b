"""The task of the negation page: its settings, every sentence of the grammar, and every answer to it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer.labs.negation.results_tables import file_table, sentences_table
from explorer.labs.negation.session import NegationSession
from explorer.ui.budgets import budget_sentence
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.state.widgets import setting_widget
from explorer.ui.training.run_view import RunView


def task_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw the settings of the task, every sentence with every answer, and the budgets and learning rates."""
    task = session.data
    titles = {model: view.row.title for model, view in views.items()}
    if session.experiment.has_file:
        file_table(task, views)
        with st.popover("Settings of the task", icon=":material/tune:"):
            for name in ("held_out_share", "data_seed", "vocabulary", "train_size"):
                setting_widget(session, name, section="task")
        return
    drawn = np.bincount(task.sample("train", session.experiment.value("seed")), minlength=len(task.sentences))
    sentences_table(task, views, drawn.tolist())
    with st.popover("Settings of the task", icon=":material/tune:"):
        for name in ("p_not", "train_size", "test_size", "data_seed", "fresh_data", "max_nots", "held_out"):
            setting_widget(session, name, section="task")
    if budgets := budget_sentence({view.row.title: view.config for view in views.values() if view.result}):
        explanation(escape_markdown(budgets))
    draw_learning_rates("negation", titles)
