"""The pairs task: rewrite a source as its target, for pairs of a visitor's own file or of a built-in example.

Source and target are sequences of characters as they are given, in capitals or not. A share of the pairs is held out;
no two pairs have the same source. The example is the plural of invented nouns by the rules of English spelling. The
file of a visitor stays in memory, like every own text (`text/corpora.py`), and is read with `own_tables.py`.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from explorer.byte_cache import Once
from explorer.errors import InvalidSetting, LineageError, TextError, shorten
from explorer.models.settings import setting
from explorer.tasks.own_tables import read_columns
from explorer.tasks.text import corpora
from explorer.tasks.text.config import check_own_text, own_text_setting

VERSION = 1
MAX_CHARACTERS = 40  # of a source or a target
MAX_ALPHABET = 200  # different characters of all sources, or of all targets
_ALPHABET = f"[^\\n]{{1,{MAX_ALPHABET}}}"
JOINERS = "\u200c\u200d"
MIN_PAIRS = 3  # two to train on and one to test

Pair = tuple[str, str]  # source and target

_BEGINNINGS = ["b", "cl", "d", "f", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "tr", "v", "w", "z"]
_ENDS = ["ary", "ash", "at", "ay", "elf", "en", "inch", "ip", "ix", "oaf", "ody", "og", "one", "oy", "uss"]


def plural(noun: str) -> str:
    """Return the plural of a noun by the rules of English spelling."""
    if noun.endswith(("x", "ss", "sh", "ch")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun[:-1]}ves" if noun.endswith("f") else f"{noun}s"


def example_pairs() -> tuple[Pair, ...]:
    """Return 300 invented nouns with their plurals."""
    nouns = [beginning + end for beginning in _BEGINNINGS for end in _ENDS]
    return tuple((noun, plural(noun)) for noun in nouns)


def normalize_text(text: str) -> str:
    """Return a text in form NFC with single spaces, without invisible characters but joiners (Persian and Hindi)."""
    kept = (each for each in text if each in JOINERS or unicodedata.category(each) != "Cf")
    return " ".join(unicodedata.normalize("NFC", "".join(kept)).split())


def characters(texts: Sequence[str]) -> str:
    """Return the different characters of some texts in the order of their code points."""
    return "".join(sorted(set("".join(texts))))


_SOURCES = characters([source for source, _ in example_pairs()])
_TARGETS = characters([target for _, target in example_pairs()])
_LONGEST_SOURCE = max(len(source) for source, _ in example_pairs())
_LONGEST_TARGET = max(len(target) for _, target in example_pairs())


@dataclass(frozen=True)
class PairsConfig:
    """The held-out share of the pairs, and their characters and lengths, so that a model works without the file."""

    corpus: Literal["example", "own"] = setting(
        "example", "The pairs: invented nouns with their plurals, or your own.", label="Pairs"
    )
    text: str = own_text_setting("SHA-256 of your own file; empty for the example.", "SHA-256 of your file")
    sources: str = setting(
        _SOURCES, "The different characters of all sources.", pattern=_ALPHABET, label="Characters of the sources"
    )
    targets: str = setting(
        _TARGETS, "The different characters of all targets.", pattern=_ALPHABET, label="Characters of the targets"
    )
    longest_source: int = setting(
        _LONGEST_SOURCE, "Characters of the longest source.", 1, MAX_CHARACTERS, label="Longest source, in characters"
    )
    longest_target: int = setting(
        _LONGEST_TARGET, "Characters of the longest target.", 1, MAX_CHARACTERS, label="Longest target, in characters"
    )
    held_out_share: float = setting(
        0.2, "Share of the pairs that training never sees.", 0.05, 0.5, label="Held-out share of the pairs"
    )
    split_seed: int = setting(0, "Seed of the random choice of the held-out pairs.", 0, 2**31 - 1)

    def __post_init__(self) -> None:
        check_own_text(self.corpus, self.text, "file")
        for name in ("sources", "targets"):
            if (given := getattr(self, name)) != characters([given]):
                raise ValueError(f"{name} needs each character once, in the order of their code points")
        found = (self.sources, self.targets, self.longest_source, self.longest_target)
        if self.corpus != "own" and found != (_SOURCES, _TARGETS, _LONGEST_SOURCE, _LONGEST_TARGET):
            raise ValueError(
                "sources, targets, longest_source and longest_target can be changed with corpus = own only"
            )


@dataclass(frozen=True)
class PairTable:
    """The pairs of a file or of the example, divided into two parts."""

    training: tuple[Pair, ...]
    held_out: tuple[Pair, ...]

    @property
    def all_pairs(self) -> tuple[Pair, ...]:
        return (*self.training, *self.held_out)

    @property
    def new_characters(self) -> tuple[Pair, ...]:
        """The held-out pairs with a character that training never shows."""
        sources, targets = (set("".join(texts)) for texts in zip(*self.training, strict=True))
        return tuple(pair for pair in self.held_out if set(pair[0]) - sources or set(pair[1]) - targets)

    def target_of(self, source: str) -> str | None:
        """Return the target of a source; None if the table does not have it."""
        return next((target for each, target in self.all_pairs if each == source), None)


def split_pairs(pairs: Sequence[Pair], config: PairsConfig) -> PairTable:
    """Return the parts of pairs with different sources: at least one is held out and at least two are trained on."""
    size = min(max(1, round(config.held_out_share * len(pairs))), len(pairs) - 2)
    held_out = set(random.Random(f"pairs/{config.split_seed}").sample(range(len(pairs)), size))
    return PairTable(
        tuple(pair for i, pair in enumerate(pairs) if i not in held_out),
        tuple(pair for i, pair in enumerate(pairs) if i in held_out),
    )


@lru_cache(maxsize=8)
def example_table(config: PairsConfig) -> PairTable:
    """Return the parts of the example."""
    return split_pairs(example_pairs(), config)


# The pairs of a visitor

PAIR_COLUMNS = ("source", "target")
_own: Once[PairsConfig, PairTable] = Once()
_tasks: Once[str, PairsConfig] = Once()  # by the SHA-256 of a file


class SourcesAndTargets(NamedTuple):
    """The pairs of a table, each source once."""

    pairs: tuple[Pair, ...]  # in the order of the rows
    repeated: int  # rows whose pair stands in an earlier row; they are counted once


def pair_table(config: PairsConfig) -> PairTable:
    """Return the pairs of a configuration, read once. Raises TextError, NeedsText or InvalidSetting."""
    if config.corpus == "example":
        return example_table(config)
    # All visitors share the pairs. Loading the text first raises NeedsText for a visitor who may not read it.
    text = corpora.own_text(config.text)
    return _own.get(config, lambda: own_table(config, text))


def own_table(config: PairsConfig, text: str) -> PairTable:
    """Return the pairs of a file. Raises TextError, or InvalidSetting if the settings belong to another file."""
    pairs = read_pairs(text).pairs
    own = _settings_of(pairs, config.text)
    for name in ("sources", "targets", "longest_source", "longest_target"):
        if getattr(config, name) != getattr(own, name):
            raise InvalidSetting(
                f"{name} = {getattr(config, name)} does not belong to this file, whose value is {getattr(own, name)}. "
                "Leave it out: it follows from the file."
            )
    return split_pairs(pairs, config)


def own_pairs_task(sha: str) -> PairsConfig:
    """Return the default settings for a file. Raises TextError or NeedsText."""
    text = corpora.own_text(sha)
    return _tasks.get(sha, lambda: _settings_of(read_pairs(text).pairs, sha))


def known_target(config: PairsConfig, source: str) -> str | None:
    """Return the target that the pairs give a source; None without one, or if the file cannot be read."""
    try:
        return pair_table(config).target_of(source)
    except LineageError:
        return None


def read_pairs(content: str) -> SourcesAndTargets:
    """Return the pairs of a table with the columns source and target, normalized. Raises TextError."""
    rows_of: dict[str, int] = {}
    targets: dict[str, str] = {}
    alphabets: dict[str, dict[str, None]] = {column: {} for column in PAIR_COLUMNS}
    rows = read_columns(content, PAIR_COLUMNS, "pair")
    for number, given in rows:
        cells = [normalize_text(cell) for cell in given]
        for column, cell in zip(PAIR_COLUMNS, cells, strict=True):
            _check_sequence(number, column, cell)
            alphabets[column].update(dict.fromkeys(cell))
            if len(alphabets[column]) > MAX_ALPHABET:
                raise TextError(
                    f"Up to row {number}, the column {column} has {len(alphabets[column])} different characters; at "
                    f"most {MAX_ALPHABET} are read.",
                    "Leave out rows with rare characters.",
                )
        source, target = cells
        if targets.setdefault(source, target) != target:
            raise TextError(
                f"Rows {rows_of[source]} and {number} have the same source, “{shorten(source)}”, with the targets "
                f"“{shorten(targets[source])}” and “{shorten(target)}”.",
                "Give a source one target.",
            )
        rows_of.setdefault(source, number)
    if len(targets) < MIN_PAIRS:
        raise TextError(
            f"This table has {len(targets)} different source{'s' * (len(targets) != 1)}; at least {MIN_PAIRS} are "
            "needed, two to train on and one to test.",
            "Add other pairs.",
        )
    return SourcesAndTargets(tuple(targets.items()), len(rows) - len(targets))


def _settings_of(pairs: tuple[Pair, ...], sha: str) -> PairsConfig:
    sources, targets = zip(*pairs, strict=True)
    return PairsConfig(
        corpus="own",
        text=sha,
        sources=characters(sources),
        targets=characters(targets),
        longest_source=max(map(len, sources)),
        longest_target=max(map(len, targets)),
    )


def _check_sequence(number: int, column: str, cell: str) -> None:
    """Raise TextError for a source or a target that cannot be learned from."""
    if not cell:
        raise TextError(f"Row {number} has no {column}.", "Write one there or delete the row.")
    if len(cell) > MAX_CHARACTERS:
        raise TextError(
            f"The {column} in row {number} has {len(cell):,} characters; at most {MAX_CHARACTERS} are read.",
            "Shorten it, or delete the row.",
        )
    if invisible := next((each for each in cell if not each.isprintable() and each not in JOINERS), ""):
        raise TextError(
            f"The {column} in row {number} has an invisible character (U+{ord(invisible):04X}).", "Delete it."
        )
