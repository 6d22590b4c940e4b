"""Heads, residuals, norms: what holds a deep Transformer together before it has learned anything?"""

from __future__ import annotations

import streamlit as st

from explorer.labs.depth.multi_head import heads_formulas, heads_section
from explorer.labs.depth.stacks import stacks_section
from explorer.labs.depth.state import DepthState
from explorer.labs.depth.training import training_section
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import lead, page_head, show_problems
from explorer.ui.state.session import PageSession, page_session, write_url

FILES = {
    "The block": "models/transformer_decoder.py",
    "The stacks that learn": "models/transformer_tagger.py",
    "Layers and norms": "models/layers.py",
    "Measuring a stack": "inspection/transformer/depth.py",
    "Cutting heads": "inspection/transformer/multi_head.py",
}
PAPERS = (
    ("Heads, Add & Norm", "Vaswani et al. 2017, Attention is all you need", "https://arxiv.org/abs/1706.03762"),
    ("Residuals", "He et al. 2016, Deep residual learning for image recognition", "https://arxiv.org/abs/1512.03385"),
    (
        "Norm before or after",
        "Xiong et al. 2020, On layer normalization in the Transformer architecture",
        "https://arxiv.org/abs/2002.04745",
    ),
    ("LayerNorm", "Ba, Kiros and Hinton 2016, Layer normalization", "https://arxiv.org/abs/1607.06450"),
    ("RMSNorm", "Zhang and Sennrich 2019, Root mean square layer normalization", "https://arxiv.org/abs/1910.07467"),
    (
        "Tokens that become alike",
        "Dong, Cordonnier and Loukas 2021, Attention is not all you need: pure attention loses rank doubly "
        "exponentially with depth",
        "https://arxiv.org/abs/2103.03404",
    ),
    (
        "The rank of a head",
        "Bhojanapalli et al. 2020, Low-rank bottleneck in multi-head attention models",
        "https://arxiv.org/abs/2002.07028",
    ),
)


def page(session: PageSession[DepthState]) -> None:
    """Draw the whole page."""
    page_head("What holds a deep Transformer together?")
    lead(
        "Cut one attention layer into more heads, and see what changes and what does not. Then stack blocks, take the "
        "residual or the norm away, and see what is left at the top and what comes back to the bottom."
    )
    st.button(
        "Back to the defaults",
        icon=":material/undo:",
        on_click=lambda: session.change(lambda _: DepthState()),
        disabled=session.state == DepthState(),
    )
    show_problems(session.problems)
    heads_section(session)
    heads_formulas()
    stacks_section(session)
    training_section(session)
    code_and_papers("depth.code", FILES, PAPERS)


session = page_session("depth", DepthState)
page(session)
write_url(session)
