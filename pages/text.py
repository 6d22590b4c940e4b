"""Language models: can a network predict a text better than an n-gram?"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.errors import DamagedRun
from explorer.labs.text import equal_budget, findings, results_table
from explorer.labs.text.bracket_accuracy import bracket_section
from explorer.labs.text.context_cost import context_cost_section
from explorer.labs.text.context_use import context_section
from explorer.labs.text.current_standings import current_standings
from explorer.labs.text.dynamic_evaluation import dynamic_evaluation_section
from explorer.labs.text.experiments import experiments_section
from explorer.labs.text.loss_explanation import loss_section
from explorer.labs.text.model_settings import models_row
from explorer.labs.text.same_context import same_context_section
from explorer.labs.text.state import TextLab
from explorer.labs.text.text_choice import text_section
from explorer.labs.text.training_chart import training_section
from explorer.labs.text.training_offer import offer_training, save_offer, text_is_available
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import empty_panel, escape_markdown, lead, page_head, show_problems
from explorer.ui.state.session import ExperimentSession, experiment_session
from explorer.ui.training.train_controls import TrainRequest


def page(session: ExperimentSession[TextLab]) -> None:
    """Draw the whole page, from the question to the papers."""
    lab = session.experiment
    page_head("Can a network predict a text better than an n-gram?")
    lead(
        "Six models, from the n-gram to the Transformer, read the same text and predict what comes next. The dashed "
        "line is the n-gram with modified Kneser–Ney smoothing; a network whose loss is lower in the same context "
        "predicts better."
    )
    text_section(session)
    request = TrainRequest.for_section(lab.TASK)
    show_problems((*session.problems, *request.problems))
    equal_budget.apply_budget(session)
    views = request.views(lab.configs)
    offer_training(session, views)
    found = current_standings(views)
    token = "character" if lab.task.tokenizer == "char" else "token"
    live = any(view.live for view in views.values())
    st.subheader(escape_markdown(findings.best_model_finding(found, live, token)), anchor=False)
    if contexts := findings.contexts_note(found):
        st.caption(escape_markdown(contexts))
    models_row(session)
    training_section(session)
    save_offer(session, views)
    results_table.results_section(session, views, found)
    same_context_section(lab.task)
    if text_is_available(lab):
        dynamic_evaluation_section(views)
        context_section(views)
        context_cost_section(views)
        bracket_section(views, lambda: session.change(lambda lab: lab.with_brackets()))
    else:
        empty_panel("What these models make of the text, place by place, is shown here once the text is there.", 120)
    experiments_section(lab.experiment, lambda name: session.change(lambda lab: replace(lab, experiment=name)))
    loss_section(lab, views, found)
    code_and_papers("text.code-of", lab.configs.values(), [paper_of(view.row) for view in views.values()])


def start() -> ExperimentSession[TextLab]:
    return ExperimentSession(TextLab(), "text")


session = experiment_session(start)
visitor_text.remember_text()
try:
    page(session)
except DamagedRun as error:  # known from now on, so the next run of this page finds another run or none
    session.problems = (str(error),)
    st.rerun()
