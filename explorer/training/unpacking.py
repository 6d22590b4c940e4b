"""A run from a zip file that anybody may have made; `packing.py` makes the honest ones.

`unzipping.py` reads the files. Here everything in them is checked against what the configuration allows, and the
store's own writer writes it anew. Nothing is unpickled; safetensors is the only format of weights that is read.
"""

from __future__ import annotations

import datetime
import io
import json
import math
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
from numpy import ndarray
from safetensors import SafetensorError

from explorer.environment import environment
from explorer.errors import LineageError, RunError, StoreError, shortened
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text import TextConfig
from explorer.training import library, limits, store
from explorer.training.config import RunConfig, key, parse
from explorer.training.lesson import Layout
from explorer.training.parquet_pages import unpacked_bytes
from explorer.training.record import Curves, Record, Weights
from explorer.training.store import Card, StoredRun
from explorer.training.tables import curves_from
from explorer.training.unzipping import MOST_HEADER, NOTHING, STEP_FILE, Readable, files_in, refused, too_large

if TYPE_CHECKING:
    from torch import Tensor

Shapes: TypeAlias = dict[str, tuple[tuple[int, ...], str]]  # of tensors, with their types, by name


def take_in(content: bytes | Path | Readable, owner: str) -> StoredRun:
    """Keep the run of a zip file. What was trained here is never replaced by what somebody brings.

    Raises DamagedRun in one sentence; StoreError where there is no room, or the run is here already.
    """
    home = environment().home  # on the same disk as the runs, so that one rename puts it in its place
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=".importing-") as work:
            folder = unpack(content, Path(work) / "run", owner)
            run = store.load(folder).key
            if run in store.pretrained() or (environment().runs / run).exists():
                raise StoreError(f"{NOTHING}run {run} is here already.")
            return library.keep(folder)
    except OSError as error:
        raise StoreError(f"{NOTHING}the disk refuses ({error.strerror}).") from error


def unpack(content: bytes | Path | Readable, place: Path, owner: str) -> Path:
    """Check a zip file and write its run to `place`, a folder that is not there yet.

    Whatever is wrong, nothing is left there. Raises DamagedRun in one sentence; StoreError where the disk is full.
    """
    if place.exists():
        raise FileExistsError(place)
    record, said = _checked(files_in(content))
    try:
        store.write(record, place, owner)
        here: dict[str, Any] = {"owner": owner, "pinned": False, "imported": True}
        run = store.say(store.load(place), **said.model_dump() | here)
        _compare(run, record, said.model_copy(update=here))
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError):
            raise StoreError(f"{NOTHING}the run cannot be written ({error.strerror}).") from error
        if isinstance(error, RunError) and not str(error).startswith(NOTHING):
            raise refused(error) from error
        raise
    return place


def _checked(files: Mapping[str, bytes]) -> tuple[Record, Card]:
    """The run that the files hold, and what its card says. Raises DamagedRun."""
    config = _config(files["config.json"])
    card = _card(files["card.json"], config)
    tokenizer = _tokenizer(files)
    fits = _fitting(config, tokenizer)
    if card.parameters != fits.parameters:
        raise refused(f"its card counts {card.parameters:,} parameters; its model has {fits.parameters:,}.")
    curves = _curves(files["events.parquet"], config, card, fits)
    snapshots = {
        step: Weights(
            _tensors(files, "snapshots", step, fits.weights, card.state == "diverged", fits.exactly),
            _tensors(files, "optimiser", step, fits.optimiser, card.state == "diverged", besides=fits.besides)
            if _file_of("optimiser", step) in files
            else None,
        )
        for step in _steps(files, config, card)
    }
    about = (card.state, card.problem, tokenizer)
    return Record(config, card.parameters, card.seconds, curves, snapshots, *about), card


def _tokenizer(files: Mapping[str, bytes]) -> str:
    """What a run cut its text with, as JSON; empty where there is none. Raises DamagedRun."""
    if "tokenizer.json" not in files:
        return ""
    from explorer.tokenization.text import from_json

    try:
        return from_json(files["tokenizer.json"].decode()).to_json()
    except (LineageError, UnicodeDecodeError) as error:
        raise refused("its tokenizer.json cannot be read.") from error


def _config(content: bytes) -> RunConfig:
    try:
        return limits.check(parse(json.loads(content)))
    except LineageError as error:
        raise refused(error) from error
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise refused("its config.json cannot be read.") from error


def _card(content: bytes, config: RunConfig) -> Card:
    """The card, if it can be that of a run of this configuration."""
    try:
        card = Card.model_validate_json(content)
    except ValueError as error:
        raise refused("its card.json cannot be read.") from error
    if card.format != store.FORMAT:
        raise refused(f"it has format {shortened(card.format)}; this program reads format {store.FORMAT}.")
    if card.key != key(config):
        raise refused(f"its card is that of run {shortened(card.key)}, its configuration that of run {key(config)}.")
    early = config.stop_at or config.patience  # it may be finished before its last step
    if not config.first_step <= card.step <= config.steps or (
        card.finished and card.step != config.steps and not early
    ):
        raise refused(f"its card says {card.state} at step {shortened(card.step)} of {config.steps:,}.")
    numbers = [card.seconds, *(v for m in card.metrics.values() for v in (m.mean, *m.values) if v is not None)]
    if not all(map(math.isfinite, numbers)) or card.seconds < 0:
        raise refused("its card holds numbers that are not possible.")
    try:
        if datetime.datetime.fromisoformat(card.created).tzinfo is None or len(card.created) > 40:
            raise ValueError(card.created)
    except ValueError as error:
        raise refused(f"its card names no date of its making, but {shortened(repr(card.created))}.") from error
    if not re.fullmatch(r"[\w.+-]{1,40}", card.torch, re.ASCII):
        raise refused(f"its card names no version of torch, but {shortened(repr(card.torch))}.")
    _check_words(card)
    return card.model_copy(update={"state": "stopped"}) if card.state == "running" else card


def _check_words(card: Card) -> None:
    """What people say of a run stays within what they may say here."""
    most = environment().most_text
    if len(card.tags) > library.MOST_TAGS:
        raise refused(f"its card has {len(card.tags)} tags; {library.MOST_TAGS} are possible.")
    for what, text, length, lines in (
        ("name", card.name, library.MOST_NAME, False),
        *(("tag", tag, library.MOST_TAG, False) for tag in card.tags),
        ("note", card.note, most, True),
        ("problem", card.problem, most, True),
    ):
        if len(text) > length:
            raise refused(f"its card has a {what} of {len(text):,} characters; {length:,} are possible.")
        plain = re.sub(r"[\n\r\t\u2028\u2029]", "", text) if lines else text
        if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in plain):
            raise refused(f"the {what} on its card holds characters that are no text.")


@dataclass(frozen=True)
class _Fitting:
    """What a configuration asks of the files beside it."""

    parameters: int
    weights: Shapes
    optimiser: Shapes
    layout: Layout
    besides: tuple[Shapes, ...] = ()  # what may stand in the optimiser's file too, each as a whole or not at all
    exactly: Mapping[str, ndarray] | None = None  # the weights themselves, where they can be known


def _fitting(config: RunConfig, tokenizer: str) -> _Fitting:
    from explorer.tokenization.text import from_json  # only here: packing needs no torch
    from explorer.training.building import build
    from explorer.training.ending import Ending
    from explorer.training.lesson import lesson
    from explorer.training.optimisers import Stepper

    if bool(tokenizer) != isinstance(config.task, TextConfig):
        raise refused("it has a tokenizer, but its task has none." if tokenizer else "the zip holds no tokenizer.json.")
    if isinstance(config.model, NgramTextConfig):
        return _counted(config, tokenizer)
    vocabulary = len(from_json(tokenizer).tokens) if tokenizer else None
    model = build(config, vocabulary)  # a layer draws its own seed, so torch's meta device cannot build it
    parameters = sum(p.numel() for p in model.parameters()) // config.replicas
    own = (1,) if config.replicas == 1 else ()  # one model has no replica axis; its file has
    teach = lesson(config.task)
    return _Fitting(
        parameters,
        _shapes(model.state_dict(), own),
        _shapes(Stepper(model, config.optimiser, config.replicas, config.average).state()),
        teach.layout(config),
        tuple(map(_shapes, (teach.carried(config, model), *Ending(config).possible()))),
    )


def _shapes(tensors: Mapping[str, Tensor], leading: tuple[int, ...] = ()) -> Shapes:
    return {name: ((*leading, *v.shape), str(v.dtype).removeprefix("torch.")) for name, v in tensors.items()}


def _counted(config: RunConfig, tokenizer: str) -> _Fitting:
    """Of a model that is counted: its tables follow from its text, so they are counted again and compared."""
    from explorer.training.lesson import lesson
    from explorer.training.recorder import record_run

    try:
        again = record_run(config)
    except LineageError as error:
        raise refused(f"an n-gram is taken in only where its text is, to count it again. {error}") from error
    if again.tokenizer != tokenizer:
        raise refused("its tokenizer is not the one that its text gives.")
    tables = again.snapshots[1].weights
    fits = {name: (value.shape, str(value.dtype)) for name, value in tables.items()}
    return _Fitting(again.parameters, fits, {}, lesson(config.task).layout(config), exactly=tables)


def _file_of(what: str, step: int) -> str:
    return f"{what}/{step:08d}.safetensors"


def _steps(files: Mapping[str, bytes], config: RunConfig, card: Card) -> list[int]:
    """At which steps there are weights."""
    found: dict[str, set[int]] = {"snapshots": set(), "optimiser": set()}
    for name in files:
        if match := STEP_FILE.fullmatch(name):
            found[match[1]].add(int(match[2]))
    for step in sorted(found["snapshots"]):
        if not config.first_step <= step <= card.step:
            raise refused(f"it holds weights of step {step:,}; it went from {config.first_step:,} to {card.step:,}.")
    if card.step not in found["snapshots"]:
        raise refused(f"the zip holds no {_file_of('snapshots', card.step)}, the weights at the run's end.")
    for step in sorted(found["optimiser"] - found["snapshots"]):
        raise refused(f"the zip holds {_file_of('optimiser', step)}, but no weights of this step.")
    return sorted(found["snapshots"])


def _tensors(
    files: Mapping[str, bytes],
    what: str,
    step: int,
    fits: Shapes,
    diverged: bool,
    exactly: Mapping[str, ndarray] | None = None,
    besides: tuple[Shapes, ...] = (),
) -> dict[str, ndarray]:
    """One file of weights or averages, if it holds exactly what fits."""
    name = _file_of(what, step)
    content = files[name]
    if int.from_bytes(content[:8], "little") > min(len(content), MOST_HEADER):  # the header of safetensors
        raise refused(f"“{name}” is no safetensors file.")
    try:
        tensors: dict[str, ndarray] = safetensors.numpy.load(content)
    except (SafetensorError, ValueError, TypeError, LookupError) as error:
        raise refused(f"“{name}” is no safetensors file.") from error
    for more in besides:
        if not tensors.keys().isdisjoint(more):
            fits = fits | more
    if {n: (value.shape, str(value.dtype)) for n, value in tensors.items()} != fits:
        raise refused(f"“{name}” does not hold the numbers of this run's model: {_difference(tensors, fits)}.")
    if not diverged and not all(np.isfinite(value).all() for value in tensors.values()):
        raise refused(f"“{name}” holds numbers that are not finite.")
    if exactly and not all(np.array_equal(tensors[n], value) for n, value in exactly.items()):
        raise refused(f"“{name}” does not hold the counts of its text.")
    return tensors


def _difference(tensors: Mapping[str, ndarray], fits: Shapes) -> str:
    """The first thing that does not fit."""
    for name in fits:
        if name not in tensors:
            return f"{name} is missing"
    for name, value in tensors.items():
        if name not in fits:
            return f"{shortened(name)} is unknown"
        if (value.shape, str(value.dtype)) != fits[name]:
            return f"{name} is {value.dtype} {list(value.shape)}, not {fits[name][1]} {list(fits[name][0])}"
    return ""


def _curves(content: bytes, config: RunConfig, card: Card, fits: _Fitting) -> Curves:
    """The events up to the card's step, every column checked. Raises DamagedRun."""
    if set(card.metrics) != set(fits.layout.metrics) or any(
        len(m.values) != config.replicas for m in card.metrics.values()
    ):
        raise refused("the metrics on its card are not those of this task and these seeds.")
    try:
        table = _table(content, config, fits)
    except (OSError, ValueError, LookupError, TypeError, pa.ArrowException) as error:
        raise refused("its events.parquet cannot be read.") from error
    columns = {name: table[name].to_numpy() for name in table.column_names}
    moments = len(table) // config.replicas
    if moments <= card.step - config.first_step:
        raise refused(f"its events do not reach step {card.step:,}.")

    def per_moment(name: str) -> ndarray:
        """What is the same for all replicas."""
        values: ndarray = columns[name].reshape(moments, config.replicas)
        if not (values == values[:, :1]).all():
            raise refused(f"the {name} of its events differ between the seeds of one step.")
        return values[:, 0]

    steps = config.first_step + np.arange(moments)
    if not np.array_equal(per_moment("step"), steps) or not np.array_equal(
        columns["replica"], np.tile(np.arange(config.replicas), moments)
    ):
        raise refused("the steps of its events are not one after the other.")
    for name in ("tokens", "seconds"):
        values = per_moment(name)
        if not np.isfinite(values).all() or (values < 0).any() or (np.diff(values) < 0).any():
            raise refused(f"the {name} of its events are no numbers that grow from zero on.")
    if not per_moment("evaluated")[: card.step - config.first_step + 1].any():
        raise refused("its events hold no evaluation.")
    curves = curves_from(table, config).until(card.step)
    if card.state != "diverged" and not np.isfinite(curves.losses).all():
        raise refused("its events hold losses that are not finite.")
    if card.state != "diverged" and any(np.isinf(values).any() for values in curves.metrics.values()):
        raise refused("its events hold metrics that are not finite.")
    unasked = fits.layout.at_end  # then there is nothing before the end
    most = fits.layout.highest
    if not all(((v >= 0) & (v <= most) | unasked & np.isnan(v)).all() for v in curves.answers.values()):
        raise refused(f"its events hold {'probabilities' if most == 1 else 'answers'} that are none.")
    _check_summary(card, curves)
    return curves


def _table(content: bytes, config: RunConfig, fits: _Fitting) -> pa.Table:
    """The events as a table, read only if it is no larger than the configuration allows."""
    layout = fits.layout
    parts = [f"{name}.{i}" for name, count in layout.answers.items() for i in range(count)]
    types = {"step": pa.int32(), "replica": pa.int16(), "loss": pa.float32(), "tokens": pa.float64()}
    types |= {"seconds": pa.float64(), "evaluated": pa.bool_()}
    numbers = [*(f"signal.{name}" for name in layout.signals), *(f"metric.{name}" for name in layout.metrics), *parts]
    types |= {name: pa.float32() for name in numbers}
    if layout.samples:
        types["sample"] = pa.string()
    with pq.ParquetFile(io.BytesIO(content)) as parquet:
        schema, rows = parquet.schema_arrow, parquet.metadata.num_rows
        groups = [parquet.metadata.row_group(i) for i in range(parquet.num_row_groups)]
        names = [n for n in schema.names if n in parts]
        if len(schema) != len(types) or dict(zip(schema.names, schema.types, strict=True)) != types or names != parts:
            raise refused("the columns of its events are not those of this task.")
        if rows != sum(group.num_rows for group in groups) or rows % config.replicas or rows < 0:
            raise refused("its events do not have one row for each step and seed.")
        if rows > (config.steps - config.first_step + 1) * config.replicas:
            raise refused(f"it has {rows:,} rows of events, more than its configuration allows.")
        columns = [group.column(i) for group in groups for i in range(group.num_columns)]
        if sum(unpacked_bytes(content, column) for column in columns) > environment().most_upload:
            raise too_large()
        table = parquet.read()
    if len(table) != rows or any(column.null_count for column in table.columns):
        raise refused("its events do not have one row for each step and seed.")
    return table


def _check_summary(card: Card, curves: Curves) -> None:
    """The card says what the last evaluation says; curves are kept in single precision."""
    for name, metric in card.metrics.items():
        with np.errstate(over="ignore"):
            values = np.array([math.nan if v is None else v for v in metric.values]).astype(np.float32)
        known = [v for v in metric.values if v is not None]
        mean = sum(known) / len(known) if known else None
        if not np.array_equal(values, curves.last(name), equal_nan=True) or (
            (metric.mean is None) != (mean is None)
            or (metric.mean is not None and mean is not None and not math.isclose(metric.mean, mean, abs_tol=1e-9))
        ):
            raise refused(f"the {name} on its card is not what its events say.")


def _compare(run: StoredRun, record: Record, card: Card) -> None:
    """What was written is what was checked."""
    one, other = run.curves, record.curves
    pairs: list[tuple[Any, Any]] = [(getattr(one, n), getattr(other, n)) for n in _ARRAYS]
    pairs += [(one.metrics[name], values) for name, values in other.metrics.items()]
    pairs += [(one.answers[name], values) for name, values in other.answers.items()]
    pairs += [(one.signals[name], values) for name, values in other.signals.items()]
    for step, kept in record.snapshots.items():
        weights = run.weights(step)
        pairs += [(weights[name], value) for name, value in kept.weights.items()]
        if kept.optimiser:
            averages = run.checkpoint(step).optimiser or {}
            pairs += [(averages[name], value) for name, value in kept.optimiser.items()]
    same = (
        run.config == record.config
        and run.tokenizer == record.tokenizer
        and one.samples == other.samples
        and run.card == card
        and run.snapshot_steps() == list(record.snapshots)
    )
    if not same or not all(np.array_equal(a, b, equal_nan=True) for a, b in pairs):
        raise refused("what was written is not what the zip holds.")


_ARRAYS = ("losses", "tokens", "seconds", "evaluated")
