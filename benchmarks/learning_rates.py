"""Searches the learning rate of every run of the compared groups: the same rates, seeds and rule for all of a group.

    LINEAGE_HOME=FOLDER python -m benchmarks.learning_rates [GROUP ...]
    python -m explorer pretrain --missing

Every run is trained at each rate of its group with three seeds that no comparison uses. The runs are stored in
LINEAGE_HOME, so that an interrupted search goes on where it was; give it a folder of its own. Writes
explorer/experiments/learning_rates.json, which the pages show. The second command then trains the runs of the
comparisons at the rates that were found. The texts need Tiny Shakespeare (LINEAGE_DATA_DIR).
"""

from __future__ import annotations

import json
from typing import Annotated

import numpy as np
import torch
import typer

from explorer.errors import Diverged
from explorer.experiments.compared_groups import TRAINING_LOSS, ComparedGroup, compared_groups
from explorer.experiments.learning_rates import FILE, SEEDS
from explorer.run_store import store
from explorer.training.config import RunConfig, with_settings
from explorer.training.recorder import record_run


def search_config(group: ComparedGroup, config: RunConfig, rate: float) -> RunConfig:
    """Return the run of a search at a learning rate."""
    seeds = {"seed": SEEDS.start, "replicas": len(SEEDS), "snapshots": 2}
    return with_settings(config, {**seeds, "learning_rate": rate, **group.search_settings})


def reached_losses(group: ComparedGroup, config: RunConfig, rate: float) -> list[float | None]:
    """Return the criterion of each seed at the end of a training; None if it is not finite."""
    wanted = search_config(group, config, rate)
    try:
        run = store.find_by_config(wanted) or store.save_run(record_run(wanted), store.run_folder(wanted))
    except Diverged:
        return [None] * len(SEEDS)
    if group.criterion == TRAINING_LOSS:
        values = run.curves.losses[-max(1, wanted.steps // 10) :].mean(axis=0)
    else:
        values = run.curves.last(group.criterion)
    return [round(float(value), 5) if np.isfinite(value) else None for value in values]


def main(names: Annotated[list[str] | None, typer.Argument(help="Names of groups. Default: all.")] = None) -> None:
    """Train every run at every rate, print its losses, and write the file after each run."""
    torch.set_num_threads(1)
    for group_name in names or compared_groups():
        group = compared_groups()[group_name]
        for name, config in group.runs.items():
            found = {f"{rate:g}": reached_losses(group, config, rate) for rate in group.rates}
            stored = json.loads(FILE.read_text("utf-8")) | {name: found}
            FILE.write_text(json.dumps(dict(sorted(stored.items())), indent=1) + "\n", "utf-8")
            print(group_name, name, found, flush=True)


if __name__ == "__main__":
    typer.run(main)
