"""Context use of a language model: its loss by the number of tokens read before the prediction.

Each row starts from a zero state, so at position t the model has read t tokens. The context in use ends where more
tokens no longer lower the loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor, nn

from explorer.models.configs import FeedforwardTextConfig, NgramTextConfig
from explorer.models.kneser_ney import Ngram
from explorer.tasks.text.config import TextConfig
from explorer.tasks.text.rows import Batch, text_data
from explorer.training.config import RunConfig

MAX_TOKENS = 400_000  # read by all seeds of one model together
_MAX_LOGITS = 2**25  # numbers in memory at once
_EDGES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024)
_SIGNIFICANT_ERRORS = 2.5  # above which a difference is taken as significant
NEGLIGIBLE_GAIN = 0.005  # nats per token


@dataclass(frozen=True)
class ContextUse:
    """The mean loss of a model by the number of tokens read, binned."""

    bin_ends: Int[ndarray, " bins"]  # most tokens read in each bin
    targets: Int[ndarray, " bins"]  # number evaluated in each bin
    losses: Float[ndarray, "seeds bins"]  # nats per token, of every seed with finite losses
    error: Float[ndarray, " bins"]  # standard error of the mean over these seeds
    gain: Float[ndarray, " bins"]  # by which the loss of all later bins together is lower; 0 in the last
    gain_error: Float[ndarray, " bins"]  # standard error of the gain
    limit: int | None = None  # tokens that the architecture can see, if fewer than a row has
    is_complete: bool = True  # whether all held-out text was evaluated, or an evenly spread part
    diverged: int = 0  # seeds with non-finite losses

    @property
    def mean(self) -> Float[ndarray, " bins"]:
        mean: ndarray = self.losses.mean(axis=0) if len(self.losses) else np.full(len(self.bin_ends), np.nan)
        return mean

    @property
    def sufficient_context(self) -> int:
        """The number of tokens beyond which the loss falls no more than by chance or a negligible amount."""
        falls = np.flatnonzero((self.gain > _SIGNIFICANT_ERRORS * self.gain_error) & (self.gain > NEGLIGIBLE_GAIN))
        tokens = int(self.bin_ends[falls[-1] + 1] if len(falls) else self.bin_ends[0])
        return tokens if self.limit is None else min(tokens, max(self.limit, 1))

    @property
    def gains_until_end(self) -> bool:
        """Whether the loss still falls at the end of a row."""
        return self.sufficient_context == int(self.bin_ends[-1]) and len(self.bin_ends) > 1

    @property
    def worsens_with_context(self) -> bool:
        """Whether the loss rises with more context, as in an n-gram that memorized its training text."""
        best = int(self.mean.argmin())
        return bool(
            self.gain[best] < -_SIGNIFICANT_ERRORS * self.gain_error[best] and self.gain[best] < -NEGLIGIBLE_GAIN
        )


def measure_context_use(model: nn.Module, config: RunConfig) -> ContextUse:
    """Measure the context use of all seeds of a model on the held-out rows of its task. Raises TextError."""
    task, replicas = config.task_as(TextConfig), config.replicas
    data = text_data(task)
    rows = max(1, min(64, _MAX_LOGITS // (data.vocabulary * task.context * replicas)))
    stride = max(1, math.ceil(data.held_out_rows * task.context * replicas / MAX_TOKENS))
    bin_ends = np.array([edge for edge in _EDGES if 1.2 * edge <= task.context] + [task.context])

    lengths = _prefix_lengths(task) if task.rows == "prefixes" else None

    surprisals, bins, origin, row_count = [], [], [], 0
    for index, batch in enumerate(data.held_out_batches(rows=rows)):
        if index % stride:
            continue
        row, position = np.nonzero(_mask(batch).numpy())
        tokens_read = position + 1 if lengths is None else lengths[index * rows + row]
        surprisals.append(_surprisals(model, batch, replicas))
        bins.append(np.searchsorted(bin_ends, tokens_read))
        origin.append(row_count + row)
        row_count += len(batch.ids)
    losses = np.concatenate(surprisals, axis=1)
    is_finite = np.isfinite(losses).all(axis=1)
    context_use = _bin_losses(losses[is_finite], np.concatenate(bins), np.concatenate(origin), bin_ends)
    return replace(
        context_use, limit=_visible_tokens(config), is_complete=stride == 1, diverged=int((~is_finite).sum())
    )


def _prefix_lengths(task: TextConfig) -> Int[ndarray, " rows"]:
    """Return the tokens before the padding of each held-out prefix, in the order of the lines' targets."""
    lines = text_data(replace(task, rows="sentences"))
    return np.concatenate([np.nonzero(_mask(batch).numpy())[1] + 1 for batch in lines.held_out_batches()])


def _mask(batch: Batch) -> Bool[Tensor, "rows time"]:
    """Return which targets count in the loss."""
    return torch.ones_like(batch.targets, dtype=torch.bool) if batch.mask is None else batch.mask


@torch.inference_mode()
def _surprisals(model: nn.Module, batch: Batch, replicas: int) -> Float[ndarray, "replicas targets"]:
    """Return -log p (nats) of each target that counts; all seeds read the same rows."""
    mask = _mask(batch)
    targets = batch.targets[mask]
    if isinstance(model, Ngram):
        surprisals = model.surprisal(batch.ids, batch.targets)[mask]
    else:
        ids = batch.ids if replicas == 1 else batch.ids.expand(replicas, -1, -1)
        features = model.features(ids)[0][..., mask, :]  # type: ignore[operator]  # a LanguageModel
        logits = model.readout(features)  # type: ignore[operator]
        surprisals = F.cross_entropy(logits.flatten(0, -2), targets.repeat(replicas), reduction="none")
    return surprisals.double().view(-1, len(targets)).numpy()


def _bin_losses(
    surprisals: Float[ndarray, "seeds targets"],
    bins: Int[ndarray, " targets"],
    row_of_target: Int[ndarray, " targets"],
    bin_ends: Int[ndarray, " bins"],
) -> ContextUse:
    """Bin the losses; standard errors are clustered by row, because losses within a row correlate."""
    size = len(bin_ends)
    rows = int(row_of_target.max()) + 1
    counts = np.bincount(bins, minlength=size)
    nonempty = counts > 0  # bins longer than every line are empty
    share = np.where(nonempty, counts, 1)
    losses = np.array([np.bincount(bins, each, size) / share for each in surprisals]).reshape(-1, size)
    if not len(surprisals):
        nan = np.full(int(nonempty.sum()), np.nan)
        return ContextUse(bin_ends[nonempty], counts[nonempty], losses[:, nonempty], nan, nan, nan)

    # For each row and bin: number of targets, and the sum of their surprisals averaged over the seeds.
    cell = row_of_target * size + bins
    cell_counts = np.bincount(cell, minlength=rows * size).reshape(rows, size)[:, nonempty]
    cell_sums = np.bincount(cell, surprisals.mean(axis=0), rows * size).reshape(rows, size)[:, nonempty]
    error = _standard_error(cell_sums, cell_counts)
    gain, gain_error = np.zeros(cell_counts.shape[1]), np.zeros(cell_counts.shape[1])
    for bin in range(cell_counts.shape[1] - 1):
        current = cell_sums[:, [bin]], cell_counts[:, [bin]]
        later = cell_sums[:, bin + 1 :].sum(axis=1, keepdims=True), cell_counts[:, bin + 1 :].sum(axis=1, keepdims=True)
        gain[bin] = current[0].sum() / current[1].sum() - later[0].sum() / later[1].sum()
        gain_error[bin] = np.sqrt(((_row_influence(*current) - _row_influence(*later)) ** 2).sum())
    return ContextUse(bin_ends[nonempty], counts[nonempty], losses[:, nonempty], error, gain, gain_error)


def _row_influence(total: Float[ndarray, "rows bins"], count: Int[ndarray, "rows bins"]) -> Float[ndarray, "rows bins"]:
    """Return the influence of each row on the mean, to first order."""
    targets = count.sum(axis=0)
    influence: ndarray = (total - total.sum(axis=0) / targets * count) / targets
    return influence


def _standard_error(total: Float[ndarray, "rows bins"], count: Int[ndarray, "rows bins"]) -> Float[ndarray, " bins"]:
    """Return the standard error of a mean over targets, clustered by row."""
    error: ndarray = np.sqrt((_row_influence(total, count) ** 2).sum(axis=0))
    return error


def _visible_tokens(config: RunConfig) -> int | None:
    """Return how many tokens a model can see, if that is fewer than a row has."""
    visible = config.task_as(TextConfig).context
    if isinstance(config.model, NgramTextConfig):
        visible = visible if config.model.cache else config.model.n - 1
    elif isinstance(config.model, FeedforwardTextConfig):
        visible = config.model.window
    return visible if visible < config.task_as(TextConfig).context else None
