"""Temperature under one's hand: the same prompt and the same dice at every temperature, and every choice laid open.

`scrubbed` writes all texts of the slider at once. `position` is one choice with all that decided it, so that a browser
can make it anew at any temperature. `steps` is a text token by token, with what might have stood there instead.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Int32, UInt16
from numpy import ndarray
from torch import Tensor

from explorer.generation.sampling import Sampling, drawn
from explorer.generation.writing import Writer, answered, noise_of

TEMPERATURES: tuple[float, ...] = tuple(i / 20 for i in range(41))
TOP = 20  # of the likeliest tokens that travel along with each choice
SURPRISE_UNIT = 2048  # parts of a nat in `Scrubbed.top_surprise`
_AT_ONCE = 2**20  # logits that are measured together
_NEVER = -1e30  # the log of a probability 0, where 0 times it shall be 0


@dataclass(frozen=True, eq=False)
class Scrubbed:
    """The texts of all temperatures, with the same dice. Surprise and entropy in nats.

    With the surprises s_i = -log p_i as the model learned them (temperature 1, no cut), the probability of token i at
    temperature t, before any cut, is exp(-s_i / t - spread), where spread = log sum_j exp(-s_j / t); at t = 0 it is 0.
    """

    temperatures: tuple[float, ...]
    ids: Int32[ndarray, "temperatures tokens"]
    surprise: Float32[ndarray, "temperatures tokens"]  # of each token, as learned
    chosen: Float32[
        ndarray, "temperatures tokens"
    ]  # the probability it was chosen with: at its temperature, after cuts
    entropy: Float32[ndarray, "temperatures tokens"]  # of that distribution
    spread: Float32[ndarray, "temperatures tokens"]
    top: UInt16[ndarray, "temperatures tokens top"]  # ids of the likeliest, falling; of equally likely ones as in `cut`
    top_surprise: UInt16[ndarray, "temperatures tokens top"]  # of each, in 1/2048 nats; at most 65,535


@torch.inference_mode()
def scrubbed(
    writer: Writer,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    temperatures: Sequence[float] = TEMPERATURES,
) -> Scrubbed:
    """What `write` gives for the first sample at each temperature (up to rounding), in one batch.

    The sampling's own temperature counts for nothing.
    """
    rows = torch.tensor(temperatures, dtype=torch.float64)
    said = answered(writer, prompt, tokens, sampling, 1, rows)
    blocks = []
    while block := list(itertools.islice(said, 1)):
        block += itertools.islice(said, max(0, _AT_ONCE // block[0][0].numel() - 1))
        logits, left, ids = (torch.stack(parts, dim=1) for parts in zip(*block, strict=True))
        blocks.append(_measured(logits, left, ids, rows))
    joined = (np.concatenate([part.numpy() for part in parts], axis=1) for parts in zip(*blocks, strict=True))
    return Scrubbed(tuple(temperatures), *joined)


def _measured(
    logits: Float[Tensor, "temperatures tokens vocabulary"],
    left: Float[Tensor, "temperatures tokens vocabulary"],
    ids: Int[Tensor, "temperatures tokens"],
    temperatures: Float[Tensor, " temperatures"],
) -> tuple[Tensor, ...]:
    """The fields of `Scrubbed`, of some tokens of every text."""
    cold = temperatures[:, None] == 0
    warm = temperatures[:, None, None].masked_fill(cold[..., None], 1).float()  # at 0, the cut leaves but one token
    surprises = -logits.log_softmax(dim=-1)
    spread = surprises.div(-warm).logsumexp(dim=-1).masked_fill(cold, 0)
    log_p = left.sub_(logits.amax(dim=-1, keepdim=True)).div_(warm).log_softmax(dim=-1)
    p = log_p.exp()
    entropy = p.mul(log_p.clamp_(min=_NEVER)).sum(dim=-1).neg().clamp(min=0)
    chosen = p.gather(-1, ids[..., None])[..., 0]
    # Sorted by id, then by surprise: so the smaller id comes first where two are equal.
    top = surprises.topk(min(TOP, logits.shape[-1]), largest=False, sorted=False).indices.sort(dim=-1).values
    least, order = surprises.gather(-1, top).sort(dim=-1, stable=True)
    fixed = (least * SURPRISE_UNIT).round_().clamp_(max=2**16 - 1)
    return (
        ids.int(),
        surprises.gather(-1, ids[..., None])[..., 0],
        chosen,
        entropy,
        spread,
        top.gather(-1, order).to(torch.uint16),
        fixed.to(torch.uint16),
    )


@dataclass(frozen=True, eq=False)
class Position:
    """All that decided one choice, as `choose` was given it."""

    logits: Float32[ndarray, " vocabulary"]
    noise: Float32[ndarray, " vocabulary"]


@torch.inference_mode()
def position(
    writer: Writer,
    prompt: Int[Tensor, " time"],
    before: Int[Tensor, " written"],
    sampling: Sampling,
) -> Position:
    """The choice of the token that comes after the prompt and what was already written.

    Read token by token, as it was written: so the last digits are those that `write` saw. Raises InvalidSetting.
    """
    *_, (logits, _, _) = answered(writer, prompt, len(before) + 1, sampling, path=before)
    *_, noise = noise_of(sampling.seed, 1, len(before) + 1, logits.shape[-1])
    return Position(logits[0].numpy().copy(), noise[0].numpy().copy())


@dataclass(frozen=True)
class Candidate:
    """A token that may stand at a place."""

    id: int
    probability: float  # at the temperature, after the cut
    learned: float  # at temperature 1, before any cut
    cut: bool  # whether it may not be chosen


@dataclass(frozen=True)
class Place:
    """Where a token is chosen."""

    candidates: tuple[
        Candidate, ...
    ]  # the likeliest, falling; what stands here and what the dice choose are among them
    dice: int  # the token that the dice choose here


@dataclass(frozen=True)
class Step(Place):
    """A place where a token stands."""

    id: int
    probability: float
    learned: float
    surprise: float  # -log of `learned`, nats


@dataclass(frozen=True)
class Walk:
    """A text token by token, and the place after it."""

    steps: tuple[Step, ...]
    here: Place

    @property
    def most_surprising(self) -> int | None:
        """The step whose token the model expected least; None in an empty text."""
        return max(range(len(self.steps)), key=lambda i: self.steps[i].surprise, default=None)


@torch.inference_mode()
def steps(
    writer: Writer,
    prompt: Int[Tensor, " time"],
    path: Int[Tensor, " path"],
    sampling: Sampling,
    most: int = 8,
) -> Walk:
    """A path that somebody chose after a prompt: what the model thought of each of its tokens, and of others there.

    The dice of each place are those of the first sample. `most` candidates a place, at least two. Raises InvalidSetting
    where the path has a token that the model does not know.
    """
    said = answered(writer, prompt, len(path) + 1, sampling, path=path)
    logits, left, _ = (torch.cat(parts) for parts in zip(*said, strict=True))
    noise = torch.cat(list(noise_of(sampling.seed, 1, len(logits), logits.shape[-1])))
    dice = drawn(left, noise, sampling).tolist()
    learned = logits.log_softmax(dim=-1)
    likeliest = logits.amax(dim=-1, keepdim=True)
    p = ((left - likeliest).double() / (sampling.temperature or 1)).softmax(dim=-1)
    order = logits.sort(dim=-1, descending=True, stable=True).indices[:, :most]
    found: list[Step] = []
    for at, (thrown, ranked) in enumerate(zip(dice, order.tolist(), strict=True)):
        taken = int(path[at]) if at < len(path) else thrown
        named = [id for id in dict.fromkeys((taken, thrown)) if id not in ranked]
        named.sort(key=lambda id: -logits[at, id].item())
        places = [*ranked[: len(ranked) - len(named)], *named]
        candidates = tuple(
            Candidate(id, p[at, id].item(), learned[at, id].exp().item(), bool(left[at, id] == -math.inf))
            for id in places
        )
        own = next(each for each in candidates if each.id == taken)
        found.append(Step(candidates, thrown, taken, own.probability, own.learned, -learned[at, taken].item()))
    return Walk(tuple(found[:-1]), Place(found[-1].candidates, found[-1].dice))


@torch.inference_mode()
def onward(
    writer: Writer,
    prompt: Int[Tensor, " time"],
    path: Int[Tensor, " path"],
    tokens: int,
    sampling: Sampling,
) -> Int[Tensor, " tokens"]:
    """So many tokens more, which the dice choose after a path; after a path by the dice itself, as `write` goes on.

    Raises InvalidSetting as `steps`.
    """
    said = answered(writer, prompt, len(path) + tokens, sampling, path=path)
    return torch.cat([path[:0], *(ids for _, _, ids in itertools.islice(said, len(path), None))])
