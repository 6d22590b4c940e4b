"""Measured costs of each part: those of this server if it has made any, otherwise those of a reference machine.

The reference is a file that is included. `python -m benchmarks.reference_costs` writes it anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias
from uuid import uuid4

import numpy as np

from explorer.byte_cache import cached
from explorer.inspection.transformer import cost_measurement
from explorer.inspection.transformer.cost_formulas import LayerSize, MeasuredCosts

SECONDS: Final = 0.6  # per part and sweep; all eighteen take between ten and forty
REFERENCE_FILE: Final = Path(__file__).with_name("reference_costs.json")
Points: TypeAlias = tuple[str, tuple[LayerSize, ...]]  # a part and the sizes at which it is measured


@dataclass(frozen=True, eq=False)
class Reference:
    """The measurements of the reference machine."""

    processor: str
    date: str  # such as 23 November 2026
    costs: dict[tuple[str, LayerSize], list[float]]  # seconds forward, seconds forward and backward, bytes


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measured costs of one part, and where and when they were measured."""

    costs: MeasuredCosts
    source: str  # such as "this server, 14:05 UTC"


_measured: dict[Points, Measurement] = {}  # the latest of this process; the page offers a few hundred
_requested: dict[Points, str] = {}  # a token for each request that has not been measured yet


def find_latest(points: Points) -> Measurement:
    """Return the latest measurement of this server since its start, otherwise that of the reference machine."""
    return _measured.get(points) or _reference_measurement(points)


@cached()
def _reference_measurement(points: Points) -> Measurement:
    reference, (part, sizes) = read_reference(), points
    rows = np.array([reference.costs[part, size] for size in sizes])
    return Measurement(MeasuredCosts(*rows.T), f"a machine with the processor {reference.processor}, {reference.date}")


def request_measurement(points: Points) -> None:
    """Request a new measurement; it joins one that is requested already."""
    _requested.setdefault(points, uuid4().hex)


def request_token(points: Points) -> str | None:
    """Return the token of the request for a measurement; None if there is none, or if it has been measured."""
    return _requested.get(points)


def withdraw_request(points: Points) -> None:
    """Remove the request for a measurement."""
    _requested.pop(points, None)


def measure(points: Points) -> Measurement:
    """Measure one part now and store the result as the latest one; the request for it has then ended."""
    try:
        costs = cost_measurement.measure_costs(*points, SECONDS)
        _measured[points] = Measurement(costs, f"this server, {datetime.now(UTC):%H:%M} UTC")
    finally:
        withdraw_request(points)
    return _measured[points]


@cached()
def read_reference() -> Reference:
    """Return the included measurements."""
    stored = json.loads(REFERENCE_FILE.read_text("utf-8"))
    date = datetime.fromisoformat(stored["date"])
    costs = {
        (part, LayerSize(*map(int, row[:4]))): [np.nan if value is None else value for value in row[4:]]
        for part, rows in stored["costs"].items()
        for row in rows
    }
    return Reference(stored["processor"], f"{date.day} {date:%B %Y}", costs)
