"""Gates: one LSTM and one GRU cell, operated by hand."""

from __future__ import annotations

import math

import streamlit as st

from explorer.catalogue import MODELS
from explorer.ui import cell
from explorer.ui.cell import Cell, product, scientific
from explorer.ui.page import explanation, lead, page_head, papers, plain, problems, source
from explorer.ui.session import PageSession, page_session, write_address

FILES = {
    "LSTM": ("models/lstm.py", "python"),
    "GRU": ("models/gru.py", "python"),
    "Plain RNN": ("models/rnn.py", "python"),
    "This page’s arithmetic": ("ui/assets/cellmath.js", "javascript"),
}
PAPERS = (
    (
        "Constant error carousel",
        "Hochreiter and Schmidhuber 1997, Long short-term memory",
        "https://doi.org/10.1162/neco.1997.9.8.1735",
    ),
    (
        "Forget gate",
        "Gers, Schmidhuber and Cummins 2000, Learning to forget: continual prediction with LSTM",
        "https://doi.org/10.1162/089976600300015015",
    ),
    (
        "Forget bias 1",
        "Jozefowicz, Zaremba and Sutskever 2015, An empirical exploration of recurrent network architectures",
        "https://proceedings.mlr.press/v37/jozefowicz15.html",
    ),
    (
        "Counting",
        "Weiss, Goldberg and Yahav 2018, On the practical computational power of finite precision RNNs for language "
        "recognition",
        "https://arxiv.org/abs/1805.04908",
    ),
    (
        "Storing a bit in a plain RNN",
        "Bengio, Simard and Frasconi 1994, Learning long-term dependencies with gradient descent is difficult",
        "https://doi.org/10.1109/72.279181",
    ),
)


def notice() -> None:
    """What is worth trying."""
    st.header("What to notice", anchor=False)
    explanation(
        "- Drag f from 0.90 to 0.99: the line of what is held bends up, and so does the gradient below, by the same "
        "factor. What a cell can still answer for is what it can still learn from.\n"
        "- In the GRU one gate does two things: with z = 0.90 a tenth of the candidate comes in at every step, wanted "
        "or not. The LSTM can keep and write as two decisions: only its cell counts to ten.\n"
        "- Give the plain RNN a w above 1: it holds a bit as well, by falling into one of two states, and there "
        "its tanh is flat, so its gradient vanishes. Below 1 it forgets.\n"
        "- Give u a weight: the candidate then reads the state as well, and the dashed line is the whole derivative. "
        "A candidate of exactly 1 or −1 is a tanh at its end and lets no gradient through."
    )


def why(state: Cell) -> None:
    """The formula, with the numbers that stand in the lanes."""
    st.header("Why", anchor=False)
    explanation(
        "Along the belt of the LSTM nothing is done to what it holds but a product with f. So what the last step owes "
        "to an earlier one is a product of fs, and of nothing else:"
    )
    steps = (
        ("f", "c", r"c_t = f_t\, c_{t-1} + i_t\, g_t"),
        ("z", "h", r"h_t = z_t\, h_{t-1} + (1 - z_t)\, n_t"),
    )
    for gate, held, step in steps:
        first, values = state.written(gate), state.kept(gate)
        owed = (
            rf"\frac{{\partial {held}_{{50}}}}{{\partial {held}_{{{first}}}}} = \prod_{{t={first + 1}}}^{{50}} {gate}_t"
        )
        numbers = f"{product(values)} = {scientific(math.prod(values))}"
        st.latex(rf"\begin{{gathered}} {step} \\ \Rightarrow\quad {owed} \\ = {numbers} \end{{gathered}}")
    explanation(
        "A plain RNN multiplies with its weight and with the slope of its tanh at every step, and that slope is below "
        "1 wherever it holds something:"
    )
    st.latex(
        r"\begin{gathered} h_t = \tanh(w\, h_{t-1} + x_t) \\ \Rightarrow\quad "
        r"\frac{\partial h_{50}}{\partial h_s} = \prod_{t=s+1}^{50} w\,(1 - h_t^2) \end{gathered}"
    )
    explanation(
        "These are the straight paths. In a trained cell the gates and the candidate read the state through weights, "
        "and gradient flows along those ways too. Gates that are set by hand read nothing, so here they add none; u is "
        "the one such weight that can be given, from the state to the candidate:"
    )
    st.latex(
        r"\begin{gathered} \frac{\partial c_t}{\partial c_{t-1}} = f_t + i_t (1 - g_t^2)\, u \cdot \\ "
        r"o_{t-1} (1 - \tanh^2 c_{t-1}) \\[6pt] "
        r"\frac{\partial h_t}{\partial h_{t-1}} = z_t + (1 - z_t)(1 - n_t^2)\, r_t\, u \end{gathered}"
    )


def trained() -> None:
    """What nets learn that start with such gates."""
    st.header("And in nets that are trained", anchor=False)
    for model in ("lstm", "gru"):
        sentence = cell.measured_finding(cell.measured(model), cell.STEPS, MODELS[model].title)
        if sentence:
            explanation(plain(sentence))
    explanation(
        "A start decides how much of the first gradients comes back. The races, the gates of trained nets and their "
        "half-lives:"
    )
    st.page_link("memory.py", label="How long does a net remember?", icon=":material/arrow_forward:")


def page(session: PageSession[Cell]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("What do the gates of an LSTM and a GRU do?")
    lead(
        "Two cells of one unit each, and you are their gates. Drag a value, or paint a lane step by step, and see what "
        "is held for 50 steps and what comes back as gradient."
    )
    problems(session.problems)
    cell.instrument(session.state)
    st.caption(
        "A slider moves the steps of equal value around the chosen step; in a lane, drag or use the arrow keys. Both "
        "cells start at 0. The plain RNN is given at each step what the cell beside it writes. No weights are trained "
        "here and nothing is drawn at random."
    )
    notice()
    why(session.state)
    trained()
    st.header("The code", anchor=False)
    name = st.pills("File", list(FILES), default="LSTM", key="cell.code", label_visibility="collapsed")
    file, language = FILES[name or "LSTM"]
    st.caption(f"explorer/{file}")
    st.code(source(file), language=language, height=420)
    st.header("The papers", anchor=False)
    for name, paper, link in PAPERS:
        st.markdown(f"**{name}** · [{paper}]({link})")
    papers([MODELS["gru"]])


session = page_session("cell", Cell)
session.state = cell.hear(session.state)
page(session)
write_address(session)
