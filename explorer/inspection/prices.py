"""What context costs: seconds and bytes of one training step, where rows grow longer and become fewer.

Every batch holds the same number of tokens. So whatever a model does token by token costs the same at any length,
and what tokens do with each other shows as a slope.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.models.configs import NgramTextConfig, TransformerTextConfig
from explorer.models.layers import learning
from explorer.models.taps import intervene
from explorer.seeds import generator
from explorer.tasks.text import TextConfig
from explorer.tasks.windows import Batch, text_data
from explorer.training.building import build
from explorer.training.config import RunConfig
from explorer.training.scoring import mean_surprise

LENGTHS: Final = (16, 32, 64, 128, 256, 512, 1_024)  # tokens a row
TOKENS: Final = 1_024  # a batch
FROM: Final = 128  # tokens a row from which on a slope is read: below, what is done token by token outweighs the rest
SECONDS: Final = 12.0  # for everything; then what is missing stays missing
MOST_BYTES: Final = 600_000_000  # of attention weights that one step may keep
_TURNS = 5  # of the clock, while there is time
_ORDER = (128, 1_024, 16, 512, 256, 64, 32)  # if time runs out, what a slope is read from is there


@dataclass(frozen=True)
class Price:
    """One model, in one way to compute it."""

    model: str  # its name in the catalogue
    explicit: bool  # the Transformer that stores every attention weight, as when somebody watches
    seconds: Float[ndarray, " lengths"]  # of a step, the median; NaN where it was not measured
    kept: Float[ndarray, " lengths"]  # bytes that the way back needs of the way forth, parameters aside; NaN likewise


@dataclass(frozen=True)
class Prices:
    """All models, at `LENGTHS` tokens a row and `TOKENS` tokens a batch."""

    prices: tuple[Price, ...]
    seconds: float  # that the measuring took


def measured(configs: Mapping[str, RunConfig], seconds: float = SECONDS) -> Prices:
    """Time and weigh a step of each of these models, freshly built; counting takes no steps, so the n-gram is left out.

    Raises TextError.
    """
    began = time.perf_counter()
    trained = {name: each for name, each in configs.items() if not isinstance(each.model, NgramTextConfig)}
    stands = []
    for name, config in trained.items():
        vocabulary = text_data(config.on(TextConfig)).vocabulary
        stands.append(_Stand(name, config, vocabulary, explicit=False))
        if isinstance(config.model, TransformerTextConfig):
            stands.append(_Stand(name, config, vocabulary, explicit=True))
    for turn in range(1 + _TURNS):
        until = began + (seconds if turn else seconds / 2)
        for left, stand in zip(range(len(stands), 0, -1), stands, strict=True):
            now = time.perf_counter()
            work = stand.time if turn else stand.weigh
            work(now + (until - now) / left)  # what one leaves over, the next may use
    return Prices(tuple(stand.price() for stand in stands), time.perf_counter() - began)


class _Stand:
    """A model on which is measured, one length after the other, again and again."""

    def __init__(self, name: str, config: RunConfig, vocabulary: int, explicit: bool) -> None:
        self.name, self.config, self.vocabulary, self.explicit = name, config, vocabulary, explicit
        self.model = fresh(config, vocabulary)
        self.times: dict[int, list[float]] = {length: [] for length in LENGTHS}
        self.kept = {length: float("nan") for length in LENGTHS}

    def weigh(self, until: float) -> None:
        """The bytes of every length, as long as there is time; so everything is warm for the clock."""
        for length in self._lengths(until):
            batch = rows(self.vocabulary, length)
            self.kept[length] = float(kept_bytes(self.model, self.config, batch, self.explicit))

    def time(self, until: float) -> None:
        """A step of every length once, as long as there is time."""
        for length in self._lengths(until):
            batch = rows(self.vocabulary, length)
            began = time.perf_counter()
            loss = _loss(self.model, self.config, batch, self.explicit)
            torch.autograd.grad(loss, list(self.model.parameters()), allow_unused=True)
            self.times[length].append(time.perf_counter() - began)

    def _lengths(self, until: float) -> Iterator[int]:
        for length in _ORDER:
            if self.explicit and weights_kept(self.config, length) > MOST_BYTES:
                continue
            if time.perf_counter() > until:
                return
            yield length

    def price(self) -> Price:
        middle = [statistics.median(taken) if taken else float("nan") for taken in self.times.values()]
        return Price(self.name, self.explicit, np.array(middle), np.array(list(self.kept.values())))


def fresh(config: RunConfig, vocabulary: int) -> nn.Module:
    """A model of these sizes with its starting weights, and positions for the longest row, where they are learned."""
    task = replace(config.on(TextConfig), context=max(LENGTHS))
    return build(replace(config, task=task, replicas=1), vocabulary)


def rows(vocabulary: int, length: int) -> Batch:
    """As many rows as make a batch, of tokens at random."""
    ids = torch.randint(vocabulary, (TOKENS // length, length + 1), generator=generator(0, "prices"))
    return Batch(ids[:, :-1].contiguous(), ids[:, 1:].contiguous())


def kept_bytes(model: nn.Module, config: RunConfig, batch: Batch, explicit: bool = False) -> int:
    """What a training step's forward keeps for its backward."""
    return saved_bytes(model, lambda: _loss(model, config, batch, explicit))


def saved_bytes(model: nn.Module, forward: Callable[[], Tensor]) -> int:
    """What autograd saves in a forward for the backward: each storage once, those of parameters not."""
    own = {value.untyped_storage().data_ptr() for value in (*model.parameters(), *model.buffers())}
    saved: dict[int, Tensor] = {}  # kept alive, so that no storage gets the place of another

    def keep(value: Tensor) -> Tensor:
        saved.setdefault(value.untyped_storage().data_ptr(), value)
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        result = forward()
    assert result.requires_grad
    return sum(value.untyped_storage().nbytes() for place, value in saved.items() if place not in own)


def weights_kept(config: RunConfig, length: int) -> int:
    """Bytes of attention weights in one batch: a number for each pair of a row's tokens, in every head and block."""
    assert isinstance(config.model, TransformerTextConfig)
    return config.model.layers * config.model.heads * (TOKENS // length) * length**2 * 4


def slope(values: Float[ndarray, " lengths"]) -> float:
    """The power of n by which a line grows from `FROM` tokens on; NaN where fewer than two were measured."""
    lengths = np.array(LENGTHS)
    there = np.isfinite(values) & (lengths >= FROM)
    if there.sum() < 2:
        return float("nan")
    return float(np.polyfit(np.log(lengths[there]), np.log(values[there]), 1)[0])


def _loss(model: nn.Module, config: RunConfig, batch: Batch, explicit: bool) -> Float[Tensor, ""]:
    """As in a training step, with dropout and the batch's statistics."""
    path: AbstractContextManager[None] = intervene(model, {}) if explicit else nullcontext()  # somebody listens
    with path, learning([generator(config.seed, "prices")]):
        features, _ = model.features(batch.ids)  # type: ignore[operator]  # a LanguageModel
        return mean_surprise(model, features, batch)
