"""Training as a generator: a configuration in, events out. It knows no thread, no screen, no disk.

The same configuration gives the same curve, bit for bit on one machine, whatever runs beside it, and
however often it was broken off and taken up again at a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from explorer.errors import Diverged, InvalidSetting
from explorer.tasks.batches import batch_weights, row_ids, row_labels, rows_beside
from explorer.tasks.negation import CLASSES, Negation
from explorer.training.adam import Adam
from explorer.training.building import build
from explorer.training.config import RunConfig, default
from explorer.training.events import Checkpoint, Evaluation, Event, Started, Step
from explorer.training.seeds import generator


def train(config: RunConfig, resume: Checkpoint | None = None) -> Iterator[Event]:
    """Train every replica side by side; yields after each optimiser step.

    `resume`: go on from a checkpoint of this run, without telling again what stood before it, or, for a
    branch, from its parent's. Closing the generator stops the training. Sets this thread's number of
    torch threads. Raises Diverged, and InvalidSetting where a checkpoint does not fit.
    """
    torch.set_num_threads(config.threads)
    task = Negation(config.task)
    model = build(config)
    optimiser = Adam(model, config.optimiser.learning_rate)
    first = config.first_step if resume is None else resume.step
    if resume:
        _take_up(model, optimiser, resume, config.replicas)
    elif config.branch:
        raise InvalidSetting(f"This branch needs step {first:,} of run {config.branch.parent}. Train that run first.")
    yield Started(optimiser.weights.numel() // config.replicas)

    ids = row_ids(task)
    shares = _shares(task, config)[first:]  # (steps, replicas, rows)
    # Cross-entropy is the sum of -share * log p(label): the targets of every step, made once.
    targets = -shares[..., None] * F.one_hot(row_labels(task), len(CLASSES))
    # Rounded, since they are whole numbers: so a sum over more or fewer steps gives the same.
    read_by_each = (shares @ _row_lengths(task)) * _batch_sizes(config)[first:, None]
    tokens = read_by_each.round().mean(dim=-1)
    if config.replicas > 1:
        ids = ids.expand(config.replicas, *ids.shape)
    else:
        targets = targets.squeeze(1)
    one = torch.ones(targets.shape[1:-2])  # replicas share no parameter: each gets its own gradient

    asked = rows_beside(task)[-1]  # an evaluation takes each sentence as it stands beside the longest one
    told = resume is not None and not (config.branch and first == config.first_step)  # the first step's events
    every = max(10, (config.steps - config.first_step) // 100)  # steps between checkpoints that are not kept

    def rests(step: int, logits: Tensor) -> Iterator[Event]:
        """What is told between two steps. `logits` are of every row, so an evaluation needs no other forward."""
        kept = step in config.snapshot_steps
        evaluated = kept or step % config.steps_per_epoch == 0
        resumable = kept or (step - config.first_step) % every == 0
        if (evaluated or resumable) and not logits.isfinite().all():
            raise Diverged(_why(config, step))
        if evaluated:
            every_row = logits.detach().view(config.replicas, *ids.shape[-2:-1], len(CLASSES))
            yield Evaluation(step, every_row[:, asked])
        if resumable:
            yield _checkpoint(model, optimiser, config.replicas, step, kept)

    for step, (target, read) in enumerate(zip(targets.unbind(), tokens.tolist(), strict=True), start=first):
        logits = model(ids)
        if step > first or not told:
            yield from rests(step, logits)
        losses = (logits.log_softmax(dim=-1) * target).sum(dim=(-2, -1))
        optimiser.zero_grad()
        losses.backward(one)
        optimiser.learning_rate = config.optimiser.rate(step + 1, config.steps)
        optimiser.step()
        yield Step(step + 1, losses.detach().view(config.replicas), read)
    with torch.no_grad():  # no yield in here: another training may have its turn on this thread meanwhile
        logits = model(ids)
    if config.steps > first or not told:
        yield from rests(config.steps, logits)


def _shares(task: Negation, config: RunConfig) -> Tensor:
    """The share of every distinct row in each batch, for every replica."""
    purpose = f"order/{config.order}" if config.order else "order"
    drawn = [torch.tensor(task.sample("train", seed)) for seed in config.seeds]
    orders = [generator(seed, purpose) for seed in config.seeds]
    pairs = zip(drawn, orders, strict=True)
    return torch.stack([batch_weights(task, d, config.epochs, config.batch_size, o) for d, o in pairs], dim=1)


def _row_lengths(task: Negation) -> Tensor:
    """Tokens of each distinct row, the counted ones."""
    return torch.tensor([float(row.length) for row in task.rows])


def _batch_sizes(config: RunConfig) -> Tensor:
    """Sentences in each batch; the last one of an epoch may be smaller."""
    size, batch = config.task.train_size, config.batch_size
    epoch = [min(batch, size - start) for start in range(0, size, batch)]
    return torch.tensor(epoch * config.epochs, dtype=torch.float32)


def _checkpoint(model: nn.Module, optimiser: Adam, replicas: int, step: int, kept: bool) -> Checkpoint:
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    if replicas == 1:
        weights = {name: value[None] for name, value in weights.items()}
    return Checkpoint(step, weights, optimiser.state(), kept)


def _take_up(model: nn.Module, optimiser: Adam, checkpoint: Checkpoint, replicas: int) -> None:
    """Put a checkpoint's weights and averages into a fresh model and its optimiser, in place."""
    own = model.state_dict()
    given = checkpoint.weights if replicas > 1 else {name: value[0] for name, value in checkpoint.weights.items()}
    sizes = {name: value.shape for name, value in own.items()}
    vectors = [checkpoint.optimiser.get(name) for name in ("mean", "square")]
    if {name: value.shape for name, value in given.items()} != sizes or any(
        vector is None or vector.shape != optimiser.weights.shape for vector in vectors
    ):
        raise InvalidSetting(
            f"The checkpoint of step {checkpoint.step:,} does not fit this run's model. Train it from its start."
        )
    for name, value in own.items():  # views of the optimiser's one vector
        value.copy_(given[name])
    optimiser.restore(checkpoint.optimiser, checkpoint.step)


def _why(config: RunConfig, step: int) -> str:
    """Where a training left the numbers, and the likely cause."""
    usual = default("negation", config.model_name).optimiser.learning_rate
    rate = config.optimiser.learning_rate
    cause = (
        f"the learning rate of {rate:g} is {rate / usual:.0f} times the usual {usual:g}. Take a smaller one."
        if rate > 3 * usual
        else "weights that grew without bound. Take a smaller learning rate, or another seed."
    )
    return f"The training diverged by step {step:,}: its logits are no numbers any more. The likely cause is {cause}"
