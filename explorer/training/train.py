"""Training as a generator: from a configuration to events, without threads, screen, disk or knowledge of the task.

The same configuration gives the same curve, bit for bit on one kind of processor, however often the training is
interrupted and resumed at a checkpoint. A training with large steps uses the idle cores of the machine. PyTorch may add
in another order on another number of threads; where that changes a last digit, the curves part after some steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial

import torch
from torch import Tensor, nn

from explorer import cores
from explorer.catalogue import task_row
from explorer.errors import Diverged, InvalidSetting
from explorer.training.config import RunConfig, default_config
from explorer.training.device import device_of, place_model, training_device
from explorer.training.early_stopping import BestWeights, EarlyStopping
from explorer.training.events import Checkpoint, Evaluation, Event, Started, Step
from explorer.training.machine import machine_kind
from explorer.training.memory import keep_freed_blocks
from explorer.training.model_factory import build_model
from explorer.training.objective import Objective, Parts, Result, objective_class
from explorer.training.optimisers import ReplicaOptimizer

_LARGE_STEP = 2e8  # multiplied weights of all replicas, times the tokens that one of them reads
_LOOKED_UP = ("embedding", "position")  # beginnings of the names of weights that no matrix product multiplies


def count_multiplied(sizes: Iterable[tuple[str, int]]) -> int:
    """Return how many of a model's weights are multiplied with each token; `sizes`: names and numbers of weights."""
    return sum(size for name, size in sizes if not name.startswith(_LOOKED_UP))


def is_large_step(multiplied: int, tokens: float) -> bool:
    """Whether a step is so much work that several cores are faster than one."""
    return multiplied * tokens > _LARGE_STEP


def train(
    config: RunConfig,
    resume: Checkpoint | None = None,
    device: torch.device | None = None,
    checkpoint_due: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Train all replicas at once; yields after each optimiser step. Closing the generator stops the training.

    `resume`: a checkpoint of this run, whose own events are not repeated, or, for a branch, of its parent.

    `device`: on which it computes, by default the one that LINEAGE_DEVICE names. The tensors of all events are on the
    processor.

    `checkpoint_due`: called after each step; if it returns true, there is a checkpoint beside the usual ones.

    Sets this thread's number of torch threads. Raises Diverged, and InvalidSetting if the checkpoint does not fit or if
    this machine does not have the device.
    """
    keep_freed_blocks()
    model = place_model(build_model(config), device or training_device())
    objective = objective_class(config.task)(config, model)
    if counted := objective.fit_by_counting():
        yield from _counting_events(model, objective, *counted)
        return
    training = _Training(config, model, objective, checkpoint_due)
    first = config.first_step if resume is None else resume.step
    # A branch emits the evaluation and checkpoint of its first step itself, although it starts from a checkpoint.
    continues_itself = resume is not None and not (config.branch and first == config.first_step)
    if resume:
        training.restore(resume, with_early_stopping=continues_itself)
    elif config.branch:
        raise InvalidSetting(f"This branch needs step {first:,} of run {config.branch.parent}. Train that run first.")
    parameters = sum(p.numel() for p in model.parameters())
    machine = machine_kind(device_of(model))
    yield Started(parameters // config.replicas, objective.tokenizer, machine, objective.baselines())
    if training.early_stopping.should_stop:  # the run was interrupted between its last checkpoint and its end
        return
    for step in range(first, config.steps):
        if step > first or not continues_itself:
            yield from training.evaluate_and_checkpoint(step)
            if training.early_stopping.should_stop:
                return
        yield training.step(step)
    if config.steps > first or not continues_itself:
        yield from training.evaluate_and_checkpoint(config.steps)


class _Training:
    """The model, objective, optimiser and early stopping of one run."""

    def __init__(
        self, config: RunConfig, model: nn.Module, objective: Objective, checkpoint_due: Callable[[], bool]
    ) -> None:
        self.checkpoint_due = checkpoint_due
        self.config, self.model, self.objective = config, model, objective
        bfloat16 = config.precision == "bfloat16"
        self.optimizer = ReplicaOptimizer(model, config.optimiser, config.replicas, config.average, bfloat16)
        self.early_stopping, self.best_weights = EarlyStopping(config), BestWeights(config, model)
        self._signals = objective.layout(config).signals
        self._autocast = partial(torch.autocast, device_of(model).type, torch.bfloat16) if bfloat16 else nullcontext
        self._is_large = False  # known after the first step
        self._multiplied = count_multiplied((name, p.numel()) for name, p in model.named_parameters())
        self._checkpoint_every = max(10, (config.steps - config.first_step) // 100)  # steps, beside the snapshots

    def restore(self, checkpoint: Checkpoint, with_early_stopping: bool) -> None:
        """Set everything to a checkpoint. A branch follows the validation loss anew: it has no state for that.

        Raises InvalidSetting if the checkpoint does not fit.
        """
        own, given = self.model.state_dict(), checkpoint.weights
        if self.config.replicas == 1:
            given = {name: value[0] for name, value in given.items()}
        buffers = self.optimizer.state()
        if _shapes(given) != _shapes(own) or _shapes(checkpoint.optimiser, buffers) != _shapes(buffers):
            raise _checkpoint_mismatch(checkpoint)
        for name, value in own.items():  # views of the optimiser's one vector
            value.copy_(given[name])
        self.optimizer.restore(checkpoint.optimiser, checkpoint.step)
        try:
            self.objective.restore(checkpoint.optimiser)
            if with_early_stopping:
                self.early_stopping.restore(checkpoint.optimiser)
                self.best_weights.restore(checkpoint.optimiser)
        except (KeyError, RuntimeError) as error:
            raise _checkpoint_mismatch(checkpoint) from error

    def step(self, step: int) -> Step:
        """Take the optimiser step after `step` others."""
        config = self.config
        self._set_threads()
        with self._autocast():
            losses, tokens = self.objective.losses(step)
        self.optimizer.zero_grad()
        losses.backward(torch.ones_like(losses))  # type: ignore[no-untyped-call]  # each replica has its own gradient
        norm = self.optimizer.gradient_norm() if self._signals or config.optimiser.clip else None
        self.optimizer.step(step + 1, config.steps, norm)
        self._is_large = is_large_step(self._multiplied, tokens)
        # Copying the loss waits until a GPU has finished the step, so the seconds of the event are those of the step.
        signals = {"gradient_norm": norm.cpu()} if self._signals and norm is not None else {}
        return Step(step + 1, losses.detach().view(config.replicas).cpu(), tokens, signals)

    def evaluate_and_checkpoint(self, step: int) -> Iterator[Event]:
        """Yield the evaluation and the checkpoint after `step` steps, of the averaged weights if there are any."""
        config, objective, early_stopping = self.config, self.objective, self.early_stopping
        evaluates, is_snapshot = config.evaluates_at(step), step in config.snapshot_steps
        saves = is_snapshot or (step - config.first_step) % self._checkpoint_every == 0 or self.checkpoint_due()
        if not evaluates and not saves:
            return
        events: list[Event] = []
        self.optimizer.swap_averaged_weights()
        try:
            with self._autocast():
                is_finite = objective.is_finite(step) and self.optimizer.is_finite()
            if not is_finite:
                raise Diverged(_divergence_message(config, step))
            if evaluates:
                answers = yield from self._advance(self._evaluate(step))
                if config.sample:
                    torch.set_num_threads(1)  # one token is too little work for more
                samples = yield from objective.generate_samples_in_parts(step)
                events.append(Evaluation(step, answers, samples))
            if saves or early_stopping.should_stop:
                weights = {name: value.detach().to("cpu", copy=True) for name, value in self.model.state_dict().items()}
                if config.replicas == 1:
                    weights = {name: value[None] for name, value in weights.items()}
        finally:
            self.optimizer.swap_averaged_weights()
        if saves or early_stopping.should_stop:
            state = self.optimizer.state() | objective.state() | early_stopping.state() | self.best_weights.state()
            state = {name: value.cpu() for name, value in state.items()}
            events.append(Checkpoint(step, weights, state, is_snapshot or early_stopping.should_stop))
        yield from events

    def _set_threads(self) -> None:
        """Take the idle cores; another training may have used this thread with another number of them."""
        threads = self.config.threads
        torch.set_num_threads(cores.idle_cores() if threads == 1 and self._is_large else threads)

    def _advance(self, parts: Parts[Result]) -> Parts[Result]:
        """Advance a generator in the precision of the run, which the thread does not keep between two parts."""
        while True:
            try:
                self._set_threads()
                with self._autocast():
                    part = next(parts)
            except StopIteration as end:
                return end.value
            yield part

    def _evaluate(self, step: int) -> Parts[dict[str, Tensor]]:
        """Evaluate, on everything if this is the last evaluation or if a part says that the target may be reached."""
        objective, early_stopping = self.objective, self.early_stopping
        full = step == self.config.steps
        answers = yield from objective.evaluate_in_parts(step, full)
        if early_stopping.is_near_target(answers):
            answers, full = (yield from objective.evaluate_in_parts(step, full=True)), True
        early_stopping.update(answers)
        if early_stopping.should_stop and not full and self.config.evaluation_size:
            answers = yield from objective.evaluate_in_parts(step, full=True)
        self.best_weights.update(answers)
        if (step == self.config.steps or early_stopping.should_stop) and self.best_weights.load():
            answers = yield from objective.evaluate_in_parts(step, full=True)
        return {
            name: value.float().cpu() if value.dtype == torch.bfloat16 else value.cpu()
            for name, value in answers.items()
        }


def _counting_events(model: nn.Module, objective: Objective, losses: Tensor, tokens: float) -> Iterator[Event]:
    """Yield the events of a model that is fitted by counting (n-gram): one step and its evaluation."""
    tables = {name: value[None].clone() for name, value in model.state_dict().items()}
    entries = sum(getattr(model, "entries", ()))
    yield Started(entries, objective.tokenizer, machine_kind(), objective.baselines())
    yield Step(1, losses, tokens)
    answers = yield from objective.evaluate_in_parts(1, full=True)
    samples = yield from objective.generate_samples_in_parts(1)
    yield Evaluation(1, answers, samples)
    yield Checkpoint(1, tables, {}, is_snapshot=True)


def _shapes(tensors: Mapping[str, Tensor], names: Iterable[str] | None = None) -> dict[str, torch.Size]:
    """Return the shapes of tensors, or of those with these names."""
    return {name: tensors[name].shape for name in (tensors if names is None else names) if name in tensors}


def _checkpoint_mismatch(checkpoint: Checkpoint) -> InvalidSetting:
    return InvalidSetting(
        f"The checkpoint of step {checkpoint.step:,} does not fit this run's model. Train it from its start."
    )


def _divergence_message(config: RunConfig, step: int) -> str:
    """Say at which step a training diverged, and the likely cause."""
    released = default_config(task_row(config.task).name, config.model_name).optimiser.learning_rate
    rate = config.optimiser.learning_rate
    cause = (
        f"the learning rate of {rate:g} is {rate / released:.0f} times the usual {released:g}. Take a smaller one."
        if rate > 3 * released
        else "weights that grew without bound. Take a smaller learning rate, or another seed."
    )
    return f"The training diverged by step {step:,}: its logits are no numbers any more. The likely cause is {cause}"
