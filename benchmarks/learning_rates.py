"""Searches the learning rate of every model of a comparison: the same rates, seeds and rule for all models.

    python -m benchmarks.learning_rates [--only negation]

Each model is trained at each rate with the steps of the comparison and three seeds that the comparison does not use.
The best rate has the highest mean accuracy on new sentences or sequences; of several, the lowest mean loss. Writes
explorer/experiments/learning_rates.json, which the pages show.
"""

from __future__ import annotations

import json
import math
from typing import Annotated

import numpy as np
import torch
import typer
from numpy import ndarray

from explorer.experiments.learning_rates import COMPARISONS, FILE, SEEDS, read_searches, searched_rates
from explorer.inspection.load_model import load_model
from explorer.tasks.recall import RecallConfig
from explorer.tasks.recall_rows import batch
from explorer.training.config import RunConfig, with_settings
from explorer.training.objectives.recall import RecallObjective
from explorer.training.record import Record
from explorer.training.recorder import record_run

SEQUENCES = 512  # of recall, for each seed
LAST_BATCHES = 50  # of recall: their sequences are new in every batch
_OTHER_ORDER = 1  # of the batches, so that the sequences are not those of the training


def measure(config: RunConfig) -> dict[str, list[float | None]]:
    """Return accuracy and loss of each seed on data that it has not seen; a loss that is not finite is None."""
    record = record_run(config)
    accuracy, loss = _recall_measures(record) if isinstance(config.task, RecallConfig) else _negation_measures(record)
    return {
        "accuracy": [round(float(v), 5) for v in accuracy],
        "loss": [round(float(v), 5) if math.isfinite(v) else None for v in loss],
    }


def _negation_measures(record: Record) -> tuple[ndarray, ndarray]:
    """Return the accuracy over all sentences that the grammar can make, and the loss on the test sentences."""
    return record.curves.last("exact_accuracy"), record.curves.last("test_loss")


def _recall_measures(record: Record) -> tuple[ndarray, ndarray]:
    """Return the accuracy on new sequences of each seed, and the loss of the last batches before they are learned."""
    config = record.config
    task = config.task_as(RecallConfig)
    ids = torch.stack([batch(task, seed, _OTHER_ORDER, 0, SEQUENCES) for seed in config.seeds])
    with torch.inference_mode():
        accuracy = RecallObjective(config, load_model(record).stack).accuracy(ids)
    return accuracy.numpy(), np.asarray(record.curves.losses[-LAST_BATCHES:].mean(axis=0))


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
            results = {}
            for rate in searched_rates(config.optimiser.learning_rate):
                seeds = {"seed": SEEDS.start, "replicas": len(SEEDS)}
                results[f"{rate:g}"] = measure(with_settings(config, {"learning_rate": rate, **seeds}))
                print(comparison, name, f"{rate:g}", results[f"{rate:g}"], flush=True)
            found[comparison][name] = results
    FILE.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    for comparison in found:
        for name, search in read_searches(comparison).items():
            rates = f"used {search.used:g}, best {search.best:g}"
            print(f"{comparison:10}{name:22} {rates}, loses {search.accuracy_lost:.3f}")


if __name__ == "__main__":
    typer.run(main)
