"""Measures every part of a layer at every size that the page Cost offers, and writes the results for this page.

    python -m benchmarks.reference_costs

Writes explorer/labs/cost/reference_costs.json, with the processor of this machine. It takes a few minutes.
"""

from __future__ import annotations

import json
import platform
from dataclasses import astuple
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import numpy as np
import torch

from explorer.inspection.transformer.cost_formulas import PARTS, LayerSize
from explorer.labs.cost.state import HEADS, LENGTHS, SWEEPS, WIDTHS, CostState
from explorer.labs.cost.sweeps import REFERENCE_FILE, measure


def measure_reference() -> dict[str, object]:
    """Measure every part at every size that the page offers."""
    states = [CostState(width=w, length=n, heads=h) for w, n, h in product(WIDTHS, LENGTHS, HEADS)]
    costs: dict[str, dict[LayerSize, list[float | None]]] = {part: {} for part in PARTS}
    for part, sweep, state in product(PARTS, SWEEPS, states):
        sizes = tuple(size for size in state.sizes(sweep, part) if size not in costs[part])
        if not sizes:
            continue
        rows = np.stack(astuple(measure((part, sizes)).costs)).T
        for size, row in zip(sizes, rows, strict=True):
            forward, both, saved_bytes = (float(value) if np.isfinite(value) else None for value in row)
            costs[part][size] = [_round_seconds(forward), _round_seconds(both), saved_bytes]
        print(part, sweep, *sizes[-1:])
    return {
        "processor": _processor_name(),
        "date": datetime.now(UTC).date().isoformat(),
        "costs": {part: [[*astuple(size), *row] for size, row in rows.items()] for part, rows in costs.items()},
    }


def _round_seconds(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds:.4g}")


def _processor_name() -> str:
    """Return the model of the processor as Linux names it, elsewhere its kind."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text("utf-8").splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def main() -> None:
    """Write the measurements of this machine as the reference."""
    torch.set_num_threads(1)
    lines = json.dumps(measure_reference()).replace("]], ", "]],\n").replace("], [", "],\n[")
    REFERENCE_FILE.write_text(lines + "\n", "utf-8")


if __name__ == "__main__":
    main()
