"""The format of a run folder, and functions that read and write it. Needs no torch.

    config.json                       the whole configuration
    events.parquet                    a row for each (step, replica): batch loss, tokens read, seconds, and the
                                      results of evaluations
    snapshots/STEP.safetensors        weights, each with a leading replica axis
    weights.parquet                   in place of snapshots/: the weights of all stored steps, compressed
    weights.json                      in place of both: another run beside this one that has the same weights
    optimiser/STEP.safetensors        the state of the optimizer, to resume from that step
    tokenizer.json                    the tokenizer, if the task has text
    card.json                         results (parameters, seconds, metrics, versions) and what users entered (name,
                                      tags, note)

`pretrained/NAME` (compressed, without optimiser/), `LINEAGE_HOME/runs/KEY` and the checkpoint of a running training,
`LINEAGE_HOME/jobs/KEY`, have this format; `storage.py` says where the stored runs lie with LINEAGE_RUNS. The card is
written last and names the step up to which the other files are valid. Every file is written under a temporary name,
synced, then renamed, so a folder is readable after a crash at any moment.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pydantic
from numpy import ndarray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from explorer.atomic_files import describe_disk_error as describe_disk_error
from explorer.atomic_files import is_disk_full as is_disk_full
from explorer.atomic_files import json_bytes as json_bytes
from explorer.atomic_files import write_file as write_file
from explorer.catalogue import task_row
from explorer.environment import environment
from explorer.errors import DamagedRun, InvalidSetting, LineageError, RunError, UnknownRun, shorten
from explorer.program_files import PRETRAINED as PRETRAINED
from explorer.run_store import packed_weights, storage
from explorer.run_store.curves_table import from_table, read_table, table_bytes, to_table
from explorer.run_store.storage import RunFolder as RunFolder
from explorer.run_store.storage import folder_size as folder_size
from explorer.run_store.storage import remove_folder as remove_folder
from explorer.run_store.storage import replace_folder
from explorer.tasks.text import corpora
from explorer.training.config import KEY, RunConfig, changed_settings, key, parse_config, to_json
from explorer.training.record import Curves, Record, RunState, Snapshot

log = logging.getLogger(__name__)
TORCH = version("torch")  # read once: concurrent calls from two threads can fail
FORMAT = 2
_SAME_WEIGHTS = "weights.json"
EARLIER = "earlier"  # folder of the runs that were included before: a key in an address opens them, without weights


class Metric(pydantic.BaseModel, frozen=True):
    """One metric of a run: the mean over the seeds, and the value of each seed."""

    mean: float | None  # None if no seed has a value
    values: list[float | None]
    baseline: float | None = pydantic.Field(None, exclude_if=lambda value: value is None)  # see `Objective.baselines`


class _SameWeights(pydantic.BaseModel, frozen=True):
    """The run beside this one that has the same weights: the content of weights.json."""

    run: str  # the name of its folder
    sha256: str  # of its weights.parquet: if that has been written again, the weights may differ


class Card(pydantic.BaseModel, frozen=True):
    """The summary of a run, which is read without its curves."""

    format: int = FORMAT
    key: str
    parameters: int
    seconds: float
    state: RunState
    step: int  # the last valid step
    problem: str = ""
    metrics: dict[str, Metric]
    created: str
    torch: str
    # Entered by users:
    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    pinned: bool = False
    owner: str = ""  # empty: the operator
    imported: bool = False  # from a zip file: it was not trained on this machine
    machines: tuple[str, ...] = ()  # kinds of machine on which it was trained, in order; older runs do not name any

    @property
    def finished(self) -> bool:
        return self.state == "finished"

    @property
    def baselines(self) -> dict[str, float]:
        """The baseline of each metric that has one."""
        return {name: each.baseline for name, each in self.metrics.items() if each.baseline is not None}


@dataclass(frozen=True)
class StoredRun:
    """A loaded run folder; weights are read on request."""

    folder: RunFolder
    config: RunConfig
    card: Card
    curves: Curves
    tokenizer: str = ""  # as JSON

    @property
    def key(self) -> str:
        return self.card.key

    @property
    def cache_key(self) -> tuple[str, str]:
        """A key for caches: folder and time of creation, so a retrained run has another one."""
        return str(self.folder), self.card.created

    @property
    def shipped(self) -> bool:
        """Whether the run is included with the program, and therefore read-only."""
        return isinstance(self.folder, Path) and self.folder.parent in (PRETRAINED, PRETRAINED / EARLIER)

    def snapshot_steps(self) -> list[int]:
        """Return the steps whose weights are stored. Raises DamagedRun, and StoreError as `load` does."""
        if packed := self._packed_weights():
            return [step for step in packed_weights.steps(packed) if step <= self.card.step]
        return _steps_in(self.folder.glob("snapshots/*.safetensors"), self.card.step)

    def checkpoint_steps(self) -> list[int]:
        """Return the steps from which training can resume. Raises StoreError as `load` does."""
        return _steps_in(self.folder.glob("optimiser/*.safetensors"), self.card.step)

    def weights(self, step: int | None = None) -> dict[str, ndarray]:
        """Return the weights after a step (default: the last), each (replicas, ...). Raises DamagedRun."""
        chosen_step = self.card.step if step is None else step
        if chosen_step not in self.snapshot_steps():
            raise DamagedRun(f"Run {self.key} has no weights of step {chosen_step:,}. Train it again.")
        if not (packed := self._packed_weights()):
            return self._tensors("snapshots", chosen_step)
        try:
            return packed_weights.read(packed, chosen_step)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise self._unreadable_weights() from error

    def checkpoint(self, step: int) -> Snapshot:
        """Return weights and optimizer state to resume from a step. Raises DamagedRun."""
        if step not in self.checkpoint_steps():
            raise DamagedRun(
                f"Run {self.key} stores no optimizer state for step {step:,}. Train it on this machine first."
            )
        return Snapshot(self.weights(step), self._tensors("optimiser", step))

    def record(self) -> Record:
        """Return the run as a record from which training can resume. Raises DamagedRun."""
        card = self.card
        snapshots = {step: self.checkpoint(step) for step in self.checkpoint_steps()}
        about = (card.state, card.problem, self.tokenizer, card.machines, card.baselines)
        return Record(self.config, card.parameters, card.seconds, self.curves, snapshots, *about)

    def _tensors(self, what: str, step: int) -> dict[str, ndarray]:
        try:
            return dict(load_file(self.folder / f"{what}/{_step_file(step)}"))
        except (OSError, SafetensorError) as error:
            raise self._unreadable_weights() from error

    def _packed_weights(self) -> Path | None:
        """Return the file with the compressed weights, None if they are not compressed. Raises DamagedRun."""
        own, elsewhere = self.folder / packed_weights.FILE, self.folder / _SAME_WEIGHTS
        if own.is_file() or not elsewhere.is_file():
            return own if own.is_file() else None
        try:
            same = _SameWeights.model_validate_json(elsewhere.read_text("utf-8"))
            file = own.parent.parent / Path(same.run).name / packed_weights.FILE
            if _sha256(file) != same.sha256:
                raise ValueError(f"{file} has other weights than before")
        except (OSError, ValueError) as error:
            raise self._unreadable_weights() from error
        return file

    def _unreadable_weights(self) -> DamagedRun:
        return DamagedRun(f"The weights of run {self.key} cannot be read. Train it again.")


def summarize_metrics(metrics: Mapping[str, ndarray], baselines: Mapping[str, float] = {}) -> dict[str, Metric]:
    """Return mean and values over the replicas, with 32 bits as on disk, and None instead of NaN, as JSON has it."""
    found = {}
    for name, values in metrics.items():
        each = [None if np.isnan(v) else float(v) for v in values.astype(np.float32)]
        known = [v for v in each if v is not None]
        mean = sum(known) / len(known) if known else None
        found[name] = Metric(mean=mean, values=each, baseline=baselines.get(name))
    return found


def write_run(record: Record, folder: Path, owner: str = "") -> None:
    """Write a record into a run folder; valid files and what users have entered on its card stay."""
    card = Card(
        key=key(record.config),
        parameters=record.parameters,
        seconds=round(record.seconds, 3),
        state=record.state,
        step=record.curves.step,
        problem=record.problem,
        metrics=summarize_metrics(
            {name: values[-1] for name, values in record.curves.metrics.items()}, record.baselines
        ),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        torch=TORCH,
        machines=record.machines,
        owner=owner,
        name=_name_of(record.config),
    )
    with contextlib.suppress(LineageError):  # there is no card, or a damaged one
        card = _keep_entered(card, _read_card(folder)).model_copy(update={"owner": owner} if owner else {})
    for step, kept in record.snapshots.items():
        _write_once(folder / "snapshots" / _step_file(step), partial(save, dict(kept.weights)))
        if kept.optimiser:
            _write_once(folder / "optimiser" / _step_file(step), partial(save, dict(kept.optimiser)))
    _write_once(folder / "config.json", lambda: json_bytes(to_json(record.config)))
    if record.tokenizer:
        _write_once(folder / "tokenizer.json", record.tokenizer.encode)
    write_file(folder / "events.parquet", table_bytes(to_table(record.curves)))
    write_file(folder / "card.json", json_bytes(card.model_dump()))
    for what in ("optimiser", "snapshots"):  # in this order: optimizer state is useless without its weights
        for file in (folder / what).glob("*.safetensors"):
            if file.stem.isdecimal() and int(file.stem) not in record.snapshots:
                file.unlink()  # a checkpoint replaced by a later one


def _name_of(config: RunConfig) -> str:
    """Return a name for a run on a file of one's own, which its configuration does not name; otherwise none."""
    if (file := corpora.file_names.get(config.own_text)) is None:
        return ""
    row, unnamed = task_row(config.task), {"corpus", "text", "replicas", "classes", "train_size"}
    changed = [f"{name} {value}" for name, value in changed_settings(config).items() if name not in unnamed]
    return shorten(", ".join([f"{row.title}: {config.title}", shorten(file, 40), *changed]), 60)


def pack_run(run: StoredRun, snapshots: Mapping[int, Mapping[str, ndarray]]) -> StoredRun:
    """Write a run on this machine again as the included runs are stored, with these weights by step, and return it.

    The weights are in one compressed file, or in that of another run beside it if they are equal. States of the
    optimizer are deleted.
    """
    folder, content = run.folder, packed_weights.write(snapshots)
    assert isinstance(folder, Path)
    own, elsewhere = folder / packed_weights.FILE, folder / _SAME_WEIGHTS
    checksum = hashlib.sha256(content).hexdigest()
    others = (file for file in sorted(folder.parent.glob(f"*/{packed_weights.FILE}")) if file != own)
    same = (file for file in others if file.stat().st_size == len(content) and _sha256(file) == checksum)
    if file := next(same, None):
        write_file(elsewhere, json_bytes(_SameWeights(run=file.parent.name, sha256=checksum).model_dump()))
        own.unlink(missing_ok=True)
    else:
        write_file(own, content)
        elsewhere.unlink(missing_ok=True)
    write_file(folder / "events.parquet", table_bytes(to_table(run.curves), packed_weights.LEVEL))
    for what in ("optimiser", "snapshots"):
        shutil.rmtree(folder / what, ignore_errors=True)
    return load(folder)


def install_run(folder: Path, place: Path) -> StoredRun:
    """Move a complete run folder to its place, where it replaces an older run but keeps what users entered."""
    place.parent.mkdir(parents=True, exist_ok=True)
    keep_entered_on(folder, place)
    replace_folder(folder, place)
    return load(place)


def keep_entered_on(folder: Path, before: RunFolder) -> None:
    """Write what users have entered on the card of a run on that of a folder which replaces it."""
    if (before / "card.json").is_file():
        try:
            card = _keep_entered(_read_card(folder), _read_card(before))
            write_file(folder / "card.json", json_bytes(card.model_dump()))
        except RunError:
            log.warning("the card of %s could not be read; its name, tags and note are lost", before)


def _keep_entered(new: Card, before: Card) -> Card:
    return new.model_copy(update={name: getattr(before, name) for name in ("name", "tags", "note", "pinned", "owner")})


def save_run(record: Record, place: Path, owner: str = "") -> StoredRun:
    """Write a complete run to a temporary folder, then move it to its place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".writing-") as work:
        write_run(record, Path(work) / "run", owner)
        return install_run(Path(work) / "run", place)


def update_card(run: StoredRun, **words: Any) -> StoredRun:
    """Change what users entered on the card of a run in a folder of this machine and return the run."""
    write_file(run.folder / "card.json", changed_card(run, **words))
    return load(run.folder)


def changed_card(run: StoredRun, **words: Any) -> bytes:
    """Return the content of the card of a run with other words of a user (name, tags, note, pinned)."""
    return json_bytes(Card.model_validate(run.card.model_dump() | words).model_dump())


def load(folder: RunFolder) -> StoredRun:
    """Load a run folder and check its content. Raises UnknownRun or DamagedRun; with object storage also StoreError."""
    try:
        card = (folder / "card.json").stat()
        changed = card.st_mtime_ns, card.st_ino  # every card is a new file; the clock alone may be too coarse
    except OSError:
        changed = None
    if not changed and not (folder / "config.json").is_file():
        raise UnknownRun(f"There is no run in {folder}.")
    return _load(folder, changed)


@lru_cache(maxsize=512)  # more than the shipped runs, which some pages list in full
def _load(folder: RunFolder, changed: tuple[int, int] | None) -> StoredRun:
    config, card = read_config_and_card(folder)
    with _reporting_damage(folder):
        curves = from_table(read_table(folder / "events.parquet", config), config).up_to(card.step)
        tokenizer = folder / "tokenizer.json"
        cut = tokenizer.read_text("utf-8") if tokenizer.is_file() else ""
        within = config.first_step <= card.step <= config.steps
        if not within or (curves.first, curves.step) != (config.first_step, card.step):
            raise DamagedRun(f"its curves do not reach step {card.step:,}. Train it again.")
    return StoredRun(folder, config, card, curves, cut)


def read_config_and_card(folder: RunFolder) -> tuple[RunConfig, Card]:
    """Read the configuration and the card of a run, without its curves. Raises DamagedRun."""
    with _reporting_damage(folder):
        config = parse_config(json.loads((folder / "config.json").read_text("utf-8")))
        card = _read_card(folder)
        if card.key != key(config):
            raise DamagedRun("its card has the key of another run. Train it again.")
    return config, card


@contextlib.contextmanager
def _reporting_damage(folder: RunFolder) -> Iterator[None]:
    """Raise DamagedRun for whatever a damaged file of this folder causes."""
    damaged = f"The run in {folder.name} cannot be read"
    try:
        yield
    except (InvalidSetting, RunError) as error:
        raise DamagedRun(f"{damaged}: {error}") from error
    except (OSError, ValueError, LookupError, TypeError, RecursionError, pa.ArrowException) as error:
        raise DamagedRun(f"{damaged}: its files do not fit together. Train it again.") from error


def _read_card(folder: RunFolder) -> Card:
    try:
        return Card.model_validate_json((folder / "card.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DamagedRun(f"The card of the run in {folder.name} cannot be read. Train it again.") from error


@lru_cache
def pretrained_folders() -> dict[str, str]:
    """Return the names of the shipped runs by key. Damaged ones are logged and left out."""
    found = {}
    for file in sorted(PRETRAINED.glob("*/config.json")):
        try:
            found[read_config_and_card(file.parent)[1].key] = file.parent.name
        except DamagedRun:
            log.exception("the shipped run %s cannot be read", file.parent.name)
    return found


def run_folder(config: RunConfig) -> Path:
    """Return the folder in which this machine stores the run of a configuration; see `environment().runs`."""
    return environment().runs / key(config)


def find(name: str) -> StoredRun:
    """Return the run with this key, or the shipped run with this name. Raises as `load` does."""
    shipped = pretrained_folders()
    if name in shipped.values():
        return load(PRETRAINED / name)
    if KEY.fullmatch(name) and is_stored(name):
        return load(storage.current().folder(name))
    if name in shipped:
        return load(PRETRAINED / shipped[name])
    if KEY.fullmatch(name) and (earlier := PRETRAINED / EARLIER / name).is_dir():
        return load(earlier)
    raise UnknownRun(f"There is no run “{shorten(name)}” on this machine; a run's key has twelve letters and digits.")


def is_stored(name: str) -> bool:
    """Return whether there is a run with this key that is not an included one."""
    return (storage.current().folder(name) / "config.json").is_file()


def find_run_or_folder(name: str) -> StoredRun:
    """Return the run with this key, this shipped name or this folder. Raises UnknownRun or DamagedRun."""
    try:
        return find(name)
    except UnknownRun:
        if not os.path.isdir(name):  # which is false for every name that no system call accepts
            raise
    return load(Path(name))


damaged: set[tuple[str, str]] = set()  # cache keys of runs whose weights could not be loaded in this process


def find_by_config(
    config: RunConfig, excluded: Container[tuple[str, str]] = (), unfinished: bool = False, visitor: str = ""
) -> StoredRun | None:
    """Return the stored run of exactly this configuration, this machine's own before a shipped one, or None.

    excluded: cache keys of runs to ignore, because their weights are known to be damaged
    unfinished: accept a run that was stopped or diverged
    visitor: imported runs are found only by the visitor who imported them, since others cannot trust them
    """
    for folder in (storage.current().folder(key(config)), PRETRAINED / pretrained_folders().get(key(config), "-")):
        try:
            run = load(folder)
        except LineageError:
            continue
        foreign = run.card.imported and run.card.owner != visitor
        if run.config == config and run.cache_key not in excluded and not foreign and (run.card.finished or unfinished):
            return run
    return None


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _step_file(step: int) -> str:
    return f"{step:08d}.safetensors"


def _steps_in(files: Iterable[PurePath], last: int) -> list[int]:
    steps = (int(file.stem) for file in files if file.stem.isdecimal())
    return sorted(step for step in steps if step <= last)


def _write_once(file: Path, make: Callable[[], bytes]) -> None:
    if not file.is_file():
        write_file(file, make())
