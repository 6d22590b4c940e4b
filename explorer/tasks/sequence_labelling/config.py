"""Base classes of the configurations of all sequence-labelling tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PAD = "<PAD>"


@dataclass(frozen=True)
class LabellingConfig:
    """The settings of a sequence-labelling task, its vocabulary, and the names of what its evaluation records."""

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens of the rows; the last is <PAD>, which pads shorter rows."""
        raise NotImplementedError

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that a model predicts."""
        raise NotImplementedError

    @property
    def max_length(self) -> int:
        """The length of the longest row of training and evaluation; learned position embeddings have this size."""
        raise NotImplementedError

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics of every evaluation, the main one first."""
        raise NotImplementedError

    @property
    def answers(self) -> Mapping[str, int]:
        """The names of the answers that only the last evaluation records, with the number of values of each."""
        return {}

    @property
    def max_answer(self) -> float:
        """The largest possible value of an answer; 1 for shares."""
        return 1.0


class NextTokenConfig(LabellingConfig):
    """A task that predicts the next symbol at every position; no causal model has a loss below `loss_floor`."""

    length: int  # defined with its limits in each task
    metrics = ("loss", "prefix_loss")
    max_answer = 1e9  # the answers are losses in nats

    @property
    def max_length(self) -> int:
        return self.length

    @property
    def answers(self) -> dict[str, int]:
        return {"by_place": self.length, "prefix_by_place": self.length}

    @property
    def loss_floor(self) -> float:
        """The lowest possible loss of a causal model, in nats per position."""
        raise NotImplementedError
