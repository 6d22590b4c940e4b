"""Training as a generator: a configuration in, events out. It knows no thread, no screen, no disk.

The same configuration gives the same curve, bit for bit on one machine, whatever runs beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn

from explorer.tasks.batches import batch_weights, row_ids, row_labels, rows_beside
from explorer.tasks.negation import Negation
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
    parameters = list(model.parameters())
    optimiser = torch.optim.Adam(parameters, lr=config.optimiser.learning_rate, fused=True)
    yield Started(sum(p.numel() for p in parameters) // config.replicas)

    ids, labels = row_ids(task), row_labels(task)
    weights = torch.stack(
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
    if config.replicas > 1:
        ids = ids.expand(config.replicas, *ids.shape)
        labels = labels.repeat(config.replicas)

    yield _evaluate(model, ids, task, step=0, epoch=0)
    yield _snapshot(model, config.replicas, step=0)
    for step, share in enumerate(weights.unbind(), start=1):
        logits = model(ids)
        surprise = F.cross_entropy(logits.flatten(0, -2), labels, reduction="none")
        losses = (surprise.view(share.shape) * share).sum(dim=-1)
        optimiser.zero_grad()
        losses.sum().backward()  # replicas share no parameter, so each gets its own gradient
        optimiser.step()
        yield Step(step, losses.detach())
        if step % config.steps_per_epoch == 0:
            yield _evaluate(model, ids, task, step, step // config.steps_per_epoch)
    yield _snapshot(model, config.replicas, config.steps)


def _evaluate(model: nn.Module, ids: torch.Tensor, task: Negation, step: int, epoch: int) -> Evaluation:
    """Logits of every sentence as it stands beside the longest one."""
    with torch.no_grad():
        logits = model(ids)
    if logits.dim() == 2:
        logits = logits[None]
    return Evaluation(step, epoch, logits[:, rows_beside(task)[-1]])


def _snapshot(model: nn.Module, replicas: int, step: int) -> Snapshot:
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    return Snapshot(step, weights if replicas > 1 else {name: value[None] for name, value in weights.items()})
