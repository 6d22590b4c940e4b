"""The training loop and the `main` of all scripts but that of the text task.

`python_file.py` appends this text to the script of a task, so that an exported file shows both as one section. The
script defines the settings, `build_model`, `batches` and `batch_losses`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from explorer.models.layers import stack
from explorer.training.optimisers import ReplicaOptimizer

if TYPE_CHECKING:  # any of the scripts: all define these names
    from explorer.export.scripts.recall import OPTIMISER, RUN, batch_losses, batches, build_model


def train() -> Iterator[list[float]]:
    """Train all seeds at once; yields the loss of each batch, one number per seed."""
    torch.set_num_threads(RUN.threads)
    models = [build_model(seed) for seed in RUN.seeds]
    model = stack(models) if RUN.replicas > 1 else models[0]
    optimizer = ReplicaOptimizer(model, OPTIMISER, RUN.replicas, RUN.average)
    ones = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    for step, examples in enumerate(batches(), start=1):
        losses = batch_losses(model, examples)
        optimizer.zero_grad()
        losses.backward(ones)  # type: ignore[no-untyped-call]
        optimizer.step(step, RUN.steps)
        yield losses.detach().view(-1).tolist()


def main() -> list[list[float]]:
    """Print some of the losses and the last one; return all."""
    curve = []
    for step, losses in enumerate(train(), start=1):
        curve.append(losses)
        if RUN.iterations:
            if step % max(1, RUN.steps // 20) == 0 or step == RUN.steps:
                print(f"step {step}  loss", *losses)
        elif step % RUN.steps_per_epoch == 0:
            print(f"epoch {step // RUN.steps_per_epoch}  loss", *losses)
    return curve
