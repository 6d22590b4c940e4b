"""Text and tokens: what a language model reads, and how a text becomes questions for it."""

from __future__ import annotations

from functools import partial

from explorer.labs.tokens.batch_rows import rows_section
from explorer.labs.tokens.real_model import real_tokenizer_section
from explorer.labs.tokens.split_leakage import leakage_section
from explorer.labs.tokens.state import TokensState
from explorer.labs.tokens.tokenizers import (
    comparison_section,
    merges_section,
    tokenizer_section,
    vocabulary_size_section,
)
from explorer.ui import visitor_text
from explorer.ui.code_and_papers import code_and_papers
from explorer.ui.page_sections import lead, show_problems
from explorer.ui.sections import folded_section, page_section
from explorer.ui.state.session import PageSession, page_session, write_url
from explorer.ui.text_picker import draw_corpus_row, selected_text
from explorer.ui.training.real_models import real_model_section

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


def page(session: PageSession[TokensState]) -> None:
    """Draw the whole page, from the question to the papers."""
    lead("Drag the size of the vocabulary: each further token joins the most frequent pair of neighbours.")
    show_problems(session.problems)
    config = selected_text(session)
    with page_section("tokens-shown", "A text in tokens", heading=False):
        tokenizer_section(session, config)
    draw_corpus_row(session, folded=True)
    with page_section("tokens-four", "Four tokenizers on the same text"):
        comparison_section(session, config)
    real_model_section(
        session,
        "real",
        "The tokens of a real model",
        ("decoder", "encoder", "encoder-decoder"),
        partial(real_tokenizer_section, session, config),
    )
    folded_section(
        "tokens-sizes",
        "How does the size of the vocabulary change the tokens?",
        partial(vocabulary_size_section, config, session.state.vocabulary),
    )
    folded_section(
        "tokens-merges",
        "Which pairs are merged, and what does a loss per token hide?",
        partial(merges_section, session, config),
    )
    folded_section("tokens-cut", "How does a text become training rows?", partial(rows_section, session, config))
    folded_section(
        "tokens-leak", "When does held-out text leak into training?", partial(leakage_section, session, config)
    )
    code_and_papers("tokens.code", FILES, PAPERS, default="BPE")


session = page_session("tokens", TokensState)
session.state, contradictions = session.state.validate()
session.problems += contradictions
visitor_text.remember_text()
page(session)
write_url(session)
