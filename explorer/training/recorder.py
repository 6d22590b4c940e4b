"""Collects the events of one training into curves and a record.

A `Recorder` is used by the training thread only; the curves and records that it returns never change.
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
from explorer.training.objective import objective_class
from explorer.training.record import Curves, Record, RunState, Snapshot
from explorer.training.slices import Slice
from explorer.training.train import train

CHECKPOINT_SECONDS = 20.0  # between two records that `record_run` hands out to be stored
_MERGE_EVERY = 400  # steps; many small tensors would keep the memory of the large ones between them from being freed


class Recorder:
    """Collects a training's events, after those of the record `before`; a branch's axes start at `origin`."""

    def __init__(
        self, config: RunConfig, before: Record | None = None, origin: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        self.config = config
        self.parameters = before.parameters if before else 0
        self._tokenizer = before.tokenizer if before else ""
        self._machines = before.machines if before else ()
        self._baselines = before.baselines if before else {}
        self._machine = ""  # the kind of machine that trains now
        tokens, seconds = (np.array([start]) for start in origin)
        none = np.zeros((0, config.replicas), np.float32)
        empty = Curves(config.first_step, none, tokens, seconds, np.zeros(0, int), {})
        self._curves = before.curves if before else empty
        self.step = self._curves.step
        self.seconds = float(self._curves.seconds[-1])  # of training so far; set by the caller before it adds a step
        self._start_step, self._start_seconds = self.step, self.seconds
        self._snapshots = {} if before is None else dict(before.snapshots)
        self._checkpoint: Checkpoint | None = None
        self._losses: list[Tensor] = []
        self._tokens: list[float] = []
        self._seconds: list[float] = []
        self._signals: list[Mapping[str, Tensor]] = []
        self._evaluations: list[Evaluation] = []

    def add(self, event: Event) -> None:
        """Record an event."""
        match event:
            case Step(step, losses, tokens, signals):
                self.step = step
                self._losses.append(losses)
                self._signals.append(signals)
                self._tokens.append(tokens)
                self._seconds.append(self.seconds)
                if len(self._losses) == _MERGE_EVERY:
                    self.curves()
            case Evaluation(step):
                if step not in self._curves.evaluated:  # a branch interrupted at its first step repeats that evaluation
                    self._evaluations.append(event)
            case Checkpoint():
                self._checkpoint = event
                if event.is_snapshot:
                    self._snapshots[event.step] = _to_snapshot(event)
            case Started(parameters, tokenizer, machine, baselines):
                self.parameters, self._tokenizer, self._machine = parameters, tokenizer, machine
                self._baselines = baselines

    def add_slice(self, part: Slice) -> None:
        """Record what a training did in one slice of its time."""
        for event, seconds in part.events:
            self.seconds = self._start_seconds + seconds
            self.add(event)
        self.seconds = self._start_seconds + part.seconds

    @property
    def has_evaluation(self) -> bool:
        """Whether there is at least one evaluation, so that a chart can be drawn."""
        return bool(self._evaluations or len(self._curves.evaluated))

    @property
    def checkpoint_step(self) -> int:
        """The step of the last checkpoint, -1 before the first."""
        return self._checkpoint.step if self._checkpoint else -1

    @property
    def resumable(self) -> bool:
        """Whether there is a checkpoint to resume from, with an evaluation; an n-gram has none."""
        return self.has_evaluation and bool(self._checkpoint or self._snapshots)

    def curves(self) -> Curves:
        """Return the curves so far."""
        if self._losses or self._evaluations:
            self._curves = self._curves.extended_by(self._new_curves())
            self._losses, self._tokens, self._seconds, self._signals, self._evaluations = [], [], [], [], []
        return self._curves

    def _new_curves(self) -> Curves:
        """Return the curves of the events since the last call of `curves`."""
        before, config = self._curves, self.config
        losses = torch.stack(self._losses).numpy() if self._losses else np.zeros((0, config.replicas), np.float32)
        signals = {}
        if self._signals:
            signals = {name: torch.stack([s[name] for s in self._signals]).numpy() for name in self._signals[0]}
        metrics: dict[str, ndarray] = {}
        answers: dict[str, ndarray] = {}
        if self._evaluations:
            answers_of_each = [e.answers for e in self._evaluations]
            measurements = objective_class(config.task).compute_metrics(
                {name: torch.stack([each[name] for each in answers_of_each]) for name in answers_of_each[0]}, config
            )
            metrics, answers = measurements.metrics, measurements.answers
        return Curves(
            before.step,
            losses,
            np.cumsum([before.tokens[-1], *self._tokens]),
            np.array([before.seconds[-1], *self._seconds]),
            np.array([e.step for e in self._evaluations], dtype=int),
            metrics,
            answers,
            signals,
            tuple(e.samples for e in self._evaluations if e.samples),
        )

    def record(self, state: RunState = "finished", problem: str = "") -> Record:
        """Return the record so far; unless it is finished, it ends at the last checkpoint."""
        curves, last = self.curves(), self._checkpoint
        end = last.step if last else max(self._snapshots, default=self.config.first_step)
        steps = {*self.config.snapshot_steps, end}  # not the checkpoints that only served to resume
        snapshots = {step: snapshot for step, snapshot in self._snapshots.items() if step in steps}
        if state != "finished":
            if last and last.step not in snapshots:
                snapshots[last.step] = _to_snapshot(last)
            curves = curves.up_to(end)
        seconds = float(curves.seconds[-1] - curves.seconds[0])
        machines = self._machines_up_to(end if state != "finished" else self.step)
        about = (state, problem, self._tokenizer, machines, self._baselines)
        return Record(self.config, self.parameters, seconds, curves, snapshots, *about)

    def _machines_up_to(self, step: int) -> tuple[str, ...]:
        """Return the kinds of machine on which the steps up to this one were trained."""
        trained_now = self._machine and (step > self._start_step or not self._start_step)
        return tuple(dict.fromkeys((*self._machines, self._machine))) if trained_now else self._machines


def _to_snapshot(checkpoint: Checkpoint) -> Snapshot:
    weights = {name: value.numpy() for name, value in checkpoint.weights.items()}
    return Snapshot(weights, {name: value.numpy() for name, value in checkpoint.optimiser.items()})


def as_checkpoint(step: int, snapshot: Snapshot) -> Checkpoint:
    """Return stored weights as a checkpoint to resume from; `train` checks whether they fit."""
    return Checkpoint(
        step,
        {name: torch.tensor(value) for name, value in snapshot.weights.items()},
        {name: torch.tensor(value) for name, value in (snapshot.optimiser or {}).items()},
        is_snapshot=True,
    )


def record_run(
    config: RunConfig,
    on_event: Callable[[Event], None] | None = None,
    before: Record | None = None,
    should_stop: Callable[[], object] = lambda: False,
    save: Callable[[Record], object] | None = None,
) -> Record:
    """Train to the end in this thread, from the end of the record `before` if there is one.

    `on_event` is called with each event after it is recorded. `should_stop` is called after each event; if it returns
    something true, the record ends at the last checkpoint, and its state is “stopped”. `save` is called with such a
    record every twenty seconds.
    """
    recorder = Recorder(config, before)
    last = max(before.snapshots) if before else 0
    before_seconds, start = recorder.seconds, time.perf_counter()
    saved = start

    def is_due() -> bool:
        return save is not None and time.perf_counter() - saved > CHECKPOINT_SECONDS

    resumed = as_checkpoint(last, before.snapshots[last]) if before else None
    for event in train(config, resumed, checkpoint_due=is_due):
        recorder.seconds = before_seconds + time.perf_counter() - start
        recorder.add(event)
        if on_event:
            on_event(event)
        if should_stop() and recorder.step < config.steps:
            return recorder.record("stopped")
        if save and isinstance(event, Checkpoint) and recorder.resumable and is_due():
            save(recorder.record("stopped"))
            saved = time.perf_counter()
    return recorder.record()
