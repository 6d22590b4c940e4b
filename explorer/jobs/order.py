"""An order: a training that an executor carries out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from explorer.errors import LimitExceeded
from explorer.training import recorder, slices, train
from explorer.training.config import RunConfig
from explorer.training.record import Snapshot
from explorer.training.slices import in_slices


@dataclass(frozen=True)
class Order:
    """A training for an executor. It contains everything that the training needs, so no disk has to be shared.

    step, snapshot: the step to resume from, and the weights and optimizer state there; for a branch those of its parent
    text: the visitor's own text, if the training reads one
    """

    config: RunConfig
    step: int = 0
    snapshot: Snapshot | None = None
    text: str = ""


def carry_out(order: Order, slice_seconds: float) -> Iterator[slices.Slice]:
    """Carry out an order in this thread. Raises LineageError if it is impossible or needs too much memory."""
    checkpoint = recorder.as_checkpoint(order.step, order.snapshot) if order.snapshot else None
    try:
        yield from in_slices(train.train(order.config, checkpoint), slice_seconds)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or re.search("allocate memory|out of memory", str(error)):  # of torch
            raise LimitExceeded(
                "The training needs more memory than this server gives to one training. Take fewer seeds, smaller "
                "batches or a smaller model."
            ) from error
        raise
