"""Memory: how long does a network remember?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.memory import (
    exploding_gradients,
    findings,
    gate_viewer,
    gradient_flow,
    recall,
    results,
    small_data,
)
from explorer.labs.memory.state import MemoryState
from explorer.ui.code_and_papers import BENGIO_1994, GERS_2000, PASCANU_2013, code_and_papers, paper_of
from explorer.ui.page_sections import empty_panel, lead, show_problems
from explorer.ui.result_section import draw_now
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, draw_earlier_note, draw_missing_runs, draw_train_controls

PAPERS = (
    ("Vanishing gradients", *BENGIO_1994),
    ("Exploding gradients", *PASCANU_2013),
    ("Forget gate", *GERS_2000),
    (
        "Open gates (chrono initialization)",
        "Tallec and Ollivier 2018, Can recurrent neural networks warp time?",
        "https://arxiv.org/abs/1804.11188",
    ),
    (
        "Orthogonal initialization",
        "Saxe, McClelland and Ganguli 2013, Exact solutions to the nonlinear dynamics of learning in deep linear "
        "neural networks",
        "https://arxiv.org/abs/1312.6120",
    ),
)


def draw_gates(session: PageSession[MemoryState], views: Mapping[str, RunView]) -> None:
    """Draw why a gate keeps the gradient, and the gates of a run while it reads."""
    gradient_flow.draw_formulas()
    gate_viewer.section(session, views)


def draw_learning(session: PageSession[MemoryState], request: TrainRequest) -> None:
    """Draw the accuracy during the training."""
    with page_section("learning", "Accuracy during training", heading=False):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.header("Accuracy during training", anchor=False)
            draw_train_controls(request, session.state.configs)
        recall.learning_chart(session.state, request)


def page(session: PageSession[MemoryState]) -> None:
    """Draw the whole page, from the question to the papers."""
    lead("Type a row of a and b: which networks still know its first letter when they have read the last?")
    recall.input_row(session)
    show_problems(session.problems)
    request, wanted = TrainRequest.for_section("recall"), session.state.variants
    shown = request.session_with_results(session)
    state, variants, configs = shown.state, shown.state.variants, shown.state.configs
    views = request.views(configs)
    show_problems(request.problems)
    draw_missing_runs(
        request,
        session.state.configs,
        lambda names: findings.describe_variants([wanted[n] for n in names]),
        draw_learning=lambda: draw_learning(session, request),
    )
    recalled = recall.recall_results(variants, views)
    with page_section("lengths", "Accuracy by sequence length", heading=False):
        draw_earlier_note(request)
        recall.typed_section(shown, views)
        if recalled:
            draw_now(recall.lengths_view, state, variants, recalled)
        else:
            empty_panel("No finished run with these settings yet.", 120)
    if not request.offers_missing:
        draw_learning(session, request)
    with page_section("gradients", "Why do some networks fail?"):
        draw_earlier_note(request)
        gradient_flow.section(shown, views)
    folded_section(
        "results",
        "How accurate is each model, and up to which length can it learn the task?",
        partial(results.section, shown, recalled, views),
    )
    folded_section("gates", "What do the gates do while a network reads?", lambda: draw_gates(shown, views))
    folded_section(
        "exploding",
        "What if gradients grow instead, and what does clipping change?",
        partial(exploding_gradients.section, session),
    )
    folded_section(
        "small-data",
        "What does a network learn from a single string, or from 256 sequences?",
        partial(small_data.small_data_section, session),
    )
    by_architecture = recall.group_by_architecture(variants)
    code_and_papers(
        "memory.code",
        [configs[names[0]] for names in by_architecture.values()],
        [*(paper_of(MODELS[model]) for model in by_architecture), *PAPERS],
    )


session = comparison_session("memory", MemoryState)
page(session)
write_url(session)
