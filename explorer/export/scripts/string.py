"""The training of one model on one string, as a script.

`python_file.py` makes a standalone file from this one, `training_loop.py` and all that they use, after replacing the
names and settings below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from explorer.models.configs import RNNStringConfig
from explorer.models.rnn import RNNString
from explorer.seeds import generator
from explorer.tasks.string import StringConfig
from explorer.training.config import Optimiser, RunConfig

# Names that the code of all runs uses for what this run has.
TaskConfig = StringConfig
ModelConfig = RNNStringConfig

TASK = StringConfig()
MODEL = RNNStringConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def build_model(seed: int) -> nn.Module:
    """Return the initialized model of one seed."""
    return RNNString(MODEL, len(TASK.vocabulary), generator(seed, "start"))


def batches() -> Iterator[Int[Tensor, "*replicas 1 time"]]:
    """Yield the batch of each step, which is always the whole string."""
    ids = torch.tensor([TASK.ids])
    if RUN.replicas > 1:
        ids = ids.expand(RUN.replicas, 1, -1)
    for _ in range(RUN.steps):
        yield ids


def batch_losses(model: nn.Module, ids: Int[Tensor, "*replicas 1 time"]) -> Float[Tensor, "*replicas"]:
    """Return the mean loss of the string in nats per character, for each seed."""
    logits, targets = model(ids[..., :-1]), ids[..., 1:]
    losses = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return losses.view(targets.shape).mean(dim=(-2, -1))
