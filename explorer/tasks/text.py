"""The text task: which text is read, in which tokens, in which rows, and what is held out.

Only the settings stand here, since a form, an address and a run's key need them before any text is read:
`corpora.py` has the texts, `windows.py` makes rows of tokens from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from explorer.models.settings import setting

VERSION = 1
SHA256 = "[0-9a-f]{64}"
FEWEST = {"char": 0, "word": 2, "bpe": 3, "bytes": 256}  # tokens that one may wish for
SPLITS = {"blocks": ("end", "windows"), "sentences": ("sentences", "pairs"), "prefixes": ("sentences", "pairs")}


@dataclass(frozen=True)
class TextConfig:
    """From a text to rows of tokens, and which of their targets training never sees.

    A row gives `context` tokens to read, and for each of them the token that follows as its target.

    Rows: "blocks" are cut from the stream of all tokens, wherever a line ends. "sentences" are the lines of 5 to
    30 words and more than 20 characters, each from its first token and filled up with padding. "prefixes" are the
    same lines, but every target is a row of its own: the tokens before it, padding, and one question at the end.

    Held out: "end" is the last part of the text. "windows" are blocks at random places, which training overlaps
    (a leak). "sentences" are whole lines. "pairs" are single targets of lines, whose neighbours are trained (a leak).
    """

    corpus: Literal["tinyshakespeare", "toy", "repeats", "brackets", "own"] = setting(
        "tinyshakespeare", "The text: Tiny Shakespeare, one that is made by a rule, or your own."
    )
    text: str = setting("", "SHA-256 of your own text; empty for every other corpus.", pattern=f"({SHA256})?")
    size: int = setting(100_000, "Characters of a text that is made by a rule.", 1_000, 1_000_000)
    corpus_seed: int = setting(0, "Seed of a text that is made by a rule.", 0, 2**31 - 1)
    tokenizer: Literal["char", "word", "bpe", "bytes"] = setting(
        "char", "What a token is: a character, a word, or a frequent piece of characters or of bytes (BPE)."
    )
    vocabulary: int = setting(500, "Tokens wished for; a text may give fewer. Characters are what they are.", 2, 20_000)
    lower: bool = setting(False, "Whether capital letters become small ones.")
    rows: Literal["blocks", "sentences", "prefixes"] = setting(
        "blocks", "How the text is cut: blocks of its tokens, one line a row, or one prefix of a line a row."
    )
    context: int = setting(64, "Tokens that a row gives to read.", 1, 1_024)
    split: Literal["end", "windows", "sentences", "pairs"] = setting(
        "end", "What is held out: the end of the text, overlapping windows, whole lines, or single targets of lines."
    )
    held_out: float = setting(0.1, "Share that training never sees.", 0.01, 0.5)
    split_seed: int = setting(0, "Seed of a split at random.", 0, 2**31 - 1)
    batches: Literal["random", "contiguous"] = setting(
        "random",
        "Whether a batch goes on where the last one ended, so that a recurrent net may carry its state: truncated "
        "back-propagation through time, as the gradient stays within a batch.",
    )

    def __post_init__(self) -> None:
        if self.corpus == "own" and not re.fullmatch(SHA256, self.text):
            raise ValueError("corpus = own needs text, the SHA-256 of your text (64 digits from 0 to f)")
        if self.corpus != "own" and self.text:
            raise ValueError(f"text goes with corpus = own only, not with corpus = {self.corpus}")
        if self.vocabulary < FEWEST[self.tokenizer]:
            raise ValueError(
                f"vocabulary = {self.vocabulary} is too small for tokenizer = {self.tokenizer}, "
                f"which needs at least {FEWEST[self.tokenizer]}"
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
