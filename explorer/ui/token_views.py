"""The pictures of the page about text and tokens: its numbers as instruments, tables and frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from explorer.errors import shortened
from explorer.figures import tokens as figures
from explorer.figures.tokens import Course, Flattery
from explorer.inspection.leaks import ORDER, Leak
from explorer.inspection.rows import Cut
from explorer.inspection.tokens import EXCERPT, Fitted, Kind, at, merge_ids, reading, words
from explorer.ui import token_findings as findings
from explorer.ui.components import Panel, ears, frame, heard, register, table
from explorer.ui.token_findings import TITLES, rate, ratio

_tokens, _rows = map(register, ("tokens", "rows"))
_DASHES = {"char": "solid", "word": "1px,3px", "bpe": "solid", "bytes": "8px,3px"}
ASSIGNMENT = 500  # tokens of the assignment's vocabulary


def slider(fitted: Fitted, text: str, vocabulary: int, corpus: str, key: str) -> int | None:
    """A text in tokens under a slider; see `assets/tokens.js`. Returns the size at which it was let go, once.

    Raises TextError.
    """
    tokenizer, kind = fitted.tokenizer, fitted.kind
    unknown = kind == "word"
    course = fitted.unknown_rates if unknown else fitted.characters_per_token
    merges = merge_ids(tokenizer)
    data = {
        "kind": kind,
        "text": text,
        "words": [[list(symbol) for symbol in word] for word in words(tokenizer, text)],
        "merges": [id for merge in merges for id in merge],
        "uses": fitted.uses.tolist(),
        "tokens": list(tokenizer.tokens),
        "counts": fitted.counts.tolist(),
        "unknown": tokenizer.unknown,
        "least": fitted.least,
        "most": fitted.most,
        "vocabulary": fitted.size(vocabulary),
        "course": [round(float(value), 4) for value in np.nan_to_num(course)],
        "measure": "unknown" if unknown else "characters",
        "corpus": corpus,
        "marks": _marks(fitted),
        "file": key,
    }
    said = heard(key, "vocabulary")
    _tokens(data=data, key=key, **ears(key, "vocabulary"))
    return int(said) if isinstance(said, int | float) and fitted.least <= said <= fitted.most else None


def _marks(fitted: Fitted) -> list[list[object]]:
    """What is worth finding on the slider."""
    if fitted.least == fitted.most:
        return []
    special = sum(id is not None for id in (fitted.tokenizer.unknown, fitted.tokenizer.padding))
    characters = fitted.least - special
    letters = f"{characters:,} character{'s' * (characters != 1)}"
    first = {"bytes": "256 bytes", "word": "one word"}.get(fitted.kind, letters)
    marks: list[list[object]] = [[fitted.least, first]]
    if fitted.least + 100 < ASSIGNMENT < 0.8 * fitted.most:
        marks.append([ASSIGNMENT, f"{ASSIGNMENT}, the assignment"])
    return [*marks, [fitted.most, f"{fitted.most:,}"]]


def comparison(all_kinds: Mapping[Kind, Fitted], vocabulary: int, corpus: str, beginning: str, typed: str) -> str:
    """The four tokenizers side by side as a table; returns what there is to see. Raises TextError."""
    tokenizers = at(all_kinds, vocabulary)
    excerpt = {kind: reading(tokenizer, beginning[:EXCERPT]) for kind, tokenizer in tokenizers.items()}
    said = {kind: reading(tokenizer, typed) for kind, tokenizer in tokenizers.items()}
    per_token, unknown = {}, {}
    for kind, each in all_kinds.items():
        here = each.size(vocabulary) - each.least
        per_token[kind] = float(each.characters_per_token[here])
        unknown[kind] = float(each.unknown_rates[here])
    columns: list[dict[str, object]] = [
        {"key": "name", "label": "", "kind": "text"},
        {"key": "size", "label": "tokens", "kind": "number", "align": "right"},
        {"key": "corpus", "label": "characters per token", "kind": "number", "align": "right"},
        {"key": "unknown", "label": "unknown", "kind": "number", "align": "right"},
        {"key": "back", "label": "comes back", "kind": "text"},
        {"key": "typed", "label": "your text: tokens", "kind": "number", "align": "right"},
        {"key": "each", "label": "characters per token", "kind": "number", "align": "right"},
        {"key": "lost", "label": "unknown", "kind": "number", "align": "right"},
        {"key": "typed_back", "label": "comes back", "kind": "text"},
    ]
    read = {kind: findings.comes_back(each) for kind, each in said.items()}
    rows = [
        {
            "cells": {
                "name": {"text": TITLES[kind]},
                "size": {"text": f"{len(tokenizers[kind].tokens):,}"},
                "corpus": {"text": ratio(per_token[kind])},
                "unknown": {"text": rate(unknown[kind])},
                "back": {"text": findings.comes_back(excerpt[kind])},
                "typed": {"text": f"{len(said[kind].ids):,}"},
                "each": {"text": ratio(said[kind].characters_per_token)},
                "lost": {"text": rate(said[kind].unknown)},
                "typed_back": {"text": read[kind]},
            }
        }
        for kind in all_kinds
    ]
    table(
        columns,
        rows,
        key="tokens-four",
        label="Four tokenizers on the corpus and on the typed text",
        caption=f"Left: all of {corpus}; whether it comes back is asked of its first {EXCERPT:,} characters. "
        "Right: the text in the box above.",
    )
    changed = {kind: each.back for kind, each in said.items() if not each.back.exact}
    if changed:
        table(
            [
                {"key": "name", "label": "", "kind": "text"},
                {"key": "text", "label": "your text, as it comes back", "kind": "mono"},
                {"key": "lost", "label": "what changed", "kind": "text"},
            ],
            [
                {
                    "cells": {
                        "name": {"text": TITLES[kind]},
                        "text": {"text": shortened(back.text.replace("\n", "↵"), 72)},
                        "lost": {"text": back.lost},
                    }
                }
                for kind, back in changed.items()
            ],
            key="tokens-lost",
            label="What the tokenizers make of the typed text, and what they lose",
        )
    return findings.four_ways(corpus, per_token, unknown, [kind for kind in all_kinds if excerpt[kind].back.exact])


def sizes(all_kinds: Mapping[Kind, Fitted], vocabulary: int) -> None:
    """The four at every size of the vocabulary."""
    lines, losses = [], []
    for kind, each in all_kinds.items():
        every = np.arange(each.least, each.most + 1)
        lines.append(Course(TITLES[kind], _DASHES[kind], every, each.characters_per_token))
        if kind == "word":
            losses.append(Course(TITLES[kind], _DASHES[kind], every, each.unknown_rates))
    frame(
        [
            Panel(
                "characters-per-token",
                figures.courses(lines, vocabulary, "characters per token"),
                "Characters per token of the four tokenizers over the size of their vocabulary.",
                title="How much one token holds",
            ),
            Panel(
                "unknown-words",
                figures.courses(losses, vocabulary, "unknown", digits=1, percent=True),
                "Share of words outside the vocabulary, over its size.",
                title="What words alone do not know",
            ),
        ],
        key="tokens-sizes",
        height=280,
        columns=2,
    )


def rows_picture(cut: Cut) -> None:
    """The first batch, token by token; see `assets/rows.js`."""
    data = {
        "rows": [
            {
                "name": f"row {i + 1}",
                "from": f"from token {row.place:,}",
                "cells": [{"token": c.token, "target": c.target, "asked": c.asked} for c in row.cells],
            }
            for i, row in enumerate(cut.batches[0])
        ],
        "caption": "Filled: a target that counts. Dashed: padding, or a target that does not count.",
        "file": "tokens-rows",
        "label": "The rows of the first batch",
    }
    _rows(data=data, key="tokens-rows")


def origins(cuts: Mapping[str, Cut]) -> None:
    """Where the rows of the first batches come from, one panel for each order of the batches."""
    panels = []
    for name, cut in cuts.items():
        least = min(map(len, cut.batches))
        places = np.array([[row.place for row in batch[:least]] for batch in cut.batches])
        alt = f"{name}: where in the text each row of the first three batches begins. {findings.origin(cut)}"
        caption = findings.origin(cut)
        panels.append(Panel(name, figures.origins(places, cut.tokens), alt, title=name, caption=caption))
    frame(panels, key="tokens-origins", height=280, columns=2)


def flattery(found: Sequence[Leak]) -> None:
    """Both splits of each kind of rows."""
    names = {"blocks": "blocks", "sentences": "lines"}
    pairs = [Flattery(names[each.rows], each.honest, each.leaky) for each in found if not each.problem]
    if pairs:
        frame(
            [
                Panel(
                    "leaks",
                    figures.flattered(pairs, "--m-ngram"),
                    " ".join(findings.leak(each) for each in found if not each.problem),
                    title=f"n-gram of order {ORDER}",
                    colour="--m-ngram",
                )
            ],
            key="tokens-leaks",
            height=100 + 60 * len(pairs),
            columns=1,
        )
