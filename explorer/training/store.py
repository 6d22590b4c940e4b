"""Runs on disk: a run is a folder. Needs no torch.

    config.json                       the whole configuration
    events.parquet                    a row for each (step, replica): batch loss, and where an epoch ended
                                      its evaluation
    snapshots/STEP.safetensors        weights, each with a leading replica axis
    card.json                         what came out: parameters, seconds, metrics, versions, tags, note

`pretrained/NAME` and `LINEAGE_HOME/runs/KEY` have this same format. A folder appears whole or not at
all: it is written under another name and then renamed.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import re
import tempfile
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import pyarrow as pa
import pyarrow.parquet as pq
import pydantic
from numpy import ndarray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from explorer.errors import DamagedRun, LineageError, UnknownRun, shortened
from explorer.training.config import RunConfig, key, parse, to_json
from explorer.training.record import Curves, Record

log = logging.getLogger(__name__)
PRETRAINED = Path(__file__).parents[2] / "pretrained"
_METRIC = "metric."
_KEY = re.compile("[a-z2-7]{12}")  # see `key` in config.py


class Metric(pydantic.BaseModel, frozen=True):
    """One figure of a finished run: its mean over the seeds, and each seed's value."""

    mean: float | None  # None where no seed has it
    values: list[float | None]


class Card(pydantic.BaseModel, frozen=True):
    """What is to be known of a run without reading its curves."""

    key: str
    parameters: int
    seconds: float
    finished: bool
    metrics: dict[str, Metric]
    created: str
    torch: str
    tags: list[str] = []
    note: str = ""


@dataclass(frozen=True)
class StoredRun:
    """An opened run folder; its weights stay on disk until somebody asks for them."""

    folder: Path
    config: RunConfig
    card: Card
    curves: Curves

    @property
    def key(self) -> str:
        return self.card.key

    @property
    def stamp(self) -> tuple[str, str]:
        """What names this very training to a cache: a run that is trained again is another one."""
        return str(self.folder), self.card.created

    def snapshot_steps(self) -> list[int]:
        """At which steps there are weights."""
        files = (self.folder / "snapshots").glob("*.safetensors")
        return sorted(int(file.stem) for file in files if file.stem.isdecimal())

    def weights(self, step: int | None = None) -> dict[str, ndarray]:
        """The weights after so many steps, or the last ones. Raises DamagedRun."""
        steps = self.snapshot_steps()
        if not steps or (step is not None and step not in steps):
            missing = "weights" if step is None else f"weights of step {step}"
            raise DamagedRun(f"Run {self.key} has no {missing}. Train it again.")
        file = self.folder / "snapshots" / _snapshot_name(steps[-1] if step is None else step)
        try:
            return dict(load_file(file))
        except (OSError, SafetensorError) as error:
            raise DamagedRun(f"The weights of run {self.key} cannot be read. Train it again.") from error


def runs_folder() -> Path:
    """Where this machine keeps its own runs (`LINEAGE_HOME/runs`)."""
    home = os.environ.get("LINEAGE_HOME")
    return (Path(home) if home else Path(platformdirs.user_data_dir("lineage", appauthor=False))) / "runs"


def summary(metrics: dict[str, ndarray]) -> dict[str, Metric]:
    """Mean and values over the replicas. JSON knows no NaN: what a sample does not hold is None."""
    found = {}
    for name, values in metrics.items():
        each = [None if np.isnan(v) else float(v) for v in values]
        known = [v for v in each if v is not None]
        found[name] = Metric(mean=sum(known) / len(known) if known else None, values=each)
    return found


def save(record: Record, folder: Path) -> StoredRun:
    """Write a run; a run that stood there before is replaced."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    card = Card(
        key=key(record.config),
        parameters=record.parameters,
        seconds=round(record.seconds, 3),
        finished=record.finished,
        metrics=summary({name: values[-1] for name, values in record.curves.metrics.items()}),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        torch=version("torch"),
    )
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".writing-") as work:
        new = Path(work) / "run"
        (new / "snapshots").mkdir(parents=True)
        _write_json(new / "config.json", to_json(record.config))
        _write_json(new / "card.json", card.model_dump())
        events = _to_table(record.curves, record.config.steps_per_epoch)
        pq.write_table(events, new / "events.parquet", compression="zstd")
        for step, weights in record.snapshots.items():
            save_file(weights, new / "snapshots" / _snapshot_name(step))
        old = Path(work) / "old"
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    _open.cache_clear()
    return StoredRun(folder, record.config, card, record.curves)


def load(folder: Path) -> StoredRun:
    """Open a run folder; what it holds is checked. Raises UnknownRun or DamagedRun."""
    if not (folder / "config.json").is_file():
        raise UnknownRun(f"There is no run in {folder}.")
    return _open(folder)


@lru_cache(maxsize=128)
def _open(folder: Path) -> StoredRun:
    damaged = f"The run in {folder.name} cannot be read"
    try:
        config = parse(json.loads((folder / "config.json").read_text()))
        card = Card.model_validate_json((folder / "card.json").read_text())
        curves = _from_table(pq.read_table(folder / "events.parquet"), config.replicas)
    except LineageError as error:
        raise DamagedRun(f"{damaged}: {error}") from error
    except (OSError, ValueError, KeyError, RecursionError, pa.ArrowException) as error:
        raise DamagedRun(f"{damaged}: its files do not fit together. Train it again.") from error
    if card.key != key(config):
        raise DamagedRun(f"{damaged}: its card names another run. Train it again.")
    return StoredRun(folder, config, card, curves)


@lru_cache
def pretrained() -> dict[str, str]:
    """The runs that ship with the program: name by key. A damaged one is left out, and logged."""
    found = {}
    for file in sorted(PRETRAINED.glob("*/config.json")):
        try:
            found[load(file.parent).key] = file.parent.name
        except DamagedRun:
            log.exception("the shipped run %s cannot be read", file.parent.name)
    return found


def find(name: str) -> StoredRun:
    """A run by its key, or the name of a shipped one. Raises UnknownRun or DamagedRun."""
    shipped = pretrained()
    if name in shipped.values():
        return load(PRETRAINED / name)
    if _KEY.fullmatch(name) and (runs_folder() / name / "config.json").is_file():
        return load(runs_folder() / name)
    if name in shipped:
        return load(PRETRAINED / shipped[name])
    raise UnknownRun(f"There is no run “{shortened(name)}” on this machine; a run's key has twelve letters and digits.")


def find_config(config: RunConfig, without: Container[tuple[str, str]] = ()) -> StoredRun | None:
    """The stored run of exactly this configuration, this machine's own before a shipped one.

    A damaged folder is as good as none; `without` holds the stamps of runs that are known to be damaged.
    """
    for folder in (runs_folder() / key(config), PRETRAINED / pretrained().get(key(config), "-")):
        try:
            run = load(folder)
        except LineageError:
            continue
        if run.config == config and run.stamp not in without:
            return run
    return None


def _snapshot_name(step: int) -> str:
    return f"{step:08d}.safetensors"


def _write_json(file: Path, data: Any) -> None:
    file.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _to_table(curves: Curves, steps_per_epoch: int) -> pa.Table:
    """Rows by step and replica; step 0 is before the first one and has no batch loss."""
    steps, replicas = curves.losses.shape[0] + 1, curves.losses.shape[1]
    evaluations = len(curves.epochs)
    row_of = np.full(steps, evaluations)  # which evaluation stands at a step; the last index means none
    row_of[curves.epochs * steps_per_epoch] = np.arange(evaluations)
    rows = np.repeat(row_of, replicas)
    replica = np.tile(np.arange(replicas), steps)
    evaluated = rows < evaluations

    def spread(values: ndarray) -> ndarray:
        """Values of evaluations laid out over all rows, with NaN in between."""
        out = np.full((len(rows), *values.shape[2:]), np.nan, dtype=np.float32)
        out[evaluated] = values[rows[evaluated], replica[evaluated]]
        return out

    columns: dict[str, pa.Array] = {
        "step": pa.array(np.repeat(np.arange(steps), replicas), pa.int32()),
        "replica": pa.array(replica, pa.int16()),
        "loss": pa.array(np.concatenate([np.full((1, replicas), np.nan, np.float32), curves.losses]).ravel()),
        "epoch": pa.array(np.concatenate([curves.epochs, [0]])[rows], pa.int32(), mask=~evaluated),
    }
    columns |= {_METRIC + name: pa.array(spread(values)) for name, values in curves.metrics.items()}
    sentences = spread(curves.sustain)
    columns |= {f"sustain.{i}": pa.array(sentences[:, i]) for i in range(sentences.shape[1])}
    return pa.table(columns)


def _from_table(table: pa.Table, replicas: int) -> Curves:
    def column(name: str, rows: ndarray | slice) -> ndarray:
        values: ndarray = table[name].to_numpy()
        return values[rows].reshape(-1, replicas)

    evaluated = table["epoch"].is_valid().to_numpy()
    return Curves(
        losses=column("loss", slice(replicas, None)),
        epochs=table["epoch"].filter(table["epoch"].is_valid()).to_numpy()[::replicas],
        metrics={
            name.removeprefix(_METRIC): column(name, evaluated)
            for name in table.column_names
            if name.startswith(_METRIC)
        },
        sustain=np.stack(
            [column(name, evaluated) for name in table.column_names if name.startswith("sustain.")], axis=-1
        ),
    )
