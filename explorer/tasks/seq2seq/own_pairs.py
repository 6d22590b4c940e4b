"""A visitor's own pairs of a source and a target, and their settings. Needs no torch.

The file stays in memory, like every own text (`text/corpora.py`), and is read with `own_tables.py`.
"""

from __future__ import annotations

from explorer.errors import InvalidSetting, LineageError
from explorer.tasks.once import Once
from explorer.tasks.own_tables import read_pairs
from explorer.tasks.seq2seq.pairs import Pair, PairsConfig, PairTable, characters, example_table, split_pairs
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig

_own: Once[PairsConfig, PairTable] = Once()
_tasks: Once[str, PairsConfig] = Once()  # by the SHA-256 of a file


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


def drop_pairs(sha: str) -> None:
    """Drop the pairs of a visitor's file."""
    _own.drop_where(lambda config: config.text == sha)
    _tasks.drop_where(lambda known: known == sha)


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
