"""An n-gram, which counts and takes no steps, for an exported file."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file

from explorer.export.templates.common import build_model, stored


def train(seed: int, file: Path) -> list[float]:
    """Count the n-grams of the training text, print and return the loss over it, and write the tables."""
    model, data = build_model(seed), stored()[0]
    if "data.ids" not in data:
        raise SystemExit("The training text of this run was not on the machine that made this file: no counting.")
    ids, targets = data["data.ids"][0].long(), data["data.targets"][0].long()
    mask = data["data.mask"][0] if "data.mask" in data else torch.ones_like(ids).bool()
    model.fit(ids, targets, mask)  # type: ignore[operator]  # an n-gram
    loss = float(model.surprisal(ids, targets)[mask].double().mean())  # type: ignore[operator]
    print(f"loss of the training text {loss}")
    save_file({f"weights.{name}": value[None].contiguous() for name, value in model.state_dict().items()}, file)
    print(f"tables in {file}; use them with --weights {file}")
    return [loss]
