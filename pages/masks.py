"""Masks: which tokens may a token attend to?"""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.masks.mask_removed import KEY, draw_component, mask_removed_section, training_section
from explorer.labs.masks.state import SENTENCES, MasksState
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import caption, explanation, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, comparison_session, take_component_message, write_url
from explorer.ui.state.widgets import bind_widget, reset_button

FILES = {
    "The model’s masks": "models/transformer_tagger.py",
    "The sentences": "tasks/sequence_labelling/grammar_text.py",
    "Their evaluation": "tasks/sequence_labelling/rows.py",
    "This page’s arithmetic": "labs/masks/components/masks/math.js",
}


def batch_row(session: PageSession[MasksState]) -> None:
    """Draw the fields for the sentences of the batch, folded, and the button that resets them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.popover("Edit the three sentences", icon=":material/edit:"):
            for name in SENTENCES:
                bind_widget(session, name, st.text_input, width=280)
        reset_button(session, "fresh", lambda state: state.with_defaults(*SENTENCES, *state.COMPONENT_FIELDS))


def formulas_section() -> None:
    """Draw the formula of masked softmax and things to try."""
    explanation("A mask adds 0 to the score of a visible pair and −∞ to every other score, before the softmax:")
    st.latex(r"\alpha_{ij} = \frac{e^{s_{ij} + m_{ij}}}{\sum_k e^{s_{ik} + m_{ik}}}")
    st.latex(
        r"m_{ij} = \begin{cases} 0 & j \le i \text{ and } j \text{ is not padding} \\ "
        r"-\infty & \text{otherwise} \end{cases}"
    )
    explanation(
        "The weight of a hidden pair is then exactly 0, and the other weights of the row sum to 1. With the causal "
        "mask "
        "a model learns from all positions of a row in one pass: each position is the end of a prefix, and the next "
        "token is its target. Without the mask that target is part of the input.\n\n"
        "Two things to try:\n"
        "- Set “padding side” to left. The first rows then see only padding, and all of it is hidden: softmax "
        "computes 0 / 0, which is not a number (NaN). The next layer spreads it to all positions.\n"
        "- Two remedies: use −10⁹ instead of −∞, so that such a row attends to all hidden tokens equally (nothing "
        "reads its output), or let every token attend to itself."
    )


def page(session: PageSession[MasksState]) -> None:
    """Draw the whole page."""
    lead(
        "**Type a beginning.** The first model was trained without a mask: it could attend to the letters that it had "
        "to predict."
    )
    show_problems((*session.problems, *session.state.input_problems))
    with page_section("mask-removed", "What happens without the causal mask?", heading=False):
        mask_removed_section(session)
    with page_section("masks", "Which pairs does a mask hide?"):
        batch_row(session)
        if any(session.state.batch):
            draw_component(session.state)
            caption("The scores come from a small attention layer with random weights, 8 numbers per token.")
    folded_section("training", "How does the loss change during training?", lambda: training_section(session))
    folded_section("why", "What does a mask do inside the softmax?", formulas_section)
    code_and_papers("masks.code", FILES, [paper_of(MODELS["transformer"])])


session = comparison_session("masks", MasksState)
take_component_message(session, KEY)
page(session)
write_url(session)
