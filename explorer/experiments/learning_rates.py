"""The search for the learning rate of each model of a comparison: the same rates and the same seeds for all models.

`python -m benchmarks.learning_rates` trains the models and writes `learning_rates.json`; pages show it. The seeds of
the search are not those of the comparison, so that the rate is not fitted to the seeds that are compared. Needs no
torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path

from explorer.experiments import recall
from explorer.experiments.default_runs import negation_runs
from explorer.training.config import RunConfig

FILE = Path(__file__).with_suffix(".json")
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # of every model; and the rate that it uses, if that is another one
SEEDS = range(100, 103)


def recall_runs() -> dict[str, RunConfig]:
    """Return the runs that the memory page compares by default."""
    return {name: recall.VARIANTS[name].config() for name in recall.DEFAULT_VARIANTS}


COMPARISONS: Mapping[str, Callable[[], dict[str, RunConfig]]] = {"negation": negation_runs, "recall": recall_runs}


@dataclass(frozen=True)
class RateResult:
    """What a model reaches with one learning rate, for each seed of the search."""

    accuracy: tuple[float, ...]
    loss: tuple[float, ...]  # on sequences or sentences that it has not seen, in nats; infinite if training diverged

    @property
    def mean_accuracy(self) -> float:
        return sum(self.accuracy) / len(self.accuracy)

    @property
    def mean_loss(self) -> float:
        return sum(self.loss) / len(self.loss)


@dataclass(frozen=True)
class RateSearch:
    """The search for the learning rate of one model."""

    used: float  # in the comparison
    results: Mapping[float, RateResult]

    @property
    def best(self) -> float:
        """The rate with the highest mean accuracy; of several, the one with the lowest mean loss."""
        return max(self.results, key=lambda rate: (self.results[rate].mean_accuracy, -self.results[rate].mean_loss))

    @property
    def accuracy_lost(self) -> float:
        """By how much the mean accuracy of the rate that is used lies below that of the best rate."""
        return self.results[self.best].mean_accuracy - self.results[self.used].mean_accuracy


def searched_rates(used: float) -> tuple[float, ...]:
    """Return the rates of the search for a model that uses this rate."""
    return tuple(sorted({*RATES, used}))


@lru_cache(maxsize=1)
def _read_file() -> Mapping[str, Mapping[str, Mapping[str, Mapping[str, list[float | None]]]]]:
    found: Mapping[str, Mapping[str, Mapping[str, Mapping[str, list[float | None]]]]] = json.loads(
        FILE.read_text("utf-8")
    )
    return found


def read_searches(comparison: str) -> dict[str, RateSearch]:
    """Return the search of every model of a comparison by its name."""
    stored, searches = _read_file().get(comparison, {}), {}
    for name, config in COMPARISONS[comparison]().items():
        if name in stored:
            results = {float(rate): _parse_result(values) for rate, values in stored[name].items()}
            searches[name] = RateSearch(config.optimiser.learning_rate, results)
    return searches


def _parse_result(values: Mapping[str, list[float | None]]) -> RateResult:
    accuracy, loss = (tuple(inf if v is None else v for v in values[name]) for name in ("accuracy", "loss"))
    return RateResult(accuracy, loss)
