"""Imports a run from an untrusted zip file; `write.py` makes such files.

`zip_reader.py` reads the files. This module checks everything in them against the configuration, then writes the run
with the store's own writer. What an archive may contain and what each step may cost: the docstring of this package.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import math
import re
import shutil
import sys
import tempfile
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa
import safetensors.numpy
import torch
from numpy import ndarray
from safetensors import SafetensorError
from torch import Tensor

from explorer.environment import environment
from explorer.errors import LineageError, RunError, StoreError, shorten
from explorer.models.configs import NgramTextConfig
from explorer.run_store import operations, store
from explorer.run_store.archive import zip_reader
from explorer.run_store.archive.curves_tensors import expected_shapes, from_tensors, to_tensors
from explorer.run_store.archive.parquet_process import decode_parquet
from explorer.run_store.archive.zip_reader import CURVES, NOTHING_IMPORTED, PARQUET_CURVES, refusal, step_file
from explorer.run_store.curves_table import from_table, to_table
from explorer.run_store.store import Card, StoredRun
from explorer.tasks.negation import NegationConfig
from explorer.tasks.sentiment.config import SentimentConfig
from explorer.tasks.text.config import TextConfig
from explorer.tasks.word_vectors import WordVectorsConfig
from explorer.training.config import RunConfig, key, parse_config
from explorer.training.early_stopping import BestWeights, EarlyStopping
from explorer.training.model_factory import build_empty_model
from explorer.training.objective import RecordLayout, objective_class
from explorer.training.optimisers import ReplicaOptimizer
from explorer.training.record import Curves, Record, Snapshot
from explorer.training.recorder import record_run
from explorer.visible_text import remove_formatting

log = logging.getLogger(__name__)
_one_import = threading.Lock()  # so that several archives do not take their memory at the same time
_MOST_WAIT_SECONDS = 30.0
_BYTES_PER_GRAM = 8  # its code and its count, at least
_LONGEST = 1e10  # seconds of a training: 300 years
_MOST_MACHINES, _LONGEST_MACHINE = 32, 300  # kinds of machine on a card, and the characters of one
Shapes: TypeAlias = dict[str, tuple[tuple[int, ...], str]]  # shape and dtype of tensors by name


def import_zip(content: bytes | Path | BinaryIO, owner: str, check_limits: Callable[[RunConfig], object]) -> StoredRun:
    """Import the run of a zip file. Raises DamagedRun, or StoreError without space or if the run is already stored.

    check_limits: raises InvalidSetting if this server does not allow a configuration of this size
    """
    home = environment().home  # on the same disk as the runs, so that a rename moves it there
    if not _one_import.acquire(timeout=_MOST_WAIT_SECONDS):
        raise StoreError(f"{NOTHING_IMPORTED}other imports are under way on this server. Try again in a minute.")
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=".importing-") as work:
            folder = unpack(content, Path(work) / "run", owner, check_limits)
            run = store.load(folder).key
            if run in store.pretrained_folders() or store.is_stored(run):
                raise StoreError(f"{NOTHING_IMPORTED}run {run} is already stored.")
            return operations.add_run(folder)
    except OSError as error:
        raise StoreError(f"{NOTHING_IMPORTED}the disk reports an error ({error.strerror}).") from error
    finally:
        _one_import.release()


def unpack(
    content: bytes | Path | BinaryIO, place: Path, owner: str, check_limits: Callable[[RunConfig], object]
) -> Path:
    """Check a zip file and write its run to `place`, a folder that must not exist yet.

    After an error nothing is left there. Raises DamagedRun for an invalid zip, and StoreError if writing fails.
    """
    if place.exists():
        raise FileExistsError(place)
    try:
        record, said = _validated_run(zip_reader.read_files(content), check_limits)
    except LineageError:
        raise
    except MemoryError as error:
        raise refusal("it needs more memory than this server has now.") from error
    except Exception as error:  # no check foresaw this file; whoever runs the server reads more in the log
        log.exception("an archive cannot be read")
        raise refusal("its files cannot be read.") from error
    try:
        store.write_run(record, place, owner)
        here: dict[str, Any] = {"owner": owner, "pinned": False, "imported": True}
        run = store.update_card(store.load(place), **said.model_dump() | here)
        _check_written(run, record, said.model_copy(update=here))
    except BaseException as error:
        shutil.rmtree(place, ignore_errors=True)
        if isinstance(error, OSError):
            raise StoreError(f"{NOTHING_IMPORTED}the run cannot be written ({error.strerror}).") from error
        if isinstance(error, RunError) and not str(error).startswith(NOTHING_IMPORTED):
            raise refusal(error) from error
        raise
    return place


def _validated_run(files: Mapping[str, bytes], check_limits: Callable[[RunConfig], object]) -> tuple[Record, Card]:
    """Return the run in the files, and its card. What needs little work is checked first. Raises DamagedRun."""
    config = _config(files["config.json"], check_limits)
    card = _card(files["card.json"], config)
    tokenizer = _tokenizer(files, config)
    steps = _steps(files, config, card)
    is_counted = isinstance(config.model, NgramTextConfig)
    fits = None if is_counted else _expected_contents(config, card, tokenizer)
    curves = _curves(files, config, card)
    if fits is None:
        fits = _expected_counts(config, card, tokenizer, len(files[step_file("snapshots", card.step)]))
    diverged, snapshots = card.state == "diverged", {}
    for step in steps:
        name, state = (step_file(what, step) for what in ("snapshots", "optimiser"))
        weights = _tensors(name, files[name], fits.weights, diverged)
        if not all(np.array_equal(weights[each], value) for each, value in fits.counts.items()):
            raise refusal(f"“{name}” does not contain the counts of its text.")
        optimiser = None
        if state in files:
            optimiser = _tensors(state, files[state], fits.optimiser, diverged, fits.optional_state)
        snapshots[step] = Snapshot(weights, optimiser)
    about = (card.state, card.problem, tokenizer, card.machines, card.baselines)
    return Record(config, card.parameters, card.seconds, curves, snapshots, *about), card


def _tokenizer(files: Mapping[str, bytes], config: RunConfig) -> str:
    """Return the tokenizer as JSON, empty if the task needs none. Raises DamagedRun."""
    found = "tokenizer.json" in files
    needed = isinstance(config.task, TextConfig | WordVectorsConfig | SentimentConfig) or (
        isinstance(config.task, NegationConfig) and bool(config.own_text)
    )
    if found and not needed:
        raise refusal("the zip has a tokenizer, but its task needs none.")
    if needed and not found:
        raise refusal("the zip has no tokenizer.json.")
    if not found:
        return ""
    try:
        return objective_class(config.task).parse_tokenizer(files["tokenizer.json"].decode())[0]
    except (LineageError, UnicodeDecodeError) as error:
        raise refusal("its tokenizer.json cannot be read.") from error


def _config(content: bytes, check_limits: Callable[[RunConfig], object]) -> RunConfig:
    with _reading("config.json"):
        config = parse_config(json.loads(content))
        check_limits(config)
    return config


@contextlib.contextmanager
def _reading(name: str) -> Iterator[None]:
    """Refuse the file of this name if it raises an error while it is read."""
    try:
        yield
    except LineageError as error:
        if str(error).startswith(NOTHING_IMPORTED):
            raise
        raise refusal(error) from error
    except (OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError, pa.ArrowException) as error:
        raise refusal(f"its {name} cannot be read.") from error


def _card(content: bytes, config: RunConfig) -> Card:
    """Return the card. Raises DamagedRun if it cannot belong to a run of this configuration."""
    with _reading("card.json"):
        card = Card.model_validate_json(content)
    if card.format != store.FORMAT:
        raise refusal(f"it has format {shorten(card.format)}; this program reads format {store.FORMAT}.")
    if card.key != key(config):
        raise refusal(f"its card is that of run {shorten(card.key)}, its configuration that of run {key(config)}.")
    early = config.stop_at or config.patience  # early stopping ends a run before its last step
    if not config.first_step <= card.step <= config.steps or (
        card.finished and card.step != config.steps and not early
    ):
        raise refusal(f"its card says {card.state} at step {shorten(card.step)} of {config.steps:,}.")
    values = (v for m in card.metrics.values() for v in (m.mean, m.baseline, *m.values) if v is not None)
    numbers = [card.seconds, *values]
    if not all(map(math.isfinite, numbers)) or not 0 <= card.seconds <= _LONGEST:
        raise refusal("its card contains impossible numbers.")
    try:
        if datetime.datetime.fromisoformat(card.created).tzinfo is None or len(card.created) > 40:
            raise ValueError(card.created)
    except ValueError as error:
        raise refusal(f"its card has no valid creation date, but {shorten(repr(card.created))}.") from error
    if not re.fullmatch(r"[\w.+-]{1,40}", card.torch, re.ASCII):
        raise refusal(f"its card has no valid torch version, but {shorten(repr(card.torch))}.")
    _check_text(card)
    cleaned = {name: remove_formatting(getattr(card, name)) for name in ("name", "note", "problem")}
    tags, machines = (tuple(map(remove_formatting, texts)) for texts in (card.tags, card.machines))
    state = "stopped" if card.state == "running" else card.state
    return card.model_copy(update={**cleaned, "tags": tags, "machines": machines, "state": state})


def _check_text(card: Card) -> None:
    """Raise DamagedRun if a text on the card exceeds the limits for text that users enter."""
    most = environment().most_text
    if len(card.tags) > operations.MAX_TAGS:
        raise refusal(f"its card has {len(card.tags)} tags; {operations.MAX_TAGS} are possible.")
    if len(card.machines) > _MOST_MACHINES:
        raise refusal(f"its card names {len(card.machines)} kinds of machine; {_MOST_MACHINES} are possible.")
    for what, text, length, lines in (
        ("name", card.name, operations.MAX_NAME_LENGTH, False),
        *(("tag", tag, operations.MAX_TAG_LENGTH, False) for tag in card.tags),
        *(("kind of machine", machine, _LONGEST_MACHINE, False) for machine in card.machines),
        ("note", card.note, most, True),
        ("problem", card.problem, most, True),
    ):
        if len(text) > length:
            raise refusal(f"its card has a {what} of {len(text):,} characters; {length:,} are possible.")
        plain = re.sub(r"[\n\r\t\u2028\u2029]", "", text) if lines else text
        if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in plain):
            raise refusal(f"the {what} on its card contains control characters.")


@dataclass(frozen=True)
class _Expected:
    """The contents that a configuration requires of the files of weights and optimizer state."""

    weights: Shapes
    optimiser: Shapes
    optional_state: tuple[Shapes, ...] = ()  # tensors that may be in the optimizer file, each group whole or not at all
    counts: Mapping[str, ndarray] = field(default_factory=dict)  # the weights themselves, if they follow from the data


def _expected_contents(config: RunConfig, card: Card, tokenizer: str) -> _Expected:
    """Return the contents for a model that is trained; nothing is allocated for it. Raises DamagedRun."""
    parse_tokenizer = objective_class(config.task).parse_tokenizer
    model = build_empty_model(config, parse_tokenizer(tokenizer)[1] if tokenizer else None)
    parameters = sum(p.numel() for p in model.parameters()) // config.replicas
    _check_parameters(card, parameters)
    own = (1,) if config.replicas == 1 else ()  # a single model has no replica axis, but its file does
    with torch.device("meta"):
        state, best = objective_class(config.task).state_template(config, model), BestWeights(config, model)
        return _Expected(
            _shapes(model.state_dict(), own),
            _shapes(ReplicaOptimizer(model, config.optimiser, config.replicas, config.average).state()),
            tuple(map(_shapes, (state, *EarlyStopping(config).state_templates(), *best.state_templates()))),
        )


def _check_parameters(card: Card, parameters: int) -> None:
    if card.parameters != parameters:
        raise refusal(f"its card counts {shorten(card.parameters)} parameters; its model has {parameters:,}.")


def _shapes(tensors: Mapping[str, Tensor], leading: tuple[int, ...] = ()) -> Shapes:
    return {name: ((*leading, *v.shape), str(v.dtype).removeprefix("torch.")) for name, v in tensors.items()}


def _expected_counts(config: RunConfig, card: Card, tokenizer: str, weight_bytes: int) -> _Expected:
    """Return the contents for an n-gram: its tables follow from its text, so they are counted again."""
    if not 0 < card.parameters <= weight_bytes // _BYTES_PER_GRAM:
        raise refusal(f"its card counts {shorten(card.parameters)} n-grams, which its file of weights does not have.")
    try:
        again = record_run(config)
    except LineageError as error:
        raise refusal(
            f"an n-gram can be imported only on a machine that has its text, to count it again. {error}"
        ) from error
    if again.tokenizer != tokenizer:
        raise refusal("its tokenizer is not the tokenizer of its text.")
    _check_parameters(card, again.parameters)
    tables = again.snapshots[1].weights
    fits = {name: (value.shape, str(value.dtype)) for name, value in tables.items()}
    return _Expected(fits, {}, counts=tables)


def _steps(files: Mapping[str, bytes], config: RunConfig, card: Card) -> list[int]:
    found: dict[str, set[int]] = {"snapshots": set(), "optimiser": set()}
    for name in files:
        if match := zip_reader.STEP_FILE.fullmatch(name):
            found[match[1]].add(int(match[2]))
    for step in sorted(found["snapshots"]):
        if not config.first_step <= step <= card.step:
            raise refusal(f"it has weights of step {step:,}; the run went from {config.first_step:,} to {card.step:,}.")
    if card.step not in found["snapshots"]:
        raise refusal(f"the zip has no {step_file('snapshots', card.step)}, the weights of its last step.")
    for step in sorted(found["optimiser"] - found["snapshots"]):
        raise refusal(f"the zip has {step_file('optimiser', step)}, but no weights of this step.")
    return sorted(found["snapshots"])


def _tensors(
    name: str, content: bytes, expected: Shapes, diverged: bool, optional: tuple[Shapes, ...] = ()
) -> dict[str, ndarray]:
    """Return the expected tensors of a file, with any whole groups of the optional ones. Raises DamagedRun."""
    tensors = _load_tensors(name, content)
    for more in optional:
        if not tensors.keys().isdisjoint(more):
            expected = expected | more
    _check_shapes(name, tensors, expected, "the tensors of this run's model")
    if not diverged and not all(np.isfinite(value).all() for value in tensors.values()):
        raise refusal(f"“{name}” contains numbers that are not finite.")
    return tensors


def _load_tensors(name: str, content: bytes) -> dict[str, ndarray]:
    header_bytes = int.from_bytes(content[:8], "little")
    if header_bytes > min(len(content), zip_reader.MAX_HEADER_BYTES):
        raise refusal(f"“{name}” is not a safetensors file.")
    try:
        tensors: dict[str, ndarray] = safetensors.numpy.load(content)
    except (SafetensorError, ValueError, TypeError, LookupError) as error:
        raise refusal(f"“{name}” is not a safetensors file.") from error
    return tensors


def _check_shapes(name: str, tensors: Mapping[str, ndarray], expected: Shapes, what: str) -> None:
    """Raise DamagedRun unless a file has exactly the expected tensors, which `what` describes."""
    if {n: (value.shape, str(value.dtype)) for n, value in tensors.items()} != expected:
        raise refusal(f"“{name}” does not contain {what}: {_first_difference(tensors, expected)}.")


def _first_difference(tensors: Mapping[str, ndarray], expected: Shapes) -> str:
    for name in expected:
        if name not in tensors:
            return f"{name} is missing"
    for name, value in tensors.items():
        if name not in expected:
            return f"{shorten(name)} is unknown"
        if (value.shape, str(value.dtype)) != expected[name]:
            return f"{name} is {value.dtype} {list(value.shape)}, not {expected[name][1]} {list(expected[name][0])}"
    return ""


def _curves(files: Mapping[str, bytes], config: RunConfig, card: Card) -> Curves:
    """Return the curves up to the card's step, with every value checked. Raises DamagedRun."""
    layout = objective_class(config.task).layout(config)
    if "bits_per_byte" not in card.metrics:  # a run of an earlier version
        layout = replace(layout, metrics=tuple(name for name in layout.metrics if name != "bits_per_byte"))
    if set(card.metrics) != set(layout.metrics) or any(len(m.values) != config.replicas for m in card.metrics.values()):
        raise refusal("the metrics on its card are not those of this task and these seeds.")
    name = CURVES if CURVES in files else PARQUET_CURVES
    with _reading(name):
        is_new = name == CURVES
        tensors = _load_tensors(name, files[name]) if is_new else _parquet_tensors(files[name], config, layout)
        curves = _curves_of_tensors(name, tensors, config, layout)
    if curves.step < card.step:
        raise refusal(f"its events do not reach step {card.step:,}.")
    for name, values, most in (("tokens", curves.tokens, 1e18), ("seconds", curves.seconds, _LONGEST)):
        if not ((values >= 0) & (values <= most)).all() or (np.diff(values) < 0).any():
            raise refusal(f"the {name} of its events do not increase from zero.")
    curves = curves.up_to(card.step)
    if not len(curves.evaluated):
        raise refusal("its events contain no evaluation.")
    if card.state != "diverged" and not np.isfinite(curves.losses).all():
        raise refusal("its events contain losses that are not finite.")
    if card.state != "diverged" and any(np.isinf(values).any() for values in curves.metrics.values()):
        raise refusal("its events contain metrics that are not finite.")
    missing_allowed = layout.answers_at_end_only  # then earlier evaluations have no answers
    highest = layout.answer_max
    if not all(((v >= 0) & (v <= highest) | missing_allowed & np.isnan(v)).all() for v in curves.answers.values()):
        raise refusal(f"its events contain impossible {'probabilities' if highest == 1 else 'answers'}.")
    _check_summary(card, curves)
    return curves


def _curves_of_tensors(name: str, tensors: dict[str, ndarray], config: RunConfig, layout: RecordLayout) -> Curves:
    """Return the curves in the tensors of a file. Raises DamagedRun, ValueError, LookupError or TypeError."""
    steps, evaluated, sample_bytes = len(tensors["losses"]), tensors["evaluated"], np.size(tensors.get("sample", ()))
    fits = expected_shapes(layout, steps, len(evaluated), config.replicas, sample_bytes)
    _check_shapes(name, tensors, fits, "the curves of this task")
    if steps > config.steps - config.first_step:
        raise refusal(f"its events have {steps:,} steps, more than its configuration allows.")
    if (np.diff(evaluated) <= 0).any() or (
        (evaluated < config.first_step) | (evaluated - steps > config.first_step)
    ).any():
        raise refusal("the evaluations of its events are not at increasing steps of the run.")
    return from_tensors(tensors, layout, config.first_step)


def _parquet_tensors(content: bytes, config: RunConfig, layout: RecordLayout) -> dict[str, ndarray]:
    """Return the curves of an archive of an earlier version; its table must be exactly what the store would write."""
    if sys.platform != "linux":
        raise refusal(
            f"its curves are in {PARQUET_CURVES}, which only a server on Linux can import. Export the run again."
        )
    most_rows = (config.steps - config.first_step + 1) * config.replicas
    columns = 7 + len(layout.signals) + len(layout.metrics) + sum(layout.answers.values())
    try:  # for the file, its pages, its texts and the decoded numbers
        table = decode_parquet(content, 4 * environment().most_upload + 8 * most_rows * columns)
    except MemoryError as error:
        raise zip_reader.refuse_size() from error
    if len(table) > most_rows:
        raise refusal(f"its events have {len(table):,} rows, more than its configuration allows.")
    if any(column.null_count for column in table.columns):
        raise ValueError("a value is missing")
    curves = from_table(table, config)
    again = to_table(curves)
    if {*table.schema} != {*again.schema} or curves.first != config.first_step:
        raise refusal("the columns or the steps of its events are not those of this task.")
    for name in again.column_names:
        if not table[name].equals(again[name]) and not (
            pa.types.is_floating(again[name].type)
            and np.array_equal(table[name].to_numpy(), again[name].to_numpy(), equal_nan=True)
        ):
            raise refusal(f"the {name} of its events is not that of consecutive steps with all seeds.")
    return to_tensors(curves)


def _check_summary(card: Card, curves: Curves) -> None:
    """Raise DamagedRun unless the card has the metrics of the last evaluation (curves have single precision)."""
    for name, metric in card.metrics.items():
        with np.errstate(over="ignore"):
            values = np.array([math.nan if v is None else v for v in metric.values]).astype(np.float32)
        known = [v for v in metric.values if v is not None]
        mean = sum(known) / len(known) if known else None
        if not np.array_equal(values, curves.last(name), equal_nan=True) or (
            (metric.mean is None) != (mean is None)
            or (metric.mean is not None and mean is not None and not math.isclose(metric.mean, mean, abs_tol=1e-9))
        ):
            raise refusal(f"the {name} on its card differs from its events.")


def _check_written(run: StoredRun, record: Record, card: Card) -> None:
    """Raise DamagedRun unless the written run equals the checked one."""
    pairs = [(to_tensors(run.curves), to_tensors(record.curves))]
    for step, kept in record.snapshots.items():
        pairs.append((run.weights(step), dict(kept.weights)))
        if kept.optimiser:
            pairs.append((dict(run.checkpoint(step).optimiser or {}), dict(kept.optimiser)))
    written = run.config, run.tokenizer, run.card, run.snapshot_steps()
    if written != (record.config, record.tokenizer, card, list(record.snapshots)) or not all(
        one.keys() == other.keys() and all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)
        for one, other in pairs
    ):
        raise refusal("the written run differs from the content of the zip.")
