"""The command line of every exported file; `python_file.py` replaces what belongs to a kind of run."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from explorer.export.templates.common import (
    COMMAND,
    FILE,
    OPTIONS,
    SEEDS,
    answer_text,
    load_models,
    train_model,
)


def main(arguments: list[str] | None = None) -> None:
    """Run a command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["train", COMMAND])
    parser.add_argument("text", nargs="?", default="")
    parser.add_argument("--seed", type=int, default=SEEDS[0], help="of the initial weights, or of random numbers")
    parser.add_argument("--weights", type=Path, default=FILE, help="file of weights that train has written")
    for option, default in OPTIONS.items():
        parser.add_argument(option, type=type(default), default=default)
    given = parser.parse_args(arguments)
    if given.command == "train":
        train_model(given.seed, FILE.with_name(f"{FILE.stem}-trained.safetensors"))
    else:
        print(torch.no_grad()(answer_text)(load_models(given.weights), given))
