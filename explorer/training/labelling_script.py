"""The training of one model that answers at every place of a row, as a script.

`export.py` makes a file that stands alone from this one and from all it uses. It is written for one run; the names
and settings of another one take the place of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from explorer.models.configs import TransformerTaggerConfig
from explorer.models.layers import stack
from explorer.models.transformer_tagger import TransformerTagger
from explorer.seeds import generator
from explorer.tasks.labelled import beside, losses
from explorer.tasks.noise import NoiseConfig
from explorer.tasks.noise_rows import batch
from explorer.training.config import Optimiser, RunConfig
from explorer.training.optimisers import Stepper

# Names by which the code of all runs knows what this one has.
TaskConfig = NoiseConfig
ModelConfig = TransformerTaggerConfig

TASK = NoiseConfig()
MODEL = TransformerTaggerConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def train() -> Iterator[list[float]]:
    """Train every seed side by side; yields the loss of each batch, one number a seed, in nats a place."""
    torch.set_num_threads(RUN.threads)
    sizes = (len(TASK.vocabulary), len(TASK.labels), TASK.places)
    models = [TransformerTagger(MODEL, *sizes, generator(seed, "start")) for seed in RUN.seeds]
    model = stack(models) if RUN.replicas > 1 else models[0]
    stepper = Stepper(model, OPTIMISER, RUN.replicas, RUN.average)
    one = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    for step in range(RUN.steps):
        each = [batch(TASK, seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds]
        drawn = beside(each, len(TASK.vocabulary) - 1)
        counted = losses(model(drawn.ids), drawn.wanted) * drawn.counted
        means = counted.sum(dim=(-2, -1)) / drawn.counted.sum(dim=(-2, -1))
        stepper.zero_grad()
        means.backward(one)  # type: ignore[no-untyped-call]
        stepper.step(step + 1, RUN.steps)
        yield means.detach().view(-1).tolist()


def main() -> list[list[float]]:
    """Print some twenty of the losses, and the last; returns them all."""
    curve = []
    for step, each in enumerate(train(), start=1):
        curve.append(each)
        if step % max(1, RUN.steps // 20) == 0 or step == RUN.steps:
            print(f"step {step}  loss", *each)
    return curve


if __name__ == "__main__":
    main()
