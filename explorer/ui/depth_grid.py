"""All combinations of residual and norm at all heights, measured once for everybody and packed for the browser."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.ui import packed

if TYPE_CHECKING:
    from explorer.inspection.depth import Depths, Start


@dataclass(frozen=True, eq=False)
class Grid:
    """What was measured, and the same as the browser reads it."""

    start: Start
    heads: int
    found: Depths
    content: bytes


def grid(start: Start, heads: int) -> tuple[tuple[Hashable, ...], Callable[[], Grid]]:
    """What is to be made, and under which key, see `slowly.work`."""
    return ("depth-stacks", start, heads), partial(_measured, start, heads)


def _measured(start: Start, heads: int) -> Grid:
    from explorer.inspection.depth import measure

    found = measure(heads, start)
    arrays = {name: powers(getattr(found, name)) for name in ("size", "stream", "weights")}
    return Grid(start, heads, found, packed.pack({**arrays, "likeness": found.likeness.astype(np.float32)}))


def powers(values: Float[ndarray, "*shape"]) -> Float[ndarray, "*shape"]:
    """As powers of ten: single precision holds no 1e-54. Nothing is minus infinity."""
    with np.errstate(divide="ignore"):
        found: ndarray = np.log10(values).astype(np.float32)
    return found
