"""The configuration of the task `sentiment`: which sentences its models learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from explorer.models.settings import setting
from explorer.tasks.text.config import check_own_text, own_text_setting

CLASSES = ("negative", "positive")
TESTED = {  # the parts of the test, by the names of their accuracies; “…” continues the part before
    "reviews": "held-out reviews",
    "reviews_negated": "… with a negation",
    "new_words": "new adjectives",
    "negated": "… turned round",
    "new_forms": "new forms",
}


@dataclass(frozen=True)
class SentimentConfig:
    """How much the models learn from; the test is always the same. Raises ValueError if that is nothing."""

    reviews: int = setting(
        4, "How often each sentence of a review is in the training data; 0: not at all.", 0, 20, label="Reviews, times"
    )
    composed: int = setting(
        60_000, "Sentences of the grammar in the training data; 0: none.", 0, 200_000, label="Composed sentences"
    )
    words: int = setting(
        5, "How often each rated word is in the training data; 0: not at all.", 0, 20, label="Rated words, times"
    )
    vocabulary: int = setting(
        6_000, "Tokens of the vocabulary, at most: frequent words, and pieces of the others.", 500, 20_000
    )
    data_seed: int = setting(0, "Seed of the composed sentences.", 0, 2**31 - 1)
    corpus: Literal["english", "own"] = setting(
        "english", "The included sentences, or these and your own.", label="Sentences"
    )
    text: str = own_text_setting(
        "SHA-256 of the table of your own sentences; empty without one.", "SHA-256 of your file"
    )

    def __post_init__(self) -> None:
        check_own_text(self.corpus, self.text, "file")
        if not (self.reviews or self.composed or self.words or self.text):
            raise ValueError("reviews, composed and words are all 0: there is nothing to learn from")
