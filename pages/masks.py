"""Masks: who may look at whom?"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from explorer.catalogue import MODELS
from explorer.ui import masks
from explorer.ui.masks import LONGEST, SENTENCES, Masks
from explorer.ui.masks_leak import leak_section
from explorer.ui.page import explanation, lead, page_head, papers, problems, source
from explorer.ui.session import PageSession, bound, race_session, write_address

FILES = {
    "The model’s masks": ("models/transformer_tagger.py", "python"),
    "The sentences": ("tasks/tale.py", "python"),
    "Their examination": ("tasks/labelled.py", "python"),
    "This page’s arithmetic": ("ui/assets/masking.js", "javascript"),
}


def written(name: str, state: Masks, text: str) -> Masks:
    """The batch with another sentence in this place."""
    change: dict[str, Any] = {name: text}
    return replace(state, **change)


def batch_row(session: PageSession[Masks]) -> None:
    """The sentences of the batch."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        for name in SENTENCES:
            ties = bound(session, f"masks.{name}", getattr(session.state, name), partial(written, name))
            st.text_input(f"{name.capitalize()} sentence", max_chars=LONGEST, width=280, **ties)
        st.button(
            "Back to the defaults",
            icon=":material/undo:",
            on_click=lambda: session.change(lambda s: s.fresh()),
            disabled=session.state == session.state.fresh(),
            key="masks.fresh",
        )


def notice() -> None:
    """What is worth trying."""
    st.header("What to notice", anchor=False)
    explanation(
        "- The padding mask takes columns away, the causal mask the triangle above the diagonal. Rows of padding "
        "still look at words: what they come to is read by nobody.\n"
        "- Let padding stand on the left, as where several texts are continued at once. Now the first rows see only "
        "padding, all of it hidden: softmax of nothing is 0 / 0, and one layer later not a number is left. The same "
        "happens to a sentence without words.\n"
        "- Models avoid it with −10⁹ in place of −∞ (such a row then looks evenly at what is hidden, and nobody reads "
        "it), or by letting every token see itself.\n"
        "- Take the causal mask off, and nothing warns you: the weights of each row still sum to 1. What becomes of a "
        "model that is trained so stands below."
    )


def why() -> None:
    """The formula."""
    st.header("Why", anchor=False)
    explanation("A mask adds 0 to the score of a pair that may look, and −∞ to all others, before softmax:")
    st.latex(r"\alpha_{ij} = \frac{e^{s_{ij} + m_{ij}}}{\sum_k e^{s_{ik} + m_{ik}}}")
    st.latex(
        r"m_{ij} = \begin{cases} 0 & j \le i \text{ and } j \text{ is no padding} \\ "
        r"-\infty & \text{otherwise} \end{cases}"
    )
    explanation(
        "The weight of a hidden pair is then exactly 0, and those that are left still sum to 1. Setting weights to 0 "
        "after softmax would not do: they would sum to less. All places of a row are trained in one pass because the "
        "mask makes each of them a prefix of its own, with its successor as the answer. Take it away and the answer "
        "stands in what is read."
    )


def page(session: PageSession[Masks]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("Who may look at whom?")
    lead(
        "Attention compares every token with every other one. A mask says which of these pairs count: not padding, "
        "which only fills a row up, and not what comes later, where a model is to say what comes next."
    )
    batch_row(session)
    problems((*session.problems, *session.state.troubles))
    if any(session.state.batch):
        masks.instrument(session.state)
        st.caption(
            "Above, the batch: choose a row. The scores are those of a small attention layer of 8 numbers a token that "
            "was never trained; each word’s vector is drawn from its letters. Masks do not care."
        )
    notice()
    leak_section(session)
    why()
    st.header("The code", anchor=False)
    name = st.pills("File", list(FILES), default=next(iter(FILES)), key="masks.code", label_visibility="collapsed")
    file, language = FILES[name or next(iter(FILES))]
    st.caption(f"explorer/{file}")
    st.code(source(file), language=language, height=420)
    st.header("The papers", anchor=False)
    papers([MODELS["transformer"]])


session = race_session("masks", Masks)
session.state = masks.hear(session.state)
page(session)
write_address(session)
