"""The state of the page on perplexity: the text, the tokenizers, and how the text is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from explorer.inspection.language.tokenizers import Kind
from explorer.tasks.text.config import CORPUS_NAMES, MIN_VOCABULARY, Corpus, TextConfig
from explorer.ui.state.fields import PageState, check_fingerprint, one_of, setting

TOKENIZERS: dict[Kind, str] = {"char": "Characters", "bytes": "Byte-level BPE", "bpe": "BPE", "word": "Words"}
SIZES = {size: f"{int(size):,}" for size in ("300", "500", "1000", "2000", "5000", "10000", "20000")}
OMITTED = {"counted": "counted", "left_out": "left out"}
CONTEXTS = (16, 32, 64, 128)
STRIDES = (1, 2, 4)  # windows begin a context divided by one of these apart
STRIDE_NAMES = {"1": "blocks", "2": "half", "4": "a quarter"}


@dataclass(frozen=True)
class PerplexityState(PageState):
    """The text, its tokenizers, and how it is read. Each field is a URL parameter."""

    corpus: Corpus = setting("tinyshakespeare", "Text", options=CORPUS_NAMES)
    text: str = setting("", check=check_fingerprint)  # of an own text: its SHA-256
    tokens: tuple[str, ...] = setting(tuple(TOKENIZERS), "Tokenizers", options=TOKENIZERS, check=one_of(TOKENIZERS))
    vocabulary: Literal["300", "500", "1000", "2000", "5000", "10000", "20000"] = setting(
        "500", "Tokens in a vocabulary, at most", options=SIZES
    )
    omitted: Literal["counted", "left_out"] = setting("counted", "Unknown words and dropped spaces", options=OMITTED)
    context: Literal["16", "32", "64", "128"] = setting(
        "128", "Context, in characters", options={str(context): str(context) for context in CONTEXTS}
    )
    stride: Literal["1", "2", "4"] = setting("1", "Stride", options=STRIDE_NAMES)

    def validate(self) -> tuple[PerplexityState, tuple[str, ...]]:
        """Return the state without contradictory settings, and a sentence for each of them."""
        state, problems = self, []
        if not state.tokens:
            problems.append(f"The address names no tokenizer. There is {', '.join(TOKENIZERS)}.")
            state = replace(state, tokens=tuple(TOKENIZERS))
        if state.text and state.corpus != "own":
            problems.append(f"text goes with corpus = own only, not with corpus = {state.corpus}.")
            state = replace(state, text="")
        return state, tuple(problems)

    def with_corpus(self, corpus: Corpus, text: str = "") -> PerplexityState:
        """Return the state with another text."""
        return replace(self, corpus=corpus, text=text)

    def with_tokens(self, names: tuple[str, ...]) -> PerplexityState:
        """Return the state with these tokenizers, in the usual order; at least one stays."""
        return replace(self, tokens=tuple(name for name in TOKENIZERS if name in names) or self.tokens)

    def tasks(self, text: TextConfig) -> dict[Kind, TextConfig]:
        """Return the task of each chosen tokenizer on a text; its vocabulary is at least the smallest possible."""
        return {
            kind: replace(text, tokenizer=kind, vocabulary=max(int(self.vocabulary), MIN_VOCABULARY[kind], 2))
            for kind in TOKENIZERS
            if kind in self.tokens
        }
