"""How labelling is taught: the loss is the mean over all places that count.

What an examination asks is the task's own business: see `examine` in its `…_rows.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from explorer.catalogue import variant
from explorer.tasks.labelled import beside, losses
from explorer.tasks.labelling import LabellingConfig
from explorer.training.config import RunConfig
from explorer.training.lesson import Layout, Lesson, Measured


class LabellingLesson(Lesson):
    """Draws rows, and asks for the label of every place that counts."""

    def __init__(self, config: RunConfig, model: nn.Module) -> None:
        self.config, self.model, self.task = config, model, task_of(config)
        self.rows: Any = import_module(f"{type(self.task).__module__}_rows")

    @staticmethod
    def build(config: RunConfig, generator: Generator, vocabulary: int | None = None) -> nn.Module:
        task = task_of(config)
        module, _, name = variant(config.model).place.partition(":")
        make = getattr(import_module(module), name)
        model: nn.Module = make(config.model, len(task.vocabulary), len(task.labels), task.places, generator)
        return model

    def losses(self, step: int) -> tuple[Float[Tensor, "*replicas"], float]:
        config, task = self.config, self.task
        each = [self.rows.batch(task, seed, config.order, step, config.batch_size) for seed in config.seeds]
        drawn = beside(each, len(task.vocabulary) - 1)
        counted = losses(self.model(drawn.ids), drawn.wanted) * drawn.counted
        read = (drawn.ids != len(task.vocabulary) - 1).sum()
        return counted.sum(dim=(-2, -1)) / drawn.counted.sum(dim=(-2, -1)), float(read) / config.replicas

    @torch.inference_mode()
    def evaluate(self, step: int, whole: bool) -> Mapping[str, Float[Tensor, "replicas ..."]]:
        found: Mapping[str, Tensor] = self.rows.examine(self.task, self.model, self.config.replicas, whole)
        return found

    @staticmethod
    def measured(answers: Mapping[str, Float[Tensor, "evaluations replicas ..."]], config: RunConfig) -> Measured:
        task = task_of(config)
        metrics, parts = ({name: answers[name].numpy() for name in names} for names in (task.metrics, task.answers))
        return Measured(metrics, parts)

    @staticmethod
    def layout(config: RunConfig) -> Layout:
        task = task_of(config)
        return Layout(
            task.metrics, answers=dict(task.answers), highest=task.highest, at_end=True, signals=("gradient_norm",)
        )


def task_of(config: RunConfig) -> LabellingConfig:
    """The settings of a task whose models answer at every place."""
    assert isinstance(config.task, LabellingConfig)
    return config.task
