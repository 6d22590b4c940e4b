"""Training as a generator: a configuration in, events out. It knows no thread, no screen, no disk, and no task.

The same configuration gives the same curve, bit for bit on one machine, whatever runs beside it, and
however often it was broken off and taken up again at a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from explorer.catalogue import task_row
from explorer.errors import Diverged, InvalidSetting
from explorer.training.building import build
from explorer.training.config import RunConfig, default
from explorer.training.ending import Ending
from explorer.training.events import Checkpoint, Evaluation, Event, Started, Step
from explorer.training.lesson import Lesson, lesson
from explorer.training.optimisers import Stepper


def train(config: RunConfig, resume: Checkpoint | None = None) -> Iterator[Event]:
    """Train every replica side by side; yields after each optimiser step.

    `resume`: go on from a checkpoint of this run, without telling again what stood before it, or, for a
    branch, from its parent's. Closing the generator stops the training. Sets this thread's number of
    torch threads. Raises Diverged, and InvalidSetting where a checkpoint does not fit.
    """
    torch.set_num_threads(config.threads)
    model = build(config)
    teacher = lesson(config.task)(config, model)
    if counted := teacher.count():
        yield from _told(config, model, teacher, *counted)
        return
    stepper = Stepper(model, config.optimiser, config.replicas, config.average)
    ending = Ending(config)
    first = config.first_step if resume is None else resume.step
    told = resume is not None and not (config.branch and first == config.first_step)  # the first step's events
    if resume:
        _take_up(model, resume, config.replicas)
        # A branch is a training of its own: its patience begins where it does.
        _restore(stepper, [teacher, ending] if told else [teacher], resume)
    elif config.branch:
        raise InvalidSetting(f"This branch needs step {first:,} of run {config.branch.parent}. Train that run first.")
    parameters = sum(p.numel() for p in model.parameters())
    yield Started(parameters // config.replicas, teacher.tokenizer)
    if ending.reached:  # it was broken off between its last checkpoint and its end
        return

    one = torch.ones(config.replicas).squeeze()  # replicas share no parameter: each gets its own gradient
    signals = lesson(config.task).layout(config).signals
    every = max(10, (config.steps - config.first_step) // 100)  # steps between checkpoints that are not kept

    def rests(step: int) -> Iterator[Event]:
        """What is told between two steps, asked of the averaged weights where there are any."""
        evaluated, kept = config.evaluated(step), step in config.snapshot_steps
        resumable = kept or (step - config.first_step) % every == 0
        if not evaluated and not resumable:
            return
        events: list[Event] = []
        stepper.swap()
        try:
            if not teacher.finite(step) or not stepper.finite():
                raise Diverged(_why(config, step))
            if evaluated:
                whole = step == config.steps
                answers = teacher.evaluate(step, whole)
                if ending.near(answers):
                    answers, whole = teacher.evaluate(step, whole=True), True
                ending.look(answers)
                if ending.reached and not whole and config.evaluation_size:
                    answers = teacher.evaluate(step, whole=True)  # a run's last evaluation asks everything
                events.append(Evaluation(step, answers, teacher.samples(step)))
            if resumable or ending.reached:
                weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
                if config.replicas == 1:
                    weights = {name: value[None] for name, value in weights.items()}
        finally:
            stepper.swap()
        if resumable or ending.reached:
            rest = {**stepper.state(), **teacher.state(), **ending.state()}
            events.append(Checkpoint(step, weights, rest, kept or ending.reached))
        yield from events

    for step in range(first, config.steps):
        if step > first or not told:
            yield from rests(step)
            if ending.reached:
                return
        losses, tokens = teacher.losses(step)
        stepper.zero_grad()
        losses.backward(one)  # type: ignore[no-untyped-call]
        norm = stepper.norm() if signals or config.optimiser.clip else None
        stepper.step(step + 1, config.steps, norm)
        measured = {"gradient_norm": norm} if signals and norm is not None else {}
        yield Step(step + 1, losses.detach().view(config.replicas), tokens, measured)
    if config.steps > first or not told:
        yield from rests(config.steps)


def _told(config: RunConfig, model: nn.Module, teacher: Lesson, losses: Tensor, tokens: float) -> Iterator[Event]:
    """What there is to tell of a model that was counted in one go: one step, and what came of it."""
    tables = {name: value[None].clone() for name, value in model.state_dict().items()}
    yield Started(sum(getattr(model, "entries", ())), teacher.tokenizer)
    yield Step(1, losses, tokens)
    yield Evaluation(1, teacher.evaluate(1, whole=True), teacher.samples(1))
    yield Checkpoint(1, tables, {}, kept=True)


def _take_up(model: nn.Module, checkpoint: Checkpoint, replicas: int) -> None:
    """Put a checkpoint's weights into a fresh model, in place."""
    own = model.state_dict()
    given = checkpoint.weights if replicas > 1 else {name: value[0] for name, value in checkpoint.weights.items()}
    if {name: value.shape for name, value in given.items()} != {name: value.shape for name, value in own.items()}:
        raise _misfit(checkpoint)
    for name, value in own.items():  # views of the optimiser's one vector
        value.copy_(given[name])


def _restore(stepper: Stepper, others: Sequence[Lesson | Ending], checkpoint: Checkpoint) -> None:
    own = stepper.state()
    given = {name: checkpoint.optimiser.get(name) for name in own}
    if any(value is None or value.shape != own[name].shape for name, value in given.items()):
        raise _misfit(checkpoint)
    stepper.restore(checkpoint.optimiser, checkpoint.step)
    try:
        for other in others:
            other.restore(checkpoint.optimiser)
    except (KeyError, RuntimeError) as error:
        raise _misfit(checkpoint) from error


def _misfit(checkpoint: Checkpoint) -> InvalidSetting:
    return InvalidSetting(
        f"The checkpoint of step {checkpoint.step:,} does not fit this run's model. Train it from its start."
    )


def _why(config: RunConfig, step: int) -> str:
    """Where a training left the numbers, and the likely cause."""
    usual = default(task_row(config.task).name, config.model_name).optimiser.learning_rate
    rate = config.optimiser.learning_rate
    cause = (
        f"the learning rate of {rate:g} is {rate / usual:.0f} times the usual {usual:g}. Take a smaller one."
        if rate > 3 * usual
        else "weights that grew without bound. Take a smaller learning rate, or another seed."
    )
    return f"The training diverged by step {step:,}: its logits are no numbers any more. The likely cause is {cause}"
