"""What a task brings to a training: the model it needs, its batches and their loss, and what an evaluation means.

`train.py` is the loop around it and knows no task. One lesson teaches all replicas of one run, side by side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module

from jaxtyping import Float
from numpy import ndarray
from torch import Generator, Tensor, nn

from explorer.catalogue import TaskConfig, task_row
from explorer.training.config import RunConfig


@dataclass(frozen=True)
class Layout:
    """The names of what a run of this task tells."""

    metrics: tuple[str, ...]
    answers: dict[str, int] = field(default_factory=dict)  # with the number of parts of each
    highest: float = 1.0  # that an answer may be: most are probabilities, some are losses
    at_end: bool = False  # whether answers are asked for at the end only; before it they are NaN
    signals: tuple[str, ...] = ()
    samples: bool = False


@dataclass(frozen=True)
class Measured:
    """What evaluations come to, as it is kept."""

    metrics: dict[str, Float[ndarray, "evaluations replicas"]]
    answers: dict[str, Float[ndarray, "evaluations replicas parts"]]


class Lesson(ABC):
    """Teaches the replicas of one run."""

    tokenizer = ""  # what its text is cut with, as JSON

    @abstractmethod
    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        """`model` holds every replica, with a leading replica axis where there are several."""

    @staticmethod
    @abstractmethod
    def build(config: RunConfig, generator: Generator, vocabulary: int | None = None) -> nn.Module:
        """One replica's model with its starting weights. `vocabulary`: its size where a stored run knows it, so
        that a model can be opened without the data it was trained on."""

    def count(self) -> tuple[Float[Tensor, " replicas"], float] | None:
        """For a model that is counted in one go, not trained in steps: do it, and say the loss over what was
        counted and how many tokens that were. None for every other model."""
        return None

    @abstractmethod
    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        """The loss of the batch of this step (counted from 0), in nats, on the graph; and the tokens that one
        replica read in it."""

    @abstractmethod
    def evaluate(self, step: int, whole: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        """Ask the model as it stands before this step; `whole`: about everything, or what stands for it."""

    def samples(self, step: int) -> tuple[str, ...]:
        """Text that each replica writes now, where the task has any."""
        return ()

    def finite(self, step: int) -> bool:
        """Whether the model still gives numbers before this step."""
        return True

    def state(self) -> dict[str, Tensor]:
        """What is carried from batch to batch, for a checkpoint; each with a leading replica axis."""
        return {}

    @staticmethod
    def carried(config: RunConfig, model: nn.Module) -> dict[str, Tensor]:
        """What `state` gives, in shape, where the next batch goes on; where it starts cold there is nothing."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:  # noqa: B027  # most carry nothing
        """Go on from what `state` gave."""

    @staticmethod
    @abstractmethod
    def measured(answers: Mapping[str, Float[Tensor, "evaluations replicas ..."]], config: RunConfig) -> Measured:
        """What the answers of evaluations come to."""

    @staticmethod
    @abstractmethod
    def layout(config: RunConfig) -> Layout:
        """What a run tells, by name."""


def lesson(task: TaskConfig) -> type[Lesson]:
    """How a task is taught."""
    module, _, name = task_row(task).lesson.partition(":")
    found: type[Lesson] = getattr(import_module(module), name)
    return found
