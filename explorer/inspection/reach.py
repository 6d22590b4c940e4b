"""How far back a language model looks: its loss by how many tokens it could read before it was asked.

A row starts cold. At its first place a model has read one token, at the next place two, and so on; where more tokens
stop lowering the loss, that is as far back as it makes use of what it reads.
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
from explorer.models.ngram import Ngram
from explorer.tasks.text import TextConfig
from explorer.tasks.windows import Batch, text_data
from explorer.training.config import RunConfig

MOST_READ = 400_000  # tokens that all seeds of one model read together
_MOST_LOGITS = 2**25  # numbers that are in memory at once
_EDGES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1_024)
_CHANCE = 2.5  # standard errors that chance hardly ever makes
TRIFLE = 0.005  # nats a token that matter to nobody


@dataclass(frozen=True)
class Reach:
    """The mean loss of a model, place by place of its rows; neighbouring places share a bin."""

    last: Int[ndarray, " bins"]  # the most tokens read in each bin; the bin begins after the last one's
    targets: Int[ndarray, " bins"]  # how many were asked
    losses: Float[ndarray, "seeds bins"]  # nats a token, of every seed that gives numbers
    error: Float[ndarray, " bins"]  # standard error of the mean over these seeds
    gain: Float[ndarray, " bins"]  # by how much the loss of all later bins together is lower; 0 in the last one
    gain_error: Float[ndarray, " bins"]  # standard error of that
    limit: int | None = None  # tokens it can see by its construction, if that is fewer than a row has
    whole: bool = True  # everything that is held out, or an evenly spread part of it
    diverged: int = 0  # seeds that give no numbers

    @property
    def mean(self) -> Float[ndarray, " bins"]:
        mean: ndarray = self.losses.mean(axis=0) if len(self.losses) else np.full(len(self.last), np.nan)
        return mean

    @property
    def enough(self) -> int:
        """How many tokens do as well as any more: from there on the loss falls by no more than chance or a trifle."""
        falls = np.flatnonzero((self.gain > _CHANCE * self.gain_error) & (self.gain > TRIFLE))
        place = int(self.last[falls[-1] + 1] if len(falls) else self.last[0])
        return place if self.limit is None else min(place, max(self.limit, 1))

    @property
    def gains_to_the_end(self) -> bool:
        """Whether even the last tokens of a row still helped."""
        return self.enough == int(self.last[-1]) and len(self.last) > 1

    @property
    def suffers(self) -> bool:
        """Whether it does better with few tokens than with more, as counts may that learned a text by heart."""
        best = int(self.mean.argmin())
        return bool(self.gain[best] < -_CHANCE * self.gain_error[best] and self.gain[best] < -TRIFLE)


def reach(model: nn.Module, config: RunConfig) -> Reach:
    """Ask a model, all seeds of it side by side, about the held-out rows of its own task, each of them cold.

    Raises TextError.
    """
    task, replicas = config.on(TextConfig), config.replicas
    data = text_data(task)
    rows = max(1, min(64, _MOST_LOGITS // (data.vocabulary * task.context * replicas)))
    every = max(1, math.ceil(data.held_out_rows * task.context * replicas / MOST_READ))
    last = np.array([edge for edge in _EDGES if 1.2 * edge <= task.context] + [task.context])

    lengths = _prefix_lengths(task) if task.rows == "prefixes" else None

    surprise, bins, origin, asked = [], [], [], 0
    for number, batch in enumerate(data.held_out(rows=rows)):
        if number % every:
            continue
        row, place = np.nonzero(_mask(batch).numpy())
        read = place + 1 if lengths is None else lengths[number * rows + row]
        surprise.append(_surprises(model, batch, replicas))
        bins.append(np.searchsorted(last, read))
        origin.append(asked + row)
        asked += len(batch.ids)
    losses = np.concatenate(surprise, axis=1)
    sound = np.isfinite(losses).all(axis=1)
    found = _binned(losses[sound], np.concatenate(bins), np.concatenate(origin), last)
    return replace(found, limit=_limit(config), whole=every == 1, diverged=int((~sound).sum()))


def _prefix_lengths(task: TextConfig) -> Int[ndarray, " rows"]:
    """Tokens of each held-out prefix before its padding: the same pairs, in the same order, as line by line."""
    lines = text_data(replace(task, rows="sentences"))
    return np.concatenate([np.nonzero(_mask(batch).numpy())[1] + 1 for batch in lines.held_out()])


def _mask(batch: Batch) -> Bool[Tensor, "rows time"]:
    """Which targets count."""
    return torch.ones_like(batch.targets, dtype=torch.bool) if batch.mask is None else batch.mask


@torch.inference_mode()
def _surprises(model: nn.Module, batch: Batch, replicas: int) -> Float[ndarray, "replicas targets"]:
    """-log p of each target that counts, in nats; each seed of a stack reads the same."""
    mask = _mask(batch)
    targets = batch.targets[mask]
    if isinstance(model, Ngram):
        found = model.surprise(batch.ids, batch.targets)[mask]
    else:
        ids = batch.ids if replicas == 1 else batch.ids.expand(replicas, -1, -1)
        features = model.features(ids)[0][..., mask, :]  # type: ignore[operator]  # a LanguageModel
        logits = model.readout(features)  # type: ignore[operator]
        found = F.cross_entropy(logits.flatten(0, -2), targets.repeat(replicas), reduction="none")
    return found.double().view(-1, len(targets)).numpy()


def _binned(
    surprise: Float[ndarray, "seeds targets"],
    bins: Int[ndarray, " targets"],
    origin: Int[ndarray, " targets"],
    last: Int[ndarray, " bins"],
) -> Reach:
    """Means, and their errors from how rows differ: neighbours in a row are easy or hard together."""
    size = len(last)
    rows = int(origin.max()) + 1
    asked = np.bincount(bins, minlength=size)
    kept = asked > 0  # where no line is so long, there is nothing to draw
    share = np.where(kept, asked, 1)
    losses = np.array([np.bincount(bins, each, size) / share for each in surprise]).reshape(-1, size)
    if not len(surprise):
        none = np.full(int(kept.sum()), np.nan)
        return Reach(last[kept], asked[kept], losses[:, kept], none, none, none)

    # For each row and bin: targets asked, and their surprise on average over the seeds.
    place = origin * size + bins
    count = np.bincount(place, minlength=rows * size).reshape(rows, size)[:, kept]
    total = np.bincount(place, surprise.mean(axis=0), rows * size).reshape(rows, size)[:, kept]
    error = _error(total, count)
    gain, gain_error = np.zeros(count.shape[1]), np.zeros(count.shape[1])
    for bin in range(count.shape[1] - 1):
        here = total[:, [bin]], count[:, [bin]]
        later = total[:, bin + 1 :].sum(axis=1, keepdims=True), count[:, bin + 1 :].sum(axis=1, keepdims=True)
        gain[bin] = here[0].sum() / here[1].sum() - later[0].sum() / later[1].sum()
        gain_error[bin] = np.sqrt(((_pull(*here) - _pull(*later)) ** 2).sum())
    return Reach(last[kept], asked[kept], losses[:, kept], error, gain, gain_error)


def _pull(total: Float[ndarray, "rows bins"], count: Int[ndarray, "rows bins"]) -> Float[ndarray, "rows bins"]:
    """By how much each row moves the mean of all, to first order."""
    asked = count.sum(axis=0)
    pull: ndarray = (total - total.sum(axis=0) / asked * count) / asked
    return pull


def _error(total: Float[ndarray, "rows bins"], count: Int[ndarray, "rows bins"]) -> Float[ndarray, " bins"]:
    """The standard error of a mean over targets that come in rows."""
    error: ndarray = np.sqrt((_pull(total, count) ** 2).sum(axis=0))
    return error


def _limit(config: RunConfig) -> int | None:
    """How many tokens a model can see, where that is fewer than a row gives to read."""
    sees = config.on(TextConfig).context
    if isinstance(config.model, NgramTextConfig):
        sees = config.model.n - 1
    elif isinstance(config.model, FeedforwardTextConfig):
        sees = config.model.window
    return sees if sees < config.on(TextConfig).context else None
