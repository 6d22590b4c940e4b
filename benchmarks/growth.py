"""Trains models of several sizes on growing shares of a text, and writes their results for the page Cost.

    python -m benchmarks.growth [--missing] [--corpus tinyshakespeare] [--model gru]

Writes explorer/experiments/growth.json after each run: the number of parameters, and the loss of each seed on held-out
text and on training text. Tiny Shakespeare is needed (LINEAGE_DATA_DIR). All runs take about half an hour on one core.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import torch
import typer

from explorer.experiments.growth import CORPORA, FILE, LEARNING_RATES, SIZES, growth_config, growth_configs
from explorer.training.config import RunConfig, key, with_settings
from explorer.training.recorder import record_run

SEARCHED_RATES: Final = (0.01, 0.03, 0.1)
SEARCH_SEED: Final = 100  # the first of three; the runs have other seeds


def search_configs(model: str, size: int) -> dict[float, RunConfig]:
    """Return the runs of the search for the learning rate of a size: on a validation split, with seeds of their own."""
    split = {"test": 0.5, "seed": SEARCH_SEED}
    config = with_settings(growth_config(model, size, 1.0), split)
    return {rate: with_settings(config, {"learning_rate": rate}) for rate in SEARCHED_RATES}


def measure(config: RunConfig) -> dict[str, Any]:
    """Train a run and return its result as it is stored."""
    record = record_run(config)
    losses = {name: [round(float(v), 5) for v in record.curves.last(name)] for name in ("val_loss", "train_loss")}
    return {"parameters": record.parameters, "seconds": round(record.seconds, 1), **losses}


def main(
    missing: Annotated[bool, typer.Option("--missing", help="Train only the runs that are not in the file.")] = False,
    corpus: Annotated[str, typer.Option(help=f"Only this text: {', '.join(CORPORA)}.")] = "",
    model: Annotated[str, typer.Option(help="Only this architecture.")] = "",
    search: Annotated[bool, typer.Option("--search", help="Only search the learning rates.")] = False,
) -> None:
    """Train the runs one after another, print a line for each, and write the file."""
    torch.set_num_threads(1)
    runs = {
        f"search {name}-{size}-{rate:g}": (CORPORA[0], name, config)
        for name in LEARNING_RATES
        for size in range(len(SIZES[name]))
        for rate, config in search_configs(name, size).items()
    }
    if not search:
        runs |= {
            f"{text} {cell.name}": (text, cell.model, config)
            for text in CORPORA
            for cell, config in growth_configs(text).items()
        }
    kept = json.loads(FILE.read_text("utf-8"))["runs"] if FILE.exists() else {}
    for title, (text, name, config) in runs.items():
        if corpus in ("", text) and model in ("", name) and not (missing and key(config) in kept):
            kept[key(config)] = measure(config)
            print(title, kept[key(config)], flush=True)
            _write(kept)


def _write(results: dict[str, dict[str, Any]]) -> None:
    """Write the file, a line for each run."""
    lines = ",\n".join(f'"{run}": {json.dumps(result)}' for run, result in results.items())
    about = json.dumps({"date": datetime.now(UTC).date().isoformat(), "torch": torch.__version__})[1:-1]
    FILE.write_text(f'{{{about},\n"runs": {{\n{lines}\n}}}}\n', "utf-8")


if __name__ == "__main__":
    typer.run(main)
