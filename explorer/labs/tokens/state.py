"""The state of the page on text and tokens: the text, its tokens and its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from explorer.environment import environment
from explorer.inspection.language.batch_preview import Rows
from explorer.inspection.language.tokenizers import MAX_VOCABULARY, Kind
from explorer.tasks.text.config import CORPUS_NAMES, MIN_VOCABULARY, Corpus, TextConfig
from explorer.ui.state.fields import PageState, check_fingerprint, setting

WIDEST = 16  # tokens of a row that fit into the figure
_TOKENIZERS = {"char": "Characters", "word": "Words", "bpe": "BPE", "bytes": "Byte-level BPE"}
_ROWS = {"blocks": "blocks of the text", "sentences": "one line per row", "prefixes": "one prefix per row"}
_EXCERPT = 120  # characters of the corpus that fill the text box at first


@dataclass(frozen=True)
class TokensState(PageState):
    """The text, its tokenizer, and how its tokens become rows. Each field is a URL parameter."""

    corpus: Corpus = setting("tinyshakespeare", "Text", options=CORPUS_NAMES)
    text: str = setting("", check=check_fingerprint)  # of an own text: its SHA-256
    say: str | None = setting(None, "Type a text")  # None: how the corpus begins
    tokenizer: Kind = setting("bytes", "Tokens", options=_TOKENIZERS)
    vocabulary: int = setting(500, low=2, high=MAX_VOCABULARY)
    rows: Rows = setting("blocks", "Rows", options=_ROWS)
    context: int = setting(12, "Row length, in tokens", low=1, high=WIDEST)
    batches: Literal["random", "contiguous"] = setting("random", "Batches", options=("random", "contiguous"))
    real: str = setting("", "Real model", longest=70)  # as hub:gpt2; empty: the first that is open

    @classmethod
    def url_base(cls) -> TokensState:
        return cls(tokenizer="bpe")

    def validate(self) -> tuple[TokensState, tuple[str, ...]]:
        """Return the state without contradictory settings, and a sentence for each of them."""
        state, problems = self, []
        if state.batches == "contiguous" and state.rows != "blocks":
            problems.append(f"batches = contiguous goes with rows = blocks only, not with rows = {state.rows}.")
            state = replace(state, batches="random")
        if state.text and state.corpus != "own":
            problems.append(f"text goes with corpus = own only, not with corpus = {state.corpus}.")
            state = replace(state, text="")
        return state, tuple(problems)

    def with_corpus(self, corpus: Corpus, text: str = "") -> TokensState:
        """Return the state with another text; the typed text is dropped."""
        return replace(self, corpus=corpus, text=text, say=None)

    def with_rows(self, rows: Rows) -> TokensState:
        """Return the state with another kind of rows; only blocks can be contiguous."""
        return replace(self, rows=rows, batches=self.batches if rows == "blocks" else "random")

    def typed_text(self, corpus: str) -> str:
        """Return the content of the text box: what the visitor typed, or the beginning of the corpus."""
        if self.say is not None:
            return self.say
        beginning = corpus[:_EXCERPT]
        lines = beginning.split("\n")
        whole = "\n".join(lines[:2])
        return whole.rsplit(" ", 1)[0] if len(whole) == _EXCERPT and " " in whole else whole

    def task_config(self, text: TextConfig) -> TextConfig:
        """Return the task on a text with the chosen tokenizer; the vocabulary is at least the smallest possible."""
        return replace(
            text, tokenizer=self.tokenizer, vocabulary=max(self.vocabulary, MIN_VOCABULARY[self.tokenizer], 2)
        )


def truncate_typed(text: str) -> tuple[str, str]:
    """Return the beginning of the typed text that is tokenized, and a sentence if that is not all of it."""
    most = environment().most_text
    if len(text) <= most:
        return text, ""
    return text[:most], f"This text has {len(text):,} characters; the first {most:,} are shown in tokens."
