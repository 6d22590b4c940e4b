"""Scaled dot-product attention: from two vectors to one weight, and why the scores are divided."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.scaled_attention import tables
from explorer.labs.scaled_attention.division import training_section, width_section
from explorer.labs.scaled_attention.first_token import first_token_section
from explorer.labs.scaled_attention.state import MAX_WORDS_CHARACTERS, ScaledAttentionState
from explorer.labs.scaled_attention.tables import select_model, trained_head_section
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import explanation, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.state.widgets import bind_widget, reset_button

FILES = {
    "The encoder": "models/transformer_encoder.py",
    "The tables on this page": "labs/scaled_attention/components/dot_product/math.js",
    "Random vectors": "inspection/transformer/softmax_scaling.py",
    "The first token": "inspection/pretrained/first_token.py",
}
SINKS = (
    (
        "The first token",
        "Xiao et al. 2023, Efficient streaming language models with attention sinks",
        "https://arxiv.org/abs/2309.17453",
    ),
    (
        "Short value vectors",
        "Kobayashi et al. 2020, Attention is not only a weight: analyzing Transformers with vector norms",
        "https://arxiv.org/abs/2004.10102",
    ),
    (
        "Heads that do nothing",
        "Bondarenko et al. 2023, Quantizable Transformers: removing outliers by helping attention heads do nothing",
        "https://arxiv.org/abs/2306.12929",
    ),
    (
        "When sinks emerge",
        "Gu et al. 2024, When attention sink emerges in language models: an empirical view",
        "https://arxiv.org/abs/2410.10781",
    ),
)


def source_controls(session: PageSession[ScaledAttentionState]) -> None:
    """Draw the choice between small tables and a trained model."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "source", st.segmented_control, update=lambda s, source: replace(s, source=source, at=""))
        if state.source == "tables":
            bind_widget(session, "words", st.text_input, max_chars=MAX_WORDS_CHARACTERS, width=280)
        reset_button(session, "fresh", lambda state: state.with_defaults(*state.TABLE_FIELDS))


def formulas_section() -> None:
    """Draw the formula of scaled dot-product attention, the Jacobian of softmax, and things to try."""
    st.latex(
        r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V, \qquad "
        r"q \cdot k = \sum_{c=1}^{d_k} q_c k_c"
    )
    explanation(
        "If all numbers of q and k are independent, with mean 0 and variance 1, each product has variance 1, and the "
        "sum of dₖ of them has variance dₖ. Divided by √dₖ, the scores have variance 1 for every width. Softmax "
        "turns differences of scores into ratios of weights, so without the division, with wide vectors, one weight is "
        "mostly near 1 and all others near 0. There the derivatives of softmax are small:"
    )
    st.latex(
        r"\frac{\partial \alpha_i}{\partial s_j} = \alpha_i (\delta_{ij} - \alpha_j), \qquad "
        r"\lVert J \rVert_F^2 = \sum_{i,j} \alpha_i^2 (\delta_{ij} - \alpha_j)^2"
    )
    explanation(
        "The gradients of queries and keys pass through this Jacobian.\n\n"
        "Three things to try in the tables:\n"
        "- Double one key: queries with a positive score attend to it more, queries with a negative score less.\n"
        "- Change V: the weights stay the same, because the value does not enter the scores.\n"
        "- Hide a token with the mask: its weight is distributed among the other tokens."
    )


def page(session: PageSession[ScaledAttentionState]) -> None:
    """Draw the whole page."""
    lead("**Change a number** of Q, K or V: the weight of each pair of tokens follows from query times key.")
    source_controls(session)
    is_model = session.state.source == "model"
    stored = select_model(session) if is_model else None
    show_problems((*session.problems, *(() if is_model else session.state.input_problems)))
    if is_model:
        trained_head_section(session, stored)
    else:
        tables.draw_component(session.state)
    with page_section("softmax", "Why are the scores divided by √dₖ?"):
        width_section(session)
    folded_section("training", "Does the division matter in training?", lambda: training_section(session))
    folded_section("first-token", "Where does the weight go if no token fits?", lambda: first_token_section(session))
    folded_section("why", "What does the division do to the gradient?", formulas_section)
    code_and_papers("scaled.code", FILES, [paper_of(MODELS["transformer"]), *SINKS])


session = comparison_session("scaled", ScaledAttentionState)
tables.apply_pending_event(session)
page(session)
write_url(session)
