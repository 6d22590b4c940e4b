"""The training of one model on recall, as a script.

`python_file.py` makes a standalone file from this one and all that it uses, after replacing the names and settings
below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from explorer.models.configs import RNNRecallConfig
from explorer.models.layers import stack
from explorer.models.rnn import RNNRecall
from explorer.seeds import generator
from explorer.tasks.recall import RecallConfig
from explorer.tasks.recall_rows import batch
from explorer.training.config import Optimiser, RunConfig
from explorer.training.optimisers import ReplicaOptimizer

# Names that the code of all runs uses for what this run has.
TaskConfig = RecallConfig
ModelConfig = RNNRecallConfig

TASK = RecallConfig()
MODEL = RNNRecallConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def train() -> Iterator[list[float]]:
    """Train all seeds at once; yields the loss of each batch, one number per seed."""
    torch.set_num_threads(RUN.threads)
    models = [RNNRecall(MODEL, TASK.symbols, TASK.length, generator(seed, "start")) for seed in RUN.seeds]
    model = stack(models) if RUN.replicas > 1 else models[0]
    optimizer = ReplicaOptimizer(model, OPTIMISER, RUN.replicas, RUN.average)
    ones = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    for step in range(RUN.steps):
        drawn = [batch(TASK, seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds]
        ids = torch.stack(drawn) if RUN.replicas > 1 else drawn[0]
        logits = model(ids)
        surprisal = F.cross_entropy(logits.flatten(0, -2), ids[..., 0].flatten(), reduction="none")
        losses = surprisal.view(ids.shape[:-1]).mean(dim=-1)
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
