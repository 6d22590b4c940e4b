"""The weights of a run in one compressed file (`weights.parquet`), as the included runs have them. Needs no torch.

The file has a row for each tensor of each step, and a row group for each step. Its columns are:

step, name, shape           of the tensor
float16, float32, int32     the values: a list in the smallest of these types that holds them exactly

The bytes of numbers are stored by significance (byte stream split). They compress well, because the first bytes of
similar numbers are equal, and so are the last bytes of weights that are rounded to few bits.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy import ndarray

FILE = "weights.parquet"
_TYPES = {"float16": pa.float16(), "float32": pa.float32(), "int32": pa.int32()}
_SCHEMA = pa.schema(
    {"step": pa.int32(), "name": pa.string(), "shape": pa.list_(pa.int32())}
    | {name: pa.list_(kind) for name, kind in _TYPES.items()}
)
LEVEL = 19  # of the compression: files are written once and read often


def write(snapshots: Mapping[int, Mapping[str, ndarray]]) -> bytes:
    """Return the file with the weights of each step."""
    out = io.BytesIO()
    encodings = {f"{name}.list.element": "BYTE_STREAM_SPLIT" for name in ("float16", "float32")}
    with pq.ParquetWriter(
        out,
        _SCHEMA,
        compression="zstd",
        compression_level=LEVEL,
        use_dictionary=False,
        write_statistics=["step"],  # the step of each row group is read from them
        column_encoding={**encodings, "int32.list.element": "DELTA_BINARY_PACKED"},
    ) as writer:
        for step in sorted(snapshots):
            rows = [_row(step, name, np.asarray(value)) for name, value in snapshots[step].items()]
            writer.write_table(pa.Table.from_pylist(rows, _SCHEMA))
    return out.getvalue()


def steps(file: Path) -> list[int]:
    """Return the steps whose weights are in a file; none if it cannot be read."""
    try:
        with pq.ParquetFile(file) as parquet:
            return _steps(parquet)
    except (OSError, pa.ArrowException):
        return []


def read(file: Path, step: int) -> dict[str, ndarray]:
    """Return the weights of a step. Raises OSError, ValueError or an ArrowException if the file is damaged."""
    with pq.ParquetFile(file) as parquet:
        table = parquet.read_row_group(_steps(parquet).index(step))
    found = {}
    for row, (name, shape) in enumerate(zip(table["name"].to_pylist(), table["shape"].to_pylist(), strict=True)):
        (values,) = (table[kind][row].values for kind in _TYPES if table[kind][row].is_valid)
        numbers = values.to_numpy()
        # A copy, because Arrow's memory is read-only.
        found[name] = np.array(numbers, np.float32 if numbers.dtype == np.float16 else None).reshape(shape)
    return found


def _steps(parquet: pq.ParquetFile) -> list[int]:
    if parquet.schema_arrow != _SCHEMA:
        return []
    groups = (parquet.metadata.row_group(i) for i in range(parquet.num_row_groups))
    return [int(group.column(0).statistics.min) for group in groups]


def _row(step: int, name: str, value: ndarray) -> dict[str, object]:
    with np.errstate(over="ignore"):
        half = value.astype(np.float16) if value.dtype == np.float32 else value
    smallest = half if np.array_equal(half, value, equal_nan=value.dtype.kind == "f") else value
    return {"step": step, "name": name, "shape": value.shape, smallest.dtype.name: smallest.ravel()}
