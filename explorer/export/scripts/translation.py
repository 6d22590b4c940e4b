"""The training of one model that reads a source and writes a target, as a script.

`python_file.py` makes a standalone file from this one and all that it uses, after replacing the names and settings
below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from explorer.generation.seq2seq_decoding import surprisal
from explorer.models.configs import EncoderDecoderConfig
from explorer.models.encoder_decoder import EncoderDecoder
from explorer.models.layers import stack
from explorer.seeds import generator
from explorer.tasks.seq2seq.batches import batch, stack_replicas
from explorer.tasks.seq2seq.config import source_vocabulary, target_vocabulary
from explorer.tasks.seq2seq.digits import ReverseConfig
from explorer.training.config import Optimiser, RunConfig
from explorer.training.optimisers import ReplicaOptimizer

# Names that the code of all runs uses for what this run has.
TaskConfig = ReverseConfig
ModelConfig = EncoderDecoderConfig

TASK = ReverseConfig()
MODEL = EncoderDecoderConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def train() -> Iterator[list[float]]:
    """Train all seeds at once; yields the loss of each batch in nats per token, one number per seed."""
    torch.set_num_threads(RUN.threads)
    sources, targets = len(source_vocabulary(TASK)), len(target_vocabulary(TASK))
    sizes = (sources, targets, sources - 1)
    models = [EncoderDecoder(MODEL, *sizes, generator(seed, "start")) for seed in RUN.seeds]
    model = stack(models) if RUN.replicas > 1 else models[0]
    optimizer = ReplicaOptimizer(model, OPTIMISER, RUN.replicas, RUN.average)
    ones = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    for step in range(RUN.steps):
        drawn = stack_replicas(TASK, [batch(TASK, seed, RUN.order, step, RUN.batch_size) for seed in RUN.seeds])
        losses = surprisal(model(drawn.source, drawn.decoder_input), drawn.targets) * drawn.mask
        losses = losses.sum(dim=(-2, -1)) / drawn.mask.sum(dim=(-2, -1))
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
