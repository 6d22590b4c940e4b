"""Positions: how does a model know where a word stands?"""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.positions import component
from explorer.labs.positions.state import POSITION_COUNT, PositionsState
from explorer.labs.positions.training import training_section
from explorer.labs.positions.word_order import word_order_section
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import explanation, lead, page_head, show_problems
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.state.widgets import reset_button

FILES = {
    "Sines and turns": "models/transformer_decoder.py",
    "The model that echoes": "models/transformer_tagger.py",
    "The two sentences": "inspection/transformer/positions.py",
    "This page’s arithmetic": "static/components/positions/math.js",
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
        "Longer than trained",
        "Kazemnejad et al. 2023, The impact of positional encoding on length generalization in transformers",
        "https://arxiv.org/abs/2305.19466",
    ),
)


def component_section(session: PageSession[PositionsState]) -> None:
    """Draw the pictures and the button that resets them."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("What stands at each place", anchor=False)
        reset_button(session, "fresh", PositionsState.with_defaults)
    component.draw_component(session)
    st.caption(
        f"{POSITION_COUNT} places. The learned vectors are those of the model that echoes digits, "
        "further below, its first seed. Rotary: our models turn with a base of 1,000, as their texts are short; the "
        "paper’s is 10,000."
    )


def observations_section() -> None:
    """Draw the list of things to try."""
    st.header("What to notice", anchor=False)
    explanation(
        "- Drag the place: the cosine under the sines keeps its shape and only moves along. So does the "
        "score under the rotary ones, however query and key are drawn.\n"
        "- Lower the base: the slow pairs on the right begin to turn, and places far apart become similar again.\n"
        "- Switch the learned vectors to before training: they were drawn at random. The bars say how far each has "
        "moved since; those behind the longest training row had no gradient to move by.\n"
        "- In the race, compare the last trained length with the next one: what a model learned at places that it "
        "knows need not hold at places it never met."
    )


def formulas_section(state: PositionsState) -> None:
    """Draw the formulas with the numbers that are set in the pictures."""
    st.header("Why", anchor=False)
    width, base = int(str(state.component_state["width"])), state.base
    explanation("A pair of sines turns at its own speed:")
    st.latex(r"\mathrm{PE}_{t,2j} = \sin(\omega_j t), \quad \mathrm{PE}_{t,2j+1} = \cos(\omega_j t)")
    st.latex(rf"\omega_j = {base:g}^{{-2j/{width}}}")
    explanation("The product of two places has only their distance in it:")
    st.latex(
        rf"\mathrm{{PE}}_s \cdot \mathrm{{PE}}_t = \sum_{{j=0}}^{{{width // 2 - 1}}} \cos\big(\omega_j (s - t)\big)"
    )
    explanation(
        "Rotary positions put the same into the score itself: query and key are turned by their places, and a product "
        "of two turned vectors knows only the angle between them:"
    )
    distance = state.place - state.other
    st.latex(r"(R_s q) \cdot (R_t k) = q \cdot R_{t-s}\, k")
    st.latex(rf"s - t = {state.place} - {state.other} = {distance}")
    explanation(
        "That a score knows the distance does not mean that a model knows what to do with one it never met: at a "
        "length beyond training there are distances, or learned vectors, without any training."
    )


def page(session: PageSession[PositionsState]) -> None:
    """Draw the whole page."""
    page_head("How does a model know where a word stands?")
    lead(
        "Attention sums over a set, and a set has no order. Sines that are added, vectors that are learned, or queries "
        "and keys that are turned say where each token stands; in part, a causal mask does too."
    )
    show_problems(session.problems)
    component_section(session)
    word_order_section(session)
    training_section(session)
    observations_section()
    formulas_section(session.state)
    code_and_papers("positions.code", FILES, [paper_of(MODELS["transformer"]), *PAPERS])


session = comparison_session("positions", PositionsState)
page(session)
write_url(session)
