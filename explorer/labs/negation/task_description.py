"""The task of the negation page: its settings, every sentence of the grammar, and every answer to it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer.labs.negation.results_tables import sentences_table
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.state import negation_task
from explorer.ui.budgets import budget_sentence
from explorer.ui.learning_rates import draw_learning_rates
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.state.widgets import setting_widget
from explorer.ui.training.run_view import RunView


def task_section(session: NegationSession, views: Mapping[str, RunView]) -> None:
    """Draw the settings of the task, every sentence with every answer, and the budgets and learning rates."""
    task = negation_task(session.experiment.task)
    drawn = np.bincount(task.sample("train", session.experiment.value("seed")), minlength=len(task.sentences))
    sentences_table(task, views, drawn.tolist())
    with st.popover("Settings of the task", icon=":material/tune:"):
        setting_widget(session, "p_not", "Probability of “not”", section="task")
        setting_widget(session, "train_size", "Training sentences", section="task")
        setting_widget(session, "test_size", "Test sentences", section="task")
        setting_widget(session, "data_seed", "Seed of the sentences", section="task")
        setting_widget(session, "fresh_data", "Fresh sentences for every seed", section="task")
        setting_widget(session, "max_nots", "Most “not”s in a sentence", section="task")
        setting_widget(session, "held_out", "Held out with “not”", section="task")
    if budgets := budget_sentence({view.row.title: view.config for view in views.values() if view.result}):
        explanation(escape_markdown(budgets))
    titles = {model: view.row.title for model, view in views.items()}
    draw_learning_rates("negation", titles, "all sentences of the grammar with at most one “not”")
