"""Gates: one LSTM and one GRU cell, operated by hand."""

from __future__ import annotations

import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.gates import component
from explorer.labs.gates.formulas import formulas_section
from explorer.labs.gates.state import GatesState
from explorer.labs.gates.trained_nets import trained_nets_section
from explorer.ui.code_and_papers import code_and_papers, paper_of
from explorer.ui.page_sections import explanation, lead, page_head, show_problems
from explorer.ui.state.session import PageSession, page_session, write_url

FILES = {
    "LSTM": "models/lstm.py",
    "GRU": "models/gru.py",
    "Plain RNN": "models/rnn.py",
    "This page’s arithmetic": "static/components/gates_by_hand/math.js",
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


def observations_section() -> None:
    """Draw the list of things to try."""
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


def page(session: PageSession[GatesState]) -> None:
    """Draw the whole page."""
    page_head("What do the gates of an LSTM and a GRU do?")
    lead(
        "Two cells of one unit each, and you are their gates. Drag a value, or paint a lane step by step, and see what "
        "is held for 50 steps and what comes back as gradient."
    )
    show_problems(session.problems)
    component.draw_component(session.state)
    st.caption(
        "A slider moves the steps of equal value around the chosen step; in a lane, drag or use the arrow keys. Both "
        "cells start at 0. The plain RNN is given at each step what the cell beside it writes. No weights are trained "
        "here and nothing is drawn at random."
    )
    observations_section()
    formulas_section(session.state)
    trained_nets_section()
    code_and_papers("cell.code", FILES, [*PAPERS, paper_of(MODELS["gru"])])


session = page_session("cell", GatesState)
session.state = component.apply_pending_event(session.state)
page(session)
write_url(session)
