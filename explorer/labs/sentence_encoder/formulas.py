"""The formulas of a Transformer encoder block."""

from __future__ import annotations

import streamlit as st

from explorer.labs.sentence_encoder.state import SentenceEncoderState
from explorer.ui.page_sections import explanation


def formulas_section(state: SentenceEncoderState) -> None:
    """Draw what a block does to the vector of a word."""
    explanation(
        "At layer 0 a word is its embedding plus a vector for its position. Each block adds a weighted sum of the "
        "value vectors of all words (attention), and then transforms every word by itself (feedforward):"
    )
    st.latex(
        r"\begin{aligned} a &= \mathrm{softmax}(QK^\top / \sqrt{d_k})\,V \\ x &\leftarrow \mathrm{LayerNorm}(x + a) \\"
        r" f &= W_2 \max(0,\, W_1 x + b_1) + b_2 \\ x &\leftarrow \mathrm{LayerNorm}(x + f) \end{aligned}"
    )
    config = state.configs[state.variant_names[0]].model
    width, heads, hidden = (getattr(config, name) for name in ("width", "heads", "hidden"))
    explanation(
        f"Here x has {width} numbers, with {heads} heads of dₖ = {width // heads} and {hidden} hidden units; position "
        "vectors are sines. The feedforward part sees one word at a time, so only attention can bring “river” into the "
        "vector of “bank”. All topics share the same sentence patterns, so neither the position of a word nor the "
        "function words give its sense away."
    )
