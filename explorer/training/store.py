"""Runs on disk: a run is a folder. Needs no torch.

    config.json                       the whole configuration
    events.parquet                    a row for each (step, replica): batch loss, tokens read, seconds, and
                                      where the model was evaluated what came of it
    snapshots/STEP.safetensors        weights, each with a leading replica axis
    optimiser/STEP.safetensors        what a training needs besides to go on from that step
    tokenizer.json                    what its text was cut with, where the task has text
    card.json                         what came out (parameters, seconds, metrics, versions) and what people
                                      say of it (name, tags, note)

`pretrained/NAME` (without optimiser/), `LINEAGE_HOME/runs/KEY` and the checkpoint of a training under way,
`LINEAGE_HOME/jobs/KEY`, have this same format. The card is written last and names the step up to which the
rest can be trusted; every file is written under another name, synced, then renamed. So a folder can be read
whatever was pulled out of the wall, and when.
"""

from __future__ import annotations

import datetime
import io
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pydantic
from numpy import ndarray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from explorer.environment import environment
from explorer.errors import DamagedRun, LineageError, UnknownRun, shortened
from explorer.training.config import KEY, RunConfig, key, parse, to_json
from explorer.training.record import Curves, Record, State, Weights
from explorer.training.tables import curves_from, read_table, to_table

log = logging.getLogger(__name__)
PRETRAINED = Path(__file__).parents[2] / "pretrained"
TORCH = version("torch")  # looked up once: two threads that look at the same time may both find nothing
FORMAT = 2


class Metric(pydantic.BaseModel, frozen=True):
    """One figure of a run: its mean over the seeds, and each seed's value."""

    mean: float | None  # None where no seed has it
    values: list[float | None]


class Card(pydantic.BaseModel, frozen=True):
    """What is to be known of a run without reading its curves."""

    format: int = FORMAT
    key: str
    parameters: int
    seconds: float
    state: State
    step: int  # up to which the run can be trusted, and gone on from
    problem: str = ""
    metrics: dict[str, Metric]
    created: str
    torch: str
    # What people say of it.
    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    owner: str = ""  # whose run it is; empty: the operator's
    imported: bool = False  # from a zip: nobody here saw it train

    @property
    def finished(self) -> bool:
        return self.state == "finished"


@dataclass(frozen=True)
class StoredRun:
    """An opened run folder; its weights stay on disk until somebody asks for them."""

    folder: Path
    config: RunConfig
    card: Card
    curves: Curves
    tokenizer: str = ""  # as JSON

    @property
    def key(self) -> str:
        return self.card.key

    @property
    def stamp(self) -> tuple[str, str]:
        """What names this very training to a cache: a run that is trained again is another one."""
        return str(self.folder), self.card.created

    @property
    def shipped(self) -> bool:
        """Whether it came with the program: nobody changes it."""
        return self.folder.parent == PRETRAINED

    def snapshot_steps(self) -> list[int]:
        """At which steps there are weights."""
        return _steps_in(self.folder / "snapshots", self.card.step)

    def checkpoint_steps(self) -> list[int]:
        """From which steps a training can go on."""
        return _steps_in(self.folder / "optimiser", self.card.step)

    def weights(self, step: int | None = None) -> dict[str, ndarray]:
        """The weights after so many steps, or the last ones. Raises DamagedRun."""
        wanted = self.card.step if step is None else step
        if wanted not in self.snapshot_steps():
            raise DamagedRun(f"Run {self.key} has no weights of step {wanted:,}. Train it again.")
        # Some shipped runs keep the steps on their way in half precision.
        found = self._tensors("snapshots", wanted)
        return {name: v.astype(np.float32) if v.dtype == np.float16 else v for name, v in found.items()}

    def checkpoint(self, step: int) -> Weights:
        """Everything to go on with after so many steps. Raises DamagedRun."""
        if step not in self.checkpoint_steps():
            raise DamagedRun(
                f"Run {self.key} keeps nothing to go on from at step {step:,}. Train it here first: then it does."
            )
        return Weights(self.weights(step), self._tensors("optimiser", step))

    def record(self) -> Record:
        """The run as a training that can be gone on with. Raises DamagedRun."""
        card = self.card
        kept = {step: self.checkpoint(step) for step in self.checkpoint_steps()}
        about = (card.state, card.problem, self.tokenizer)
        return Record(self.config, card.parameters, card.seconds, self.curves, kept, *about)

    def _tensors(self, what: str, step: int) -> dict[str, ndarray]:
        try:
            return dict(load_file(self.folder / what / _file_of(step)))
        except (OSError, SafetensorError) as error:
            raise DamagedRun(f"The weights of run {self.key} cannot be read. Train it again.") from error


def summary(metrics: Mapping[str, ndarray]) -> dict[str, Metric]:
    """Mean and values over the replicas. JSON knows no NaN: what a sample does not hold is None."""
    found = {}
    for name, values in metrics.items():
        each = [None if np.isnan(v) else float(v) for v in values]
        known = [v for v in each if v is not None]
        found[name] = Metric(mean=sum(known) / len(known) if known else None, values=each)
    return found


def write(record: Record, folder: Path, owner: str = "") -> None:
    """Bring a run folder up to a record. What was there and is still true is not written again."""
    card = Card(
        key=key(record.config),
        parameters=record.parameters,
        seconds=round(record.seconds, 3),
        state=record.state,
        step=record.curves.step,
        problem=record.problem,
        metrics=summary({name: values[-1] for name, values in record.curves.metrics.items()}),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        torch=TORCH,
        owner=owner,
    )
    for step, kept in record.snapshots.items():
        _once(folder / "snapshots" / _file_of(step), partial(save, dict(kept.weights)))
        if kept.optimiser:
            _once(folder / "optimiser" / _file_of(step), partial(save, dict(kept.optimiser)))
    _once(folder / "config.json", lambda: as_json(to_json(record.config)))
    if record.tokenizer:
        _once(folder / "tokenizer.json", record.tokenizer.encode)
    table = io.BytesIO()
    pq.write_table(to_table(record.curves), table, compression="zstd")
    put(folder / "events.parquet", table.getvalue())
    put(folder / "card.json", as_json(card.model_dump()))
    for what in ("optimiser", "snapshots"):  # in this order: without its weights nothing can be gone on from
        for file in (folder / what).glob("*.safetensors"):
            if file.stem.isdecimal() and int(file.stem) not in record.snapshots:
                file.unlink()  # a checkpoint that a later one has replaced


def settle(folder: Path, place: Path) -> StoredRun:
    """Move a whole run folder to its place. A run that stood there is replaced; what people said of it stays."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if (place / "card.json").is_file():
        try:
            before, new = _card(place), _card(folder)
            said = {name: getattr(before, name) for name in ("name", "tags", "note", "pinned", "owner")}
            put(folder / "card.json", as_json(new.model_copy(update=said).model_dump()))
        except LineageError:
            log.warning("the card of %s could not be read; what was said of it is lost", place)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".old-") as old:
        before_it = Path(old) / "run"
        if place.exists():
            place.rename(before_it)
        try:
            folder.rename(place)
        except OSError:
            if before_it.exists():
                before_it.rename(place)
            raise
    _sync(place.parent)
    return load(place)


def tidy() -> None:
    """Put right what a crash left between two renames: a run that had made way goes back if nothing took its place.

    Leftovers younger than an hour may belong to a process that is still writing.
    """
    runs, past = environment().runs, time.time() - 3_600
    for left in [*runs.glob(".old-*"), *runs.glob(".writing-*"), *environment().home.glob(".importing-*")]:
        try:
            if left.stat().st_mtime > past:
                continue
            if left.name.startswith(".old-") and (left / "run" / "card.json").is_file():
                place = runs / _card(left / "run").key
                if not place.exists():
                    (left / "run").rename(place)
            shutil.rmtree(left)
        except (OSError, LineageError):
            log.exception("%s was left by a crash and cannot be put right", left)


def save_run(record: Record, place: Path, owner: str = "") -> StoredRun:
    """Write a run whole, then put it in its place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".writing-") as work:
        write(record, Path(work) / "run", owner)
        return settle(Path(work) / "run", place)


def say(run: StoredRun, **words: Any) -> StoredRun:
    """What people say of a run, changed: name, tags, note, pinned."""
    card = Card.model_validate(run.card.model_dump() | words)
    put(run.folder / "card.json", as_json(card.model_dump()))
    return load(run.folder)


def load(folder: Path) -> StoredRun:
    """Open a run folder; what it holds is checked. Raises UnknownRun or DamagedRun."""
    try:
        card = (folder / "card.json").stat()
        changed = card.st_mtime_ns, card.st_ino  # each card is a new file, and a clock may be coarse
    except OSError:
        changed = None
    if not changed and not (folder / "config.json").is_file():
        raise UnknownRun(f"There is no run in {folder}.")
    return _open(folder, changed)


@lru_cache(maxsize=256)  # more than ship: a page that looks through all of them opens each once
def _open(folder: Path, changed: tuple[int, int] | None) -> StoredRun:
    damaged = f"The run in {folder.name} cannot be read"
    try:
        config = parse(json.loads((folder / "config.json").read_text()))
        card = _card(folder)
        curves = curves_from(read_table(folder / "events.parquet", config), config).until(card.step)
        tokenizer = folder / "tokenizer.json"
        cut = tokenizer.read_text() if tokenizer.is_file() else ""
        within = config.first_step <= card.step <= config.steps
        if not within or (curves.first, curves.step) != (config.first_step, card.step):
            raise DamagedRun(f"its curves do not reach step {card.step:,}. Train it again.")
    except LineageError as error:
        raise DamagedRun(f"{damaged}: {error}") from error
    except (OSError, ValueError, KeyError, IndexError, TypeError, RecursionError, pa.ArrowException) as error:
        raise DamagedRun(f"{damaged}: its files do not fit together. Train it again.") from error
    if card.key != key(config):
        raise DamagedRun(f"{damaged}: its card names another run. Train it again.")
    return StoredRun(folder, config, card, curves, cut)


def _card(folder: Path) -> Card:
    try:
        return Card.model_validate_json((folder / "card.json").read_text())
    except (OSError, ValueError) as error:
        raise DamagedRun(f"The card of the run in {folder.name} cannot be read. Train it again.") from error


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


def place_of(config: RunConfig) -> Path:
    """Where this machine keeps the run of a configuration."""
    return environment().runs / key(config)


def find(name: str) -> StoredRun:
    """A run by its key, or the name of a shipped one. Raises UnknownRun or DamagedRun."""
    shipped = pretrained()
    if name in shipped.values():
        return load(PRETRAINED / name)
    if KEY.fullmatch(name) and (environment().runs / name / "config.json").is_file():
        return load(environment().runs / name)
    if name in shipped:
        return load(PRETRAINED / shipped[name])
    raise UnknownRun(f"There is no run “{shortened(name)}” on this machine; a run's key has twelve letters and digits.")


def find_config(
    config: RunConfig, without: Container[tuple[str, str]] = (), unfinished: bool = False, visitor: str = ""
) -> StoredRun | None:
    """The stored run of exactly this configuration, this machine's own before a shipped one.

    A damaged folder is as good as none; `without` holds the stamps of runs that are known to be damaged. An
    imported run answers only whoever imported it: to others it is not what this machine trained.
    """
    for folder in (place_of(config), PRETRAINED / pretrained().get(key(config), "-")):
        try:
            run = load(folder)
        except LineageError:
            continue
        strange = run.card.imported and run.card.owner != visitor
        if run.config == config and run.stamp not in without and not strange and (run.card.finished or unfinished):
            return run
    return None


def folders() -> Iterable[Path]:
    """Every run folder of this machine and of the program, damaged ones too."""
    for place in (environment().runs, PRETRAINED):
        yield from sorted(file.parent for file in place.glob("*/config.json"))


def size(folder: Path) -> int:
    """Bytes that a run takes on disk."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def remove(folder: Path) -> None:
    """Take a folder away, whole: under its name nothing half is ever seen."""
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".old-") as old:
        folder.rename(Path(old) / "run")


def _file_of(step: int) -> str:
    return f"{step:08d}.safetensors"


def _steps_in(folder: Path, last: int) -> list[int]:
    steps = (int(file.stem) for file in folder.glob("*.safetensors") if file.stem.isdecimal())
    return sorted(step for step in steps if step <= last)


def as_json(data: Any) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


def _once(file: Path, make: Callable[[], bytes]) -> None:
    """Write what never changes, if it is not there yet."""
    if not file.is_file():
        put(file, make())


def put(file: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    try:
        with new.open("wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        new.replace(file)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    _sync(file.parent)


def _sync(folder: Path) -> None:
    """Let a folder's names reach the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
