"""Heads, residuals, norms: what holds a deep Transformer together before it has learned anything?"""

from __future__ import annotations

import streamlit as st

from explorer.ui.depth import Depth
from explorer.ui.depth_heads import heads_section, heads_why
from explorer.ui.depth_learning import learning_section
from explorer.ui.depth_stacks import stacks_section
from explorer.ui.page import lead, page_head, problems, source
from explorer.ui.session import PageSession, page_session, write_address

FILES = {
    "The block": "models/transformer_decoder.py",
    "The stacks that learn": "models/transformer_tagger.py",
    "Layers and norms": "models/layers.py",
    "Measuring a stack": "inspection/depth.py",
    "Cutting heads": "inspection/depth_heads.py",
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


def page(session: PageSession[Depth]) -> None:
    """The whole screen, from the question to the papers."""
    page_head("What holds a deep Transformer together?")
    lead(
        "Cut one attention layer into more heads, and see what changes and what does not. Then stack blocks, take the "
        "residual or the norm away, and see what is left at the top and what comes back to the bottom."
    )
    st.button(
        "Back to the defaults",
        icon=":material/undo:",
        on_click=lambda: session.change(lambda _: Depth()),
        disabled=session.state == Depth(),
    )
    problems(session.problems)
    heads_section(session)
    heads_why()
    stacks_section(session)
    learning_section(session)
    st.header("The code", anchor=False)
    name = st.pills("File", list(FILES), default="The block", key="depth.code", label_visibility="collapsed")
    file = FILES[name or "The block"]
    st.caption(f"explorer/{file}")
    st.code(source(file), language="python", height=420)
    st.header("The papers", anchor=False)
    for title, paper, link in PAPERS:
        st.markdown(f"**{title}** · [{paper}]({link})")


session = page_session("depth", Depth)
page(session)
write_address(session)
