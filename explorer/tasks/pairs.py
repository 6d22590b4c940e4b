"""Sources and their right targets as tensors: what training draws, and what is asked.

Every row of a batch has its own length, and every batch has all of them. With one length for a whole batch a step
costs half as much, but the Transformer did not learn the longest sources in the same time; with lengths drawn at
random one seed of three did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Bool, Int
from torch import Generator, Tensor

from explorer.seeds import generator
from explorer.tasks.dates import WAYS, DatesConfig, days, written
from explorer.tasks.digits import target
from explorer.tasks.translation import TranslationConfig, source_tokens, target_tokens

Rows = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sources, and for every token of their targets what stands before it."""

    source: Int[Tensor, "*replicas batch source"]  # <PAD> at the end
    given: Int[Tensor, "*replicas batch target"]  # <BOS> and the target; behind it <EOS>, which nobody asks about
    wanted: Int[Tensor, "*replicas batch target"]  # the target and <EOS>
    counted: Bool[Tensor, "*replicas batch target"]  # where a token is wanted

    def rows(self, first: int, last: int) -> Pairs:
        """Some of the rows, of every replica, and no more places of the target than these have."""
        longest = int(self.counted[..., first:last, :].sum(dim=-1).max())
        given, wanted, counted = (part[..., first:last, :longest] for part in (self.given, self.wanted, self.counted))
        return Pairs(self.source[..., first:last, :], given, wanted, counted)


def pairs(config: TranslationConfig, sources: Rows, targets: Rows) -> Pairs:
    """Ids without marks, as one batch."""
    padding, end = len(source_tokens(config)) - 1, len(target_tokens(config)) - 1
    return Pairs(
        _filled(sources, padding),
        _filled([[end - 1, *row] for row in targets], end),
        _filled([[*row, end] for row in targets], end),
        _filled([[1] * (len(row) + 1) for row in targets], 0).bool(),
    )


def beside(config: TranslationConfig, parts: Sequence[Pairs]) -> Pairs:
    """Batches of several replicas, on an axis of their own; the batch of one as it is."""
    if len(parts) == 1:
        return parts[0]
    padding, end = len(source_tokens(config)) - 1, len(target_tokens(config)) - 1
    return Pairs(
        _stacked([part.source for part in parts], padding),
        _stacked([part.given for part in parts], end),
        _stacked([part.wanted for part in parts], end),
        _stacked([part.counted for part in parts], 0),
    )


def batch(config: TranslationConfig, seed: int, order: int, step: int, size: int) -> Pairs:
    """What one replica reads in one step: fresh sources, never the same again."""
    name = type(config).__name__.removesuffix("Config").lower()
    drawn = generator(seed, f"{name}/{order}/{step}")
    if isinstance(config, DatesConfig):
        way = torch.randint(len(WAYS), (size,), generator=drawn)
        return _dates(config, 0, [list(WAYS)[i] for i in way], drawn)
    # Each length about as often as any other in every single batch: systematic sampling, with one number drawn.
    share = (torch.arange(size) + torch.rand((), generator=drawn)) / size
    lengths = 1 + (share * config.longest).long().clamp_max(config.longest - 1)
    return _digits(config, lengths.tolist(), drawn)


def fresh_digits(config: TranslationConfig, lengths: Sequence[int], count: int, seed: int = 0) -> Pairs:
    """So many sources of each length, one length after the other, the same for every model that is asked.

    They are drawn apart from all training. The shortest have been trained all the same: there are but few.
    """
    assert not isinstance(config, DatesConfig)
    return _digits(config, [n for n in lengths for _ in range(count)], generator(seed, "digits/asked"))


def fresh_dates(config: DatesConfig, count: int, seed: int = 0) -> Pairs:
    """So many days in each way of writing, one way after the other, the same for every model that is asked.

    No training draws these days, in any way of writing.
    """
    return _dates(config, 1, [way for way in WAYS for _ in range(count)], generator(seed, "dates/asked"))


def _digits(config: TranslationConfig, lengths: Sequence[int], drawn: Generator) -> Pairs:
    assert not isinstance(config, DatesConfig)
    ids = torch.randint(config.symbols, (len(lengths), max(lengths)), generator=drawn).tolist()
    sources = [tuple(row[:length]) for row, length in zip(ids, lengths, strict=True)]
    return pairs(config, sources, [target(config, source) for source in sources])


def _dates(config: DatesConfig, part: int, ways: Sequence[str], drawn: Generator) -> Pairs:
    """`part`: 0 for the days that are trained, 1 for those that are held out."""
    possible, letters = days(config)[part], _letters(config)
    chosen = [possible[i] for i in torch.randint(len(possible), (len(ways),), generator=drawn).tolist()]
    sources = [[letters[0][each] for each in written(day, way)] for day, way in zip(chosen, ways, strict=True)]
    return pairs(config, sources, [[letters[1][each] for each in day.isoformat()] for day in chosen])


@lru_cache(maxsize=8)
def _letters(config: DatesConfig) -> tuple[dict[str, int], dict[str, int]]:
    """The id of every character, in sources and in targets."""
    source, aim = source_tokens(config), target_tokens(config)
    return {each: i for i, each in enumerate(source)}, {each: i for i, each in enumerate(aim)}


def _filled(rows: Rows, fill: int) -> Int[Tensor, "rows longest"]:
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[fill] * (longest - len(row))] for row in rows])


def _stacked(parts: Sequence[Tensor], fill: int) -> Tensor:
    longest = max(part.shape[-1] for part in parts)
    return torch.stack([torch.nn.functional.pad(part, (0, longest - part.shape[-1]), value=fill) for part in parts])
