"""Models that learn from the held-out text while they read it: dynamic evaluation, and an n-gram with a cache.

Dynamic evaluation: each segment of the held-out text is scored, then used for one gradient step.

    theta_{s+1} = theta_s - eta g_s / max(1, |g_s|)

where g_s is the gradient of the mean surprisal -log p(token) over segment s under theta_s. Every token is still
predicted by a model that has not seen it. Mikolov et al. 2010 (section 2) call such a model dynamic, Krause et al.
2018 (arXiv 1709.07432) dynamic evaluation; this is its plain SGD form, without RMS scaling and without decay to the
trained weights.

An n-gram has no gradient. What it learns while it reads is counted in a cache (see `models/kneser_ney.py`), which is
mixed in with a weight (Kuhn & De Mori 1990). The weight is chosen on a part of the training text.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Generator, nn

from explorer.inspection import load_model
from explorer.models.configs import NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.models.language import State
from explorer.run_store.store import StoredRun
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import Batch, text_data
from explorer.training.optimisers import SGD
from explorer.training.record import Record
from explorer.training.scoring import mean_surprisal

CLIP: Final = 1.0  # norm to which gradients are clipped
TOKENS: Final = 16_000  # read at most: 250 blocks of the default context
_MIN_TOKENS, _MAX_WORK = 2_000, 2e10  # large models read fewer: this many tokens times parameters take seconds
_MAX_SEGMENTS = 1_000  # short contexts make many segments
_SEGMENT_TARGETS = 64  # of a segment that consists of lines
CACHE_WEIGHTS: Final = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)  # one is chosen on training text
CHOOSING_SHARE: Final = 0.1  # of the training text, its end, on which the weight is chosen


@dataclass(frozen=True)
class RunningLoss:
    """The cumulative mean loss over a text, segment by segment."""

    tokens: Int[ndarray, " pieces"]  # read so far
    losses: Float[ndarray, " pieces"]  # nats a token


@dataclass(frozen=True)
class DynamicEvaluation:
    """Static and dynamic evaluation of the same model on the same text."""

    rate: float
    static: RunningLoss
    dynamic: RunningLoss  # shorter if the losses diverged
    gradient_norms: Float[ndarray, " steps"]  # before clipping to CLIP
    relative_change: float  # norm of the total weight change, relative to the norm of the weights
    parameters: int
    carries_state: bool  # whether the state is carried from segment to segment
    held_out: int  # targets in the whole held-out part
    characters_per_token: float  # in the held-out part; bits per character = nats per token / this / ln 2
    seconds: float

    @property
    def diverged(self) -> bool:
        """Whether the losses of the dynamic evaluation became non-finite."""
        return len(self.dynamic.tokens) < len(self.static.tokens)

    @property
    def tokens(self) -> int:
        return int(self.static.tokens[-1])


def evaluate_dynamically(model: nn.Module, config: TextConfig, rate: float, most: int = TOKENS) -> DynamicEvaluation:
    """Evaluate a neural language model statically and dynamically on the beginning of the held-out text.

    `config` is the task of its training, `rate` the learning rate. The steps change a copy of the model. At most about
    `most` tokens are read, fewer by a large model. Raises TextError, NeedsText, CorpusMissing.
    """
    started = time.perf_counter()
    data, carries_state = text_data(config), config.batches == "contiguous"
    parameters = sum(p.numel() for p in model.parameters())
    segments = _segments(config, min(most, max(_MIN_TOKENS, int(_MAX_WORK / parameters))))
    static = _static_loss(model, segments, carries_state)

    learner = copy.deepcopy(model).requires_grad_(True)
    optimizer = SGD(learner.parameters(), rate)
    initial_weights, state = optimizer.weights.clone(), State()
    losses: list[float] = []
    gradient_norms: list[float] = []
    for segment in segments:
        features, next_state = learner.features(segment.ids, state)  # type: ignore[operator]  # a LanguageModel
        loss = mean_surprisal(learner, features, segment)
        if not loss.isfinite():
            break
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = optimizer.gradient.norm()
        gradient_norms.append(norm.item())
        optimizer.gradient.mul_((CLIP / norm).clamp_max(1.0))
        optimizer.step()
        state = tuple(part.detach() for part in next_state) if carries_state else ()
    return DynamicEvaluation(
        rate=rate,
        static=static,
        dynamic=_running_loss(segments[: len(losses)], losses),
        gradient_norms=np.array(gradient_norms),
        relative_change=float((optimizer.weights - initial_weights).norm() / initial_weights.norm()),
        parameters=parameters,
        carries_state=carries_state,
        held_out=data.held_out_targets,
        characters_per_token=data.characters_per_token,
        seconds=time.perf_counter() - started,
    )


def evaluate_run_dynamically(run: StoredRun | Record, rate: float) -> DynamicEvaluation:
    """Evaluate the first seed of a run statically and dynamically; see `evaluate_dynamically`. Raises DamagedRun."""
    return evaluate_dynamically(load_model.load_model(run).single_replica(0), run.config.task_as(TextConfig), rate)


def evaluate_statically(model: nn.Module, config: TextConfig, most: int = TOKENS) -> RunningLoss:
    """Evaluate a model, also an n-gram without its cache, on the same text without learning. Raises LineageError."""
    return _static_loss(model, _segments(config, most), config.batches == "contiguous")


@dataclass(frozen=True)
class NgramEvaluation:
    """Evaluation of an n-gram without a cache, and with a cache of the held-out text that it has read."""

    static: RunningLoss
    cached: RunningLoss
    weight: float  # of the cache, chosen on training text


def evaluate_ngram(ngram: Ngram, config: TextConfig) -> NgramEvaluation:
    """Evaluate an n-gram without a cache and with one of all earlier targets. Raises LineageError without the text."""
    weight = choose_cache_weight(ngram, config)
    segments = _segments(config, TOKENS)
    losses = _ngram_losses(with_cache(ngram, weight), segments, config.batches == "contiguous")
    return NgramEvaluation(evaluate_statically(ngram, config), _running_loss(segments, losses), weight)


def evaluate_ngram_run(run: StoredRun | Record, config: TextConfig) -> NgramEvaluation:
    """Evaluate the n-gram of a run; see `evaluate_ngram`. Raises DamagedRun."""
    model = load_model.load_model(run).single_replica(0)
    assert isinstance(model, Ngram)
    return evaluate_ngram(model, config)


def choose_cache_weight(ngram: Ngram, config: TextConfig, most: int = TOKENS) -> float:
    """Return the weight of the cache with the lowest loss on the end of the training text.

    An n-gram of the same order and smoothing is fitted to the training text without that end, of which at most about
    `most` tokens are then read as the held-out text is.
    """
    fitted, chosen = _split_training_text(config, most)
    model = Ngram(NgramTextConfig(ngram.order, ngram.smoothing), ngram.vocabulary, config.context, Generator())
    model.fit(*fitted)
    # Each surprisal with a cache is that of a mixture, so two of them give all weights.
    static, cached = (
        with_cache(model, weight).surprisal_reading_on(*chosen).double().neg().exp() for weight in (0.0, 1.0)
    )
    return max(CACHE_WEIGHTS, key=lambda weight: float(((1 - weight) * static + weight * cached).log().mean()))


def with_cache(ngram: Ngram, weight: float) -> Ngram:
    """Return an n-gram with the same tables whose cache has this weight."""
    changed = copy.copy(ngram)
    changed.cache = weight
    return changed


def _split_training_text(config: TextConfig, most: int) -> tuple[Batch, Batch]:
    """Return the training text without its end, and at most about `most` targets from the beginning of that end."""
    ids, targets, mask = text_data(config).full_training_batch()
    if len(ids) > 1:  # lines
        per_row = (targets.numel() if mask is None else int(mask.sum())) / len(ids)
        first = round((1 - CHOOSING_SHARE) * len(ids))
        parts = (slice(first), slice(first, first + max(1, round(most / per_row))))
        fitted, chosen = (Batch(ids[rows], targets[rows], None if mask is None else mask[rows]) for rows in parts)
        return fitted, chosen
    first = round((1 - CHOOSING_SHARE) * targets.shape[1])
    length = min(most, targets.shape[1] - first)
    row = length if config.batches == "contiguous" else min(config.context, length)
    end = slice(first, first + length // row * row)
    return Batch(ids[:, :first], targets[:, :first]), Batch(ids[:, end].view(-1, row), targets[:, end].view(-1, row))


def _segments(config: TextConfig, most: int) -> list[Batch]:
    """Return the held-out text in order, in one batch row: blocks of the context length, or groups of lines."""
    data = text_data(config)
    if config.batches == "contiguous":
        batches = data.held_out_contiguous(1, config.context)
    else:
        targets_per_row = data.held_out_targets / data.held_out_rows
        batches = data.held_out_batches(
            rows=1 if config.rows == "blocks" else max(1, round(_SEGMENT_TARGETS / targets_per_row))
        )
    segments, targets = [], 0
    for batch in islice(batches, _MAX_SEGMENTS):
        segments.append(batch)
        targets += batch.target_count
        if targets >= most:
            break
    return segments


def _running_loss(segments: Sequence[Batch], losses: Sequence[float]) -> RunningLoss:
    """Return the cumulative mean of the mean losses of the segments."""
    counts = np.array([segment.target_count for segment in segments], dtype=np.int64)
    tokens = counts.cumsum()
    return RunningLoss(tokens, np.cumsum(counts * np.array(losses, dtype=np.float64)) / tokens)


@torch.no_grad()
def _static_loss(model: nn.Module, segments: Sequence[Batch], carries_state: bool) -> RunningLoss:
    if isinstance(model, Ngram):
        return _running_loss(segments, _ngram_losses(with_cache(model, 0.0), segments, carries_state))
    losses, state = [], State()
    for segment in segments:
        features, next_state = model.features(segment.ids, state)  # type: ignore[operator]  # a LanguageModel
        losses.append(mean_surprisal(model, features, segment).item())
        state = next_state if carries_state else ()
    return _running_loss(segments, losses)


def _ngram_losses(model: Ngram, segments: Sequence[Batch], carries_state: bool) -> list[float]:
    """Return the mean loss of each segment under an n-gram; its cache, if any, holds all earlier targets."""
    axis = 1 if carries_state else 0  # concatenate to one long row, or to many rows
    ids, targets = (torch.cat([segment[i] for segment in segments], dim=axis) for i in (0, 1))  # type: ignore[misc]
    masks = [
        torch.ones_like(segment.targets, dtype=torch.bool) if segment.mask is None else segment.mask
        for segment in segments
    ]
    surprisals = model.surprisal_reading_on(ids, targets, torch.cat(masks, dim=axis)).double()
    counts = [segment.target_count for segment in segments]
    return [float(values.mean()) for values in torch.split(surprisals, counts)]
