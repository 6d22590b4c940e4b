"""Text and tokens: what a language model reads, and how a text becomes questions for it."""

from __future__ import annotations

import streamlit as st

from explorer.inspection.language.tokenizers import train_tokenizers
from explorer.labs.tokens.batch_rows import rows_section
from explorer.labs.tokens.split_leakage import leakage_section
from explorer.labs.tokens.state import TokensState
from explorer.labs.tokens.tokenizers import (
    comparison_section,
    merges_section,
    tokenizer_section,
    vocabulary_size_section,
)
from explorer.ui import visitor_text
from explorer.ui.deferred_sections import show_when_ready
from explorer.ui.page_sections import lead, page_head, show_problems, source_code
from explorer.ui.state.session import PageSession, page_session, write_url
from explorer.ui.text_picker import draw_corpus_row, selected_text

FILES = {
    "BPE": "tokenization/subwords.py",
    "Words": "tokenization/word_level.py",
    "Characters": "tokenization/characters.py",
    "Rows and splits": "tasks/text/rows.py",
}
PAPERS = (
    (
        "Byte-pair encoding",
        "Gage 1994, A new algorithm for data compression",
        "https://dl.acm.org/doi/10.5555/177910.177914",
    ),
    (
        "BPE for words",
        "Sennrich, Haddow and Birch 2016, Neural machine translation of rare words with subword units",
        "https://arxiv.org/abs/1508.07909",
    ),
    (
        "Byte-level BPE",
        "Radford, Wu, Child, Luan, Amodei and Sutskever 2019, Language models are unsupervised multitask learners",
        "https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf",
    ),
)


def code_and_papers() -> None:
    """Draw the source code and the papers."""
    st.header("The code", anchor=False)
    name = st.pills("File", list(FILES), default="BPE", key="tokens.code", label_visibility="collapsed") or "BPE"
    st.caption(f"explorer/{FILES[name]}")
    st.code(source_code(FILES[name]), language="python", height=420)
    st.header("The papers", anchor=False)
    for name, paper, link in PAPERS:
        st.markdown(f"**{name}** · [{paper}]({link})")


def page(session: PageSession[TokensState]) -> None:
    """Draw the whole page, from the question to the papers."""
    page_head("What should a language model read: letters, words, or pieces?")
    lead(
        "Byte-pair encoding joins, again and again, the two neighbours that meet most often. Drag the vocabulary, "
        "or press Play."
    )
    draw_corpus_row(session, "tokens")
    show_problems(session.problems)
    config = selected_text(session, "tokens")

    key = ("fitted", config.text, config)
    meanwhile = "Four tokenizers are being trained on this text; that takes a few seconds …"
    show_when_ready(
        "tokens-text",
        key,
        lambda: train_tokenizers(config),
        lambda tokenizers: tokenizer_section(session, config, tokenizers),
        meanwhile,
        560,
    )
    st.header("Four ways to cut the same text", anchor=False)
    show_when_ready(
        "tokens-four",
        key,
        lambda: train_tokenizers(config),
        lambda tokenizers: comparison_section(session, config, tokenizers),
        meanwhile,
        260,
    )
    show_when_ready(
        "tokens-sizes",
        key,
        lambda: train_tokenizers(config),
        lambda tokenizers: vocabulary_size_section(tokenizers, session.state.vocabulary),
        meanwhile,
        300,
    )
    rows_section(session, config)
    leakage_section(session, config)
    show_when_ready(
        "tokens-why",
        key,
        lambda: train_tokenizers(config),
        lambda tokenizers: merges_section(session, tokenizers),
        meanwhile,
        300,
    )
    code_and_papers()


session = page_session("tokens", TokensState)
session.state, contradictions = session.state.validate()
session.problems += contradictions
visitor_text.remember_text()
page(session)
write_url(session)
