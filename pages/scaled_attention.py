"""Scaled dot-product attention: from two vectors to one weight, and why the scores are divided."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from explorer.catalogue import MODELS
from explorer.ui import scaled
from explorer.ui.page import explanation, lead, page_head, papers, problems, source
from explorer.ui.scaled import LONGEST_WORDS, Scaled
from explorer.ui.scaled_model import model_part, reader
from explorer.ui.scaled_training import training_section
from explorer.ui.scaled_width import width_section
from explorer.ui.session import PageSession, bound, race_session, write_address

SOURCES = {"tables": "Small tables", "model": "A trained model"}
FILES = {
    "The encoder": ("models/transformer_encoder.py", "python"),
    "The tables on this page": ("ui/assets/scaling.js", "javascript"),
    "Random vectors": ("inspection/scaled.py", "python"),
}


def source_row(session: PageSession[Scaled]) -> None:
    """Where the numbers come from."""
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Q, K and V of",
            list(SOURCES),
            format_func=SOURCES.__getitem__,
            required=True,
            **bound(session, "scaled.source", state.source, lambda s, v: replace(s, source=v or s.source, at="")),
        )
        if state.source == "tables":
            st.text_input(
                "Words, two to six",
                max_chars=LONGEST_WORDS,
                width=280,
                **bound(session, "scaled.words", state.words, lambda s, text: replace(s, words=text)),
            )
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda s: s.fresh()),
            disabled=state == state.fresh(),
            key="scaled.fresh",
        )


def notice() -> None:
    """What is worth trying."""
    st.header("What to notice", anchor=False)
    explanation(
        "- A score is large where query and key point the same way **and** are long. Double one key: who looked its "
        "way (a score above 0) looks harder, who looked away looks less.\n"
        "- The value has no say in who is looked at. Change V: the weights stay as they are.\n"
        "- Add a dimension in which queries and keys are large, and one weight of each row takes nearly all. Dividing "
        "does not change who wins, only by how much.\n"
        "- Hide a token: its weight does not vanish, it is shared out among the others."
    )


def why() -> None:
    """The formula."""
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


def code() -> None:
    """The source, from its own files."""
    st.header("The code", anchor=False)
    name = st.pills("File", list(FILES), default=next(iter(FILES)), key="scaled.code", label_visibility="collapsed")
    file, language = FILES[name or next(iter(FILES))]
    st.caption(f"explorer/{file}")
    st.code(source(file), language=language, height=420)


def page(session: PageSession[Scaled]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("How do two vectors become one weight?")
    lead(
        "Each token asks with a query, offers a key and holds a value. Change any number below: every step from the "
        "dot products to the output follows at once."
    )
    source_row(session)
    who = reader(session) if session.state.source == "model" else None
    problems((*session.problems, *(session.state.troubles if session.state.source == "tables" else ())))
    if who:
        model_part(session, who)
    else:
        scaled.instrument(session.state)
    notice()
    width_section(session)
    training_section(session)
    why()
    code()
    st.header("The papers", anchor=False)
    papers([MODELS["transformer"]])


session = race_session("scaled-attention", Scaled)
session.state = scaled.hear(session.state)
page(session)
write_address(session)
