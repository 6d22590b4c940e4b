"""What a visitor of the page about text and tokens has chosen; each field is a part of the address."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from explorer.environment import environment
from explorer.errors import InvalidSetting, shortened
from explorer.inspection.rows import Rows
from explorer.inspection.tokens import MOST, Kind
from explorer.tasks.text import FEWEST, SHA256, TextConfig

Corpus: TypeAlias = Literal["tinyshakespeare", "toy", "repeats", "brackets", "own"]
WIDEST = 16  # tokens of a row that the picture has room for
_SHOWN = 120  # characters of a text that are typed before anybody types


def _fingerprint(text: object) -> None:
    if not re.fullmatch(f"({SHA256})?", str(text)):
        raise InvalidSetting(
            f"text = {shortened(text)} is not possible: it is the SHA-256 of your own text, 64 digits from 0 to f. "
            "Paste or upload the text again."
        )


@dataclass(frozen=True)
class Desk:
    """The text, how it is cut into tokens, and those into rows."""

    corpus: Corpus = "tinyshakespeare"
    text: str = field(default="", metadata={"check": _fingerprint})  # of an own text: its SHA-256
    say: str | None = None  # what is typed; None: how the corpus begins
    tokenizer: Kind = "bpe"
    vocabulary: int = field(default=500, metadata={"low": 2, "high": MOST})
    rows: Rows = "blocks"
    context: int = field(default=12, metadata={"low": 1, "high": WIDEST})
    batches: Literal["random", "contiguous"] = "random"

    def settled(self) -> tuple[Desk, tuple[str, ...]]:
        """The same without what contradicts itself, and a sentence for each such thing."""
        desk, problems = self, []
        if desk.batches == "contiguous" and desk.rows != "blocks":
            problems.append(f"batches = contiguous goes with rows = blocks only, not with rows = {desk.rows}.")
            desk = replace(desk, batches="random")
        if desk.text and desk.corpus != "own":
            problems.append(f"text goes with corpus = own only, not with corpus = {desk.corpus}.")
            desk = replace(desk, text="")
        return desk, tuple(problems)

    def with_corpus(self, corpus: Corpus, text: str = "") -> Desk:
        """Another text; what was typed belongs to the last one."""
        return replace(self, corpus=corpus, text=text, say=None)

    def with_rows(self, rows: Rows) -> Desk:
        """Rows of another kind; only blocks can go on where they ended."""
        return replace(self, rows=rows, batches=self.batches if rows == "blocks" else "random")

    def typed(self, text: str) -> str:
        """What stands in the box: the visitor's words, or how the text begins."""
        if self.say is not None:
            return self.say
        beginning = text[:_SHOWN]
        lines = beginning.split("\n")
        whole = "\n".join(lines[:2])
        return whole.rsplit(" ", 1)[0] if len(whole) == _SHOWN and " " in whole else whole


def config(desk: Desk, text: TextConfig) -> TextConfig:
    """The task on a text, in the chosen tokens."""
    return replace(text, tokenizer=desk.tokenizer, vocabulary=max(desk.vocabulary, FEWEST[desk.tokenizer], 2))


def readable(text: str) -> tuple[str, str]:
    """As much of what was typed as is shown, and a sentence where that is not all."""
    most = environment().most_text
    if len(text) <= most:
        return text, ""
    return text[:most], f"This text has {len(text):,} characters; the first {most:,} are shown in tokens."
