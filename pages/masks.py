"""Masks: who may look at whom?"""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.masks import component
from explorer.labs.masks.mask_removed import mask_removed_section
from explorer.labs.masks.state import SENTENCES, MasksState
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import explanation, lead, page_head, show_problems
from explorer.ui.state.session import PageSession, comparison_session, write_url
from explorer.ui.state.widgets import bind_widget, reset_button

FILES = {
    "The model’s masks": "models/transformer_tagger.py",
    "The sentences": "tasks/sequence_labelling/grammar_text.py",
    "Their examination": "tasks/sequence_labelling/rows.py",
    "This page’s arithmetic": "static/components/masks/math.js",
}


def batch_row(session: PageSession[MasksState]) -> None:
    """Draw the fields for the sentences of the batch."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name in SENTENCES:
            bind_widget(session, name, st.text_input, width=280)
        reset_button(session, "fresh", MasksState.with_defaults)


def observations_section() -> None:
    """Draw the list of things to try."""
    st.header("What to notice", anchor=False)
    explanation(
        "- The padding mask takes columns away, the causal mask the triangle above the diagonal. Rows of padding "
        "still look at words: what they come to is read by nobody.\n"
        "- Let padding stand on the left, as where several texts are continued at once. Now the first rows see only "
        "padding, all of it hidden: softmax of nothing is 0 / 0, and one layer later not a number is left. The same "
        "happens to a sentence without words.\n"
        "- Two remedies are −10⁹ in place of −∞ (such a row then looks evenly at what is hidden, and nobody reads "
        "it), or a mask that lets every token see itself.\n"
        "- Take the causal mask off, and nothing warns you: the weights of each row still sum to 1. What becomes of a "
        "model that is trained so stands below."
    )


def formulas_section() -> None:
    """Draw the formula of masked softmax."""
    st.header("Why", anchor=False)
    explanation("A mask adds 0 to the score of a pair that may look, and −∞ to all others, before softmax:")
    st.latex(r"\alpha_{ij} = \frac{e^{s_{ij} + m_{ij}}}{\sum_k e^{s_{ik} + m_{ik}}}")
    st.latex(
        r"m_{ij} = \begin{cases} 0 & j \le i \text{ and } j \text{ is no padding} \\ "
        r"-\infty & \text{otherwise} \end{cases}"
    )
    explanation(
        "The weight of a hidden pair is then exactly 0, and the others sum to 1. Setting weights to 0 after softmax "
        "and dividing the others by their sum gives the same. All positions of a row are trained in one pass because "
        "the mask makes each of them a prefix of its own, with its successor as the answer. Without the mask the "
        "answer stands in what is read."
    )


def page(session: PageSession[MasksState]) -> None:
    """Draw the whole page."""
    page_head("Who may look at whom?")
    lead(
        "Attention compares every token with every other one. A mask says which of these pairs count: not padding, "
        "which only fills a row up, and not what comes later, where a model is to say what comes next."
    )
    batch_row(session)
    show_problems((*session.problems, *session.state.input_problems))
    if any(session.state.batch):
        component.draw_component(session.state)
        st.caption(
            "Above, the batch: choose a row. The scores are those of a small attention layer of 8 numbers a token that "
            "was never trained; each word’s vector is drawn from its letters. Masks do not care."
        )
    observations_section()
    mask_removed_section(session)
    formulas_section()
    code_and_papers("masks.code", FILES, [paper_of(MODELS["transformer"])])


session = comparison_session("masks", MasksState)
session.state = component.apply_pending_event(session.state)
page(session)
write_url(session)
