"""From the events of one training to its curves and its record.

A `Recorder` lives on the thread that trains; what it hands out is never changed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from explorer.tasks.negation import CLASSES, Negation
from explorer.training.config import RunConfig
from explorer.training.events import Evaluation, Event, Snapshot, Started, Step
from explorer.training.record import Curves, Record
from explorer.training.train import train


class Recorder:
    """Collects the events of one training."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.parameters = 0
        self.seconds = 0.0  # spent on the training so far; kept by whoever drives it
        self.step = 0
        self._losses: list[Tensor] = []
        self._evaluations: list[Evaluation] = []
        self._snapshots: dict[int, dict[str, ndarray]] = {}

    def add(self, event: Event) -> None:
        match event:
            case Step(step, losses):
                self.step = step
                self._losses.append(losses)
            case Evaluation():
                self._evaluations.append(event)
            case Snapshot(step, weights):
                self._snapshots[step] = {name: value.numpy() for name, value in weights.items()}
            case Started(parameters):
                self.parameters = parameters

    @property
    def evaluated(self) -> bool:
        """Whether there is anything to draw."""
        return bool(self._evaluations)

    def curves(self) -> Curves:
        """Everything so far; costs a pass over all evaluations."""
        replicas = self.config.replicas
        losses = torch.stack(self._losses).numpy() if self._losses else np.zeros((0, replicas), np.float32)
        logits = torch.stack([e.logits for e in self._evaluations])
        metrics = measure(logits, self.config)
        sustain = logits.softmax(dim=-1)[..., CLASSES.index("sustain")].numpy()
        epochs = np.array([e.epoch for e in self._evaluations])
        return Curves(losses, epochs, metrics, sustain)

    def record(self) -> Record:
        """The training as it stands."""
        finished = self.step == self.config.steps
        return Record(self.config, self.parameters, self.seconds, self.curves(), self._snapshots, finished)


def record_run(config: RunConfig, listen: Callable[[Event], None] | None = None) -> Record:
    """Train to the end in this thread."""
    recorder = Recorder(config)
    start = time.perf_counter()
    for event in train(config):
        recorder.add(event)
        if listen:
            listen(event)
    recorder.seconds = time.perf_counter() - start
    return recorder.record()


def measure(
    logits: Float[Tensor, "evaluations replicas sentences classes"], config: RunConfig
) -> dict[str, Float[ndarray, "evaluations replicas"]]:
    """Loss and accuracies of every evaluation, from the logits of every sentence.

    `train_…` and `test_…` are over the sampled sentences; `exact_accuracy` weighs every sentence of the
    world by its probability. A kind of sentence that the sample does not hold has no accuracy (NaN).
    """
    task = Negation(config.task)
    labels = torch.tensor(task.labels)
    nots = torch.tensor([s.nots for s in task.sentences])
    right = (logits.argmax(dim=-1) == labels).double()
    surprise = -logits.double().log_softmax(dim=-1).gather(-1, labels.expand(right.shape)[..., None])[..., 0]

    def mean(values: Tensor, weights: Tensor, chosen: Bool[Tensor, " sentences"] | None = None) -> ndarray:
        weights = weights if chosen is None else weights * chosen
        return ((values * weights).sum(-1) / weights.sum(-1)).numpy()

    def counts(split: str) -> Float[Tensor, "replicas sentences"]:
        size = len(labels)
        drawn = [task.sample("train" if split == "train" else "test", seed) for seed in config.seeds]
        return torch.stack([torch.bincount(torch.tensor(d), minlength=size) for d in drawn]).double()

    train_counts, test_counts = counts("train"), counts("test")
    chance = torch.tensor([s.probability for s in task.sentences], dtype=torch.float64)
    metrics = {
        "train_loss": mean(surprise, train_counts),
        "test_loss": mean(surprise, test_counts),
        "train_accuracy": mean(right, train_counts),
        "test_accuracy": mean(right, test_counts),
        "test_accuracy_plain": mean(right, test_counts, nots == 0),
        "test_accuracy_negated": mean(right, test_counts, nots > 0),
        "exact_accuracy": mean(right, chance),
    }
    held_out = torch.tensor([s.train_probability == 0 and s.probability > 0 for s in task.sentences])
    if held_out.any():
        metrics["exact_accuracy_held_out"] = mean(right, chance, held_out)
    return metrics
