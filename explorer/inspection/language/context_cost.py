"""Cost of context: seconds and bytes of one training step by row length, at a constant number of tokens per batch.

Work per token costs the same at any row length; work between tokens of a row shows as a slope.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn

from explorer.inspection import compare
from explorer.models.configs import NgramTextConfig, TransformerTextConfig
from explorer.models.layers import learning
from explorer.models.taps import intervene
from explorer.seeds import generator
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import Batch, text_data
from explorer.training.config import RunConfig
from explorer.training.model_factory import build_model
from explorer.training.scoring import mean_surprisal

LENGTHS: Final = (16, 32, 64, 128, 256, 512, 1_024)  # tokens per row
TOKENS: Final = 1_024  # per batch
FIT_FROM: Final = 128  # tokens per row from which growth is fitted; below, the work per token dominates
SECONDS: Final = 12.0  # for all measurements; what is missing then stays NaN
MAX_WEIGHT_BYTES: Final = 600_000_000  # of attention weights that one step may save
_REPEATS = 5  # while there is time
_ORDER = (128, 1_024, 16, 512, 256, 64, 32)  # the lengths that the fit needs come first, in case time runs out


@dataclass(frozen=True)
class StepCost:
    """The cost of a training step of one model, with one attention implementation."""

    model: str  # its name in the catalogue
    explicit: bool  # whether attention stores its weights instead of using a fused kernel
    seconds: Float[ndarray, " lengths"]  # median of a step; NaN where it was not measured
    saved_bytes: Float[ndarray, " lengths"]  # for the backward pass, without parameters; NaN likewise


@dataclass(frozen=True)
class ContextCosts:
    """The costs of all models, at `LENGTHS` tokens per row and `TOKENS` tokens per batch."""

    costs: tuple[StepCost, ...]
    seconds: float  # that the measurement took


def measure_context_costs(configs: Mapping[str, RunConfig], seconds: float = SECONDS) -> ContextCosts:
    """Measure a training step of each model but n-grams, with random weights, in `seconds`. Raises TextError."""
    started = time.perf_counter()
    trained = {name: each for name, each in configs.items() if not isinstance(each.model, NgramTextConfig)}
    benches = []
    for name, config in trained.items():
        vocabulary = text_data(config.task_as(TextConfig)).vocabulary
        benches.append(_TimingBench(name, config, vocabulary, explicit=False))
        if isinstance(config.model, TransformerTextConfig):
            benches.append(_TimingBench(name, config, vocabulary, explicit=True))
    for repeat in range(1 + _REPEATS):
        until = started + (seconds if repeat else seconds / 2)
        for remaining, bench in zip(range(len(benches), 0, -1), benches, strict=True):
            now = time.perf_counter()
            measure = bench.measure_time if repeat else bench.measure_memory
            measure(now + (until - now) / remaining)  # unused time goes to the next
    return ContextCosts(tuple(bench.cost() for bench in benches), time.perf_counter() - started)


class _TimingBench:
    """One model, measured repeatedly at every row length."""

    def __init__(self, name: str, config: RunConfig, vocabulary: int, explicit: bool) -> None:
        self.name, self.config, self.vocabulary, self.explicit = name, config, vocabulary, explicit
        self.model = build_untrained(config, vocabulary)
        self.times: dict[int, list[float]] = {length: [] for length in LENGTHS}
        self.saved = {length: float("nan") for length in LENGTHS}

    def measure_memory(self, deadline: float) -> None:
        """Measure the saved bytes at every length while there is time; this also warms up the timing."""
        for length in self._lengths(deadline):
            batch = random_batch(self.vocabulary, length)
            self.saved[length] = float(step_saved_bytes(self.model, self.config, batch, self.explicit))

    def measure_time(self, deadline: float) -> None:
        """Time one step at every length while there is time."""
        for length in self._lengths(deadline):
            batch = random_batch(self.vocabulary, length)
            started = time.perf_counter()
            loss = _loss(self.model, self.config, batch, self.explicit)
            torch.autograd.grad(loss, list(self.model.parameters()), allow_unused=True)
            self.times[length].append(time.perf_counter() - started)

    def _lengths(self, deadline: float) -> Iterator[int]:
        for length in _ORDER:
            if self.explicit and attention_weight_bytes(self.config, length) > MAX_WEIGHT_BYTES:
                continue
            if time.perf_counter() > deadline:
                return
            yield length

    def cost(self) -> StepCost:
        middle = [statistics.median(taken) if taken else float("nan") for taken in self.times.values()]
        return StepCost(self.name, self.explicit, np.array(middle), np.array(list(self.saved.values())))


def build_untrained(config: RunConfig, vocabulary: int) -> nn.Module:
    """Return an untrained model of these sizes, with positions for the longest row."""
    task = replace(config.task_as(TextConfig), context=max(LENGTHS))
    return build_model(replace(config, task=task, replicas=1), vocabulary)


def random_batch(vocabulary: int, length: int) -> Batch:
    """Return a batch of random tokens in rows of this length."""
    ids = torch.randint(vocabulary, (TOKENS // length, length + 1), generator=generator(0, "prices"))
    return Batch(ids[:, :-1].contiguous(), ids[:, 1:].contiguous())


def step_saved_bytes(model: nn.Module, config: RunConfig, batch: Batch, explicit: bool = False) -> int:
    """Return the bytes that a training step saves for its backward pass."""
    return saved_bytes(model, lambda: _loss(model, config, batch, explicit))


def saved_bytes(model: nn.Module, forward: Callable[[], Tensor]) -> int:
    """Return the bytes that autograd saves in a forward pass: each storage once, without parameters and buffers."""
    own = {value.untyped_storage().data_ptr() for value in (*model.parameters(), *model.buffers())}
    saved: dict[int, Tensor] = {}  # kept alive, so that no address is reused

    def keep(value: Tensor) -> Tensor:
        saved.setdefault(value.untyped_storage().data_ptr(), value)
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        result = forward()
    assert result.requires_grad
    return sum(value.untyped_storage().nbytes() for address, value in saved.items() if address not in own)


def attention_weight_bytes(config: RunConfig, length: int) -> int:
    """Return the bytes of the attention weights of one batch: one number per token pair, head and block."""
    assert isinstance(config.model, TransformerTextConfig)
    return config.model.layers * config.model.heads * (TOKENS // length) * length**2 * 4


def growth_exponent(values: Float[ndarray, " lengths"]) -> float:
    """Return the exponent of the power law fitted from `FIT_FROM` tokens on; NaN with fewer than two values."""
    return compare.growth_exponent(np.array(LENGTHS), values, FIT_FROM)


@dataclass(frozen=True)
class Growth:
    """How a measured cost grows from `FIT_FROM` tokens per row to the longest row that was measured."""

    longest: int  # tokens per row
    exponent: float
    factor: float  # cost at the longest row relative to `FIT_FROM`


def growth(values: Float[ndarray, " lengths"], exact: bool) -> Growth | None:
    """Return the growth of a cost: the ratio of `exact` values (bytes), or that of the fitted exponent (seconds)."""
    measured = [i for i, value in enumerate(values) if LENGTHS[i] >= FIT_FROM and np.isfinite(value)]
    if len(measured) < 2:
        return None
    first, last = measured[0], measured[-1]
    exponent = growth_exponent(values)
    factor = values[last] / values[first] if exact else (LENGTHS[last] / LENGTHS[first]) ** exponent
    return Growth(LENGTHS[last], exponent, float(factor))


def _loss(model: nn.Module, config: RunConfig, batch: Batch, explicit: bool) -> Float[Tensor, ""]:
    """Return the loss as in a training step, with dropout and batch statistics."""
    with intervene(model, {}) if explicit else nullcontext(), learning([generator(config.seed, "prices")]):
        features, _ = model.features(batch.ids)  # type: ignore[operator]  # a LanguageModel
        return mean_surprisal(model, features, batch)
