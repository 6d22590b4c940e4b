"""The distinct-rows trick: a batch of 64 sentences as the few different ones and how often each occurs.

The negation world has a handful of sentences, so a batch repeats them. The mean loss over a batch
equals the sum over distinct rows weighted by their share: the same gradient in exact arithmetic, from
six rows instead of 64, and the same rows for every replica.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from explorer.tasks.negation import Negation


def row_ids(task: Negation) -> Int[Tensor, "rows time"]:
    """Every distinct row of token ids."""
    return torch.tensor([row.ids for row in task.rows])


def row_labels(task: Negation) -> Int[Tensor, " rows"]:
    """The class of every distinct row."""
    return torch.tensor([task.labels[row.sentence] for row in task.rows])


def rows_beside(task: Negation) -> Int[Tensor, "longest sentences"]:
    """The row that a sentence becomes in a batch whose longest sentence has so many tokens."""
    return torch.tensor(
        [
            [task.row(s, max(length, own)) for s, own in enumerate(task.lengths)]
            for length in range(max(task.lengths) + 1)
        ]
    )


def batch_weights(
    task: Negation, sample: Int[Tensor, " sample"], epochs: int, batch_size: int, order: Generator
) -> Float[Tensor, "steps rows"]:
    """For each batch of each epoch, the share of every distinct row. Each epoch is shuffled anew."""
    size = len(sample)
    shuffled = torch.rand(epochs, size, generator=order).argsort(dim=-1)
    batches = -(-size // batch_size)
    absent = len(task.sentences)  # one more index, for the empty places of the last batch
    sentences = torch.full((epochs, batches * batch_size), absent)
    sentences[:, :size] = sample[shuffled]
    sentences = sentences.view(epochs * batches, batch_size)
    lengths = torch.tensor([*task.lengths, 0])
    longest = lengths[sentences].amax(dim=-1, keepdim=True)
    beside = torch.nn.functional.pad(rows_beside(task), (0, 1), value=len(task.rows))
    rows = beside[longest, sentences]
    counts = torch.zeros(len(rows), len(task.rows) + 1).scatter_add_(1, rows, torch.ones(rows.shape))
    return counts[:, :-1] / counts[:, :-1].sum(dim=-1, keepdim=True)
