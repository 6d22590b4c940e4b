"""What the commands share: how a run is named, and how they answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from explorer import catalogue
from explorer.errors import InvalidSetting, UnknownRun, shortened
from explorer.training import store

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line on standard output, nothing else there.")]
Run = Annotated[str, typer.Argument(help="A key, the name of a shipped run, or a run folder.")]


def stored_run(run: str, task: str = "") -> store.StoredRun:
    """A key or the name of a shipped run, otherwise a folder; of this task, if one is named."""
    try:
        found = store.find(run)
    except UnknownRun:
        if not Path(run).is_dir():
            raise
        found = store.load(Path(run))
    learned = catalogue.task_row(found.config.task)
    if task and learned.name != task:
        raise InvalidSetting(
            f"{run} learned {learned.name}; this command is for runs that learned {task}. Choose another; see `list`."
        )
    return found


def own_text(given: str) -> str:
    """Remember the text in a file; its SHA-256, or nothing where there is no file."""
    from explorer.tasks import corpora

    file = Path(given)
    try:
        content = file.read_bytes() if file.is_file() else None
    except OSError as error:
        raise InvalidSetting(f"“{shortened(given)}” cannot be read: {error.strerror}. Give another file.") from error
    return "" if content is None else corpora.keep(corpora.validated_text(content, file.name))


def say(message: dict[str, Any]) -> None:
    print(json.dumps(message, ensure_ascii=False), flush=True)


def print_metrics(card: store.Card) -> None:
    for name, metric in card.metrics.items():
        known = [v for v in metric.values if v is not None]
        spread = f"  ({min(known):.3f} to {max(known):.3f})" if len(known) > 1 else ""
        print(f"  {name:26} {'none' if metric.mean is None else f'{metric.mean:.3f}'}{spread}")
