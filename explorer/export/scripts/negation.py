"""The training of one model on the negation task, as a script.

`python_file.py` makes a standalone file from this one and all that it uses, after replacing the names and settings
below by those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from explorer.models.configs import RNNConfig
from explorer.models.layers import stack
from explorer.models.rnn import RNN
from explorer.seeds import generator
from explorer.tasks.distinct_rows import batch_weights, row_ids, row_labels
from explorer.tasks.negation import CLASSES, VOCABULARY, Negation, NegationConfig
from explorer.training.config import Optimiser, RunConfig
from explorer.training.optimisers import ReplicaOptimizer

# Names that the code of all runs uses for what this run has.
TaskConfig = NegationConfig
ModelConfig = RNNConfig

TASK = NegationConfig()
MODEL = RNNConfig()
OPTIMISER = Optimiser()
RUN = RunConfig(TASK, MODEL, OPTIMISER)


def train() -> Iterator[list[float]]:
    """Train all seeds at once; yields the loss of each batch, one number per seed."""
    torch.set_num_threads(RUN.threads)
    task = Negation(TASK)
    sizes = (len(VOCABULARY.tokens), len(CLASSES), VOCABULARY.id(VOCABULARY.padding))
    models = [RNN(MODEL, *sizes, generator(seed, "start")) for seed in RUN.seeds]
    model = stack(models) if RUN.replicas > 1 else models[0]
    optimizer = ReplicaOptimizer(model, OPTIMISER, RUN.replicas, RUN.average)

    samples = [torch.tensor(task.sample("train", seed)) for seed in RUN.seeds]
    orders = [generator(seed, f"order/{RUN.order}" if RUN.order else "order") for seed in RUN.seeds]
    shares = [batch_weights(task, s, RUN.epochs, RUN.batch_size, o) for s, o in zip(samples, orders, strict=True)]
    # Cross-entropy is the sum of -share * log p(label): the targets of every step, made once.
    targets = -torch.stack(shares, dim=1)[..., None] * F.one_hot(row_labels(task), len(CLASSES))
    ids = row_ids(task)
    if RUN.replicas > 1:
        ids = ids.expand(RUN.replicas, *ids.shape)
    else:
        targets = targets.squeeze(1)
    ones = torch.ones(RUN.replicas).squeeze()  # seeds share no parameter: each gets its own gradient
    for step, target in enumerate(targets.unbind(), start=1):
        losses = (model(ids).log_softmax(dim=-1) * target).sum(dim=(-2, -1))
        optimizer.zero_grad()
        losses.backward(ones)
        optimizer.step(step, RUN.steps)
        yield losses.detach().view(-1).tolist()


def main() -> list[list[float]]:
    """Print the last loss of each epoch; return the losses of all batches."""
    curve = []
    for step, losses in enumerate(train(), start=1):
        curve.append(losses)
        epoch, rest = divmod(step, RUN.steps_per_epoch)
        if rest == 0:
            print(f"epoch {epoch}  loss", *losses)
    return curve


if __name__ == "__main__":
    main()
