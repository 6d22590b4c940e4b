"""The four tokenizers: a text in tokens, their comparison, vocabulary sizes, and the formula of BPE."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.errors import shorten
from explorer.inspection.language.tokenizers import (
    EXCERPT_LENGTH,
    MAX_VOCABULARY,
    Kind,
    TrainedTokenizer,
    initial_symbols,
    merge_ids,
    tokenize,
    train_tokenizers,
    truncate_tokenizer,
)
from explorer.labs.tokens import findings
from explorer.labs.tokens.findings import TITLES, ratio
from explorer.labs.tokens.state import TokensState, truncate_typed
from explorer.tasks.text import corpora
from explorer.tasks.text.config import CORPUS_NAMES, TextConfig
from explorer.ui.wording import percentage

# The fragments that depend on the typed text: only these are redrawn when it changes.
_REDRAW = ("tokens-text", "tokens-four", "tokens-real")
_DASHES = {"char": "solid", "word": "1px,3px", "bpe": "solid", "bytes": "8px,3px"}
_MAX_POINTS = 160  # of a line
_DEFAULT = 500  # tokens of the default vocabulary
_TRAINING = "Four tokenizers are being trained on this text; that takes a few seconds …"
_KEY = "tokens"  # of the component in `labs/tokens/components/tokenizer/`
Tokenizers: TypeAlias = Mapping[Kind, TrainedTokenizer]


def tokenizer_section(session: ui.PageSession[TokensState], config: TextConfig) -> None:
    """Draw the typed text in tokens, with a slider for the size of the vocabulary."""
    ui.fragment(session, _REDRAW[0], lambda: _draw_typed_text(session, config))


def _draw_typed_text(session: ui.PageSession[TokensState], config: TextConfig) -> None:
    state, text = session.state, corpora.load_text(config)
    with st.container(horizontal=True, vertical_alignment="top"):
        # One text box per corpus: a late event from the box of the previous corpus must not change the new text.
        key = f"tokens.say.{config.corpus}{config.text}"
        ui.bind_widget(
            session, "say", st.text_area, key=key, shown=state.typed_text(text), redraw=_REDRAW, height=76, width=620
        )
        ui.bind_widget(session, "tokenizer", st.segmented_control, key="tokens.kind")
    shown, warning = truncate_typed(state.typed_text(text))
    ui.show_problems([warning] if warning else [])

    def apply_event() -> None:
        released = ui.pop_event(_KEY, "vocabulary")
        if isinstance(released, int) and 2 <= released <= MAX_VOCABULARY and released != session.state.vocabulary:
            session.change(lambda d: replace(d, vocabulary=released))
            st.rerun()

    ui.show(
        "tokens-shown",
        ui.Call(train_tokenizers, config),
        tokens_view,
        state.tokenizer,
        shown,
        state.vocabulary,
        _corpus_name(config),
        waiting=_TRAINING,
        height=480,
        events={_KEY: ("vocabulary",)},
        on_event=apply_event,
    )


def _corpus_name(config: TextConfig) -> str:
    return "your text" if config.corpus == "own" else CORPUS_NAMES[config.corpus]


def comparison_section(session: ui.PageSession[TokensState], config: TextConfig) -> None:
    """Draw the table of all four tokenizers, with the finding above it."""

    def draw_table() -> None:
        state, text = session.state, corpora.load_text(config)
        shown, _ = truncate_typed(state.typed_text(text))
        call, context = ui.Call(train_tokenizers, config), (state.vocabulary, _corpus_name(config), text, shown)
        ui.show("tokens-table", call, comparison_view, *context, waiting=_TRAINING, height=260)

    ui.fragment(session, _REDRAW[1], draw_table)


def merges_section(session: ui.PageSession[TokensState], config: TextConfig) -> None:
    """Draw the formula of the merges, and why losses per token cannot be compared across tokenizers."""
    state, call = session.state, ui.Call(train_tokenizers, config)
    kind: Kind = state.tokenizer if state.tokenizer in ("bpe", "bytes") else "bpe"
    st.latex(
        r"(a, b)^\star = \operatorname*{arg\,max}_{(a, b)} \; \mathrm{count}(a\,b), "
        r"\qquad ab \rightarrow \text{new token}"
    )
    ui.show("tokens-merges", call, merges_view, kind, state.vocabulary, waiting=_TRAINING, height=60)
    ui.explanation(
        "A larger vocabulary makes the text shorter, but there are more tokens to choose from at each position. So "
        "losses in nats per token cannot be compared between tokenizers. Bits per character can, between tokenizers "
        "with an exact round trip; the others leave out unknown words or spaces (see the page Perplexity):"
    )
    st.latex(r"\text{bits per character} = \frac{\text{nats per token}}{\ln 2 \cdot \text{characters per token}}")
    ui.show("tokens-bits", call, bits_view, kind, state.vocabulary, waiting=_TRAINING, height=60)


def merges_view(document: ui.Document, tokenizers: Tokenizers, kind: Kind, vocabulary: int) -> None:
    """Write what the merges of BPE did with the text."""
    document.text(findings.merges_finding(tokenizers[kind], vocabulary))


def bits_view(document: ui.Document, tokenizers: Tokenizers, kind: Kind, vocabulary: int) -> None:
    """Write the formula with the numbers of a tokenizer."""
    trained = tokenizers[kind]
    size = trained.nearest_vocabulary(vocabulary)
    characters = float(trained.characters_per_token[size - trained.min_vocabulary])
    document.text(
        f"With {TITLES[kind]} at {size:,} tokens, a token holds {characters:.2f} characters, so one nat per token is "
        f"worth 1 / (0.693 · {characters:.2f}) = {1 / math.log(2) / characters:.2f} bits per character; with "
        "characters it is worth 1.44."
    )


def tokens_view(
    document: ui.Document, tokenizers: Tokenizers, kind: Kind, text: str, vocabulary: int, corpus: str
) -> None:
    """Write a text in tokens under a slider for the vocabulary size. Raises TextError."""
    trained = tokenizers[kind]
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


def comparison_view(
    document: ui.Document, trained: Tokenizers, vocabulary: int, corpus: str, beginning: str, typed: str
) -> None:
    """Write the table of the four tokenizers, with the finding above it. Raises TextError.

    beginning: of the corpus
    """
    sizes = {kind: each.nearest_vocabulary(vocabulary) for kind, each in trained.items()}
    truncated = {kind: truncate_tokenizer(each.tokenizer, sizes[kind]) for kind, each in trained.items()}
    excerpt = {kind: tokenize(tokenizer, beginning[:EXCERPT_LENGTH]) for kind, tokenizer in truncated.items()}
    tokenized = {kind: tokenize(tokenizer, typed) for kind, tokenizer in truncated.items()}
    at = {kind: sizes[kind] - each.min_vocabulary for kind, each in trained.items()}
    per_token = {kind: float(each.characters_per_token[at[kind]]) for kind, each in trained.items()}
    unknown = {kind: float(each.unknown_rates[at[kind]]) for kind, each in trained.items()}
    columns = {
        "name": charts.Column(""),
        "size": charts.Column("vocabulary", "number"),
        "corpus": charts.Column("characters per token", "number", wrap=True),
        "unknown": charts.Column("unknown", "number"),
        "back": charts.Column("round trip"),
        "typed": charts.Column("your text: tokens", "number", minor=True),
        "lost": charts.Column("unknown", "number", minor=True),
        "typed_back": charts.Column("round trip", minor=True),
    }
    rows: list[charts.Row] = [
        {
            "name": TITLES[kind],
            "size": f"{len(truncated[kind].tokens):,}",
            "corpus": ratio(per_token[kind]),
            "unknown": percentage(unknown[kind]),
            "back": findings.round_trip(excerpt[kind]),
            "typed": f"{len(tokenized[kind].ids):,}",
            "lost": percentage(tokenized[kind].unknown),
            "typed_back": findings.round_trip(tokenized[kind]),
        }
        for kind in trained
    ]
    caption = (
        f"Left: all of {corpus}; the round trip, decoding the tokens, is tested on its first "
        f"{EXCERPT_LENGTH:,} characters. Right: the text in the box above."
    )
    document.finding(findings.tokenizers_finding(corpus, per_token, unknown, len(truncated["word"].tokens)))
    label = "Four tokenizers on the corpus and on the typed text"
    document.table("tokens-four", charts.Table(columns, rows, label, caption))
    columns = {
        "name": charts.Column(""),
        "text": charts.Column("your text after the round trip", "mono", wrap=True),
        "lost": charts.Column("what changed", wrap=True),
    }
    changed: list[charts.Row] = [
        {"name": TITLES[kind], "text": shorten(back.text.replace("\n", "↵"), 72), "lost": back.differences}
        for kind, each in tokenized.items()
        if not (back := each.round_trip).exact
    ]
    label = "The typed text after the round trip, and what is lost"
    document.table("tokens-lost", charts.Table(columns, changed, label))


def vocabulary_size_section(config: TextConfig, vocabulary: int) -> None:
    """Draw characters per token and unknown words for every vocabulary size."""
    call = ui.Call(train_tokenizers, config)
    ui.show("tokens-sizes", call, sizes_view, vocabulary, waiting=_TRAINING, height=300)


def sizes_view(document: ui.Document, tokenizers: Tokenizers, vocabulary: int) -> None:
    """Write both measures of the tokenizers by the size of their vocabulary; the chosen one is marked."""
    characters = {kind: each.characters_per_token for kind, each in tokenizers.items()}
    unknown: dict[Kind, ndarray] = {"word": 100 * tokenizers["word"].unknown_rates}
    per_token, share = charts.Axis("characters per token"), charts.Axis("unknown", unit=" %")
    subjects = "Characters per token by vocabulary size", "Words outside the vocabulary, in percent, by its size"
    left = sizes_chart(subjects[0], characters, tokenizers, vocabulary, per_token)
    right = sizes_chart(subjects[1], unknown, tokenizers, vocabulary, share)
    panels = [
        ui.Panel("characters-per-token", left, title="Characters per token"),
        ui.Panel("unknown-words", right, title="Out-of-vocabulary words"),
    ]
    document.figures("tokens-sizes", panels, height=280, columns=2)


def sizes_chart(
    subject: str,
    measures: Mapping[Kind, Float[ndarray, " sizes"]],
    tokenizers: Tokenizers,
    vocabulary: int,
    y: charts.Axis,
) -> charts.LineChart:
    """Return a measure of tokenizers over the vocabulary size, with a rule at the chosen one.

    Tokenizers have no colour: colours stand for models. Points are closer at the start, where the lines bend.
    """
    lines = []
    for kind, values in measures.items():
        points = np.unique(np.rint(np.linspace(0, 1, _MAX_POINTS) ** 2 * (len(values) - 1)).astype(int))
        dots: Literal["", "filled"] = "filled" if len(points) == 1 else ""
        sizes, title = tokenizers[kind].min_vocabulary + points, TITLES[kind]
        name = f"{title},{y.unit}" if y.unit else title  # beside the values that are read off
        lines.append(charts.Line(title, title, "--ink", _DASHES[kind], sizes, values[points], dots, 2.5, name=name))
    x = charts.Axis("tokens in the vocabulary", (0, max(line.x[-1] for line in lines)), ticks=5)
    y = replace(y, span=charts.span_of([line.values for line in lines], least=0.0))
    return charts.LineChart(subject, lines, x, y, [charts.selection(vocabulary)], margin=112)
