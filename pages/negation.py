"""Negation: can a sum of word weights understand "not"?"""

from __future__ import annotations

import streamlit as st

from explorer.errors import DamagedRun
from explorer.labs.negation.answers import answers_section
from explorer.labs.negation.linear_readout_ceiling import ceiling_section
from explorer.labs.negation.model_internals import internals_section, learned_weights_section
from explorer.labs.negation.padding_trap import padding_section
from explorer.labs.negation.results_tables import results_section
from explorer.labs.negation.sentence_input import sentence_row, version_row
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.task_description import task_section
from explorer.labs.negation.training_chart import training_section
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import page_head, show_problems
from explorer.ui.state.session import experiment_session, fragment
from explorer.ui.training.train_controls import TrainRequest, draw_missing_runs


def page(session: NegationSession) -> None:
    """Draw the whole page, from the question to the papers."""
    page_head("Can a sum of word weights understand “not”?")
    version_row(session)
    configs, request = session.experiment.configs, TrainRequest.for_section("negation")
    show_problems((*session.problems, *request.problems))
    fragment(session, "sentence", lambda: sentence_row(session))
    views = request.views(configs)
    draw_missing_runs(request, configs, keys=("train-missing", "stop-missing"))
    answers_section(views, lambda: session.words, "verdicts")
    internals_section(session, views)
    training_section(session)
    results_section(session, views)
    ceiling_section(session, views)
    padding_section(session, views)
    task_section(session)
    learned_weights_section(session, views)
    code_and_papers("code-of", session.experiment.configs.values(), [paper_of(view.row) for view in views.values()])


session = experiment_session(NegationSession)
try:
    page(session)
except DamagedRun as error:  # the next run of the page finds another run or none
    session.problems = (str(error),)
    st.rerun()
