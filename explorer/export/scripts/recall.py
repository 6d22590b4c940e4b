"""The training of one model on recall, as a script.

`python_file.py` makes a standalone file from this one, `training_loop.py` and all that they use, after replacing the
names and settings below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from explorer.models.configs import RNNRecallConfig
from explorer.models.rnn import RNNRecall
from explorer.seeds import generator
from explorer.tasks.recall import RecallConfig
from explorer.tasks.recall_rows import batch
from explorer.training.config import Optimiser, RunConfig

# Names that the code of all runs uses for what this run has.
TaskConfig = RecallConfig
ModelConfig = RNNRecallConfig

TASK = RecallConfig()
MODEL = RNNRecallConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def build_model(seed: int) -> nn.Module:
    """Return the initialized model of one seed."""
    return RNNRecall(MODEL, TASK.symbols, TASK.length, generator(seed, "start"))


def batches() -> Iterator[Int[Tensor, "*replicas batch time"]]:
    """Yield the batch of each step; several seeds are stacked."""
    for step in range(RUN.steps):
        each = [batch(TASK, seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds]
        yield torch.stack(each) if RUN.replicas > 1 else each[0]


def batch_losses(model: nn.Module, ids: Int[Tensor, "*replicas batch time"]) -> Float[Tensor, "*replicas"]:
    """Return the mean loss of a batch in nats per sequence, for each seed: the first symbol has to be recalled."""
    losses = F.cross_entropy(model(ids).flatten(0, -2), ids[..., 0].flatten(), reduction="none")
    return losses.view(ids.shape[:-1]).mean(dim=-1)
