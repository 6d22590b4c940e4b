"""What `inspect` prints and writes: the habits of heads as rows, and named arrays as a file."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.commands.common import say
from explorer.errors import InvalidSetting

if TYPE_CHECKING:
    from explorer.inspection.heads import Habits


def write_arrays(out: Path, arrays: Mapping[str, Any]) -> None:
    """Named arrays as one npz file. Raises InvalidSetting."""
    import numpy as np

    file = io.BytesIO()
    np.savez(file, **arrays)  # no tap has a name of its own settings
    try:
        out.write_bytes(file.getvalue())
    except OSError as error:
        raise InvalidSetting(f"{out} cannot be written: {error.strerror}. Give another file.") from error


def by_head(found: Habits) -> list[dict[str, Any]]:
    """The habits of each head as plain data; JSON knows no NaN: what no token can do is None."""
    shares = ("previous", "itself", "first", "same", "after_same", "entropy", "spread")
    layers, heads = found.entropy.shape
    return [
        {
            "kind": "head",
            "layer": layer,
            "head": head,
            **{name: number(getattr(found, name)[layer, head]) for name in shares},
            "distance": {
                int(back): number(share)
                for back, share in zip(found.distances, found.distance[layer, head], strict=True)
            },
        }
        for layer in range(layers)
        for head in range(heads)
    ]


def tell(rows: Sequence[Mapping[str, Any]], out: Path | None, as_json: bool) -> None:
    """Rows as a table or as JSON, and how large the file became."""
    if as_json:
        for row in rows:
            say(dict(row))
        return
    named = [name for name in rows[0] if name not in ("kind", "distance")]
    print(" ".join(f"{name:>10}" for name in named))
    for row in rows:
        print(" ".join(f"{_written(row[name]):>10}" for name in named))
    if out is not None:
        print(f"{out}, {out.stat().st_size:,} bytes")


def number(value: float) -> float | None:
    """Six digits; JSON knows no NaN."""
    return None if math.isnan(value) else round(float(value), 6)


def _written(value: int | float | str | None) -> str:
    if value is None:
        return "none"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
