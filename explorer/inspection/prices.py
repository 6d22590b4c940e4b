"""What context costs: seconds and bytes of one training step, where rows grow longer and become fewer.

Every batch holds the same number of tokens. So whatever a model does token by token costs the same at any length,
and what tokens do with each other shows as a slope.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
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
TOKENS: Final = 2_048  # a batch
FROM: Final = 128  # tokens a row from which on a slope is read: below, what is done token by token outweighs the rest
SECONDS: Final = 12.0  # for everything; then what is missing stays missing
MOST_BYTES: Final = 600_000_000  # of attention weights that one step may keep
_TIMES = 5  # that each step is timed, while there is time
_ORDER = (16, 1_024, 128, 512, 256, 64, 32)  # the ends first: if time runs out, the line still has its length


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
    ways = [(name, False) for name in trained]
    ways += [(name, True) for name, each in trained.items() if isinstance(each.model, TransformerTextConfig)]
    found = {}
    for left, (name, explicit) in zip(range(len(ways), 0, -1), ways, strict=True):
        share = (began + seconds - time.perf_counter()) / left
        found[name, explicit] = _measured(name, trained[name], explicit, share)
    order = [(name, explicit) for name in trained for explicit in (False, True) if (name, explicit) in found]
    return Prices(tuple(found[way] for way in order), time.perf_counter() - began)


def _measured(name: str, config: RunConfig, explicit: bool, share: float) -> Price:
    """One line, in about so many seconds: all lengths once, then again and again."""
    until = time.perf_counter() + share
    vocabulary = text_data(config.on(TextConfig)).vocabulary
    model = fresh(config, vocabulary)
    times: dict[int, list[float]] = {length: [] for length in LENGTHS}
    kept = {length: float("nan") for length in LENGTHS}
    lengths = [length for length in _ORDER if not explicit or weights_kept(config, length) <= MOST_BYTES]
    for turn in range(_TIMES):
        for length in lengths:
            if time.perf_counter() > until:
                break
            batch = rows(vocabulary, length)
            if not turn:
                kept[length] = float(kept_bytes(model, config, batch, explicit))  # and everything is warm
            times[length].append(_timed(model, config, batch, explicit))
    seconds = [statistics.median(taken) if taken else float("nan") for taken in times.values()]
    return Price(name, explicit, np.array(seconds), np.array(list(kept.values())))


def fresh(config: RunConfig, vocabulary: int) -> nn.Module:
    """A model of these sizes with its starting weights, and positions for the longest row, where they are learned."""
    task = replace(config.on(TextConfig), context=max(LENGTHS))
    return build(replace(config, task=task, replicas=1), vocabulary)


def rows(vocabulary: int, length: int) -> Batch:
    """As many rows as make a batch, of tokens at random."""
    ids = torch.randint(vocabulary, (TOKENS // length, length + 1), generator=generator(0, "prices"))
    return Batch(ids[:, :-1].contiguous(), ids[:, 1:].contiguous())


def kept_bytes(model: nn.Module, config: RunConfig, batch: Batch, explicit: bool = False) -> int:
    """What autograd saves in a forward for the backward: each storage once, those of parameters not."""
    own = {value.untyped_storage().data_ptr() for value in (*model.parameters(), *model.buffers())}
    saved: dict[int, Tensor] = {}  # kept alive, so that no storage gets the place of another

    def keep(value: Tensor) -> Tensor:
        saved.setdefault(value.untyped_storage().data_ptr(), value)
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        loss = _loss(model, config, batch, explicit)
    assert loss.requires_grad
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


def _timed(model: nn.Module, config: RunConfig, batch: Batch, explicit: bool) -> float:
    began = time.perf_counter()
    torch.autograd.grad(_loss(model, config, batch, explicit), list(model.parameters()), allow_unused=True)
    return time.perf_counter() - began


def _loss(model: nn.Module, config: RunConfig, batch: Batch, explicit: bool) -> Float[Tensor, ""]:
    """As in a training step, with dropout and the batch's statistics."""
    path: AbstractContextManager[None] = intervene(model, {}) if explicit else nullcontext()  # somebody listens
    with path, learning([generator(config.seed, "prices")]):
        features, _ = model.features(batch.ids)  # type: ignore[operator]  # a LanguageModel
        return mean_surprise(model, features, batch)
