"""Output of `inspect`: head scores as rows, and named arrays as a file."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.cli.common import print_json
from explorer.errors import InvalidSetting

if TYPE_CHECKING:
    from explorer.inspection.attention.head_scores import HeadScores


def write_arrays(out: Path, arrays: Mapping[str, Any]) -> None:
    """Write named arrays to one npz file. Raises InvalidSetting if the file cannot be written."""
    import numpy as np

    file = io.BytesIO()
    np.savez(file, **arrays)  # no tap is called "file", the only reserved name
    try:
        out.write_bytes(file.getvalue())
    except OSError as error:
        raise InvalidSetting(f"{out} cannot be written: {error.strerror}. Give another file.") from error


def head_rows(found: HeadScores) -> list[dict[str, Any]]:
    """Return the scores of each head as plain data. A score that is undefined for this text is None."""
    shares = ("previous", "itself", "first", "same", "after_same", "entropy", "spread")
    layers, heads = found.entropy.shape
    return [
        {
            "kind": "head",
            "layer": layer,
            "head": head,
            **{name: round_or_none(getattr(found, name)[layer, head]) for name in shares},
            "distance": {
                int(back): round_or_none(share)
                for back, share in zip(found.distances, found.distance[layer, head], strict=True)
            },
        }
        for layer in range(layers)
        for head in range(heads)
    ]


def print_rows(rows: Sequence[Mapping[str, Any]], out: Path | None, as_json: bool) -> None:
    """Print rows as a table, with the size of the written file, or as JSON."""
    if as_json:
        for row in rows:
            print_json(dict(row))
        return
    named = [name for name in rows[0] if name not in ("kind", "distance")]
    print(" ".join(f"{name:>10}" for name in named))
    for row in rows:
        print(" ".join(f"{_format_cell(row[name]):>10}" for name in named))
    if out is not None:
        print(f"{out}, {out.stat().st_size:,} bytes")


def round_or_none(value: float) -> float | None:
    """Return a number rounded to six digits, or None for NaN, which JSON does not have."""
    return None if math.isnan(value) else round(float(value), 6)


def _format_cell(value: int | float | str | None) -> str:
    if value is None:
        return "none"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
