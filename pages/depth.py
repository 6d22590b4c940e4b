"""Residuals, norms, heads: what holds a deep Transformer together?"""

from __future__ import annotations

from explorer.labs.depth.answer_depth import answer_depth_section
from explorer.labs.depth.multi_head import head_measures_section, heads_section
from explorer.labs.depth.stacks import formulas_section, stacks_section, training_section
from explorer.labs.depth.state import DepthState
from explorer.ui.code_and_papers import LOGIT_LENS, XIONG_2020, code_and_papers
from explorer.ui.page_sections import lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, page_session, write_url

FILES = {
    "The block": "models/transformer_decoder.py",
    "The trained stacks": "models/transformer_tagger.py",
    "Layers and norms": "models/layers.py",
    "Measuring a stack": "inspection/transformer/depth.py",
    "Splitting into heads": "inspection/transformer/multi_head.py",
    "Answers by depth": "inspection/pretrained/answer_depth.py",
}
PAPERS = (
    ("Heads, Add & Norm", "Vaswani et al. 2017, Attention is all you need", "https://arxiv.org/abs/1706.03762"),
    ("Residuals", "He et al. 2016, Deep residual learning for image recognition", "https://arxiv.org/abs/1512.03385"),
    ("Norm before or after", *XIONG_2020),
    ("LayerNorm", "Ba, Kiros and Hinton 2016, Layer normalization", "https://arxiv.org/abs/1607.06450"),
    ("RMSNorm", "Zhang and Sennrich 2019, Root mean square layer normalization", "https://arxiv.org/abs/1910.07467"),
    (
        "Tokens become equal with depth",
        "Dong, Cordonnier and Loukas 2021, Attention is not all you need: pure attention loses rank doubly "
        "exponentially with depth",
        "https://arxiv.org/abs/2103.03404",
    ),
    (
        "The rank of a head",
        "Bhojanapalli et al. 2020, Low-rank bottleneck in multi-head attention models",
        "https://arxiv.org/abs/2002.07028",
    ),
    ("Logit lens", *LOGIT_LENS),
    (
        "What the lens misses",
        "Belrose et al. 2023, Eliciting latent predictions from Transformers with the tuned lens",
        "https://arxiv.org/abs/2303.08112",
    ),
)


def page(session: PageSession[DepthState]) -> None:
    """Draw the whole page."""
    lead(
        "Each part of a block adds its output to its input: the residual connection. **Remove it**: do the tokens stay "
        "different through 24 untrained blocks?"
    )
    show_problems(session.problems)
    stacks_section(session)
    with page_section("heads", "What changes when a layer has more heads?"):
        heads_section(session)
    folded_section("training", "Can 24 blocks learn without residual connections?", lambda: training_section(session))
    folded_section(
        "head-measures",
        "How different are the heads before and after training?",
        lambda: head_measures_section(session),
    )
    folded_section(
        "answer-depth",
        "At which depth of a real model does the answer appear?",
        lambda: answer_depth_section(session),
    )
    folded_section("why", "Why does the residual stream grow with depth?", lambda: formulas_section(session))
    code_and_papers("depth.code", FILES, PAPERS)


session = page_session("depth", DepthState)
page(session)
write_url(session)
