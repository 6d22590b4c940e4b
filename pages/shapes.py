"""Shapes of tasks: what goes in, what comes out, and what is said about the net between."""

from __future__ import annotations

import streamlit as st

from explorer.ui.page import lead, page_head, problems, source
from explorer.ui.session import PageSession, page_session, write_address
from explorer.ui.shapes import Shapes
from explorer.ui.shapes_claims import claims_section
from explorer.ui.shapes_net import net_section
from explorer.ui.shapes_sum import sum_section

FILES = {
    "Four shapes": "inspection/shapes.py",
    "The net that is unrolled": "models/recurrence.py",
    "One gradient, step by step": "inspection/unrolling.py",
    "What heads do": "inspection/agreeing.py",
}
PAPERS = (
    (
        "Backpropagation through time",
        "Werbos 1990, Backpropagation through time: what it does and how to do it",
        "https://doi.org/10.1109/5.58337",
    ),
    (
        "Clipping",
        "Pascanu, Mikolov and Bengio 2013, On the difficulty of training recurrent neural networks",
        "https://arxiv.org/abs/1211.5063",
    ),
    (
        "Agreement",
        "Linzen, Dupoux and Goldberg 2016, Assessing the ability of LSTMs to learn syntax-sensitive dependencies",
        "https://arxiv.org/abs/1611.01368",
    ),
    (
        "Heads that look at syntax",
        "Clark, Khandelwal, Levy and Manning 2019, What does BERT look at? An analysis of BERT’s attention",
        "https://arxiv.org/abs/1906.04341",
    ),
    (
        "Heads switched off",
        "Michel, Levy and Neubig 2019, Are sixteen heads really better than one?",
        "https://arxiv.org/abs/1905.10650",
    ),
)


def page(session: PageSession[Shapes]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("One net, four shapes of tasks: what changes?")
    lead(
        "A recurrent net does the same at every step. What makes it a classifier, a tagger, a translator or a writer "
        "is only which of its inputs and answers are used."
    )
    problems(session.problems)
    net_section(session)
    sum_section(session)
    claims_section(session)
    st.header("The code", anchor=False)
    name = st.pills("File", list(FILES), default=next(iter(FILES)), key="shapes.code", label_visibility="collapsed")
    file = FILES[name or next(iter(FILES))]
    st.caption(f"explorer/{file}")
    st.code(source(file), language="python", height=420)
    st.header("The papers", anchor=False)
    for name, paper, link in PAPERS:
        st.markdown(f"**{name}** · [{paper}]({link})")


session = page_session("shapes", Shapes)
page(session)
write_address(session)
