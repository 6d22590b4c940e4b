"""Sentences as rows of token ids, and the batches of a training: sentences of about the same length together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from explorer.seeds import generator
from explorer.tasks.own_sentences_rows import SentenceRows
from explorer.tasks.sentiment.data import Example

_SORTED_TOGETHER = 50  # batches whose sentences are sorted by their length


def example_rows(examples: Sequence[Example], padding: int) -> SentenceRows:
    """Return sentences as rows, padded to the longest one; in 16 bits, because there are many."""
    lengths = torch.tensor([len(each.ids) for each in examples])
    longest = int(lengths.max())
    ids = torch.full((len(examples), longest), padding, dtype=torch.int16)
    ids[torch.arange(longest) < lengths[:, None]] = torch.tensor(
        [id for each in examples for id in each.ids], dtype=torch.int16
    )
    return SentenceRows(ids, torch.tensor([each.label for each in examples]), lengths)


def batches(
    lengths: Int[Tensor, " sentences"], seeds: Sequence[int], order: int, batch_size: int, steps: int
) -> Iterator[Int[Tensor, "replicas batch"]]:
    """Yield the indices of the sentences of each step. In a round each seed reads every sentence, in its own order.

    Sentences of about the same length are together in a batch, so that little of it is padding. At a step, all seeds
    read about the same length.
    """
    purpose = f"order/{order}" if order else "order"
    generators = [generator(seed, purpose) for seed in seeds]
    shared = generator(0, purpose)  # decides at which step which length is read
    size = _SORTED_TOGETHER * batch_size
    step = 0
    while True:
        rounds = torch.stack([torch.randperm(len(lengths), generator=each) for each in generators])
        for part in torch.split(rounds, size, dim=-1):
            by_length = part.gather(-1, lengths[part].argsort(dim=-1, stable=True))
            parts = torch.split(by_length, batch_size, dim=-1)
            for i in torch.randperm(len(parts), generator=shared).tolist():
                if step == steps:
                    return
                yield parts[i]
                step += 1
