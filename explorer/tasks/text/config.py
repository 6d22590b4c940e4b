"""Settings of the text task: the corpus, the tokenizer, the rows, and what is held out.

They are separate because forms, URLs and run keys need them before any text is read: `corpora.py` loads the texts and
`rows.py` makes rows of tokens from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from explorer.models.settings import setting

Corpus: TypeAlias = Literal["tinyshakespeare", "english", "toy", "repeats", "brackets", "own"]
VERSION = 1
CORPUS_NAMES: Final[Mapping[str, str]] = {  # as visitors read them
    "tinyshakespeare": "Tiny Shakespeare",
    "english": "English",
    "toy": "Toy",
    "repeats": "Repeats",
    "brackets": "Brackets",
    "own": "Your own",
}
SHA256_PATTERN = "[0-9a-f]{64}"
MIN_VOCABULARY = {"char": 0, "word": 2, "bpe": 3, "bytes": 256}  # smallest vocabulary that can be set
SPLITS = {"blocks": ("end", "windows"), "sentences": ("sentences", "pairs"), "prefixes": ("sentences", "pairs")}


def own_text_setting(help: str, label: str = "") -> Any:
    """Return the field for the SHA-256 of a visitor's own text or file."""
    return setting("", help, pattern=f"({SHA256_PATTERN})?", label=label)


def check_own_text(corpus: str, text: str, noun: str) -> None:
    """Raise ValueError unless there is a SHA-256 where the corpus is a visitor's own, and only there."""
    if corpus == "own" and not re.fullmatch(SHA256_PATTERN, text):
        raise ValueError(f"corpus = own needs text, the SHA-256 of your {noun} (64 digits from 0 to f)")
    if corpus != "own" and text:
        raise ValueError(f"text goes with corpus = own only, not with corpus = {corpus}")


@dataclass(frozen=True)
class TextConfig:
    """How a text becomes rows of tokens, and which targets are held out from training.

    A row has `context` input tokens; the target of each is the token that follows it.

    Rows: "blocks" are cut from the stream of all tokens, regardless of line ends. "sentences" are the lines of 5 to 30
    words and more than 20 characters, each from its first token and padded. "prefixes" are the same lines, but every
    target has its own row: the tokens before it, padding, and one prediction at the end.

    Held out: "end" is the last part of the text. "windows" are blocks at random positions, which overlap with training
    blocks (leakage). "sentences" are whole lines. "pairs" are single targets, whose neighbours are trained (leakage).

    Training never reads the held-out part. With `test`, a share of it (the end of "end", otherwise drawn at random)
    is a test split: no evaluation during training reads that, so that no choice depends on it. The rest is the
    validation split. The training part does not depend on `test`.

    With `training_share` below 1, training reads only the first part of the training part: its first tokens, windows or
    lines. The held-out part and the tokenizer stay the same, so that losses with different shares can be compared.

    The tokenizer learns from the training part of blocks, but from all lines, and characters are always those of the
    whole text. With `tokenizer_from_training`, the tokenizer of whole lines held out learns from training lines only.
    With "pairs" that is impossible: which targets are held out is known only after the lines are tokenized.
    """

    corpus: Corpus = setting(  # noqa: RUF009  (ruff takes an alias of Literal for a mutable type)
        "tinyshakespeare", "The text: Tiny Shakespeare, one that is made by a rule, or your own."
    )
    text: str = own_text_setting("SHA-256 of your own text; empty for every other corpus.")
    size: int = setting(
        100_000, "Characters of a text that is made by a rule.", 1_000, 1_000_000, label="Characters of the made text"
    )
    corpus_seed: int = setting(0, "Seed of a text that is made by a rule.", 0, 2**31 - 1, label="Seed of the made text")
    tokenizer: Literal["char", "word", "bpe", "bytes"] = setting(
        "char", "What a token is: a character, a word, or a frequent piece of characters or of bytes (BPE)."
    )
    vocabulary: int = setting(
        500, "Requested tokens; a text may give fewer.", 2, 20_000, label="Size of the vocabulary, at most"
    )
    lower: bool = setting(False, "Whether capital letters become small ones.", label="Lower case only")
    rows: Literal["blocks", "sentences", "prefixes"] = setting(
        "blocks", "How the text is cut: blocks of its tokens, one line a row, or one prefix of a line a row."
    )
    context: int = setting(64, "Tokens that a row gives to read.", 1, 1_024, label="Tokens in a row (context)")
    split: Literal["end", "windows", "sentences", "pairs"] = setting(
        "end", "What is held out: the end, overlapping windows, lines, or targets of lines.", label="Held-out part"
    )
    held_out: float = setting(0.1, "Share that training never sees.", 0.01, 0.5, label="Share that is held out")
    split_seed: int = setting(0, "Seed of a split at random.", 0, 2**31 - 1)
    test: float = setting(
        0.0,
        "Share of the held-out part that is kept as a test split, which no evaluation during training reads.",
        0,
        0.9,
        label="Share of the held-out part that is a test split",
    )
    tokenizer_from_training: bool = setting(
        False,
        "Whether the tokenizer of lines learns from training lines only; needs split = sentences.",
        label="Tokenizer from training lines only",
    )
    training_share: float = setting(
        1.0,
        "Share of the training part that training reads, from its start; the held-out part stays the same.",
        0.001,
        1,
        label="Share of the training part that is read",
    )
    batches: Literal["random", "contiguous"] = setting(
        "random", "Whether a batch goes on where the last one ended, so that a recurrent network carries its state."
    )

    def __post_init__(self) -> None:
        check_own_text(self.corpus, self.text, "text")
        if self.vocabulary < MIN_VOCABULARY[self.tokenizer]:
            raise ValueError(
                f"vocabulary = {self.vocabulary} is too small for tokenizer = {self.tokenizer}, "
                f"which needs at least {MIN_VOCABULARY[self.tokenizer]}"
            )
        if self.split not in SPLITS[self.rows]:
            raise ValueError(
                f"split = {self.split} does not go with rows = {self.rows}, "
                f"which have split = {' or '.join(SPLITS[self.rows])}"
            )
        if self.batches == "contiguous" and (self.rows, self.split) != ("blocks", "end"):
            raise ValueError(
                f"batches = contiguous goes with rows = blocks and split = end only, "
                f"not with rows = {self.rows} and split = {self.split}"
            )


def evaluation_rows(context: int) -> int:
    """Return the number of rows that an evaluation reads in one batch, so that a batch does not take long."""
    return max(1, min(256, 16_384 // context))
