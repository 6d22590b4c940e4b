"""Trains the Transformers of the negation page with many seeds: how many learn the task, and where they attend.

    python -m benchmarks.negation_seeds [--seeds 96]

For each Transformer of the page and each version of the task: the seeds that classify every sentence correctly, and the
attention weights on “not” and on the verb in “human not preserve nature”, at the position of the answer, of the head
that attends most to it (median over the seeds, lowest, highest). Seconds are those of one stack of seeds.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer

from explorer.experiments.presets import preset
from explorer.experiments.pretraining import NEGATION_VERSIONS
from explorer.inspection.load_model import load_model
from explorer.inspection.words.negation_sentences import sentence_attention
from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run

WORDS = ("human", "not", "preserve", "nature")
STACK = 24  # seeds that are trained together
TRANSFORMERS: dict[str, dict[str, object]] = {
    "8 heads": dict(preset("negation-attending").settings),
    "1 head, small initialization": {},
    "1 head, standard initialization": {"start": 1.0},
}


def measure(config: RunConfig) -> tuple[list[float], list[tuple[float, float]]]:
    """Return the exact accuracy of each seed, and its highest weights on “not” and on the verb."""
    record = record_run(config)
    with tempfile.TemporaryDirectory() as folder:
        store.save_run(record, Path(folder) / "run", "benchmark")
        loaded = load_model(store.load(Path(folder) / "run"))
    weights = []
    for replica in range(config.replicas):
        heads = sentence_attention(loaded, WORDS, replica).weights[-1, :, 0]
        weights.append((float(heads[:, 2].max()), float(heads[:, 3].max())))
    return record.curves.last("exact_accuracy").tolist(), weights


def main(seeds: Annotated[int, typer.Option(help="Seeds of each Transformer and version.")] = 96) -> None:
    """Train every Transformer on every version and print a row for each."""
    torch.set_num_threads(1)
    print(f"{'version':9} {'Transformer':32} {'learn':>9}  {'on “not”':18} {'on the verb':18} seconds")
    for version, changes in NEGATION_VERSIONS.items():
        for title, settings in TRANSFORMERS.items():
            base = with_settings(default_config("negation", "transformer"), {**settings, **changes})
            accuracies: list[float] = []
            weights: list[tuple[float, float]] = []
            for first in range(0, seeds, STACK):
                start = time.perf_counter()
                found = measure(with_settings(base, {"seed": first, "replicas": min(STACK, seeds - first)}))
                seconds = time.perf_counter() - start
                accuracies += found[0]
                weights += found[1]
            solved = sum(accuracy > 1 - 1e-6 for accuracy in accuracies)
            spread = [
                f"{np.median(each):.2f} ({min(each):.2f} to {max(each):.2f})" for each in zip(*weights, strict=True)
            ]
            print(
                f"{version:9} {title:32} {solved:2} of {seeds:3}  {spread[0]:18} {spread[1]:18} {seconds:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    typer.run(main)
