"""What successive halving saves: a sweep of 24 trials on the negation task, with and without it.

python -m benchmarks.sweeps              in this process and in worker processes
python -m benchmarks.sweeps --epochs 100 longer trainings

Prints for each executor the seconds of the whole sweep, the steps that were trained, and whether the winner, the best
trial and the table are the same; then for each snapshot how the order of the trials agrees with that at the end
(Spearman's rank correlation), and how many of the best five are in the best third, so would not be given up there. Each
sweep has an empty folder of its own, so no run is reused.
"""

from __future__ import annotations

import math
import os
import tempfile
import time

import numpy as np
import torch
import typer

from explorer.sweeps.controller import Plan, values_at
from explorer.sweeps.driver import carry_out, estimated_seconds
from explorer.sweeps.findings import result_details, result_finding
from explorer.sweeps.results import results_table
from explorer.sweeps.space import Sweep, make_sweep
from explorer.training.config import default_config, with_settings

SPACE = {"learning_rate": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1], "hidden": [8, 16, 32]}


def measure(sweep: Sweep, executor: str) -> tuple[Plan, float]:
    """Return where a sweep stands at its end, and its seconds in an empty folder."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["LINEAGE_HOME"] = home
        start = time.perf_counter()
        plan = carry_out(sweep, executor)
        return plan, time.perf_counter() - start


def print_early_order(sweep: Sweep, plan: Plan) -> None:
    """Print how well the order of the trials at each snapshot tells that at the end, of a sweep without halving."""
    curves = [status.run.curves for status in plan.trials if status.run.curves and status.state == "finished"]
    last = np.array([status.mean for status in plan.trials if status.run.curves and status.state == "finished"])
    for step in sweep.base.snapshot_steps[1:-1]:
        measured = [values_at(each, sweep.base, sweep.metric, step) for each in curves]
        early = np.array([math.inf if values is None else values.mean() for values in measured])
        correlation = np.corrcoef(early.argsort().argsort(), last.argsort().argsort())[0, 1]
        kept = set(early.argsort()[: len(early) // 3]) & set(last.argsort()[:5])
        print(f"step {step:5,}  rank correlation {correlation:5.2f}  of the best five in the best third: {len(kept)}")


def main(model: str = "rnn", epochs: int = 25) -> None:
    """Print the results of both executors, with and without halving."""
    torch.set_num_threads(1)
    base = with_settings(default_config("negation", model), {"epochs": epochs})
    measure(make_sweep(base, {"hidden": [4, 8]}), "here")  # loads what the first training needs
    tables = []
    for executor in ("here", "processes"):
        for halving in (True, False):
            sweep = make_sweep(base, SPACE, halving=halving)
            plan, seconds = measure(sweep, executor)
            steps = sum(status.run.step for status in plan.trials)
            table = results_table(sweep, plan).drop(columns="seconds")
            tables.append((halving, table))
            print(
                f"{executor:9}  halving {'yes' if halving else 'no ':3}  {seconds:6.1f} s  {steps:7,} steps of the "
                f"search  estimated {estimated_seconds(sweep):5.1f} s  {result_finding(sweep, plan)}"
            )
            print(f"           {result_details(sweep, plan)}")
    for halving in (True, False):
        first, second = (table for with_it, table in tables if with_it is halving)
        print(f"halving {halving}: the same table with both executors: {first.equals(second)}")
    print_early_order(sweep, plan)


if __name__ == "__main__":
    typer.run(main)
