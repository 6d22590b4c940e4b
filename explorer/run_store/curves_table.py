"""Curves as a table (`events.parquet`) with one row for each (step, replica). Needs no torch.

step, replica, loss, tokens, seconds, evaluated
signal.NAME      measured at every step, e.g. the gradient's norm
metric.NAME      at evaluations: one number
NAME.0, NAME.1…  at evaluations: one number for each part, e.g. for each sentence
sample           at evaluations: text that the model generated
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy import ndarray

from explorer.errors import DamagedRun
from explorer.training.config import RunConfig
from explorer.training.record import Curves

_METRIC, _SIGNAL, _SAMPLE = "metric.", "signal.", "sample"
_PART = re.compile(r"(\w+)\.\d+")


def to_table(curves: Curves) -> pa.Table:
    """Return the table, ordered by step and replica. The rows before the first step have no batch loss."""
    moments, replicas = len(curves.losses) + 1, curves.losses.shape[1]
    steps = curves.first + np.arange(moments)
    row_of = np.full(moments, len(curves.evaluated))  # index of the evaluation at each step; the last index means none
    row_of[curves.evaluated - curves.first] = np.arange(len(curves.evaluated))
    rows = np.repeat(row_of, replicas)
    replica = np.tile(np.arange(replicas), moments)
    evaluated = rows < len(curves.evaluated)

    def fill_rows(values: ndarray) -> ndarray:
        """Spread the values of evaluations over all rows, with NaN between them."""
        out = np.full((len(rows), *values.shape[2:]), np.nan, dtype=np.float32)
        with np.errstate(over="ignore"):  # the perplexity of a diverged model may be infinite
            out[evaluated] = values[rows[evaluated], replica[evaluated]]
        return out

    columns: dict[str, pa.Array] = {
        "step": pa.array(np.repeat(steps, replicas), pa.int32()),
        "replica": pa.array(replica, pa.int16()),
        "loss": pa.array(np.concatenate([np.full((1, replicas), np.nan, np.float32), curves.losses]).ravel()),
        "tokens": pa.array(np.repeat(curves.tokens, replicas), pa.float64()),
        "seconds": pa.array(np.repeat(curves.seconds, replicas), pa.float64()),
        "evaluated": pa.array(evaluated),
    }
    first = np.full((1, replicas), np.nan, np.float32)
    for name, values in curves.signals.items():
        columns[_SIGNAL + name] = pa.array(np.concatenate([first, values]).ravel())
    columns |= {_METRIC + name: pa.array(fill_rows(values)) for name, values in curves.metrics.items()}
    for name, values in curves.answers.items():
        parts = fill_rows(values)
        columns |= {f"{name}.{i}": pa.array(parts[:, i]) for i in range(parts.shape[1])}
    if curves.samples:
        texts = [text for each in curves.samples for text in each]
        samples = np.full(len(rows), "", dtype=object)
        samples[evaluated] = texts
        columns[_SAMPLE] = pa.array(samples, pa.string())
    return pa.table(columns)


def table_bytes(table: pa.Table, level: int = 9) -> bytes:
    """Return the table as a parquet file, compressed at this level (up to 22); see packed_weights.py."""
    out = io.BytesIO()
    numbers = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    pq.write_table(
        table,
        out,
        compression="zstd",
        compression_level=level,
        use_dictionary=False,
        use_byte_stream_split=numbers,
        write_statistics=False,
        store_schema=False,
    )
    return out.getvalue()


def read_table(file: Path, config: RunConfig) -> pa.Table:
    """Read the events of a run. Raises DamagedRun if there are more than its configuration allows."""
    with pq.ParquetFile(file) as parquet:
        rows = parquet.metadata.num_rows
        if rows > (config.steps - config.first_step + 1) * config.replicas:
            raise DamagedRun(f"its events have {rows:,} rows, more than its configuration allows.")
        return parquet.read()


def from_table(table: pa.Table, config: RunConfig) -> Curves:
    """Return the curves of a table that `to_table` made."""
    replicas = config.replicas
    evaluated = table["evaluated"].to_numpy()
    steps = table["step"].to_numpy()

    def column(name: str, rows: ndarray | slice) -> ndarray:
        values: ndarray = table[name].to_numpy()
        return values[rows].reshape(-1, replicas)

    def columns(prefix: str, rows: ndarray | slice) -> dict[str, ndarray]:
        names = [name for name in table.column_names if name.startswith(prefix)]
        return {name.removeprefix(prefix): column(name, rows) for name in names}

    answers: dict[str, list[ndarray]] = {}
    for name in table.column_names:
        if match := _PART.fullmatch(name):
            answers.setdefault(match[1], []).append(column(name, evaluated))
    samples = table[_SAMPLE].to_numpy()[evaluated].reshape(-1, replicas) if _SAMPLE in table.column_names else ()
    return Curves(
        first=int(steps[0]),
        losses=column("loss", slice(replicas, None)),
        tokens=table["tokens"].to_numpy()[::replicas],
        seconds=table["seconds"].to_numpy()[::replicas],
        evaluated=steps[evaluated][::replicas].astype(int),
        metrics=columns(_METRIC, evaluated),
        answers={name: np.stack(parts, axis=-1) for name, parts in answers.items()},
        signals=columns(_SIGNAL, slice(replicas, None)),
        samples=tuple(tuple(texts) for texts in samples),
    )
