"""A visitor's own pairs of a source and a target, and their settings. Needs no torch.

The file stays in memory, like every own text (`text/corpora.py`), and is read with `own_tables.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from explorer.byte_cache import Once
from explorer.errors import InvalidSetting, LineageError, TextError, shorten
from explorer.tasks.own_tables import read_columns
from explorer.tasks.seq2seq.pairs import (
    JOINERS,
    MAX_ALPHABET,
    MAX_CHARACTERS,
    MIN_PAIRS,
    Pair,
    PairsConfig,
    PairTable,
    characters,
    example_table,
    normalize_text,
    split_pairs,
)
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig

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
    text = corpora.load_text(TextConfig(corpus="own", text=config.text))
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
    text = corpora.load_text(TextConfig(corpus="own", text=sha))
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
