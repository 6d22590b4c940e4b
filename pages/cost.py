"""What it costs: time, memory and parameters of the parts that networks are made of."""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer.labs.cost.growth import growth_section
from explorer.labs.cost.parameter_count import parameters_section, real_model_costs
from explorer.labs.cost.state import CostState
from explorer.labs.cost.sweeps import controls, sweep_section
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import caption, explanation, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, page_session, write_url
from explorer.ui.training.real_models import real_model_section

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
        "Memory of the backward pass",
        "Korthikanti et al. 2022, Reducing activation recomputation in large transformer models",
        "https://arxiv.org/abs/2205.05198",
    ),
    (
        "Operations and parameters (section 2.1), and the loss against parameters and data",
        "Kaplan et al. 2020, Scaling laws for neural language models",
        "https://arxiv.org/abs/2001.08361",
    ),
    (
        "How parameters and data should grow together",
        "Hoffmann et al. 2022, Training compute-optimal large language models",
        "https://arxiv.org/abs/2203.15556",
    ),
)


def formulas_section(state: CostState) -> None:
    """Draw the formulas with the sizes that are set on the page."""
    d, heads = state.width, state.heads
    explanation(
        "The formulas count the multiplications of one forward pass through one layer, for T vectors of d numbers. "
        "Attention computes queries, keys, values and outputs, and compares every pair of tokens; the hidden layer of "
        "the feedforward part is four times as wide:"
    )
    st.latex(
        r"\begin{gathered} \underbrace{4\,T d^2 + 2\,T^2 d}_{\text{attention}} > "
        r"\underbrace{8\,T d^2}_{\text{feedforward}} \\ "
        rf"\Leftrightarrow\quad T > 2d = {2 * d} \end{{gathered}}"
    )
    explanation(
        "A recurrent cell multiplies its state and its input by one matrix for each gate and for the candidate, step "
        "by step: 2, 6 or 8 times T d² for RNN, GRU and LSTM. For the backward pass, attention stores one number for "
        "each pair of tokens in each head, and five vectors for each token:"
    )
    st.latex(
        rf"\begin{{gathered}} 4\,\text{{bytes}} \cdot (H\,T^2 + 5\,T d) \\ = 4 \cdot ({heads}\, T^2 + {5 * d}\, T) \\ "
        rf"\xrightarrow{{T = 2048}}\quad {4 * (heads * 2048**2 + 5 * d * 2048) / 1e6:.0f}\,\text{{MB}} \end{{gathered}}"
    )
    explanation(
        "A fused kernel never stores the pairs: it processes them in blocks, stores one number for each token and "
        "head, and computes the weights again in the backward pass."
    )


def width_and_layers_section(state: CostState) -> None:
    """Draw the sweeps over the width and over the number of layers."""
    sweep_section(state, "width")
    sweep_section(state, "layers")


def page(session: PageSession[CostState]) -> None:
    """Draw the whole page."""
    lead("**Follow one line to the right**: what does a longer text cost in each part of a network?")
    show_problems(session.problems)
    state = session.state
    with page_section("length", "Longer sequences", heading=False):
        sweep_section(state, "length")
        caption(
            "Both axes are logarithmic; a formula goes through the middle dot. One sequence, one layer, one thread; "
            "processor time, the fastest of up to seven runs. Missing dots would need too much memory."
        )
    controls(session)
    folded_section(
        "width",
        "What do wider vectors and more layers cost?",
        partial(width_and_layers_section, state),
        former_names=("layers",),
    )
    folded_section("parameters", "How many parameters does each part have?", partial(parameters_section, session))
    folded_section("growth", "What do more parameters and more text change?", partial(growth_section, session))
    real_model_section(
        session, "real", "What a real model costs", ("decoder", "encoder", "encoder-decoder"), real_model_costs
    )
    folded_section("formulas", "Where do the formulas come from?", partial(formulas_section, state))
    code_and_papers("cost.code", FILES, PAPERS)


session = page_session("cost", CostState)
page(session)
write_url(session)
