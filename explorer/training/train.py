"""Training as a generator: a configuration in, events out. It knows no thread, no screen, no disk.

The same configuration gives the same curve, bit for bit on one machine, whatever runs beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from explorer.tasks.batches import batch_weights, row_ids, row_labels, rows_beside
from explorer.tasks.negation import CLASSES, Negation
from explorer.training.adam import Adam
from explorer.training.building import build
from explorer.training.config import RunConfig
from explorer.training.events import Evaluation, Event, Snapshot, Started, Step
from explorer.training.seeds import generator


def train(config: RunConfig) -> Iterator[Event]:
    """Train every replica side by side; yields after each optimiser step.

    Closing the generator stops the training. Sets this thread's number of torch threads.
    """
    torch.set_num_threads(config.threads)
    task = Negation(config.task)
    model = build(config)
    optimiser = Adam(model, config.optimiser.learning_rate)
    yield Started(optimiser.weights.numel() // config.replicas)

    ids = row_ids(task)
    shares = torch.stack(
        [
            batch_weights(
                task,
                torch.tensor(task.sample("train", seed)),
                config.epochs,
                config.batch_size,
                generator(seed, "order"),
            )
            for seed in config.seeds
        ],
        dim=1,
    )  # (steps, replicas, rows)
    # Cross-entropy is the sum of -share * log p(label): the targets of every step, made once.
    targets = -shares[..., None] * F.one_hot(row_labels(task), len(CLASSES))
    if config.replicas > 1:
        ids = ids.expand(config.replicas, *ids.shape)
    else:
        targets = targets.squeeze(1)
    one = torch.ones(targets.shape[1:-2])  # replicas share no parameter: each gets its own gradient

    asked = rows_beside(task)[-1]  # an evaluation takes each sentence as it stands beside the longest one

    def evaluation(logits: torch.Tensor, step: int) -> Evaluation:
        every = logits.detach().view(config.replicas, *ids.shape[-2:-1], len(CLASSES))
        return Evaluation(step, step // config.steps_per_epoch, every[:, asked])

    for step, target in enumerate(targets.unbind(), start=1):
        logits = model(ids)
        if (step - 1) % config.steps_per_epoch == 0:  # the rows of a step are all there are: no other forward needed
            yield evaluation(logits, step - 1)
        losses = (logits.log_softmax(dim=-1) * target).sum(dim=(-2, -1))
        optimiser.zero_grad()
        losses.backward(one)
        optimiser.step()
        yield Step(step, losses.detach().view(config.replicas))
    with torch.no_grad():  # no yield in here: another training may have its turn on this thread meanwhile
        logits = model(ids)
    yield evaluation(logits, config.steps)
    yield _snapshot(model, config.replicas, config.steps)


def _snapshot(model: nn.Module, replicas: int, step: int) -> Snapshot:
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    return Snapshot(step, weights if replicas > 1 else {name: value[None] for name, value in weights.items()})
