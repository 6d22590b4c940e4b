"""What the loss of a language model means, with the numbers of this page."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from explorer.catalogue import MODELS
from explorer.labs.text.current_standings import characters_per_token
from explorer.labs.text.standings import Standing
from explorer.labs.text.state import TextLab
from explorer.training.comparability import loss_context
from explorer.ui.page_sections import explanation
from explorer.ui.training.run_view import RunView


def loss_section(lab: TextLab, views: Mapping[str, RunView], standings: Mapping[str, Standing]) -> None:
    """Draw the formulas of the loss and of Kneser–Ney smoothing, with the numbers of one model."""
    st.header("What these numbers are", anchor=False)
    explanation(
        "A language model says at every place how likely each token is to come next. Its loss is how surprised it is "
        "by the token that does come, on average; perplexity says among how many equally likely tokens it might as "
        "well be guessing. Bits a character divide the loss by the characters that a token stands for on average. "
        "Bits per byte add what it costs to encode unknown words, and spaces that no token represents; they divide by "
        "the bytes of the text itself."
    )
    st.latex(
        r"L = -\frac{1}{N} \sum_{t=1}^{N} \ln p(x_t \mid x_{<t}), \qquad \text{perplexity} = e^{L}, \qquad "
        r"\text{bits a character} = \frac{L}{\ln 2 \cdot \text{characters a token}}"
    )
    losses = {model: float(np.mean(each.held_out)) for model, each in standings.items()}
    trained = [model for model, loss in losses.items() if model != "ngram" and np.isfinite(loss)]
    characters = characters_per_token(views, lab.task)
    if trained and characters:
        best = min(trained, key=losses.__getitem__)
        title, loss = MODELS[best].title, losses[best]
        context = loss_context(standings[best].config, brief=True)
        st.latex(
            rf"\text{{{title}, {context}}}: \quad L = {loss:.3f}, \qquad e^{{{loss:.3f}}} = {np.exp(loss):.2f}, \qquad "
            rf"\frac{{{loss:.3f}}}{{0.693 \cdot {characters:.2f}}} = {loss / 0.693147 / characters:.3f}"
        )
    explanation(
        "Kneser–Ney smoothing takes a discount D from each count and gives that mass to the shorter context, which "
        "counts after how many different tokens a token occurs, not how often. Plain Kneser–Ney has one D for each "
        "order; modified Kneser–Ney (Chen and Goodman 1998), the default of this page, has three, for counts of 1, of "
        "2, and of 3 or more. Here is the formula with one D:"
    )
    st.latex(
        r"p(w \mid h) = \frac{\max(c(hw) - D, 0)}{c(h)} + \frac{D \cdot N_{1+}(h\,\cdot)}{c(h)} \, p(w \mid h'), "
        r"\qquad h' = h \text{ without its first token}"
    )
