"""Negation: can a sum of word weights understand "not"?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from explorer.errors import DamagedRun
from explorer.labs.negation.answers import answers_section
from explorer.labs.negation.linear_readout_ceiling import ceiling_section
from explorer.labs.negation.model_internals import internals_section, learned_weights_section
from explorer.labs.negation.padding_trap import padding_section
from explorer.labs.negation.results_tables import results_section
from explorer.labs.negation.sentence_input import drop_missing_file, language_lead, sentence_row, version_row
from explorer.labs.negation.session import NegationSession
from explorer.labs.negation.task_description import task_section
from explorer.labs.negation.training_chart import training_section
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import page_head, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import experiment_session, fragment
from explorer.ui.training.run_view import RunView
from explorer.ui.training.save_offer import save_offer
from explorer.ui.training.train_controls import TrainRequest, draw_missing_runs


def draw_answers(session: NegationSession, request: TrainRequest, views: Mapping[str, RunView]) -> None:
    """Draw the answers; without a finished run, what is said instead changes when a training starts."""

    def draw(views: Mapping[str, RunView]) -> None:
        answers_section(views, lambda: session.words, session.experiment.task, "verdicts")

    if any(view.loaded_run for view in views.values()):
        draw(views)
    else:
        request.add_fragment("negation.answers", lambda: draw(request.views(session.experiment.configs)))


def page(session: NegationSession) -> None:
    """Draw the whole page, from the question to the papers."""
    page_head("Can a sum of word weights understand “not”?")
    drop_missing_file(session)
    language_lead(session)
    configs, request = session.experiment.configs, TrainRequest.for_section("negation")
    show_problems((*session.problems, *request.problems))
    with page_section("negation-verdicts", "What do the models answer?", heading=False):
        fragment(session, "sentence", lambda: sentence_row(session))
        views = request.views(configs)
        draw_missing_runs(request, configs, keys=("train-missing", "stop-missing"))
        draw_answers(session, request, views)
        version_row(session)
    with page_section("negation-internals", "How does each model compute its answer?", heading=False):
        internals_section(session, views)
    with page_section("negation-results", "How do the models learn it?", heading=False):
        training_section(session)
        results_section(session)
        save_offer(session, views, "your sentences", "their words and classes, but no sentence")
    folds: dict[str, tuple[str, Callable[[], object]]] = {
        "why": ("How much can a sum of word weights get right, and why?", lambda: ceiling_section(session, views)),
        "task": (
            "Which sentences are there, and how does each model answer them?",
            lambda: task_section(session, views),
        ),
        "padding": (
            "What happens if the models count the padding as words?",
            lambda: padding_section(session, views),
        ),
        "weights": (
            "What does each model know about the words, and how do the other models compute?",
            lambda: learned_weights_section(session, views),
        ),
    }
    if session.experiment.has_file:
        del folds["padding"]  # a file is always padded with <PAD>
    for name, (question, draw) in folds.items():
        folded_section(name, question, draw)
    code_and_papers("code-of", session.experiment.configs.values(), [paper_of(view.row) for view in views.values()])


visitor_text.remember_text()
session = experiment_session(NegationSession)
try:
    page(session)
except DamagedRun as error:  # the next run of the page finds another run or none
    session.problems = (str(error),)
    st.rerun()
