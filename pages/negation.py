"""Negation: can a sum of word weights understand "not"?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from explorer.errors import DamagedRun
from explorer.labs.negation.answers import answers_section, padding_section
from explorer.labs.negation.english_page import english_page
from explorer.labs.negation.linear_readout_ceiling import ceiling_section
from explorer.labs.negation.model_internals import internals_section, learned_weights_section
from explorer.labs.negation.results import results_section, task_section, training_section
from explorer.labs.negation.sentence_input import drop_missing_file, language_lead, sentence_row, version_row
from explorer.labs.negation.session import EnglishSession, NegationSession, choose_language, shows_english
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import ExperimentSession, experiment_session, fragment
from explorer.ui.training.run_view import RunView
from explorer.ui.training.save_offer import save_offer
from explorer.ui.training.train_controls import TrainRequest, draw_earlier_note, draw_missing_runs


def draw_answers(
    session: NegationSession, shown: NegationSession, request: TrainRequest, views: Mapping[str, RunView]
) -> None:
    """Draw the answers of the models that are shown to the words of the session.

    Without a finished run, what is said instead changes when a training starts.
    """

    def draw(views: Mapping[str, RunView]) -> None:
        answers_section(views, lambda: session.words, shown.experiment.task, "verdicts")

    if any(view.loaded_run for view in views.values()):
        draw(views)
    else:
        request.add_fragment("negation.answers", lambda: draw(request.views(shown.experiment.configs)))


def draw_learning(session: NegationSession) -> None:
    """Draw the learning curves."""
    with page_section("negation-learning", "How do the models learn it?", heading=False):
        training_section(session)


def draw_language_choice(english: bool) -> None:
    """Draw the question of the page and the choice between its two languages."""
    with st.container(horizontal=True, vertical_alignment="center"):
        options = {True: "English", False: "Six words"}
        key = "negation.language"
        st.session_state[key] = english
        st.segmented_control(
            "Language",
            options,
            format_func=options.__getitem__,
            key=key,
            on_change=lambda: choose_language(st.session_state[key] is not False),
            label_visibility="collapsed",
            required=True,
        )


def page(session: NegationSession) -> None:
    """Draw the page in the language of six words, from the lead to the papers."""
    drop_missing_file(session)
    language_lead(session)
    configs, request = session.experiment.configs, TrainRequest.for_section("negation")
    show_problems((*session.problems, *request.problems))
    with page_section("negation-verdicts", "What do the models answer?", heading=False):
        fragment(session, "sentence", lambda: sentence_row(session))
        shown = request.session_with_results(session)
        views = request.views(shown.experiment.configs)
        draw_missing_runs(
            request, configs, keys=("train-missing", "stop-missing"), draw_learning=lambda: draw_learning(session)
        )
        draw_earlier_note(request)
        draw_answers(session, shown, request, views)
        version_row(session)
    with page_section("negation-internals", "How does each model compute its answer?", heading=False):
        internals_section(shown, views)
    if not request.offers_missing:
        draw_learning(session)
    with page_section("negation-results", "How accurate are the models?", heading=False):
        draw_earlier_note(request)
        results_section(shown)
        save_offer(session, views, "your sentences", "their words and classes, but no sentence")
    folds: dict[str, tuple[str, Callable[[], object]]] = {
        "why": ("How much can a sum of word weights get right, and why?", lambda: ceiling_section(shown, views)),
        "task": (
            "Which sentences are there, and how does each model answer them?",
            lambda: task_section(shown, views),
        ),
        "padding": (
            "What happens if the models count the padding as words?",
            lambda: padding_section(shown, views),
        ),
        "weights": (
            "What does each model know about the words, and how do the other models compute?",
            lambda: learned_weights_section(shown, views),
        ),
    }
    if session.experiment.has_file:
        del folds["padding"]  # a file is always padded with <PAD>
    for name, (question, draw) in folds.items():
        folded_section(name, question, draw)
    code_and_papers("code-of", session.experiment.configs.values(), [paper_of(view.row) for view in views.values()])


visitor_text.remember_text()
english = shows_english()
session: ExperimentSession[Any] = experiment_session(EnglishSession) if english else experiment_session(NegationSession)
try:
    draw_language_choice(english)
    if isinstance(session, EnglishSession):
        english_page(session)
    elif isinstance(session, NegationSession):
        page(session)
except DamagedRun as error:  # the next run of the page finds another run or none
    session.problems = (str(error),)
    st.rerun()
