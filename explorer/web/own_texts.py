"""Forget a text of a visitor, with everything that this process has computed from it."""

from __future__ import annotations

from explorer.tasks import own_sentences, word_vectors
from explorer.tasks.sentiment import data
from explorer.tasks.seq2seq import own_pairs
from explorer.tasks.text import rows
from explorer.web import background, results


def forget(sha: str) -> None:
    """Drop the text with this SHA-256, its tokens and rows, and the results that name it."""
    own_sentences.drop_sentences(sha)
    data.drop_sentences(sha)
    own_pairs.drop_pairs(sha)
    rows.drop_text_data(sha)
    word_vectors.drop_word_data(sha)
    background.drop_results(sha)
    results.drop(sha)
