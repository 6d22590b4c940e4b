"""Measurements of stacks with all combinations of residual and norm: made once for all visitors and packed for the
browser.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

import numpy as np

from explorer.inspection.transformer import depth
from explorer.labs.depth.state import DepthState
from explorer.web.background import submit
from explorer.web.results import pack


@dataclass(frozen=True, eq=False)
class PackedMeasurements:
    """The measurements of all stacks, and the same as bytes for the browser."""

    start: depth.Initialization
    heads: int
    measurements: depth.StackMeasurements
    content: bytes


def measurement_job(
    start: depth.Initialization, heads: int
) -> tuple[tuple[Hashable, ...], Callable[[], PackedMeasurements]]:
    """Return the cache key and the function that measures, as `background.submit` takes them."""
    return ("depth-stacks", start, heads), partial(_measure, start, heads)


def prefetch_default_stacks() -> None:
    """Start measuring the stacks that the page shows first, so that its first visitor does not wait for them."""
    state = DepthState()
    submit(*measurement_job(state.start, state.heads), "patient")


def _measure(start: depth.Initialization, heads: int) -> PackedMeasurements:
    found = depth.measure_stacks(heads, start)
    arrays = {name: depth.log10_values(getattr(found, name)) for name in ("size", "stream", "weights")}
    return PackedMeasurements(
        start, heads, found, pack({**arrays, "similarity": found.cosine_similarity.astype(np.float32)})
    )
