"""From the events of one training to its curves and its record.

A `Recorder` lives on the thread that trains; what it hands out is never changed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from explorer.training.config import RunConfig
from explorer.training.events import Checkpoint, Evaluation, Event, Started, Step
from explorer.training.lesson import lesson
from explorer.training.record import Curves, Record, State, Weights
from explorer.training.train import train

_SCATTERED = 100  # steps: small tensors kept one by one hold on to the memory of the large ones between them


class Recorder:
    """Collects the events of one training; with `before`, goes on from where that record ends.

    `origin` is where a branch starts on the other axes: tokens read and seconds trained by its parent.
    """

    def __init__(
        self, config: RunConfig, before: Record | None = None, origin: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self.config = config
        self.parameters = before.parameters if before else 0
        self._tokenizer = before.tokenizer if before else ""
        self._known = before.curves if before else _nothing(config, origin)
        self.step = self._known.step
        self._snapshots = {} if before is None else dict(before.snapshots)
        self._checkpoint: Checkpoint | None = None
        self._losses: list[Tensor] = []
        self._tokens: list[float] = []
        self._seconds: list[float] = []
        self._signals: list[Mapping[str, Tensor]] = []
        self._evaluations: list[Evaluation] = []
        self._spent = float(self._known.seconds[-1])
        self._since: float | None = None

    def go(self) -> None:
        """The training has its turn: its time runs."""
        self._since = time.perf_counter()

    def rest(self) -> None:
        """Others have theirs: it stands still."""
        self._spent, self._since = self.seconds, None

    @property
    def seconds(self) -> float:
        """Spent on this training."""
        return self._spent + (time.perf_counter() - self._since if self._since is not None else 0.0)

    def add(self, event: Event) -> None:
        match event:
            case Step(step, losses, tokens, signals):
                self.step = step
                self._losses.append(losses)
                self._signals.append(signals)
                self._tokens.append(tokens)
                self._seconds.append(self.seconds)
                if len(self._losses) == _SCATTERED:
                    self.curves()
            case Evaluation(step):
                if step not in self._known.evaluated:  # a branch that broke off where it begins tells that step again
                    self._evaluations.append(event)
            case Checkpoint():
                self._checkpoint = event
                if event.kept:
                    self._snapshots[event.step] = _as_arrays(event)
            case Started(parameters, tokenizer):
                self.parameters, self._tokenizer = parameters, tokenizer

    @property
    def evaluated(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self._evaluations or len(self._known.evaluated))

    @property
    def resumable(self) -> bool:
        """Whether there is a step to go on from, and an evaluation until there: counting is one step, and has neither
        before it is over."""
        return self.evaluated and bool(self._checkpoint or self._snapshots)

    def curves(self) -> Curves:
        """Everything so far."""
        if self._losses or self._evaluations:
            self._known = self._known.followed_by(self._news())
            self._losses, self._tokens, self._seconds, self._signals, self._evaluations = [], [], [], [], []
        return self._known

    def _news(self) -> Curves:
        """What came since somebody asked last."""
        known, config = self._known, self.config
        losses = torch.stack(self._losses).numpy() if self._losses else np.zeros((0, config.replicas), np.float32)
        signals = {}
        if self._signals:
            signals = {name: torch.stack([s[name] for s in self._signals]).numpy() for name in self._signals[0]}
        metrics: dict[str, ndarray] = {}
        answers: dict[str, ndarray] = {}
        if self._evaluations:
            told = [e.answers for e in self._evaluations]
            measured = lesson(config.task).measured(
                {name: torch.stack([each[name] for each in told]) for name in told[0]}, config
            )
            metrics, answers = measured.metrics, measured.answers
        return Curves(
            known.step,
            losses,
            np.cumsum([known.tokens[-1], *self._tokens]),
            np.array([known.seconds[-1], *self._seconds]),
            np.array([e.step for e in self._evaluations], dtype=int),
            metrics,
            answers,
            signals,
            tuple(e.samples for e in self._evaluations if e.samples),
        )

    def record(self, state: State = "finished", problem: str = "") -> Record:
        """The training as it stands; one that is not finished stands at its last checkpoint."""
        curves, last = self.curves(), self._checkpoint
        at = last.step if last else max(self._snapshots, default=self.config.first_step)
        wanted = {*self.config.snapshot_steps, at}  # not the checkpoints that only an earlier part went on from
        snapshots = {step: kept for step, kept in self._snapshots.items() if step in wanted}
        if state != "finished":
            if last and last.step not in snapshots:
                snapshots[last.step] = _as_arrays(last)
            curves = curves.until(at)
        seconds = float(curves.seconds[-1] - curves.seconds[0])
        return Record(self.config, self.parameters, seconds, curves, snapshots, state, problem, self._tokenizer)


def _nothing(config: RunConfig, origin: tuple[float, float]) -> Curves:
    tokens, seconds = np.array([origin[0]]), np.array([origin[1]])
    none = np.zeros((0, config.replicas), np.float32)
    return Curves(config.first_step, none, tokens, seconds, np.zeros(0, int), {})


def _as_arrays(checkpoint: Checkpoint) -> Weights:
    weights = {name: value.numpy() for name, value in checkpoint.weights.items()}
    return Weights(weights, {name: value.numpy() for name, value in checkpoint.optimiser.items()})


def as_checkpoint(step: int, kept: Weights) -> Checkpoint:
    """Stored weights as a checkpoint to go on from; whether they fit is for `train` to say."""
    return Checkpoint(
        step,
        {name: torch.tensor(value) for name, value in kept.weights.items()},
        {name: torch.tensor(value) for name, value in (kept.optimiser or {}).items()},
        kept=True,
    )


def record_run(
    config: RunConfig, listen: Callable[[Event], None] | None = None, before: Record | None = None
) -> Record:
    """Train to the end in this thread, or from where `before` ends."""
    recorder = Recorder(config, before)
    last = max(before.snapshots) if before else 0
    recorder.go()
    for event in train(config, as_checkpoint(last, before.snapshots[last]) if before else None):
        recorder.add(event)
        if listen:
            listen(event)
    recorder.rest()
    return recorder.record()
