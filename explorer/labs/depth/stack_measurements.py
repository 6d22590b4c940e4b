"""Measurements of stacks with all combinations of residual and norm: made once for all visitors and packed for the
browser.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.inspection.transformer import depth
from explorer.labs.depth.state import DepthState
from explorer.web.background import submit
from explorer.web.call import Call
from explorer.web.results import pack


@dataclass(frozen=True, eq=False)
class PackedMeasurements:
    """The measurements of all stacks, and the same as bytes for the browser."""

    measurements: depth.StackMeasurements
    content: bytes


def measurement_call(state: DepthState) -> Call[PackedMeasurements]:
    """Return the measurement of all stacks with the settings of the page."""
    return Call(_measure, state.start, state.heads)


def prefetch_default_stacks() -> None:
    """Start measuring the stacks that the page shows first, so that its first visitor does not wait for them."""
    call = measurement_call(DepthState())
    submit(call.key, call, "patient")


def _measure(start: depth.Initialization, heads: int) -> PackedMeasurements:
    found = depth.measure_stacks(heads, start)
    arrays = {name: depth.log10_values(getattr(found, name)) for name in ("size", "stream", "weights")}
    return PackedMeasurements(found, pack({**arrays, "similarity": found.cosine_similarity.astype(np.float32)}))
