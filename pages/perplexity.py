"""Perplexity: when can two perplexities be compared?"""

from __future__ import annotations

from functools import partial

import streamlit as st

from explorer.labs.perplexity.losses import tokenizer_controls, tokenizer_section, units_section, window_section
from explorer.labs.perplexity.state import PerplexityState
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import explanation, lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, page_session, write_url
from explorer.ui.text_picker import draw_corpus_row, selected_text

FILES = {
    "Bits per byte": "tasks/text/bits_per_byte.py",
    "Windows": "inspection/language/perplexity.py",
    "Comparability": "training/comparability.py",
}
PAPERS = (
    (
        "Perplexity",
        "Jelinek, Mercer, Bahl and Baker 1977, Perplexity: a measure of the difficulty of speech recognition tasks",
        "https://doi.org/10.1121/1.2016299",
    ),
    (
        "Bits per byte",
        "Gao and others 2020, The Pile: an 800GB dataset of diverse text for language modeling",
        "https://arxiv.org/abs/2101.00027",
    ),
    (
        "Open vocabularies",
        "Mielke 2019, Can you compare perplexity across different segmentations?",
        "https://sjmielke.com/comparing-perplexities.htm",
    ),
    (
        "Unknown words",
        "Witten and Bell 1991, The zero-frequency problem: estimating the probabilities of novel events in adaptive "
        "text compression",
        "https://doi.org/10.1109/18.87000",
    ),
)


def formulas_section() -> None:
    """Draw how the figures are computed from each other."""
    explanation("The loss per token is the mean surprisal of N tokens, and the perplexity is its exponential:")
    st.latex(r"L = -\frac{1}{N} \sum_{i=1}^{N} \ln p(w_i \mid w_{i-c}, \ldots, w_{i-1}) \qquad \text{PPL} = e^{L}")
    explanation(
        "N depends on the tokenizer and c on the context. Bits per byte divide the bits of the whole text by its B "
        "bytes in UTF-8, which no setting changes; O are the nats that encode what the tokens leave out, the spelling "
        "of unknown words and the dropped spaces:"
    )
    st.latex(r"\text{bits per byte} = \frac{N L + O}{B \ln 2}")
    explanation(
        "So two figures can be compared if text, held-out part and context are the same, and the unit is bits per byte "
        "of the text as it is. Per token they can be compared only if the tokenizer is the same as well."
    )


def page(session: PageSession[PerplexityState]) -> None:
    """Draw the whole page, from the question to the papers."""
    lead("Change the vocabulary: a perplexity counts per token, so it depends on what a token is.")
    tokenizer_controls(session)
    show_problems(session.problems)
    text = selected_text(session)
    with page_section("perplexity-tokenizers", "One n-gram, four tokenizers", heading=False):
        tokenizer_section(session.state, text)
    draw_corpus_row(session, folded=True)
    folded_section(
        "perplexity-units",
        "Which perplexities do not compare?",
        partial(units_section, session.state, text),
    )
    folded_section(
        "perplexity-windows", "How do context and stride change the perplexity?", partial(window_section, session)
    )
    folded_section("perplexity-formulas", "How are these figures computed from each other?", formulas_section)
    code_and_papers("perplexity.code", FILES, PAPERS)


session = page_session("perplexity", PerplexityState)
session.state, contradictions = session.state.validate()
session.problems += contradictions
visitor_text.remember_text()
page(session)
write_url(session)
