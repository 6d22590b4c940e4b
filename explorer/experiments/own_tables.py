"""The settings with which a model learns from a user's own text or table, in Python and in the terminal."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from explorer.atomic_files import describe_file_error
from explorer.catalogue import task_row
from explorer.errors import InvalidSetting, shorten
from explorer.tasks.own_sentences import SentenceConfig, negation_data, own_task
from explorer.tasks.own_tables import LABELLED_COLUMNS, read_labelled
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.sentiment.data import read_own_sentences
from explorer.tasks.seq2seq.own_pairs import PAIR_COLUMNS, own_pairs_task
from explorer.tasks.seq2seq.pairs import PairsConfig
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.training.config import RunConfig, corpus_names

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


def store_text_file(given: str) -> str:
    """Store the text of a file as a corpus and return its SHA-256; empty if there is no such file.

    Raises InvalidSetting for a file that cannot be read, and TextError.
    """
    file = Path(given)
    try:
        content = file.read_bytes() if file.is_file() else None
    except (OSError, ValueError) as error:
        raise InvalidSetting(
            f"“{shorten(given)}” cannot be read: {describe_file_error(error)}. Give another file."
        ) from error
    return "" if content is None else corpora.store_file(content, file.name)


def corpus_settings(config: RunConfig, given: str, option: str) -> dict[str, object]:
    """Return the settings of a corpus given by name or as a file, or of a CSV file for a task that learns from one.

    option: what the user has given it as, for the message

    Raises InvalidSetting if there is neither, or TextError.
    """
    known, columns = corpus_names(type(config.task)), table_columns(config)
    if not known:
        raise InvalidSetting(f"A training on the task {task_row(config.task).name} reads no text. Leave {option} out.")
    if given in known:
        return {"corpus": given}
    sha = store_text_file(given)
    if not sha and columns:
        raise InvalidSetting(
            f"There is no file “{shorten(given)}”. Give a CSV file with the columns {' and '.join(columns)}."
        )
    if not sha:
        raise InvalidSetting(f"There is no corpus and no file “{shorten(given)}”. The corpora are {', '.join(known)}.")
    return settings_of_table(config, sha) if columns else {"corpus": "own", "text": sha}
