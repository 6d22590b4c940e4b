"""Whether the shipped runs can be trained again: the same key, and the same curves.

    python -m benchmarks.retrain_shipped [NAME ...] [--runs 20] [--seconds 10] [--first-steps]

Trains runs of `pretrained/` again, those with the shortest training first, and compares them with the stored curves.
Runs on Tiny Shakespeare need it (LINEAGE_DATA_DIR). On a processor of the same kind, with the version of torch on the
card, the curves are equal bit for bit. Other processors add numbers in another order: then the first losses are equal
up to rounding, the difference grows from step to step, and the metrics at the end agree within the spread that
rounding causes.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import Annotated, Any

import numpy as np
import typer
from numpy import ndarray

from benchmarks.machine import describe_machine
from explorer.errors import LineageError
from explorer.experiments.pretraining import shipped_configs
from explorer.run_store import store
from explorer.run_store.curves_table import from_table, to_table
from explorer.training.config import RunConfig, key
from explorer.training.events import Step
from explorer.training.record import Curves
from explorer.training.recorder import record_run
from explorer.training.train import train

ROUNDING = 1e-5  # relative difference of two losses
FIRST_STEPS = 5  # that --first-steps compares
# Runs that are to explode, and 24 blocks: each step multiplies the rounding of the one before.
EXPLODING = ("echo-deep", "recall-exploding-fast", "recall-exploding-large", "text-clipping-adam")


def steps_before_explosion(name: str) -> int:
    """Return the number of first steps in which a run is equal up to rounding on every processor."""
    return 1 if name.startswith(EXPLODING) else FIRST_STEPS


def retrain(config: RunConfig) -> Curves:
    """Train a configuration and return its curves as a run folder stores them (metrics in single precision)."""
    return from_table(to_table(record_run(config).curves), config)


def first_losses(config: RunConfig) -> ndarray:
    """Train a few steps and return their losses, (steps, replicas); fewer if the training is shorter."""
    events = (event for event in train(config) if isinstance(event, Step))
    return np.stack([event.losses.numpy() for event in islice(events, FIRST_STEPS)])


def relative_differences(losses: ndarray, others: ndarray) -> ndarray:
    """Return for every step the largest relative difference between two series of losses, (steps,)."""
    with np.errstate(invalid="ignore"):
        difference = np.abs(losses.astype(float) - others) / np.maximum(np.abs(losses), 1e-12)
    return np.nan_to_num(difference, nan=0.0).max(axis=1)


def compare(name: str, config: RunConfig, only_first_steps: bool = False) -> dict[str, Any]:
    """Train one shipped run again, or its first steps, and compare it with the stored one.

    Returns `problem` (a sentence if it could not be trained), `seconds`, `steps`, `equal_steps` (before the losses
    differ by more than rounding), and after a whole training `identical` (whether losses and metrics are equal bit for
    bit) and `metrics` (the largest difference of a metric at the end, mean over the seeds, relative where the metric
    is above 1).
    """
    start, stored = time.perf_counter(), store.load(store.PRETRAINED / name).curves
    try:
        again = None if only_first_steps else retrain(config)
        losses = first_losses(config) if again is None else again.losses
    except LineageError as error:
        return {"problem": str(error)}
    difference = relative_differences(stored.losses[: len(losses)], losses)
    apart = np.flatnonzero(difference > ROUNDING)
    result = {"problem": "", "steps": len(losses), "equal_steps": int(apart[0]) if len(apart) else len(losses)}
    if again is not None:
        ends = [(values[-1].mean(), again.metrics[metric][-1].mean()) for metric, values in stored.metrics.items()]
        result["metrics"] = max(float(abs(one - other) / max(1, abs(one))) for one, other in ends)
        result["identical"] = stored.losses.tobytes() == losses.tobytes() and all(
            values.tobytes() == again.metrics[metric].tobytes() for metric, values in stored.metrics.items()
        )
    return result | {"seconds": time.perf_counter() - start}


def describe(result: dict[str, Any]) -> str:
    """Return one line about a comparison."""
    if result["problem"]:
        return str(result["problem"])
    if result.get("identical"):
        return "identical"
    steps = f"{result['equal_steps']} of {result['steps']} steps equal up to rounding"
    return f"{steps}, metrics at the end differ by {result['metrics']:.1e}" if "metrics" in result else steps


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Names of shipped runs. Default: all.")] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Train at most this many runs.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Skip runs whose training took longer on their card.")] = None,
    first_steps: Annotated[bool, typer.Option("--first-steps", help=f"Train only {FIRST_STEPS} steps.")] = False,
) -> None:
    """Train shipped runs again and compare their keys and curves. Exit with 1 if one differs from the first steps."""
    print(describe_machine())
    configs = shipped_configs()
    stored = {name: store.load(store.PRETRAINED / name) for name in names or configs}
    same_key = {name: run.key == key(run.config) == key(configs[name]) for name, run in stored.items()}
    print(f"keys: {sum(same_key.values())} of {len(same_key)} runs have the key of their configuration")
    chosen = sorted(stored, key=lambda name: stored[name].card.seconds)
    chosen = [name for name in chosen if seconds is None or stored[name].card.seconds < seconds][:runs]
    results: dict[str, dict[str, Any]] = {}
    for name in chosen:
        result = results[name] = compare(name, configs[name], first_steps)
        print(f"  {stored[name].key}  {name:44}{result.get('seconds', 0):8.1f} s  {describe(result)}", flush=True)
    identical = sum(result.get("identical", False) for result in results.values())
    wrong = [
        name
        for name, result in results.items()
        if result["problem"] or result["equal_steps"] < min(steps_before_explosion(name), result["steps"])
    ]
    print(f"curves: {identical} of {len(results)} identical, {len(wrong)} differ from the first steps {wrong or ''}")
    if wrong or not all(same_key.values()):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
