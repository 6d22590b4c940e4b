"""The training of one model that labels every position of a row, as a script.

`python_file.py` makes a standalone file from this one and all that it uses, after replacing the names and settings
below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from explorer.models.configs import TransformerTaggerConfig
from explorer.models.layers import stack
from explorer.models.transformer_tagger import TransformerTagger
from explorer.seeds import generator
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from explorer.tasks.sequence_labelling.random_symbols_rows import batch
from explorer.tasks.sequence_labelling.rows import position_losses, stack_replicas
from explorer.training.config import Optimiser, RunConfig
from explorer.training.optimisers import ReplicaOptimizer

# Names that the code of all runs uses for what this run has.
TaskConfig = RandomSymbolsConfig
ModelConfig = TransformerTaggerConfig

TASK = RandomSymbolsConfig()
MODEL = TransformerTaggerConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def train() -> Iterator[list[float]]:
    """Train all seeds at once; yields the loss of each batch in nats per position, one number per seed."""
    torch.set_num_threads(RUN.threads)
    sizes = (len(TASK.vocabulary), len(TASK.labels), TASK.max_length)
    models = [TransformerTagger(MODEL, *sizes, generator(seed, "start")) for seed in RUN.seeds]
    model = stack(models) if RUN.replicas > 1 else models[0]
    optimizer = ReplicaOptimizer(model, OPTIMISER, RUN.replicas, RUN.average)
    ones = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    for step in range(RUN.steps):
        each = [batch(TASK, seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds]
        drawn = stack_replicas(each, len(TASK.vocabulary) - 1)
        counted = position_losses(model(drawn.ids), drawn.targets) * drawn.mask
        means = counted.sum(dim=(-2, -1)) / drawn.mask.sum(dim=(-2, -1))
        optimizer.zero_grad()
        means.backward(ones)  # type: ignore[no-untyped-call]
        optimizer.step(step + 1, RUN.steps)
        yield means.detach().view(-1).tolist()


def main() -> list[list[float]]:
    """Print about twenty of the losses and the last one; return all."""
    curve = []
    for step, each in enumerate(train(), start=1):
        curve.append(each)
        if step % max(1, RUN.steps // 20) == 0 or step == RUN.steps:
            print(f"step {step}  loss", *each)
    return curve


if __name__ == "__main__":
    main()
