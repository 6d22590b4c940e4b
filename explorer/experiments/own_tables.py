"""The settings with which a model learns from a visitor's own table, in Python and in the terminal."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from explorer.errors import InvalidSetting
from explorer.tasks.own_sentences import SentenceConfig, negation_data, own_task
from explorer.tasks.own_tables import LABELLED_COLUMNS, read_labelled
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.sentiment.data import read_own_sentences
from explorer.tasks.seq2seq.pairs import PAIR_COLUMNS, PairsConfig, own_pairs_task
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig

_PAIR_FIELDS = ("corpus", "text", "sources", "targets", "longest_source", "longest_target")


def table_columns(config: RunConfig) -> tuple[str, ...]:
    """Return the columns that a table for the task of a configuration has; none if it learns from no table."""
    if isinstance(config.task, PairsConfig):
        return PAIR_COLUMNS
    return LABELLED_COLUMNS if isinstance(config.task, SentenceConfig) else ()


def held_out_settings(changes: Mapping[str, object]) -> dict[str, object]:
    """Return those of some changed settings that decide which share of a table is held out."""
    return {name: value for name, value in changes.items() if name.rpartition(".")[2] == "held_out_share"}


def settings_of_table(config: RunConfig, sha: str) -> dict[str, object]:
    """Return the settings that follow from a table, for `with_settings`.

    For labelled sentences, an epoch reads each training sentence once, and the window of a model holds the longest
    sentence. Those of the task sentiment are added to its training data.

    config: a configuration of a task that learns from a table, with the held-out share of its sentences
    sha: the SHA-256 of the table, which is stored in `corpora`

    Raises TextError, NeedsText or InvalidSetting.
    """
    if isinstance(config.task, PairsConfig):
        pairs = own_pairs_task(sha)
        return {f"task.{name}": getattr(pairs, name) for name in _PAIR_FIELDS}
    if not isinstance(config.task, SentenceConfig):
        raise InvalidSetting(
            "Own tables are for the models of the tasks negation and sentiment (columns text and label) and pairs "
            "(columns source and target)."
        )
    if hint := read_labelled(corpora.load_text(TextConfig(corpus="own", text=sha))).hint:
        warnings.warn(hint, stacklevel=3)
    if isinstance(config.task, SentimentConfig):
        read_own_sentences(sha)  # raises for other labels
        return {"task.corpus": "own", "task.text": sha}
    own = own_task(sha, config.task.held_out_share)
    found = {f"task.{name}": getattr(own, name) for name in ("corpus", "text", "classes", "train_size")}
    return found | ({"window": max(negation_data(own).lengths)} if hasattr(config.model, "window") else {})
