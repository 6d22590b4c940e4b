"""The block: what does each part of a Transformer block compute?"""

from __future__ import annotations

from explorer.labs.block.formulas import formulas_section
from explorer.labs.block.inspector import HEIGHT, block_section, controls, select_model
from explorer.labs.block.stack_diagram import real_model_blocks
from explorer.labs.block.state import KINDS, BlockState
from explorer.ui.code_and_papers import XIONG_2020, code_and_papers
from explorer.ui.page_sections import empty_panel, lead, show_problems
from explorer.ui.sections import folded_section
from explorer.ui.state.session import PageSession, page_session, write_url
from explorer.ui.training.real_models import real_model_section

FILES = {
    KINDS["encoder"]: "models/transformer_encoder.py",
    KINDS["decoder"]: "models/transformer_decoder.py",
    KINDS["both"]: "models/transformer_encoder_decoder.py",
    "Layers and norms": "models/layers.py",
    "How it is measured": "inspection/transformer/block.py",
}
PAPERS = (
    ("The block", "Vaswani et al. 2017, Attention is all you need", "https://arxiv.org/abs/1706.03762"),
    ("Residuals", "He et al. 2016, Deep residual learning for image recognition", "https://arxiv.org/abs/1512.03385"),
    ("LayerNorm", "Ba, Kiros and Hinton 2016, Layer normalization", "https://arxiv.org/abs/1607.06450"),
    ("Norm before or after", *XIONG_2020),
    (
        "Rotary positions",
        "Su et al. 2021, RoFormer: enhanced Transformer with rotary position embedding",
        "https://arxiv.org/abs/2104.09864",
    ),
)


def page(session: PageSession[BlockState]) -> None:
    """Draw the whole page."""
    lead("A trained model reads your text. **Press Next** to follow it through the block, or open any box.")
    stored = select_model(session)
    controls(session, stored)
    show_problems(session.problems)
    if stored is None:
        empty_panel("Choose a model above to see its block.", HEIGHT)
    else:
        block_section(session, stored)
    real_model_section(
        session, "real", "The blocks of a real model", ("decoder", "encoder", "encoder-decoder"), real_model_blocks
    )
    if stored is not None:
        folded_section(
            "why",
            "Why does every part add to its input?",
            lambda: formulas_section(stored.config.model, session.state.kind == "both"),
        )
    kind = session.state.kind
    code_and_papers(f"block.code.{kind}", FILES, PAPERS, default=KINDS[kind])


session = page_session("block", BlockState)
page(session)
write_url(session)
