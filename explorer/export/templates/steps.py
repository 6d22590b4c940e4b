"""The training of an exported file in steps of gradient descent."""

from __future__ import annotations

from pathlib import Path

from safetensors.torch import save_file

from explorer.export.templates.classify import losses
from explorer.export.templates.common import TRAINING, build_model, train_steps


def train(seed: int, file: Path) -> list[float]:
    """Train the model of one seed, print some of the losses and write the weights; return the losses."""
    model = build_model(seed).train()
    curve = []
    for step, loss in enumerate(train_steps(model, losses(model)), start=1):
        curve.append(loss)
        if step == 1 or step % max(1, TRAINING.steps // 20) == 0 or step == TRAINING.steps:
            print(f"step {step}  loss {loss}")
    save_file({f"weights.{name}": value[None].contiguous() for name, value in model.state_dict().items()}, file)
    print(f"weights in {file}; use them with --weights {file}")
    return curve
