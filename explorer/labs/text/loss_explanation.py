"""What the loss of a language model means, and how the n-gram smooths its counts."""

from __future__ import annotations

import streamlit as st

from explorer.ui.page_sections import explanation, perplexity_link


def loss_section() -> None:
    """Draw the formulas of the loss and of Kneser–Ney smoothing."""
    explanation(
        "A language model gives a probability to every possible next token. Its loss is the mean surprisal of the "
        "tokens that come, and its perplexity is the exponential of the loss: the model is as uncertain as if it chose "
        "evenly among that many tokens."
    )
    st.latex(r"L = -\frac{1}{N} \sum_{t=1}^{N} \ln p(x_t \mid x_{<t}), \qquad \text{perplexity} = e^{L}")
    perplexity_link()
    explanation(
        "Kneser–Ney smoothing subtracts a discount D from each count and gives that probability to the shorter "
        "context, which counts after how many different tokens a token occurs, not how often. Modified Kneser–Ney "
        "(Chen and Goodman 1998), the default of this page, has three discounts: for counts of 1, of 2, and of 3 or "
        "more. With one discount:"
    )
    st.latex(
        r"p(w \mid h) = \frac{\max(c(hw) - D, 0)}{c(h)} + \frac{D \cdot N_{1+}(h\,\cdot)}{c(h)} \, p(w \mid h'), "
        r"\qquad h' = h \text{ without its first token}"
    )
