"""Searches the learning rate of every model of a comparison: the same rates, seeds and rule for all models.

    python -m benchmarks.learning_rates [--only negation]
    python -m explorer pretrain --missing

Each search is a sweep over the rates with three seeds that the comparison does not use (see `explorer/sweeps`). Its
runs are stored in LINEAGE_HOME, so that an interrupted search goes on where it was. Writes
explorer/experiments/learning_rates.json, which the pages show. The second command then trains the models at their best
rates with the seeds of the comparison. The text needs Tiny Shakespeare (LINEAGE_DATA_DIR).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Final

import torch
import typer

from explorer.experiments.learning_rates import COMPARISONS, FILE, SEEDS, rates_of, read_searches
from explorer.sweeps.controller import TrialStatus
from explorer.sweeps.driver import carry_out
from explorer.sweeps.space import Sweep, make_sweep
from explorer.training.config import RunConfig, with_settings

LOSSES: Final[Mapping[str, str]] = {
    "negation": "test_loss",
    "recall": "loss",
    "text": "val_loss",
    "sentiment": "val_error",
}
ACCURACIES: Final[Mapping[str, str]] = {"negation": "exact_accuracy", "recall": "accuracy"}
_SEARCH_SPLIT: Final[Mapping[str, Mapping[str, object]]] = {"text": {"held_out": 0.1, "test": 0.5}}


def searched_rates(comparison: str, used: float) -> tuple[float, ...]:
    """Return the rates of the search for a model that uses this rate."""
    return tuple(sorted({*rates_of(comparison), used}))


def search_config(comparison: str, config: RunConfig) -> RunConfig:
    """Return the run of a comparison with the seeds of the search; on a text with a validation split of its own."""
    seeds = {"seed": SEEDS.start, "replicas": len(SEEDS)}
    return with_settings(config, {**seeds, **_SEARCH_SPLIT.get(comparison, {})})


def search(comparison: str, config: RunConfig) -> Sweep:
    """Return the sweep over the learning rates of one model, which trains every rate to the end."""
    return make_sweep(
        search_config(comparison, config),
        {"learning_rate": searched_rates(comparison, config.optimiser.learning_rate)},
        seeds=len(SEEDS),
        halving=False,
        finalists=0,
        metric=LOSSES[comparison],
    )


def result(comparison: str, trial: TrialStatus) -> dict[str, list[float | None]]:
    """Return loss and accuracy of each seed at the end of a trial; a loss that is not finite is None."""
    found = {"loss": [round(float(v), 5) if math.isfinite(v) else None for v in trial.values]}
    if (name := ACCURACIES.get(comparison)) and trial.run.curves:
        found["accuracy"] = [round(float(v), 5) for v in trial.run.curves.last(name)]
    return found


def main(
    only: Annotated[str, typer.Option(help="Only this comparison; the others stay in the file as they are.")] = "",
) -> None:
    """Train every model at every rate, print a table, and write the file."""
    torch.set_num_threads(1)
    found = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    for comparison, configs in COMPARISONS.items():
        if only not in ("", comparison):
            continue
        found[comparison] = {}
        for name, config in configs().items():
            plan = carry_out(search(comparison, config))
            found[comparison][name] = {
                f"{dict(trial.trial.settings)['learning_rate']:g}": result(comparison, trial) for trial in plan.trials
            }
            print(comparison, name, found[comparison][name], flush=True)
            FILE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    for comparison in found:
        for name, each in read_searches(comparison).items():
            print(f"{comparison:10}{name:22} used {each.used:g}, best {each.best:g}")


if __name__ == "__main__":
    typer.run(main)
