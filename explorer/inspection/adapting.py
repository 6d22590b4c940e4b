"""Learning while reading: each piece of the held-out text is scored, and only then learned from.

    theta_{s+1} = theta_s - eta g_s / max(1, |g_s|)

where g_s is the gradient of the mean surprise -log p(token) over piece s under theta_s. So every token is still
predicted by a model that has not seen it. Mikolov et al. 2010 call such a model dynamic (section 2), Krause et al.
2018 (arXiv 1709.07432) dynamic evaluation, in its plainest form: without their running squares of the gradient, and
without the pull back to the weights of the training.
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
from torch import nn

from explorer.models.language import State
from explorer.models.ngram import Ngram
from explorer.tasks.text import TextConfig
from explorer.tasks.windows import Batch, text_data
from explorer.training.optimisers import SGD
from explorer.training.scoring import mean_surprise

CLIP: Final = 1.0  # longest step, in units of the rate
TOKENS: Final = 16_000  # read at most: 250 blocks of the usual context
_FEWEST, _WORK = 2_000, 2e10  # but fewer by a large model: so many tokens times parameters take some seconds
_PIECES = 1_000  # at most; they are short where the context is
_TARGETS = 64  # of a piece of lines


@dataclass(frozen=True)
class Progress:
    """The mean loss so far while a text is read."""

    tokens: Int[ndarray, " pieces"]  # read so far
    losses: Float[ndarray, " pieces"]  # nats a token


@dataclass(frozen=True)
class Adapting:
    """The same model twice over the same text: standing still, and learning on."""

    rate: float
    still: Progress
    learning: Progress  # shorter if the losses stopped being numbers
    norms: Float[ndarray, " steps"]  # length of each step's gradient, before it was cut to CLIP
    moved: float  # length of all steps together, as a share of the weights' own length
    parameters: int
    carried: bool  # the state goes on from piece to piece; otherwise each piece is read from a cold start
    held_out: int  # targets there are in the whole held-out part
    characters_per_token: float  # there; bits a character = nats a token / this / ln 2
    seconds: float

    @property
    def broken(self) -> bool:
        """Whether the steps were so long that the losses are no numbers any more."""
        return len(self.learning.tokens) < len(self.still.tokens)

    @property
    def tokens(self) -> int:
        return int(self.still.tokens[-1])


def read_on(model: nn.Module, config: TextConfig, rate: float, most: int = TOKENS) -> Adapting:
    """Read the beginning of the held-out part twice; steps of this rate change a copy of the model, never itself.

    A neural language model that was trained under this configuration; at most about `most` tokens are read, fewer by
    a large one. Raises TextError, NeedsText, CorpusMissing.
    """
    began = time.perf_counter()
    data, carries = text_data(config), config.batches == "contiguous"
    parameters = sum(p.numel() for p in model.parameters())
    pieces = _pieces(config, min(most, max(_FEWEST, int(_WORK / parameters))))
    still = _standing(model, pieces, carries)

    learner = copy.deepcopy(model).requires_grad_(True)
    method = SGD(learner.parameters(), rate)
    before, state = method.weights.clone(), State()
    losses: list[float] = []
    norms: list[float] = []
    for piece in pieces:
        features, after = learner.features(piece.ids, state)  # type: ignore[operator]  # a LanguageModel
        loss = mean_surprise(learner, features, piece)
        if not loss.isfinite():
            break
        losses.append(loss.item())
        method.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = method.gradient.norm()
        norms.append(norm.item())
        method.gradient.mul_((CLIP / norm).clamp_max(1.0))
        method.step()
        state = tuple(part.detach() for part in after) if carries else ()
    return Adapting(
        rate=rate,
        still=still,
        learning=_progress(pieces[: len(losses)], losses),
        norms=np.array(norms),
        moved=float((method.weights - before).norm() / before.norm()),
        parameters=parameters,
        carried=carries,
        held_out=data.held_out_targets,
        characters_per_token=data.characters_per_token,
        seconds=time.perf_counter() - began,
    )


def stand_still(model: nn.Module, config: TextConfig, most: int = TOKENS) -> Progress:
    """The same reading by a model that does not learn, also by an n-gram. Raises TextError, NeedsText, CorpusMissing.

    Where `config` carries a recurrent net's state on, an n-gram reads on as well: its context reaches over the pieces.
    """
    return _standing(model, _pieces(config, most), config.batches == "contiguous")


def _pieces(config: TextConfig, most: int) -> list[Batch]:
    """The held-out text in order, in one lane: a block of the context's length a piece, or a few lines."""
    data = text_data(config)
    if config.batches == "contiguous":
        batches = data.held_out_lanes(1, config.context)
    else:
        each = data.held_out_targets / data.held_out_rows
        batches = data.held_out(rows=1 if config.rows == "blocks" else max(1, round(_TARGETS / each)))
    pieces, read = [], 0
    for batch in islice(batches, _PIECES):
        pieces.append(batch)
        read += _targets(batch)
        if read >= most:
            break
    return pieces


def _targets(batch: Batch) -> int:
    return batch.targets.numel() if batch.mask is None else int(batch.mask.sum())


def _progress(pieces: Sequence[Batch], losses: Sequence[float]) -> Progress:
    """From the mean loss of each piece to the mean loss so far."""
    counts = np.array([_targets(piece) for piece in pieces], dtype=np.int64)
    tokens = counts.cumsum()
    return Progress(tokens, np.cumsum(counts * np.array(losses, dtype=np.float64)) / tokens)


@torch.no_grad()
def _standing(model: nn.Module, pieces: Sequence[Batch], carries: bool) -> Progress:
    if isinstance(model, Ngram):
        return _progress(pieces, _counted(model, pieces, carries))
    losses, state = [], State()
    for piece in pieces:
        features, after = model.features(piece.ids, state)  # type: ignore[operator]  # a LanguageModel
        losses.append(mean_surprise(model, features, piece).item())
        state = after if carries else ()
    return _progress(pieces, losses)


def _counted(model: Ngram, pieces: Sequence[Batch], carries: bool) -> list[float]:
    """The mean loss of each piece under counts: all pieces are looked up at once."""
    along = 1 if carries else 0  # one long row, or many rows
    ids, targets = (torch.cat([piece[i] for piece in pieces], dim=along) for i in (0, 1))  # type: ignore[misc]
    surprise = torch.split(model.surprise(ids, targets), [piece.ids.shape[along] for piece in pieces], dim=along)
    return [
        float((each if piece.mask is None else each[piece.mask]).double().mean())
        for each, piece in zip(surprise, pieces, strict=True)
    ]
