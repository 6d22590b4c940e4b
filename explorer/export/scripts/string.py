"""The training of one model on one string, as a script.

`python_file.py` makes a standalone file from this one and all that it uses, after replacing the names and settings
below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from explorer.models.configs import RNNStringConfig
from explorer.models.layers import stack
from explorer.models.rnn import RNNString
from explorer.seeds import generator
from explorer.tasks.string import StringConfig
from explorer.training.config import Optimiser, RunConfig
from explorer.training.optimisers import ReplicaOptimizer

# Names that the code of all runs uses for what this run has.
TaskConfig = StringConfig
ModelConfig = RNNStringConfig

TASK = StringConfig()
MODEL = RNNStringConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def train() -> Iterator[list[float]]:
    """Train all seeds at once; yields the loss of each batch, one number per seed."""
    torch.set_num_threads(RUN.threads)
    models = [RNNString(MODEL, len(TASK.vocabulary), generator(seed, "start")) for seed in RUN.seeds]
    model = stack(models) if RUN.replicas > 1 else models[0]
    optimizer = ReplicaOptimizer(model, OPTIMISER, RUN.replicas, RUN.average)
    ones = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    ids = torch.tensor([TASK.ids])
    if RUN.replicas > 1:
        ids = ids.expand(RUN.replicas, 1, -1)
    for step in range(RUN.steps):
        logits, targets = model(ids[..., :-1]), ids[..., 1:]
        surprisal = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
        losses = surprisal.view(targets.shape).mean(dim=(-2, -1))
        optimizer.zero_grad()
        losses.backward(ones)  # type: ignore[no-untyped-call]
        optimizer.step(step + 1, RUN.steps)
        yield losses.detach().view(-1).tolist()


def main() -> list[list[float]]:
    """Print about twenty of the losses and the last one; return all."""
    curve = []
    for step, losses in enumerate(train(), start=1):
        curve.append(losses)
        if step % max(1, RUN.steps // 20) == 0 or step == RUN.steps:
            print(f"step {step}  loss", *losses)
    return curve


if __name__ == "__main__":
    main()
