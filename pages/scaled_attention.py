"""Scaled dot-product attention: from two vectors to one weight, and why the scores are divided."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.scaled_attention import component
from explorer.labs.scaled_attention.softmax_by_width import width_section
from explorer.labs.scaled_attention.state import MAX_WORDS_CHARACTERS, ScaledAttentionState
from explorer.labs.scaled_attention.trained_head import select_model, trained_head_section
from explorer.labs.scaled_attention.training import training_section
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import explanation, lead, page_head, show_problems
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.state.widgets import bind_widget, reset_button

SOURCES = {"tables": "Small tables", "model": "A trained model"}
FILES = {
    "The encoder": "models/transformer_encoder.py",
    "The tables on this page": "static/components/dot_product/math.js",
    "Random vectors": "inspection/transformer/softmax_scaling.py",
}


def source_controls(session: PageSession[ScaledAttentionState]) -> None:
    """Draw the choice between small tables and a trained model."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        bind_widget(session, "source", st.segmented_control, update=lambda s, source: replace(s, source=source, at=""))
        if state.source == "tables":
            bind_widget(session, "words", st.text_input, max_chars=MAX_WORDS_CHARACTERS, width=280)
        reset_button(session, "fresh", ScaledAttentionState.with_defaults)


def observations_section() -> None:
    """Draw the list of things to try."""
    st.header("What to notice", anchor=False)
    explanation(
        "- A score is large where query and key point the same way **and** are long. Double one key: who looked its "
        "way (a score above 0) looks harder, who looked away looks less.\n"
        "- The value has no say in who is looked at. Change V: the weights stay as they are.\n"
        "- Add a dimension in which queries and keys are large, and one weight of each row takes nearly all. Dividing "
        "does not change who wins, only by how much.\n"
        "- Hide a token: its weight does not vanish, it is shared out among the others."
    )


def formulas_section() -> None:
    """Draw the formula of scaled dot-product attention and the Jacobian of softmax."""
    st.header("Why", anchor=False)
    st.latex(
        r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V, \qquad "
        r"q \cdot k = \sum_{c=1}^{d_k} q_c k_c"
    )
    explanation(
        "If all numbers of q and k are independent, with mean 0 and variance 1, each product has variance 1, and the "
        "sum of d_k of them has variance d_k. Divided by √d_k the scores spread by about 1 whatever the width. Softmax "
        "turns differences of scores into ratios of weights, so without the division one weight comes near 1 and all "
        "others near 0. There it is flat:"
    )
    st.latex(
        r"\frac{\partial \alpha_i}{\partial s_j} = \alpha_i (\delta_{ij} - \alpha_j), \qquad "
        r"\lVert J \rVert_F^2 = \sum_{i,j} \alpha_i^2 (\delta_{ij} - \alpha_j)^2"
    )
    explanation(
        "All that queries and keys learn comes through this. It is small where weights are nearly 0 or 1, but it is "
        "not largest where they are even either: between the two it rises first. And a model without the division is "
        "not lost: what it can still learn, and how fast, is measured above."
    )


def page(session: PageSession[ScaledAttentionState]) -> None:
    """Draw the whole page."""
    page_head("How do two vectors become one weight?")
    lead(
        "Each token asks with a query, offers a key and holds a value. Change any number below: every step from the "
        "dot products to the output follows at once."
    )
    source_controls(session)
    selected = select_model(session) if session.state.source == "model" else None
    show_problems((*session.problems, *(session.state.input_problems if session.state.source == "tables" else ())))
    if selected:
        trained_head_section(session, selected)
    else:
        component.draw_component(session.state)
    observations_section()
    width_section(session)
    training_section(session)
    formulas_section()
    code_and_papers("scaled.code", FILES, [paper_of(MODELS["transformer"])])


session = comparison_session("scaled", ScaledAttentionState)
session.state = component.apply_pending_event(session.state)
page(session)
write_url(session)
