"""Memory: how long does a net remember?"""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.memory import (
    controls,
    exploding_gradients,
    findings,
    gate_viewer,
    gradient_flow,
    length_sweep,
    string_model,
    train_set_trap,
    training_chart,
)
from explorer.labs.memory.state import MemoryState
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.learning_rates import learning_rates_section
from explorer.ui.page_sections import escape_markdown, explanation, lead, page_head, show_problems
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.training.train_controls import TrainRequest, draw_missing_runs, draw_train_controls

PAPERS = (
    (
        "Vanishing gradients",
        "Bengio, Simard and Frasconi 1994, Learning long-term dependencies with gradient descent is difficult",
        "https://doi.org/10.1109/72.279181",
    ),
    (
        "Exploding gradients",
        "Pascanu, Mikolov and Bengio 2013, On the difficulty of training recurrent neural networks",
        "https://arxiv.org/abs/1211.5063",
    ),
    (
        "Forget gate",
        "Gers, Schmidhuber and Cummins 2000, Learning to forget: continual prediction with LSTM",
        "https://doi.org/10.1162/089976600300015015",
    ),
    (
        "Open gates (chrono)",
        "Tallec and Ollivier 2018, Can recurrent neural networks warp time?",
        "https://arxiv.org/abs/1804.11188",
    ),
    (
        "Rotations",
        "Saxe, McClelland and Ganguli 2013, Exact solutions to the nonlinear dynamics of learning in deep linear "
        "neural networks",
        "https://arxiv.org/abs/1312.6120",
    ),
)


def page(session: PageSession[MemoryState]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("How long does a net remember?")
    lead(
        "A net reads random symbols, one by one. At the end it is asked for the first. The "
        "sequences are fresh at every step, so they cannot be learned by heart: a model has to keep the first symbol, "
        "or to look it up."
    )
    controls.model_row(session)
    controls.settings_row(session)
    show_problems(session.problems)
    state, request = session.state, TrainRequest.for_section("recall")
    variants, configs = state.variants, state.configs
    views = request.views(configs)
    show_problems(request.problems)
    draw_missing_runs(request, configs, lambda names: findings.describe_variants([variants[n] for n in names]))
    results = training_chart.recall_results(variants, views)
    if results:
        st.subheader(escape_markdown(findings.solved_finding(results, state.length)), anchor=False)
        explanation(escape_markdown(findings.budget_caption(results)))
        training_chart.length_chart(state, variants, results)
        if comparison := findings.solved_comparison_finding(results):
            explanation(escape_markdown(comparison))
        for sentence in findings.other_length_findings(results, state.length):
            explanation(escape_markdown(sentence))
        training_chart.results_table(state, variants, results, views)
        learning_rates_section(
            "recall", {name: each.full_label for name, each in variants.items()}, "new sequences of 50 symbols"
        )
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("While they learn", anchor=False)
        draw_train_controls(request, configs)
    training_chart.learning_chart(state, variants, request)
    length_sweep.section(session)
    gradient_flow.section(session, views)
    gate_viewer.section(session, views)
    exploding_gradients.section(session)
    train_set_trap.section()
    string_model.section(session)
    by_architecture = training_chart.group_by_architecture(variants)
    code_and_papers(
        "memory.code",
        [configs[names[0]] for names in by_architecture.values()],
        [*(paper_of(MODELS[model]) for model in by_architecture), *PAPERS],
    )


session = comparison_session("memory", MemoryState)
page(session)
write_url(session)
