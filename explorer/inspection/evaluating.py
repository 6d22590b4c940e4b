"""A stored run asked again, from its weights alone."""

from __future__ import annotations

import torch

from explorer.inspection.opening import open_model
from explorer.training.lesson import lesson
from explorer.training.store import Metric, StoredRun, summary


@torch.inference_mode()
def evaluate(run: StoredRun) -> dict[str, Metric]:
    """The metrics of the last snapshot, computed anew."""
    teach = lesson(run.config.task)
    answers = teach(run.config, open_model(run).stack).evaluate(run.config.steps, whole=True)
    measured = teach.measured({name: value[None] for name, value in answers.items()}, run.config)
    return summary({name: values[-1] for name, values in measured.metrics.items()})
