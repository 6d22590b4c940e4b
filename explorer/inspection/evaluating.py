"""A stored run asked again, from its weights alone."""

from __future__ import annotations

import torch

from explorer.inspection.opening import open_model
from explorer.tasks.batches import row_ids, rows_beside
from explorer.tasks.negation import Negation
from explorer.training.recorder import measure
from explorer.training.store import Metric, StoredRun, summary


@torch.inference_mode()
def evaluate(run: StoredRun) -> dict[str, Metric]:
    """The metrics of the last snapshot, computed anew."""
    opened = open_model(run)
    task = Negation(run.config.task)
    ids = row_ids(task)[rows_beside(task)[-1]]
    if run.config.replicas == 1:
        logits = opened.stack(ids)[None]
    else:
        logits = opened.stack(ids.expand(run.config.replicas, *ids.shape))
    return summary({name: values[-1] for name, values in measure(logits[None], run.config).items()})
