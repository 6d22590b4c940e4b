"""The formulas of a Transformer encoder block."""

from __future__ import annotations

import streamlit as st

from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.ui.page_sections import explanation


def formulas_section(state: SentenceEncoderState) -> None:
    """Draw what a block does to the vector of a word."""
    st.header("Why", anchor=False)
    explanation(
        "A word starts as its own embedding and a vector for its place, the same in every sentence. Each block adds a "
        "weighted sum of what the other words offer, then changes every word by itself:"
    )
    st.latex(
        r"\begin{aligned} a &= \mathrm{softmax}(QK^\top / \sqrt{d_k})\,V \\ x &\leftarrow \mathrm{LayerNorm}(x + a) \\"
        r" f &= W_2 \max(0,\, W_1 x + b_1) + b_2 \\ x &\leftarrow \mathrm{LayerNorm}(x + f) \end{aligned}"
    )
    config = state.configs[state.variant_names[0]].model
    width, heads, hidden = (getattr(config, name) for name in ("width", "heads", "hidden"))
    explanation(
        f"Here x has {width} numbers, {heads} heads of d_k = {width // heads} each, {hidden} hidden units, and "
        "positions are sines. The feedforward part (f) sees one word at a time, so in this model only attention (a) "
        "can bring “river” into “bank”; in other models a recurrence or a convolution can. All topics share the "
        "frames of the sentences, so that "
        "neither the place of a word nor the small words give its sense away."
    )
