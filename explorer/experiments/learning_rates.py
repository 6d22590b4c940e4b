"""The search for the learning rate of each model of a comparison, and the comparison with the rates that were found.

Every model is trained at the same rates with the same seeds, and the best of them is the one with the lowest mean loss
on data that were not trained on. The models are then compared at their own best rates with other seeds, so that no rate
is fitted to the seeds that are compared: a comparison at equal tuning budget. `python -m benchmarks.learning_rates`
carries out the searches as sweeps and writes `learning_rates.json`; the compared runs are included (`tuned_configs`).
Needs no torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Final, TypeAlias

from explorer.experiments import growth, recall
from explorer.experiments.default_runs import negation_runs, sentiment_runs
from explorer.training.config import RunConfig, with_settings

FILE = Path(__file__).with_suffix(".json")
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)  # of every model; and the rate that it uses, if that is another one
_LOWER_RATES = (5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2)  # of English sentences, on which trainings are long
SEEDS = range(100, 103)
COMPARED_SEEDS: Final = 8


def recall_runs() -> dict[str, RunConfig]:
    """Return the runs that the memory page compares by default."""
    return {name: recall.VARIANTS[name].config() for name in recall.DEFAULT_VARIANTS}


def text_runs() -> dict[str, RunConfig]:
    """Return language models with about 29,000 parameters, by model: the largest size of the experiment on growth.

    They are compared on the last twentieth of the text. The search holds out the tenth before the end instead, of which
    the compared runs train on the first half, so that no rate is fitted to that twentieth.
    """
    settings = {"replicas": COMPARED_SEEDS, "held_out": 0.05}
    return {
        model: with_settings(growth.growth_config(model, len(sizes) - 1, 1.0), settings)
        for model, sizes in growth.SIZES.items()
        if model != "ngram"
    }


_Results: TypeAlias = Mapping[str, list[float | None]]  # losses and accuracies
COMPARISONS: Mapping[str, Callable[[], dict[str, RunConfig]]] = {
    "negation": negation_runs,
    "recall": recall_runs,
    "text": text_runs,
    "sentiment": sentiment_runs,
}


@dataclass(frozen=True)
class RateResult:
    """What a model reaches with one learning rate, for each seed of the search."""

    loss: tuple[float, ...]  # on data that were not trained on, in nats; infinite if training diverged
    accuracy: tuple[float, ...] = ()  # empty for a task without one

    @property
    def mean_accuracy(self) -> float:
        return sum(self.accuracy) / len(self.accuracy)

    @property
    def mean_loss(self) -> float:
        return sum(self.loss) / len(self.loss)


@dataclass(frozen=True)
class RateSearch:
    """The search for the learning rate of one model."""

    used: float  # by the runs that the pages show by default
    results: Mapping[float, RateResult]
    rates: tuple[float, ...] = RATES  # that every model was given

    @property
    def best(self) -> float:
        """The rate with the lowest mean loss, of those that every model was given."""
        return min((rate for rate in self.results if rate in self.rates), key=lambda rate: self.results[rate].mean_loss)

    @property
    def accuracy_lost(self) -> float:
        """By how much the mean accuracy of the rate that is used lies below that of the best rate."""
        return self.results[self.best].mean_accuracy - self.results[self.used].mean_accuracy

    @property
    def is_at_edge(self) -> bool:
        """Whether the best rate is the lowest or the highest one, so that one beyond it could be better."""
        return self.best in (self.rates[0], self.rates[-1])


def rates_of(comparison: str) -> tuple[float, ...]:
    """Return the rates that every model of a comparison is given."""
    return _LOWER_RATES if comparison == "sentiment" else RATES


def tuned_configs(comparison: str) -> dict[str, RunConfig]:
    """Return the runs of a comparison, each with the learning rate that the search found best for it, by name."""
    searches = read_searches(comparison)
    return {
        name: with_settings(config, {"learning_rate": searches[name].best})
        for name, config in COMPARISONS[comparison]().items()
        if name in searches
    }


def shipped_configs() -> dict[str, RunConfig]:
    """Return every compared run by the name under which it ships."""
    return {
        f"tuned-{comparison}-{name}": config
        for comparison in COMPARISONS
        for name, config in tuned_configs(comparison).items()
    }


@lru_cache(maxsize=1)
def _read_file() -> Mapping[str, Mapping[str, Mapping[str, _Results]]]:
    return dict(json.loads(FILE.read_text("utf-8")))


def read_searches(comparison: str) -> dict[str, RateSearch]:
    """Return the search of every model of a comparison by its name."""
    stored, searches = _read_file().get(comparison, {}), {}
    for name, config in COMPARISONS[comparison]().items():
        if name in stored:
            results = {float(rate): _parse_result(values) for rate, values in stored[name].items()}
            searches[name] = RateSearch(config.optimiser.learning_rate, results, rates_of(comparison))
    return searches


def _parse_result(values: _Results) -> RateResult:
    loss, accuracy = (tuple(inf if v is None else v for v in values.get(name, ())) for name in ("loss", "accuracy"))
    return RateResult(loss, accuracy)
