"""The training of one model on one string, as a script.

`export.py` makes a file that stands alone from this one and from all it uses. It is written for one run; the names
and settings of another one take the place of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from explorer.models.configs import RNNStringConfig
from explorer.models.layers import stack
from explorer.models.rnn import RNNString
from explorer.seeds import generator
from explorer.tasks.strings import StringConfig
from explorer.training.config import Optimiser, RunConfig
from explorer.training.optimisers import Stepper

# Names by which the code of all runs knows what this one has.
TaskConfig = StringConfig
ModelConfig = RNNStringConfig

TASK = StringConfig()
MODEL = RNNStringConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def train() -> Iterator[list[float]]:
    """Train every seed side by side; yields the loss of each batch, one number a seed."""
    torch.set_num_threads(RUN.threads)
    models = [RNNString(MODEL, len(TASK.vocabulary), generator(seed, "start")) for seed in RUN.seeds]
    model = stack(models) if RUN.replicas > 1 else models[0]
    stepper = Stepper(model, OPTIMISER, RUN.replicas, RUN.average)
    one = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    ids = torch.tensor([TASK.ids])
    if RUN.replicas > 1:
        ids = ids.expand(RUN.replicas, 1, -1)
    for step in range(RUN.steps):
        logits, targets = model(ids[..., :-1]), ids[..., 1:]
        surprise = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
        losses = surprise.view(targets.shape).mean(dim=(-2, -1))
        stepper.zero_grad()
        losses.backward(one)  # type: ignore[no-untyped-call]
        stepper.step(step + 1, RUN.steps)
        yield losses.detach().view(-1).tolist()


def main() -> list[list[float]]:
    """Print some twenty of the losses, and the last; returns them all."""
    curve = []
    for step, losses in enumerate(train(), start=1):
        curve.append(losses)
        if step % max(1, RUN.steps // 20) == 0 or step == RUN.steps:
            print(f"step {step}  loss", *losses)
    return curve


if __name__ == "__main__":
    main()
