"""The loss of a trained run on the test split, which nothing was chosen by.

A run whose task has no test split is evaluated as if half of its held-out part were one: training read neither half, so
the same weights are valid for both. But evaluations during its training read both halves, so this test split is
unbiased only if nothing was chosen by them: neither the last step (early stopping) nor the settings of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.load_model import load_model, to_array
from explorer.run_store.store import StoredRun
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import Part, text_data
from explorer.training.objectives.text import held_out_batches
from explorer.training.record import Record
from explorer.training.scoring import mean_loss

DEFAULT_TEST_SHARE: Final = 0.5  # of the held-out part, where the task of a run has no test split


@dataclass(frozen=True)
class FinalLosses:
    """The losses of all seeds of a run on both parts of what is held out, in nats per token."""

    task: TextConfig  # with its test split
    reserved: bool  # whether training had this test split, so that none of its evaluations read it
    validation: Float[ndarray, " replicas"]
    test: Float[ndarray, " replicas"]


def with_test_split(task: TextConfig) -> TextConfig:
    """Return the task with a test split: its own, or half of the held-out part. The training part is the same."""
    return task if task.test else replace(task, test=DEFAULT_TEST_SHARE)


def final_test_loss(run: StoredRun | Record) -> FinalLosses:
    """Evaluate the last weights of a run on both splits. Raises LineageError without the text or the weights."""
    config, task = run.config, with_test_split(run.config.task_as(TextConfig))
    model = load_model(run).stack

    def loss(part: Part) -> Float[ndarray, " replicas"]:
        batches = held_out_batches(task, text_data(task, part))
        return to_array(mean_loss(model, batches, config.replicas, carries=task.batches == "contiguous"))

    return FinalLosses(task, config.task_as(TextConfig).test > 0, loss("validation"), loss("test"))
