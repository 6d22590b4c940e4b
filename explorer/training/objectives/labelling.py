"""The objective of sequence labelling: mean cross-entropy over all positions in the loss mask.

The module of the task draws the batches and evaluates a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from explorer.tasks.replicas import stack_replicas
from explorer.tasks.sequence_labelling.config import LabellingConfig
from explorer.tasks.sequence_labelling.rows import position_losses
from explorer.training.config import RunConfig
from explorer.training.device import device_of, move_batch, on_processor
from explorer.training.objective import Objective, RecordLayout


class LabellingObjective(Objective):
    """Draws rows, and trains on the label of every position in the loss mask."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model, self.task = config, model, labelling_task(config)
        self.rows: Any = import_module(type(self.task).__module__)

    @staticmethod
    def model_sizes(config: RunConfig, vocabulary: int | None) -> tuple[int, ...]:
        task = labelling_task(config)
        return len(task.vocabulary), len(task.labels), task.max_length

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        config, task = self.config, self.task
        each = [self.rows.batch(task, seed, config.order, step, config.batch_size) for seed in config.seeds]
        drawn = stack_replicas(each, len(task.vocabulary) - 1)
        read = (drawn.ids != len(task.vocabulary) - 1).sum()
        drawn = move_batch(drawn, device_of(self.model))
        counted = position_losses(self.model(drawn.ids), drawn.targets) * drawn.mask
        return counted.sum(dim=(-2, -1)) / drawn.mask.sum(dim=(-2, -1)), float(read) / config.replicas

    @torch.inference_mode()
    def evaluate(self, step: int, full: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        return self.rows.evaluate(self.task, on_processor(self.model), self.config.replicas, full)

    @staticmethod
    def layout(config: RunConfig) -> RecordLayout:
        task = labelling_task(config)
        return RecordLayout(
            task.metrics,
            answers=dict(task.answers),
            answer_max=task.max_answer,
            answers_at_end_only=True,
            signals=("gradient_norm",),
        )


def labelling_task(config: RunConfig) -> LabellingConfig:
    """Return the settings of a task whose models label every position."""
    assert isinstance(config.task, LabellingConfig)
    return config.task
