"""Batches of the negation task as weights of its few distinct rows.

A batch repeats the same few sentences. The mean loss over a batch equals the sum over distinct rows weighted by their
share: the same gradient in exact arithmetic from six rows instead of 64, and the same rows for every replica.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from explorer.tasks.negation import Negation


def row_ids(task: Negation) -> Int[Tensor, "rows time"]:
    """Return every distinct row of token ids."""
    return torch.tensor([row.ids for row in task.rows])


def row_labels(task: Negation) -> Int[Tensor, " rows"]:
    """Return the class of every distinct row."""
    return torch.tensor([task.labels[row.sentence] for row in task.rows])


def row_lookup(task: Negation) -> Int[Tensor, "longest sentences"]:
    """Return the row of each sentence (second axis) by the longest sentence in the batch (first axis, in tokens)."""
    return torch.tensor(
        [
            [task.row_index(s, max(length, own)) for s, own in enumerate(task.lengths)]
            for length in range(max(task.lengths) + 1)
        ]
    )


def batch_rows(
    task: Negation, sample: Int[Tensor, " sample"], epochs: int, batch_size: int, rng: Generator
) -> Int[Tensor, "steps batch"]:
    """Return the index of the distinct row of each sentence in each batch; `len(task.rows)`: the place is empty.

    Each epoch is shuffled anew. The parameters are those of `batch_weights`.
    """
    size = len(sample)
    shuffled = torch.rand(epochs, size, generator=rng).argsort(dim=-1)
    batches = -(-size // batch_size)
    absent = len(task.sentences)  # an extra index for the unused places of the last batch
    sentences = torch.full((epochs, batches * batch_size), absent)
    sentences[:, :size] = sample[shuffled]
    sentences = sentences.view(epochs * batches, batch_size)
    lengths = torch.tensor([*task.lengths, 0])
    longest = lengths[sentences].amax(dim=-1, keepdim=True)
    lookup = torch.nn.functional.pad(row_lookup(task), (0, 1), value=len(task.rows))
    return lookup[longest, sentences]


def batch_weights(
    task: Negation, sample: Int[Tensor, " sample"], epochs: int, batch_size: int, rng: Generator
) -> Float[Tensor, "steps rows"]:
    """Return the share of every distinct row in each batch.

    task: the data of the task
    sample: indices of the training sentences
    epochs: passes over the sample
    batch_size: sentences in a batch; the last batch of an epoch may be smaller
    rng: shuffles the sample
    """
    rows = batch_rows(task, sample, epochs, batch_size, rng)
    counts = torch.zeros(len(rows), len(task.rows) + 1).scatter_add_(1, rows, torch.ones(rows.shape))
    return counts[:, :-1] / counts[:, :-1].sum(dim=-1, keepdim=True)
