"""The runs whose model a visitor may ask: those that ship, those kept on this machine, those on the visitor's own text.

A run is named as in an address: by its key, or by the name under which it ships.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from explorer.catalogue import MODELS, ModelRow, model_row, task_row
from explorer.errors import DamagedRun, LineageError, StoreError, UnknownRun, shortened
from explorer.tasks.text import TextConfig
from explorer.training import index, store
from explorer.training.config import RunConfig
from explorer.training.index import Query
from explorer.training.job import View
from explorer.training.jobs import service
from explorer.training.record import Record
from explorer.training.store import StoredRun
from explorer.ui.session import arrived, page_address, run_in_focus
from explorer.ui.visitors import visitor

if TYPE_CHECKING:
    from torch import nn

    from explorer.tokenization.text import Tokenizer

TITLES = {  # of shipped runs that stand beside others of their architecture
    "text-best": "Larger Transformer",
    "text-assignment": "Transformer on pieces of words",
    "text-through-training": "Transformer in training",
    "negation-single-transformer": "Transformer on negation",
    "negation-single-transformer-usual-start": "Transformer on negation, usual start",
}
UNITS = {"char": "letter", "word": "word"}  # by tokenizer
_FIRST = ("text-ngram", "text-feedforward", "text-rnn", "text-lstm", "text-gru", "text-transformer", *TITLES)


@dataclass(frozen=True)
class AtHand:
    """A run that has weights."""

    name: str  # in an address
    title: str
    kept: StoredRun | Record

    @property
    def config(self) -> RunConfig:
        return self.kept.config

    @property
    def row(self) -> ModelRow:
        return model_row(self.config.model)

    @property
    def unit(self) -> str:
        """What one of its tokens is."""
        task = self.config.task
        return UNITS.get(task.tokenizer, "token") if isinstance(task, TextConfig) else "word"

    @property
    def stamp(self) -> tuple[Hashable, ...]:
        """What names these very weights to a cache; an own text's SHA-256 is a part of it, see `slowly.forget`."""
        if isinstance(self.kept, StoredRun):
            return self.kept.stamp
        return (self.config.on(TextConfig).text, self.kept.key, id(self.kept))

    @property
    def tokenizer(self) -> Tokenizer | None:
        """What cuts a text into the tokens of this run, where its task has text. Raises DamagedRun."""
        if self.kept.tokenizer:
            return _tokenizer(self.kept.tokenizer)
        if isinstance(self.config.task, TextConfig):
            raise DamagedRun(f"Run {self.kept.key} has no tokenizer: it cannot read or write. Train it again.")
        return None

    def model(self, replica: int = 0, step: int | None = None) -> nn.Module:
        """One seed's model; shared by all who ask for it, so never changed. Raises DamagedRun. It may have to be
        loaded first: not for the page itself."""
        weights = _Weights(self.stamp, replica, step, self.kept)
        # What learned from a visitor's own text is in no cache, which would outlive the visit.
        return _model(weights) if isinstance(self.kept, StoredRun) else _opened(weights)


@dataclass(frozen=True)
class _Weights:
    stamp: tuple[Hashable, ...]
    replica: int
    step: int | None
    kept: StoredRun | Record = field(compare=False)


def _opened(weights: _Weights) -> nn.Module:
    from explorer.inspection.opening import open_model

    return open_model(weights.kept, weights.step).alone(weights.replica)


_model = lru_cache(maxsize=96)(_opened)


def find(name: str) -> AtHand:
    """The run that an address names. Raises UnknownRun or DamagedRun."""
    try:
        run = store.find(name)
        name = run.folder.name if run.shipped else run.key
        return AtHand(name, run.card.name or _title(run.config.title, name, run.shipped), run)
    except UnknownRun:
        job = service.find(name, visitor().id)
        if job is None or job.record is None:
            raise UnknownRun(
                f"There is no model “{shortened(name)}” to ask: its run was deleted, or is on another machine. Choose "
                "another one, or train it here."
            ) from None
        return AtHand(job.key, f"{model_row(job.record.config.model).title} on your text", job.record)


def wanted(tasks: tuple[str, ...], models: tuple[str, ...] = ()) -> str:
    """The run that somebody who has just come here looked at on another page, if it is of these tasks and models."""
    name = run_in_focus()
    if not (name and arrived()) or page_address():
        return ""
    try:
        hand = find(name)
    except LineageError:
        return ""  # the page it came from has said so
    fits = task_row(hand.config.task).name in tasks and (not models or hand.row.name in models)
    return hand.name if fits else ""


def offered(tasks: tuple[str, ...], models: tuple[str, ...] = ()) -> dict[str, str]:
    """Every run of some tasks, and perhaps of some models only, that has weights: its title by its name. The usual
    ones come first, then this visitor's own."""
    me = visitor().id
    try:
        entries = index.search(Query(tasks=tasks, models=models))
    except StoreError:  # the page works without the list
        entries = []
    found = {name: "" for name in _FIRST}
    found |= {v.key: f"{model_row(v.config.model).title} on your text" for v in service.views(me) if _asked(v)}
    for entry in sorted(entries, key=lambda entry: entry.owner != me):
        name = entry.folder if entry.shipped else entry.key
        found[name] = entry.name or _title(entry.title, name, entry.shipped)
    return {name: title for name, title in found.items() if title}


def _asked(view: View) -> bool:
    """Whether a training on an own text has come to weights that can be asked."""
    return view.private and view.state in ("finished", "stopped")


def _title(model: str, name: str, shipped: bool) -> str:
    """What a run is called that nobody named; `model` is its model's title."""
    if not shipped:
        return f"{model} {name}"
    usual = name.startswith("text-") and name.removeprefix("text-") in MODELS
    return TITLES.get(name) or (model if usual else f"{model} {name}")


@lru_cache(maxsize=64)
def _tokenizer(text: str) -> Tokenizer:
    from explorer.tokenization.text import from_json

    return from_json(text)
