"""Evaluation of a stored run from its weights alone."""

from __future__ import annotations

import torch

from explorer.inspection.load_model import load_model
from explorer.run_store.store import Metric, StoredRun, summarize_metrics
from explorer.training.objective import objective_class
from explorer.training.record import Record


@torch.inference_mode()
def evaluate(run: StoredRun | Record) -> dict[str, Metric]:
    """Return the metrics of the run's last snapshot, computed again from its weights. Raises DamagedRun."""
    objective = objective_class(run.config.task)
    loaded = objective(run.config, load_model(run).stack)
    answers = loaded.evaluate(run.config.steps, full=True)
    measured = objective.compute_metrics({name: value[None] for name, value in answers.items()}, run.config)
    return summarize_metrics({name: values[-1] for name, values in measured.metrics.items()}, loaded.baselines())
