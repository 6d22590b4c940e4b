"""What it costs: time, memory and parameters of the parts that networks are made of."""

from __future__ import annotations

import streamlit as st

from explorer.labs.cost.parameter_count import parameters_section
from explorer.labs.cost.state import CostState
from explorer.labs.cost.sweeps import controls, sweep_section
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import explanation, lead, page_head, show_problems
from explorer.ui.state.session import PageSession, page_session, write_url

FILES = {
    "Formulas and fits": "inspection/transformer/cost_formulas.py",
    "Measuring": "inspection/transformer/cost_measurement.py",
    "Counting parameters": "inspection/transformer/parameter_count.py",
    "Attention, feedforward": "models/transformer_decoder.py",
    "GRU": "models/gru.py",
}
PAPERS = (
    (
        "What each layer costs",
        "Vaswani et al. 2017, Attention is all you need, table 1",
        "https://arxiv.org/abs/1706.03762",
    ),
    (
        "Fused attention",
        "Dao, Fu, Ermon, Rudra and Ré 2022, FlashAttention: fast and memory-efficient exact attention with "
        "IO-awareness",
        "https://arxiv.org/abs/2205.14135",
    ),
    (
        "Memory of the way back",
        "Korthikanti et al. 2022, Reducing activation recomputation in large transformer models",
        "https://arxiv.org/abs/2205.05198",
    ),
    (
        "Operations and parameters",
        "Kaplan et al. 2020, Scaling laws for neural language models, section 2.1",
        "https://arxiv.org/abs/2001.08361",
    ),
)


def formulas_section(state: CostState) -> None:
    """Draw the formulas with the sizes that are set on the page."""
    d, heads = state.width, state.heads
    st.header("Why", anchor=False)
    explanation(
        "Multiplications of a forward through one layer, for a sequence of T vectors of d numbers. Attention makes "
        "queries, keys, values and its output, and compares each token with each; the feedforward part is four times "
        "as wide inside:"
    )
    st.latex(
        r"\begin{gathered} \underbrace{4\,T d^2 + 2\,T^2 d}_{\text{attention}} > "
        r"\underbrace{8\,T d^2}_{\text{feedforward}} \\ "
        rf"\Leftrightarrow\quad T > 2d = {2 * d} \end{{gathered}}"
    )
    explanation(
        "A recurrent cell multiplies its state and what it reads with a matrix for each gate and its candidate, one "
        "step after the other: 2, 6 or 8 times T d² for RNN, GRU and LSTM. What the way back needs of attention is a "
        "number for each pair of tokens in each head, and five vectors for each token:"
    )
    st.latex(
        rf"\begin{{gathered}} 4\,\text{{bytes}} \cdot (H\,T^2 + 5\,T d) \\ = 4 \cdot ({heads}\, T^2 + {5 * d}\, T) \\ "
        rf"\xrightarrow{{T = 2048}}\quad {4 * (heads * 2048**2 + 5 * d * 2048) / 1e6:.0f}\,\text{{MB}} \end{{gathered}}"
    )
    explanation(
        "A fused kernel never stores the pairs: it goes over them in blocks, keeps one number for each token and head, "
        "and computes the weights again on the way back."
    )


def page(session: PageSession[CostState]) -> None:
    """Draw the whole page."""
    page_head("What does each part cost, in time and memory?")
    lead(
        "A formula counts the multiplications and the bytes of each part. Measurements stand beside it: where they "
        "differ from the formula, the number of multiplications does not explain the time."
    )
    controls(session)
    show_problems(session.problems)
    state = session.state
    st.header("Longer sequences", anchor=False)
    sweep_section(state, "length")
    st.caption(
        "Dots are measured, dotted lines the formula, moved through the middle dot; both axes are logarithmic. One "
        "sequence, one layer, one thread; processor time, the fastest of up to seven runs. Another processor, or other "
        "work on it, gives other times; the bytes stay the same. A missing dot would have taken too much memory."
    )
    st.header("Wider vectors", anchor=False)
    sweep_section(state, "width")
    st.header("More layers", anchor=False)
    sweep_section(state, "layers")
    formulas_section(state)
    parameters_section(session)
    code_and_papers("cost.code", FILES, PAPERS)


session = page_session("cost", CostState)
page(session)
write_url(session)
