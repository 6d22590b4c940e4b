"""A visitor's own sentences as rows of token ids, and the batches of a training."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from explorer.seeds import generator
from explorer.tasks.negation import Negation


class Batch(NamedTuple):
    """The sentences of a batch, as long as the longest of them."""

    ids: Int[Tensor, "*replicas batch time"]
    labels: Int[Tensor, "*replicas batch"]
    tokens: float  # that one replica reads, without padding


class SentenceRows(NamedTuple):
    """The rows of all sentences."""

    ids: Int[Tensor, "sentences time"]
    labels: Int[Tensor, " sentences"]
    lengths: Int[Tensor, " sentences"]  # without padding

    def batch(self, indices: Int[Tensor, "*replicas batch"]) -> Batch:
        """Return these sentences."""
        lengths = self.lengths[indices]
        tokens = float(lengths.sum(dim=-1).double().mean())
        return Batch(self.ids[indices][..., : int(lengths.max())].long(), self.labels[indices], tokens)


@runtime_checkable
class TrainingSettings(Protocol):
    """The settings of a run that decide about its batches."""

    @property
    def seeds(self) -> range: ...

    @property
    def order(self) -> int: ...

    @property
    def epochs(self) -> int: ...

    @property
    def batch_size(self) -> int: ...


def sentence_rows(task: Negation) -> SentenceRows:
    """Return the rows of all sentences, padded to the longest one."""
    ids = torch.tensor([row.ids for row in task.rows])
    return SentenceRows(ids, torch.tensor(task.labels), torch.tensor(task.lengths))


def batch_rows(task: Negation, run: TrainingSettings) -> list[Int[Tensor, "replicas batch"]]:
    """Return the indices of the sentences in the batch of each step; each seed shuffles each epoch anew."""
    purpose = f"order/{run.order}" if run.order else "order"
    orders = []
    for seed in run.seeds:
        sample = torch.tensor(task.sample("train", seed))
        shuffled = torch.rand(run.epochs, len(sample), generator=generator(seed, purpose)).argsort(dim=-1)
        orders.append(sample[shuffled])
    return [batch for epoch in torch.stack(orders, dim=1) for batch in epoch.split(run.batch_size, dim=-1)]
