"""The Runs page: what a visitor looks for among the kept runs, and what they do with them."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from explorer.catalogue import MODELS, TASKS, model_row
from explorer.errors import LineageError
from explorer.training import index, library, store
from explorer.training.config import differing
from explorer.training.estimate import duration
from explorer.training.index import Entry, Query
from explorer.training.packing import pack
from explorer.training.unpacking import take_in
from explorer.ui.components import table
from explorer.ui.session import PageSession
from explorer.ui.visitors import Visitor, visitor, window

log = logging.getLogger(__name__)
_DAYS = {"today": 1, "this week": 7, "this month": 31}
_STATES = {"finished": "", "stopped": "stopped at step {} of {}", "diverged": "diverged by step {} of {}"}
STATE_WORDS = {
    "finished": "trained to its end",
    "stopped": "stopped before its end",
    "diverged": "diverged",
    "running": "under way",
}


@dataclass(frozen=True)
class Shelf:
    """What is looked for, and what is picked out. Each field is a part of the address."""

    text: str = ""
    models: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    when: Literal["ever", "today", "this week", "this month"] = "ever"
    whose: Literal["everybody's", "mine", "shipped"] = "everybody's"
    sort: str = "-created"
    runs: tuple[str, ...] = ()  # picked out
    run: str = ""  # open


def query(shelf: Shelf, me: Visitor) -> Query:
    """What is asked of the index."""
    days = _DAYS.get(shelf.when)
    return Query(
        text=shelf.text,
        models=tuple(model for model in shelf.models if model in MODELS),
        tasks=tuple(task for task in shelf.tasks if task in TASKS),
        tags=shelf.tags,
        since=datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days) if days else None,
        owner={"mine": me.id, "shipped": ""}.get(shelf.whose),
        shipped=shelf.whose != "mine",
    )


def found(shelf: Shelf, me: Visitor) -> list[Entry]:
    """The runs that are looked for. Raises StoreError."""
    entries = index.search(query(shelf, me))
    return [entry for entry in entries if entry.shipped] if shelf.whose == "shipped" else entries


def named(entry: Entry) -> str:
    """What a run is called: its name, or its model's."""
    return entry.name or entry.title


def unusual(entry: Entry) -> str:
    """What is not as released in a run's settings, in a few words."""
    parts = [f"{name} = {value}" for name, value in entry.settings.items() if name not in ("replicas", "seed")]
    if entry.parent:
        parts.append(f"branch of {entry.parent}")
    return ", ".join(parts) or "as released"


def ended(entry: Entry) -> str:
    """How a run ended, if not at its end."""
    return _STATES.get(entry.state, "").format(f"{entry.step:,}", f"{entry.steps:,}")


def ago(moment: datetime.datetime) -> str:
    """How long ago something was."""
    seconds = (datetime.datetime.now(datetime.UTC) - moment).total_seconds()
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    return "just now"


def megabytes(count: int) -> str:
    """A size as one says it."""
    return f"{count / 1e6:.1f} MB" if count < 1e9 else f"{count / 1e9:.2f} GB"


def runs_table(session: PageSession[Shelf], entries: Sequence[Entry], me: Visitor) -> None:
    """A row a run; a press on its name opens it, a tick picks it out."""
    shelf = session.state
    shown = table(
        [
            {"key": "title", "label": "run", "kind": "open", "align": "left", "sort": True},
            {"key": "settings", "label": "settings", "kind": "brief", "align": "left"},
            {"key": "accuracy", "label": "accuracy, or loss", "kind": "strip", "align": "left", "sort": True},
            {"key": "seconds", "label": "trained in", "kind": "number", "align": "right", "sort": True},
            {"key": "created", "label": "when", "kind": "text", "align": "left", "sort": True},
            {"key": "tags", "label": "tags", "kind": "tags", "align": "left"},
            {"key": "bytes", "label": "size", "kind": "number", "align": "right", "sort": True},
            {"key": "owner", "label": "whose", "kind": "text", "align": "left", "sort": True},
        ],
        [_row(entry, me) for entry in entries],
        key="runs-table",
        label="Runs kept on this server",
        caption="Accuracy on negation: every sentence of the grammar, weighted by its probability; on recall: of 256 "
        "fresh sequences; of a translation: exact match on fresh sources; a dot for each seed. Loss of a language "
        "model: nats a token over everything held out.",
        chosen=[run for run in shelf.runs if any(entry.key == run for entry in entries)],
        sort=shelf.sort,
    )
    session.state = replace(shelf, runs=shown.chosen, sort=shown.sort or "-created", run=shown.opened or shelf.run)


def _row(entry: Entry, me: Visitor) -> dict[str, object]:
    accuracy = index.accuracy(entry.metrics).get("values", [])
    known = [round(value, 4) for value in accuracy if value is not None]
    seeds = f"{entry.replicas} seeds" if entry.replicas > 1 else f"seed {entry.seed}"
    called = entry.folder if entry.shipped else entry.key
    detail = ", ".join(part for part in (entry.title if entry.name else "", seeds, ended(entry), called) if part)
    mean = entry.accuracy
    whose = "yours" if entry.owner == me.id else "a visitor's" if entry.owner else "the operator's"
    whose = "ships" if entry.shipped else whose
    return {
        "key": entry.key,
        "cells": {
            "title": {"text": named(entry), "colour": MODELS[entry.model].colour, "detail": detail},
            "settings": {"text": unusual(entry)},
            "accuracy": {"text": result(entry), "values": known, "sort": "" if mean is None else mean},
            "seconds": {"text": duration(entry.seconds), "sort": entry.seconds},
            "created": {"text": ago(entry.created), "sort": entry.created.timestamp()},
            "tags": {"tags": list(entry.tags)},
            "bytes": {"text": megabytes(entry.bytes), "sort": entry.bytes},
            "owner": {"text": f"{whose}{', pinned' if entry.pinned else ''}"},
        },
    }


def result(entry: Entry) -> str:
    """What came out, in the measure of the run's task."""
    loss = entry.metrics.get("val_loss", {}).get("mean")
    if entry.accuracy is not None:
        return f"{entry.accuracy:.3f}"
    return "–" if loss is None else f"{loss:.3f} nats"


# ---- what is done with runs; each says what went wrong in one sentence ----


def attempt(session: PageSession[Any], act: Callable[[], object]) -> bool:
    """Do something with runs; what is not possible is said on the page."""
    try:
        act()
    except LineageError as error:
        session.problems = (str(error),)
        return False
    session.problems = ()
    return True


def delete(session: PageSession[Shelf], keys: Sequence[str]) -> None:
    """Delete runs; they can be asked back until the page is left."""
    me = visitor()
    if attempt(session, lambda: library.delete(keys, me.id, me.operator)):
        window().deleted.extend(keys)
        session.state = replace(session.state, runs=(), run="")


def undelete(session: PageSession[Shelf]) -> None:
    """Bring back what was deleted on this visit."""
    me, keys = visitor(), list(window().deleted)
    if attempt(session, lambda: library.undelete(keys, me.id, me.operator)):
        window().deleted.clear()


def change(session: PageSession[Shelf], key: str, **words: Any) -> None:
    """Say something of a run."""
    me = visitor()
    attempt(session, lambda: library.change(key, me.id, me.operator, **words))


def import_zip(session: PageSession[Shelf], content: bytes) -> str:
    """Import a zip; returns the key of its run, or nothing if it was refused."""
    taken: list[str] = []
    attempt(session, lambda: taken.append(take_in(content, visitor().id).key))
    return taken[0] if taken else ""


def packed(key: str) -> bytes:
    """A run as a zip; empty if it is gone by now."""
    try:
        return pack(store.find(key))
    except LineageError as error:
        log.warning("run %s could not be packed: %s", key, error)
        return b""


def facts(run: store.StoredRun) -> list[tuple[str, str]]:
    """What is to be known of a run at a glance."""
    card, config = run.card, run.config
    told = [
        ("model", model_row(config.model).title),
        ("parameters", f"{card.parameters:,}"),
        ("seeds", f"{config.seeds[0]} to {config.seeds[-1]}" if config.replicas > 1 else str(config.seed)),
        ("steps", f"{card.step:,} of {config.steps:,}"),
        ("trained in", duration(card.seconds)),
    ]
    return told + [(name, str(value)) for name, value in differing(config).items() if name not in ("replicas", "seed")]
