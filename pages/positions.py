"""Positions: how does a model know where a word stands?"""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.positions.state import POSITION_COUNT, PositionsState
from explorer.labs.positions.training import training_section
from explorer.labs.positions.word_order import draw_component, word_order_section
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import caption, explanation, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.state.widgets import reset_button

FILES = {
    "Sinusoidal and rotary positions": "models/transformer_decoder.py",
    "The copying model": "models/transformer_tagger.py",
    "The two sentences": "inspection/transformer/positions.py",
    "This page’s arithmetic": "labs/positions/components/positions/math.js",
}
PAPERS = (
    (
        "Learned positions",
        "Gehring et al. 2017, Convolutional sequence to sequence learning",
        "https://arxiv.org/abs/1705.03122",
    ),
    (
        "Rotary positions",
        "Su et al. 2021, RoFormer: Enhanced transformer with rotary position embedding",
        "https://arxiv.org/abs/2104.09864",
    ),
    (
        "No positions",
        "Haviv et al. 2022, Transformer language models without positional encodings still learn positional "
        "information",
        "https://arxiv.org/abs/2203.16634",
    ),
    (
        "Longer than in training",
        "Kazemnejad et al. 2023, The impact of positional encoding on length generalization in transformers",
        "https://arxiv.org/abs/2305.19466",
    ),
)


def component_section(session: PageSession[PositionsState]) -> None:
    """Draw the pictures and the button that resets them."""
    reset_button(session, "fresh", lambda state: state.with_defaults(*state.COMPONENT_FIELDS))
    draw_component(session)
    caption(
        f"{POSITION_COUNT} positions. The learned vectors are from the first seed of the copying model below. Our "
        "rotary models use the base 1,000, because their texts are short; the paper uses 10,000."
    )


def formulas_section(state: PositionsState) -> None:
    """Draw the formulas with the numbers that are set in the pictures."""
    width, base = int(str(state.component_state["width"])), state.base
    explanation("Every pair of dimensions is a sine and a cosine with its own frequency:")
    st.latex(r"\mathrm{PE}_{t,2j} = \sin(\omega_j t), \quad \mathrm{PE}_{t,2j+1} = \cos(\omega_j t)")
    st.latex(rf"\omega_j = {base:g}^{{-2j/{width}}}")
    explanation("The dot product of two positions depends only on their distance:")
    st.latex(
        rf"\mathrm{{PE}}_s \cdot \mathrm{{PE}}_t = \sum_{{j=0}}^{{{width // 2 - 1}}} \cos\big(\omega_j (s - t)\big)"
    )
    explanation(
        "Rotary positions do this in the attention score: query and key are rotated by angles proportional to their "
        "positions, and the dot product depends only on the difference of the angles:"
    )
    distance = state.place - state.other
    st.latex(r"(R_s q) \cdot (R_t k) = q \cdot R_{t-s}\, k")
    st.latex(rf"s - t = {state.place} - {state.other} = {distance}")
    explanation(
        "At distances that never occurred in training the score has not been trained. A learned vector of a position "
        "that never occurred keeps its random initial value."
    )


def page(session: PageSession[PositionsState]) -> None:
    """Draw the whole page."""
    lead("Who bites whom? **Write the same words in two orders**, and see which Transformers have one vector for both.")
    show_problems(session.problems)
    word_order_section(session)
    with page_section("codes", "Three ways to encode a position"):
        component_section(session)
    folded_section(
        "positions-lengths", "Can a model copy more digits than in its training?", lambda: training_section(session)
    )
    folded_section("why", "Why does a score depend on the distance?", lambda: formulas_section(session.state))
    code_and_papers("positions.code", FILES, [paper_of(MODELS["transformer"]), *PAPERS])


session = comparison_session("positions", PositionsState)
page(session)
write_url(session)
