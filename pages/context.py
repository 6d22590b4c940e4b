"""Context: how far back does a language model use its text?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer.labs.context.context_cost import context_cost_section
from explorer.labs.context.context_use import context_section, formula_section, is_measured_text, same_context_section
from explorer.labs.context.dynamic_evaluation import PAPERS as ADAPTATION_PAPERS
from explorer.labs.context.dynamic_evaluation import dynamic_evaluation_section
from explorer.labs.context.state import ContextState
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import empty_panel, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, page_session, write_url
from explorer.ui.state.widgets import bind_widget
from explorer.ui.training.train_controls import TrainRequest, draw_missing_runs

FILES = {
    "Loss by context": "inspection/language/context_use.py",
    "Cost of context": "inspection/language/context_cost.py",
    "Dynamic evaluation": "inspection/language/dynamic_evaluation.py",
}
PAPERS = (
    (
        "Use of context",
        "Khandelwal, He, Qi and Jurafsky 2018, Sharp nearby, fuzzy far away: how neural language models use context",
        "https://arxiv.org/abs/1805.04623",
    ),
    *ADAPTATION_PAPERS,
)


def page(session: PageSession[ContextState]) -> None:
    """Draw the whole page, from the question to the papers."""
    lead("Choose models: the loss falls for as long as earlier tokens help to predict the next one.")
    with st.container(horizontal=True, vertical_alignment="top"):
        bind_widget(session, "setup", st.selectbox, width=240)
        bind_widget(session, "models", st.pills, selection_mode="multi", update=ContextState.with_models)
    show_problems(session.problems)
    state, request = session.state, TrainRequest.for_section("context")
    views = request.views(state.configs)
    show_problems(request.problems)
    draw_missing_runs(request, state.configs)
    task = next(iter(state.configs.values())).task_as(TextConfig)
    available = corpora.is_available(task)
    with page_section("text-reach", "Loss by context", heading=False):
        if available:
            context_section(views)
        else:
            empty_panel("Tiny Shakespeare is not on this machine. Repeats and Brackets are made here.", 120)
    if is_measured_text(task):
        with page_section("text-same-context", "Networks and n-grams with the same context"):
            same_context_section()
    folded_section("context-formula", "What does the loss by context measure?", formula_section)
    if available:
        folded_section("text-prices", "What does a longer context cost?", partial(context_cost_section, views))
        folded_section(
            "text-online",
            "Does it help to keep learning on the text that is read?",
            partial(dynamic_evaluation_section, views),
        )
    code_and_papers("context.code", FILES, PAPERS)


session = page_session("context", ContextState)
session.state = session.state.validate()
page(session)
write_url(session)
