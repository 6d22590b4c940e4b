"""Language models: can a network predict a text better than an n-gram?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from explorer.errors import DamagedRun
from explorer.labs.text import controls, findings
from explorer.labs.text.bracket_accuracy import bracket_section, is_bracket_task
from explorer.labs.text.controls import lines_section, models_row, offer_training, text_is_available, text_section
from explorer.labs.text.experiments import experiments_section
from explorer.labs.text.results import current_standings, larger_standing, loss_section, results_section
from explorer.labs.text.state import DEFAULT_SETUP, TextLab
from explorer.labs.text.training_chart import model_curves_section, samples_section, training_section
from explorer.training.comparability import TOKEN_NOUNS
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import caption, escape_markdown, headline, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import ExperimentSession, experiment_session
from explorer.ui.training.save_offer import save_offer
from explorer.ui.training.train_controls import TrainRequest, draw_earlier_note


def page(session: ExperimentSession[TextLab]) -> None:
    """Draw the whole page, from the question to the papers."""
    lab = session.experiment
    lead("Choose **Toy** and press **Train**.")
    text_section(session)
    request = TrainRequest.for_section(lab.TASK)
    show_problems((*session.problems, *request.problems))
    controls.apply_budget(session)
    shown = request.session_with_results(session).experiment
    views = request.views(shown.configs)
    offer_training(session, request.views(lab.configs))
    found, token = current_standings(views), TOKEN_NOUNS[shown.task.tokenizer]
    parameters = {model: view.parameters for model, view in views.items() if view.parameters}
    larger = larger_standing(shown, request)
    headline(findings.best_model_finding(found, token))
    draw_earlier_note(request)
    left, right = st.columns([3, 2], gap="large")
    with left, page_section("text-race", "Loss during training", heading=False):
        training_section(session)
    with right, page_section("text-samples", "What do the models generate during training?", heading=False):
        samples_section(lab)
    models_row(session)
    size = findings.larger_model_finding(*larger, found, parameters) if larger else ""
    notes = size, findings.effort_note(found, parameters, token), findings.contexts_note(found)
    if any(notes):
        caption(escape_markdown(" ".join(filter(None, notes))))
    save_offer(session, views, "your text", "the texts that they generate, and with them parts of it")
    with page_section("text-results", "Results"):
        draw_earlier_note(request)
        results_section(views, shown, found)
        lines_section(shown.task)
    if text_is_available(shown) and is_bracket_task(shown.task):
        with page_section("text-closing", "Which models keep track of open brackets?"):
            bracket_section(views)
    st.page_link(
        "context.py", label="How far back does a language model use its text?", icon=":material/arrow_forward:"
    )
    folded_section("text-each", "Does a model overfit?", partial(model_curves_section, shown, found))
    folded_section(
        "experiment-ends",
        "Do small models confirm what four papers claim?",
        lambda: experiments_section(
            lab.experiment, lambda name: session.change(lambda lab: replace(lab, experiment=name))
        ),
    )
    folded_section("loss", "What is the loss, and how does the n-gram smooth its counts?", loss_section)
    code_and_papers("text.code-of", lab.configs.values(), [paper_of(view.row) for view in views.values()])


def start() -> ExperimentSession[TextLab]:
    return ExperimentSession(TextLab.of_setup(DEFAULT_SETUP), "text")


session = experiment_session(start)
visitor_text.remember_text()
try:
    page(session)
except DamagedRun as error:  # known from now on, so the next run of this page finds another run or none
    session.problems = (str(error),)
    st.rerun()
