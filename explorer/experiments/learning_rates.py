"""The learning rates that were found for compared runs, each by the same search.

A run is trained at every rate of its group (`compared_groups.py`) with seeds that no comparison uses, and the best rate
has the lowest mean loss on data that the comparison does not measure; of equally good rates it is the lowest.
`python -m benchmarks.learning_rates` searches and writes `learning_rates.json`. Needs no torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from math import inf
from pathlib import Path
from statistics import fmean

FILE = Path(__file__).with_suffix(".json")
SEEDS = range(100, 103)
SAME_LOSS = 5e-4  # nats, or share of wrong answers: of two rates that are equally good, the lower one is more stable


@lru_cache(maxsize=1)
def _read_file() -> Mapping[str, Mapping[float, float]]:
    stored: Mapping[str, Mapping[str, list[float | None]]] = json.loads(FILE.read_text("utf-8"))
    return {
        name: {float(rate): fmean(inf if loss is None else loss for loss in losses) for rate, losses in rates.items()}
        for name, rates in stored.items()
    }


def read_search(name: str) -> Mapping[float, float]:
    """Return the mean loss at each learning rate, infinite where a seed diverged; empty if no search was made."""
    return _read_file().get(name, {})


def best_rate(losses: Mapping[float, float]) -> float:
    """Return the lowest of the rates whose mean loss is that of the best one, up to `SAME_LOSS`."""
    return min(rate for rate, loss in losses.items() if loss <= min(losses.values()) + SAME_LOSS)


def searched_rate(name: str) -> dict[str, object]:
    """Return the best learning rate of a run as settings; none if no search was made."""
    losses = read_search(name)
    return {"learning_rate": best_rate(losses)} if losses else {}
