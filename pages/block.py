"""The block: what goes along every arrow of a Transformer?"""

from __future__ import annotations

from explorer.labs.block.inspector import HEIGHT, block_section, controls, select_model
from explorer.labs.block.state import KINDS, BlockState
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import empty_panel, lead, page_head, show_problems
from explorer.ui.state.session import PageSession, page_session, write_url

FILES = {
    KINDS["encoder"]: "models/transformer_encoder.py",
    KINDS["decoder"]: "models/transformer_decoder.py",
    KINDS["both"]: "models/transformer_encoder_decoder.py",
    "Layers and norms": "models/layers.py",
    "How it is opened": "inspection/transformer/block.py",
}
PAPERS = (
    ("The block", "Vaswani et al. 2017, Attention is all you need", "https://arxiv.org/abs/1706.03762"),
    ("Residuals", "He et al. 2016, Deep residual learning for image recognition", "https://arxiv.org/abs/1512.03385"),
    ("LayerNorm", "Ba, Kiros and Hinton 2016, Layer normalization", "https://arxiv.org/abs/1607.06450"),
    (
        "Norm before or after",
        "Xiong et al. 2020, On layer normalization in the Transformer architecture",
        "https://arxiv.org/abs/2002.04745",
    ),
    (
        "Turned positions",
        "Su et al. 2021, RoFormer: enhanced Transformer with rotary position embedding",
        "https://arxiv.org/abs/2104.09864",
    ),
)


def page(session: PageSession[BlockState]) -> None:
    """Draw the whole page."""
    page_head("What goes along every arrow of a Transformer?")
    lead(
        "A trained model reads what you type. Open any arrow to see the tensor that went along it, any box to see what "
        "it has learned, and point at a number to see how it was made."
    )
    stored = select_model(session)
    controls(session, stored)
    show_problems(session.problems)
    if stored is None:
        empty_panel("Choose a model above, and its block is opened here.", HEIGHT)
    else:
        block_section(session, stored)
    kind = session.state.kind
    code_and_papers(f"block.code.{kind}", FILES, PAPERS, default=KINDS[kind])


session = page_session("block", BlockState)
page(session)
write_url(session)
