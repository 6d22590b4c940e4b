"""The four tokenizers: a text in tokens, their comparison, vocabulary sizes, and the formula of BPE."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
import streamlit as st

from explorer.errors import shorten
from explorer.figures.language import tokens as figures
from explorer.figures.language.tokens import TokenizerLine
from explorer.inspection.language.tokenizers import (
    EXCERPT_LENGTH,
    MAX_VOCABULARY,
    Kind,
    Tokenization,
    TrainedTokenizer,
    initial_symbols,
    merge_ids,
    tokenize,
    train_tokenizers,
    truncate_all,
)
from explorer.labs.tokens import findings
from explorer.labs.tokens.findings import TITLES, ratio
from explorer.labs.tokens.state import TokensState, truncate_typed
from explorer.tasks.text import corpora
from explorer.tasks.text.config import CORPUS_NAMES, TextConfig
from explorer.ui.components.base import pop_event
from explorer.ui.components.plot_frame import Panel, add_plot_frame
from explorer.ui.components.table import add_table, column
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation, show_problems
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession, fragment
from explorer.ui.state.widgets import bind_widget
from explorer.ui.wording import percentage

# The fragments that depend on the typed text: only these are redrawn when it changes.
_REDRAW = ("tokens-text", "tokens-four", "tokens-real")
_DASHES = {"char": "solid", "word": "1px,3px", "bpe": "solid", "bytes": "8px,3px"}
_DEFAULT = 500  # tokens of the default vocabulary
_TRAINING = "Four tokenizers are being trained on this text; that takes a few seconds …"
_KEY = "tokens"  # of the component in `labs/tokens/components/tokenizer/`
Tokenizers: TypeAlias = Mapping[Kind, TrainedTokenizer]


def tokenizer_requests(config: TextConfig) -> dict[str, Request[Tokenizers]]:
    """Return the request for the four tokenizers of a text, which all sections share."""
    return {"tokenizers": (("fitted", config.text, config), partial(train_tokenizers, config))}


def tokenizer_section(session: PageSession[TokensState], config: TextConfig) -> None:
    """Draw the typed text in tokens, with a slider for the size of the vocabulary."""
    fragment(session, _REDRAW[0], lambda: _draw_typed_text(session, config))


def _draw_typed_text(session: PageSession[TokensState], config: TextConfig) -> None:
    state, text = session.state, corpora.load_text(config)
    with st.container(horizontal=True, vertical_alignment="top"):
        # One text box per corpus: a late event from the box of the previous corpus must not change the new text.
        key = f"tokens.say.{config.corpus}{config.text}"
        bind_widget(
            session, "say", st.text_area, key=key, shown=state.typed_text(text), redraw=_REDRAW, height=76, width=620
        )
        bind_widget(session, "tokenizer", st.segmented_control, key="tokens.kind")
    shown, warning = truncate_typed(state.typed_text(text))
    show_problems([warning] if warning else [])

    def requests() -> Mapping[str, Request[Tokenizers]]:
        released = pop_event(_KEY, "vocabulary")
        if isinstance(released, int) and 2 <= released <= MAX_VOCABULARY and released != session.state.vocabulary:
            session.change(lambda d: replace(d, vocabulary=released))
            st.rerun()
        return tokenizer_requests(config)

    draw = partial(_draw_tokens, state.tokenizer, shown, state.vocabulary, _corpus_name(config))
    result_section("tokens-shown", requests, draw, _TRAINING, 480, events={_KEY: ("vocabulary",)})


def _corpus_name(config: TextConfig) -> str:
    return "your text" if config.corpus == "own" else CORPUS_NAMES[config.corpus]


def comparison_section(session: PageSession[TokensState], config: TextConfig) -> None:
    """Draw the table of all four tokenizers, with the finding above it."""

    def draw_table() -> None:
        state, text = session.state, corpora.load_text(config)
        shown, _ = truncate_typed(state.typed_text(text))
        draw = partial(_draw_comparison, state.vocabulary, _corpus_name(config), text, shown)
        result_section("tokens-table", tokenizer_requests(config), draw, _TRAINING, 260)

    fragment(session, _REDRAW[1], draw_table)


def merges_section(session: PageSession[TokensState], config: TextConfig) -> None:
    """Draw the formula of the merges, and why losses per token cannot be compared across tokenizers."""
    state, requests = session.state, tokenizer_requests(config)
    kind: Kind = state.tokenizer if state.tokenizer in ("bpe", "bytes") else "bpe"
    st.latex(
        r"(a, b)^\star = \operatorname*{arg\,max}_{(a, b)} \; \mathrm{count}(a\,b), "
        r"\qquad ab \rightarrow \text{new token}"
    )
    result_section("tokens-merges", requests, partial(_draw_merges, kind, state.vocabulary), _TRAINING, 60)
    explanation(
        "A larger vocabulary makes the text shorter, but there are more tokens to choose from at each position. So "
        "losses in nats per token cannot be compared between tokenizers. Bits per character can, between tokenizers "
        "with an exact round trip; the others leave out unknown words or spaces (see the page Perplexity):"
    )
    st.latex(r"\text{bits per character} = \frac{\text{nats per token}}{\ln 2 \cdot \text{characters per token}}")
    result_section("tokens-bits", requests, partial(_draw_bits, kind, state.vocabulary), _TRAINING, 60)


def _draw_merges(kind: Kind, vocabulary: int, document: Document, results: Mapping[str, Tokenizers]) -> None:
    document.text(findings.merges_finding(results["tokenizers"][kind], vocabulary))


def _draw_bits(kind: Kind, vocabulary: int, document: Document, results: Mapping[str, Tokenizers]) -> None:
    """Draw the formula with the numbers of a tokenizer."""
    trained = results["tokenizers"][kind]
    size = trained.nearest_vocabulary(vocabulary)
    characters = float(trained.characters_per_token[size - trained.min_vocabulary])
    document.text(
        f"With {TITLES[kind]} at {size:,} tokens, a token holds {characters:.2f} characters, so one nat per token is "
        f"worth 1 / (0.693 · {characters:.2f}) = {1 / math.log(2) / characters:.2f} bits per character; with "
        "characters it is worth 1.44."
    )


def _draw_tokens(
    kind: Kind, text: str, vocabulary: int, corpus: str, document: Document, results: Mapping[str, Tokenizers]
) -> None:
    """Draw a text in tokens under a slider for the vocabulary size. Raises TextError."""
    trained = results["tokenizers"][kind]
    tokenizer = trained.tokenizer
    unknown = kind == "word"
    measure = trained.unknown_rates if unknown else trained.characters_per_token
    merges = merge_ids(tokenizer)
    data = {
        "kind": kind,
        "text": text,
        "words": [[list(symbol) for symbol in word] for word in initial_symbols(tokenizer, text)],
        "merges": [id for merge in merges for id in merge],
        "uses": trained.merge_uses.tolist(),
        "tokens": list(tokenizer.tokens),
        "counts": trained.counts.tolist(),
        "unknown": tokenizer.unknown,
        "least": trained.min_vocabulary,
        "most": trained.max_vocabulary,
        "vocabulary": trained.nearest_vocabulary(vocabulary),
        "course": [round(float(value), 4) for value in np.nan_to_num(measure)],
        "measure": "unknown" if unknown else "characters",
        "corpus": corpus,
        "marks": _slider_marks(trained),
        "file": "tokens",
    }
    document.component("tokenizer", data, _KEY)


def _slider_marks(trained: TrainedTokenizer) -> list[list[object]]:
    """Return the labelled vocabulary sizes of the slider."""
    if trained.min_vocabulary == trained.max_vocabulary:
        return []
    special = sum(id is not None for id in (trained.tokenizer.unknown, trained.tokenizer.padding))
    characters = trained.min_vocabulary - special
    letters = f"{characters:,} character{'s' * (characters != 1)}"
    first = {"bytes": "256 bytes", "word": "one word"}.get(trained.kind, letters)
    marks: list[list[object]] = [[trained.min_vocabulary, first]]
    if trained.min_vocabulary + 100 < _DEFAULT < 0.8 * trained.max_vocabulary:
        marks.append([_DEFAULT, f"{_DEFAULT} (default)"])
    return [*marks, [trained.max_vocabulary, f"{trained.max_vocabulary:,}"]]


def _draw_comparison(
    vocabulary: int, corpus: str, beginning: str, typed: str, document: Document, results: Mapping[str, Tokenizers]
) -> None:
    """Draw the table of the four tokenizers, with the finding above it. Raises TextError."""
    trained = results["tokenizers"]
    truncated = truncate_all(trained, vocabulary)
    excerpt = {kind: tokenize(tokenizer, beginning[:EXCERPT_LENGTH]) for kind, tokenizer in truncated.items()}
    tokenized = {kind: tokenize(tokenizer, typed) for kind, tokenizer in truncated.items()}
    per_token, unknown = {}, {}
    for kind, each in trained.items():
        position = each.nearest_vocabulary(vocabulary) - each.min_vocabulary
        per_token[kind] = float(each.characters_per_token[position])
        unknown[kind] = float(each.unknown_rates[position])
    columns = [
        column("name", ""),
        column("size", "vocabulary", "number"),
        column("corpus", "characters per token", "number", wrap=True),
        column("unknown", "unknown", "number"),
        column("back", "round trip"),
        column("typed", "your text: tokens", "number", minor=True),
        column("lost", "unknown", "number", minor=True),
        column("typed_back", "round trip", minor=True),
    ]
    round_trips = {kind: findings.round_trip(each) for kind, each in tokenized.items()}
    rows = [
        {
            "name": TITLES[kind],
            "size": f"{len(truncated[kind].tokens):,}",
            "corpus": ratio(per_token[kind]),
            "unknown": percentage(unknown[kind]),
            "back": findings.round_trip(excerpt[kind]),
            "typed": f"{len(tokenized[kind].ids):,}",
            "lost": percentage(tokenized[kind].unknown),
            "typed_back": round_trips[kind],
        }
        for kind in trained
    ]
    document.finding(findings.tokenizers_finding(corpus, per_token, unknown, len(truncated["word"].tokens)))
    add_table(
        document,
        columns,
        rows,
        key="tokens-four",
        label="Four tokenizers on the corpus and on the typed text",
        caption=f"Left: all of {corpus}; the round trip, decoding the tokens, is tested on its first "
        f"{EXCERPT_LENGTH:,} characters. Right: the text in the box above.",
    )
    _round_trip_table(document, tokenized)


def _round_trip_table(document: Document, tokenized: Mapping[Kind, Tokenization]) -> None:
    """Draw the typed text as each tokenizer gives it back, for those that change it."""
    changed = {kind: each.round_trip for kind, each in tokenized.items() if not each.round_trip.exact}
    if not changed:
        return
    add_table(
        document,
        [
            column("name", ""),
            column("text", "your text after the round trip", "mono", wrap=True),
            column("lost", "what changed", wrap=True),
        ],
        [
            {
                "name": TITLES[kind],
                "text": shorten(back.text.replace("\n", "↵"), 72),
                "lost": back.differences,
            }
            for kind, back in changed.items()
        ],
        key="tokens-lost",
        label="The typed text after the round trip, and what is lost",
    )


def vocabulary_size_section(config: TextConfig, vocabulary: int) -> None:
    """Draw characters per token and unknown words for every vocabulary size."""
    result_section("tokens-sizes", tokenizer_requests(config), partial(_draw_sizes, vocabulary), _TRAINING, 300)


def _draw_sizes(vocabulary: int, document: Document, results: Mapping[str, Tokenizers]) -> None:
    characters, unknown = [], []
    for kind, each in results["tokenizers"].items():
        sizes = np.arange(each.min_vocabulary, each.max_vocabulary + 1)
        characters.append(TokenizerLine(TITLES[kind], _DASHES[kind], sizes, each.characters_per_token))
        if kind == "word":
            unknown.append(TokenizerLine(TITLES[kind], _DASHES[kind], sizes, each.unknown_rates))
    add_plot_frame(
        document,
        [
            Panel(
                "characters-per-token",
                figures.measure_by_vocabulary(characters, vocabulary, "characters per token"),
                "Characters per token of the four tokenizers over the size of their vocabulary.",
                title="Characters per token",
            ),
            Panel(
                "unknown-words",
                figures.measure_by_vocabulary(unknown, vocabulary, "unknown", digits=1, percent=True),
                "Share of words outside the vocabulary, over its size.",
                title="Out-of-vocabulary words",
            ),
        ],
        key="tokens-sizes",
        height=280,
        columns=2,
    )
