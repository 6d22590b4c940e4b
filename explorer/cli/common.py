"""Arguments and output that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from explorer import catalogue
from explorer.errors import InvalidSetting, UnknownRun, shorten
from explorer.run_store import store
from explorer.training.comparability import describe_tokens, loss_context
from explorer.training.config import RunConfig

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per line on standard output, and nothing else.")
]
Run = Annotated[str, typer.Argument(help="The key of a run, the name of a shipped run, or a run folder.")]


def stored_run(run: str, task: str = "") -> store.StoredRun:
    """Return the run with this key, shipped name or folder. Raises InvalidSetting unless it is a run of `task`, if
    given.
    """
    try:
        found = store.find(run)
    except UnknownRun:
        if not Path(run).is_dir():
            raise
        found = store.load(Path(run))
    learned = catalogue.task_row(found.config.task)
    if task and learned.name != task:
        raise InvalidSetting(
            f"{run} is a run of the task {learned.name}; this command needs a run of {task}. Choose another; "
            f"see `list`."
        )
    return found


def keep_text_file(given: str) -> str:
    """Store the text of a file as a corpus and return its SHA-256, or an empty text if there is no file."""
    from explorer.tasks.text import corpora

    file = Path(given)
    try:
        content = file.read_bytes() if file.is_file() else None
    except OSError as error:
        raise InvalidSetting(f"“{shorten(given)}” cannot be read: {error.strerror}. Give another file.") from error
    return "" if content is None else corpora.store_text(corpora.validated_text(content, file.name))


def print_json(message: dict[str, Any]) -> None:
    """Print one JSON object on a line."""
    print(json.dumps(message, ensure_ascii=False), flush=True)


def print_metrics(card: store.Card, config: RunConfig) -> None:
    """Print the mean of every metric, its range over the seeds, and the tokens and the context of a loss on text."""
    for name, metric in card.metrics.items():
        known = [v for v in metric.values if v is not None]
        spread = f"  ({min(known):.3f} to {max(known):.3f})" if len(known) > 1 else ""
        print(f"  {name:26} {'none' if metric.mean is None else f'{metric.mean:.3f}'}{spread}")
    if context := loss_context(config):
        print(f"  {'tokens of the losses':26} {describe_tokens(config)}")
        print(f"  {'context of the losses':26} {context}")
