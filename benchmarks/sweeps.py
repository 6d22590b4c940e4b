"""What successive halving saves: a sweep of 24 trials on the negation task, with and without it.

python -m benchmarks.sweeps              in this process and in worker processes
python -m benchmarks.sweeps --epochs 100 longer trainings

Prints for each executor the seconds of the whole sweep, the steps that were trained, and whether the winner, the best
trial and the table are the same. Each sweep has an empty folder of its own, so no run is reused.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import torch

from explorer.sweeps.controller import Plan
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="rnn")
    parser.add_argument("--epochs", type=int, default=25)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    base = with_settings(default_config("negation", arguments.model), {"epochs": arguments.epochs})
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


if __name__ == "__main__":
    main()
