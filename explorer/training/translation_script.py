"""The training of one model that reads a source and writes a target, as a script.

`export.py` makes a file that stands alone from this one and from all it uses. It is written for one run; the names
and settings of another one take the place of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from explorer.generation.translating import surprise
from explorer.models.configs import EncoderDecoderConfig
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.layers import stack
from explorer.seeds import generator
from explorer.tasks.digits import ReverseConfig
from explorer.tasks.pairs import batch, beside
from explorer.tasks.translation import source_tokens, target_tokens
from explorer.training.config import Optimiser, RunConfig
from explorer.training.optimisers import Stepper

# Names by which the code of all runs knows what this one has.
TaskConfig = ReverseConfig
ModelConfig = EncoderDecoderConfig

TASK = ReverseConfig()
MODEL = EncoderDecoderConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def train() -> Iterator[list[float]]:
    """Train every seed side by side; yields the loss of each batch, one number a seed, in nats a token."""
    torch.set_num_threads(RUN.threads)
    sources, targets = len(source_tokens(TASK)), len(target_tokens(TASK))
    sizes = (sources, targets, sources - 1)
    models = [EncoderDecoder(MODEL, *sizes, generator(seed, "start")) for seed in RUN.seeds]
    model = stack(models) if RUN.replicas > 1 else models[0]
    stepper = Stepper(model, OPTIMISER, RUN.replicas, RUN.average)
    one = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    for step in range(RUN.steps):
        drawn = beside(TASK, [batch(TASK, seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds])
        losses = surprise(model(drawn.source, drawn.given), drawn.wanted) * drawn.counted
        losses = losses.sum(dim=(-2, -1)) / drawn.counted.sum(dim=(-2, -1))
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
