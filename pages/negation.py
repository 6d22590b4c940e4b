"""Negation: can a model that only counts words understand "not"?"""

from __future__ import annotations

import streamlit as st

from explorer.errors import DamagedRun
from explorer.labs.negation.linear_readout_ceiling import ceiling_section
from explorer.labs.negation.model_internals import internals_section, learned_weights_section
from explorer.labs.negation.padding_trap import padding_section
from explorer.labs.negation.results_tables import results_section
from explorer.labs.negation.sentence_input import sentence_row, version_row
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.task_description import task_section
from explorer.labs.negation.training_chart import training_section
from explorer.labs.negation.verdicts import show_verdicts
from explorer.ui.page_sections import code_section, page_head, papers, show_problems
from explorer.ui.state.session import experiment_session, fragment
from explorer.ui.training.run_view import run_views
from explorer.ui.training.train_controls import draw_call_to_train


def page(session: NegationSession) -> None:
    """Draw the whole page, from the question to the papers."""
    page_head("Can a model that only counts words understand “not”?")
    version_row(session)
    show_problems(session.problems)
    fragment(session, "sentence", lambda: sentence_row(session))
    views = run_views(session.experiment.configs, session.requested_runs)
    draw_call_to_train(session, views)
    fragment(session, "verdicts", lambda: show_verdicts(views, session.words, key="negation-verdicts"))
    internals_section(session, views)
    training_section(session)
    results_section(session, views)
    ceiling_section(session, views)
    padding_section(session, views)
    task_section(session)
    learned_weights_section(session, views)
    st.header("The code", anchor=False)
    code_section(session.experiment.configs.values(), key="code-of")
    st.header("The papers", anchor=False)
    papers(view.row for view in views.values())


session = experiment_session(NegationSession)
try:
    page(session)
except DamagedRun as error:  # the next run of the page finds another run or none
    session.problems = (str(error),)
    st.rerun()
