"""The interface between a task and the training loop: model, batches, loss and evaluation.

`train.py` is the loop and knows no task. One objective trains all replicas of one run at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TypeAlias, TypeVar

from jaxtyping import Float
from numpy import ndarray
from torch import Generator, Tensor, nn

from explorer.catalogue import TaskConfig, model_for_task, task_row
from explorer.tokenization.text import from_json
from explorer.training.config import RunConfig
from explorer.training.events import EvaluationPart

Result = TypeVar("Result")
Parts: TypeAlias = abc.Generator[EvaluationPart, None, Result]  # long work that yields between its parts


@dataclass(frozen=True)
class RecordLayout:
    """Names of the metrics, per-item answers and signals that runs of a task record."""

    metrics: tuple[str, ...]
    answers: dict[str, int] = field(default_factory=dict)  # with the number of parts of each
    answer_max: float = 1.0  # highest possible answer: most are probabilities, some are losses
    answers_at_end_only: bool = False  # before the last evaluation they are NaN
    signals: tuple[str, ...] = ()
    samples: bool = False


@dataclass(frozen=True)
class Measurements:
    """Metrics and per-item answers of several evaluations."""

    metrics: dict[str, Float[ndarray, "evaluations replicas"]]
    answers: dict[str, Float[ndarray, "evaluations replicas parts"]]


class Objective(ABC):
    """What the replicas of one run are trained on."""

    tokenizer = ""  # of its text, as JSON

    @classmethod
    def variant_for(cls, task: TaskConfig) -> type[Objective]:
        """Return the class for a configuration of the task: this one, unless the task has several kinds of data."""
        return cls

    @staticmethod
    def parse_tokenizer(text: str) -> tuple[str, int]:
        """Return the validated tokenizer of a stored run, as JSON, and its number of tokens. Raises DamagedRun."""
        tokenizer = from_json(text)
        return tokenizer.to_json(), len(tokenizer.tokens)

    @abstractmethod
    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        """`model` holds every replica, with a leading replica axis if there are several."""

    @classmethod
    def build_model(cls, config: RunConfig, generator: Generator, vocabulary: int | None = None) -> nn.Module:
        """Return the initialized model of one replica. `vocabulary`: see `model_sizes`."""
        make = resolve_name(model_for_task(config.model).class_path)
        return make(config.model, *cls.model_sizes(config, vocabulary), generator)

    @staticmethod
    @abstractmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        """Return what the model's constructor takes after its settings. `vocabulary`: if a stored run knows it."""

    def fit_by_counting(self) -> tuple[Float[Tensor, " replicas"], float] | None:
        """Fit an n-gram and return its loss and number of tokens; None for a model that is trained in steps."""
        return None

    @abstractmethod
    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        """Return the loss of the batch of a step (counted from 0) in nats, with its graph, and the number of tokens
        that one replica read in it."""

    @abstractmethod
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        """Evaluate the model before this step; `full`: on all evaluation data, otherwise on a part of it."""

    def evaluate_in_parts(self, step: int, full: bool) -> Parts[Mapping[str, Float[Tensor, "replicas ..."]]]:
        """Evaluate like `evaluate`, and yield between two parts that take a while."""
        return self.evaluate(step, full)
        yield EvaluationPart()  # makes it a generator

    def generate_samples(self, step: int) -> tuple[str, ...]:
        """Return text that each replica generates before this step, if the task has any."""
        return ()

    def generate_samples_in_parts(self, step: int) -> Parts[tuple[str, ...]]:
        """Generate text like `generate_samples`, and yield between two parts that take a while."""
        return self.generate_samples(step)
        yield EvaluationPart()  # makes it a generator

    def is_finite(self, step: int) -> bool:
        """Whether the outputs of the model before this step are finite."""
        return True

    def state(self) -> dict[str, Tensor]:
        """Return what is carried from batch to batch, for a checkpoint; each with a leading replica axis."""
        return {}

    @staticmethod
    def state_template(config: RunConfig, model: nn.Module) -> dict[str, Tensor]:
        """Return tensors with the names and shapes of `state`; none if every batch starts with a new state."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:  # noqa: B027  # most carry nothing
        """Continue from what `state` returned."""

    def baselines(self) -> dict[str, float]:
        """Return what a model gets that reads nothing, for metrics that need it beside them.

        For an accuracy that is the share of the most frequent class; for a loss on text it is that of a unigram.
        """
        return {}

    @classmethod
    def compute_metrics(
        cls, answers: Mapping[str, Float[Tensor, "evaluations replicas ..."]], config: RunConfig
    ) -> Measurements:
        """Return the metrics of several evaluations, from what `evaluate` returned: unchanged unless overridden."""
        layout = cls.layout(config)
        metrics, parts = ({name: answers[name].numpy() for name in names} for names in (layout.metrics, layout.answers))
        return Measurements(metrics, parts)

    @staticmethod
    @abstractmethod
    def layout(config: RunConfig) -> RecordLayout:
        """Return the names of what a run records."""


def complete(parts: Parts[Result]) -> Result:
    """Do work that yields between its parts without a break, and return its result."""
    while True:
        try:
            next(parts)
        except StopIteration as end:
            return end.value


def objective_class(task: TaskConfig) -> type[Objective]:
    """Return the objective of a task."""
    found: type[Objective] = resolve_name(task_row(task).objective)
    return found.variant_for(task)
