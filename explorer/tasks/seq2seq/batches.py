"""Pairs of source and target sequences as tensors, for training and for evaluation.

The rows of a batch have different lengths, and every batch contains all lengths. With one length per batch a step costs
half as much, but the Transformer did not learn the longest sources in the same time; with independent random lengths
one seed of three did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Generator, Tensor

from explorer.seeds import generator
from explorer.tasks.seq2seq.config import TranslationConfig, source_vocabulary, target_vocabulary
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig, format_date, split_days
from explorer.tasks.seq2seq.digits import target_digits
from explorer.tasks.seq2seq.pairs import Pair, PairsConfig, PairTable
from explorer.tasks.sequence_labelling.rows import pad_rows, spread_lengths

IdRows = Sequence[Sequence[int]]


class Pairs(NamedTuple):
    """Source sequences, decoder inputs (targets shifted right), targets, and the loss mask of the targets."""

    source: Int[Tensor, "*replicas batch source"]  # padded with <PAD>
    decoder_input: Int[Tensor, "*replicas batch target"]  # <BOS> and the target, padded with <EOS>
    targets: Int[Tensor, "*replicas batch target"]  # the target and <EOS>, padded with <EOS>
    mask: Bool[Tensor, "*replicas batch target"]  # True: in the loss

    def slice_rows(self, first: int, last: int) -> Pairs:
        """Return the rows from `first` up to `last` of every replica, without target positions that all of them pad."""
        longest = int(self.mask[..., first:last, :].sum(dim=-1).max())
        return Pairs(self.source[..., first:last, :], *(part[..., first:last, :longest] for part in self[1:]))


def build_pairs(config: TranslationConfig, sources: IdRows, targets: IdRows) -> Pairs:
    """Return a batch from ids of sources and targets without <BOS> and <EOS>."""
    padding, end, _, _ = pair_fills(config)
    return Pairs(
        pad_rows(sources, padding),
        pad_rows([[end - 1, *row] for row in targets], end),
        pad_rows([[*row, end] for row in targets], end),
        pad_rows([[1] * (len(row) + 1) for row in targets], 0).bool(),
    )


def pair_fills(config: TranslationConfig) -> tuple[int, int, int, int]:
    """Return what pads each field of `Pairs`: <PAD> for sources, <EOS> for targets, and False for the mask."""
    end = len(target_vocabulary(config)) - 1
    return len(source_vocabulary(config)) - 1, end, end, 0


def batch(config: TranslationConfig, seed: int, order: int, step: int, size: int) -> Pairs:
    """Return the batch of one replica and step: new sources with their targets. Own pairs: `batch_of_table`."""
    name = type(config).__name__.removesuffix("Config").lower()
    rng = generator(seed, f"{name}/{order}/{step}")
    if isinstance(config, DatesConfig):
        formats = torch.randint(len(DATE_FORMATS), (size,), generator=rng)
        return _draw_dates(config, 0, [list(DATE_FORMATS)[i] for i in formats], rng)
    assert not isinstance(config, PairsConfig)
    return _draw_digits(config, spread_lengths(1, config.longest, size, rng), rng)


def batch_of_table(config: PairsConfig, table: PairTable, seed: int, order: int, step: int, size: int) -> Pairs:
    """Return the training batch of one replica and step, drawn with replacement; the parameters of `batch`."""
    chosen = torch.randint(len(table.training), (size,), generator=generator(seed, f"pairs/{order}/{step}"))
    return encode_pairs(config, [table.training[i] for i in chosen.tolist()])


def encode_pairs(config: PairsConfig, pairs: Sequence[Pair]) -> Pairs:
    """Return a batch of pairs that are given as texts."""
    return build_pairs(
        config,
        [[config.sources.index(each) for each in source] for source, _ in pairs],
        [[config.targets.index(each) for each in target] for _, target in pairs],
    )


def evaluation_digits(config: TranslationConfig, lengths: Sequence[int], count: int) -> Pairs:
    """Return `count` fresh sources of each length, equal for all models; only the shortest occur in training."""
    assert not isinstance(config, DatesConfig | PairsConfig)
    return _draw_digits(config, [n for n in lengths for _ in range(count)], generator(0, "digits/asked"))


def evaluation_dates(config: DatesConfig, count: int) -> Pairs:
    """Return `count` held-out days in each format in the order of the formats, equal for all models."""
    return _draw_dates(config, 1, [way for way in DATE_FORMATS for _ in range(count)], generator(0, "dates/asked"))


def _draw_digits(config: TranslationConfig, lengths: Sequence[int], rng: Generator) -> Pairs:
    assert not isinstance(config, DatesConfig | PairsConfig)
    ids = torch.randint(config.symbols, (len(lengths), max(lengths)), generator=rng).tolist()
    sources = [tuple(row[:length]) for row, length in zip(ids, lengths, strict=True)]
    return build_pairs(config, sources, [target_digits(config, source) for source in sources])


def _draw_dates(config: DatesConfig, part: int, formats: Sequence[str], rng: Generator) -> Pairs:
    """Return random days in these formats. `part` is 0 for training days, 1 for held-out days."""
    candidates, character_ids = split_days(config)[part], _character_ids(config)
    chosen = [candidates[i] for i in torch.randint(len(candidates), (len(formats),), generator=rng).tolist()]
    sources = [
        [character_ids[0][each] for each in format_date(day, way)] for day, way in zip(chosen, formats, strict=True)
    ]
    return build_pairs(config, sources, [[character_ids[1][each] for each in day.isoformat()] for day in chosen])


@lru_cache(maxsize=8)
def _character_ids(config: DatesConfig) -> tuple[dict[str, int], dict[str, int]]:
    """Return the id of every character in sources, and in targets."""
    source, target = source_vocabulary(config), target_vocabulary(config)
    return {each: i for i, each in enumerate(source)}, {each: i for i, each in enumerate(target)}
