"""How the next token is chosen from a model's logits: which tokens may be, and which of them it is.

The distribution is softmax(logits / temperature). Rules may cut tokens off it, what is left keeps its proportions,
and one is drawn by the Gumbel-max trick (Gumbel 1954; Maddison et al. 2014, A* sampling):

    argmax_i (logits_i / temperature + noise_i),   noise_i = -log(-log u_i),   u_i even between 0 and 1

has exactly the distribution softmax(logits / temperature). So the dice are thrown before the model says anything:
with the same noise, another temperature or another cut changes only the tokens that it has to change, and every
sample of a text has its own noise, whatever is written beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from explorer.models.settings import setting
from explorer.seeds import generator

_LARGE = 1e30


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen."""

    temperature: float = setting(
        1.0, "Below 1 the likely tokens become likelier, above 1 less so. 0: always the likeliest (greedy).", 0, 5
    )
    top_k: int = setting(0, "Only so many of the likeliest tokens may be chosen. 0: all.", 0, 20_000)
    top_p: float = setting(
        1.0, "Only the likeliest tokens that together reach this probability may be chosen. 1: all.", 0, 1
    )
    min_p: float = setting(
        0.0, "Only tokens at least this share as likely as the likeliest may be chosen. 0: all.", 0, 1
    )
    seed: int = setting(0, "Seed of the dice.", 0, 2**31 - 1)


def cut(
    logits: Float[Tensor, "*batch vocabulary"],
    sampling: Sampling,
    temperatures: Float[Tensor, "*batch"] | None = None,
) -> Float[Tensor, "*batch vocabulary"]:
    """The logits, with -inf where a rule forbids the token. The likeliest token always stays.

    Each rule looks at the whole distribution at this temperature, p_1 >= p_2 >= … A token stays if all let it:

        top-k   i <= k                         (Fan et al. 2018)
        top-p   p_1 + … + p_(i-1) < top_p      (Holtzman et al. 2020, nucleus: the smallest set that reaches it)
        min-p   p_i >= min_p * p_1             (Nguyen et al. 2024)

    Of equally likely tokens the one with the smaller id counts as the likelier, so never more than k stay.
    At temperature 0 only the likeliest is left. `temperatures`, one a row, stand in the place of the sampling's own.
    """
    free = sampling.top_p == 1 and sampling.min_p == 0 and not 0 < sampling.top_k < logits.shape[-1]
    if temperatures is None:
        if free and sampling.temperature > 0:
            return logits
        temperatures = torch.full(logits.shape[:-1], sampling.temperature, dtype=torch.float64)
    temperature = temperatures.double()[..., None]
    greedy = temperature == 0
    if free:
        likeliest = logits.argmax(dim=-1, keepdim=True)
        return logits.masked_fill(greedy, -math.inf).scatter_(-1, likeliest, logits.gather(-1, likeliest))
    falling, ids = logits.sort(dim=-1, descending=True, stable=True)
    keep = torch.ones_like(falling, dtype=torch.bool)
    keep[..., sampling.top_k or logits.shape[-1] :] = False
    keep[..., 1:] &= ~greedy
    if sampling.top_p < 1 or sampling.min_p > 0:
        # The likeliest is subtracted first: a tiny temperature divides nothing but 0 and what is below.
        p = ((falling - falling[..., :1]).double() / temperature.masked_fill(greedy, 1)).softmax(dim=-1)
        if sampling.top_p < 1:
            keep[..., 1:] &= p.cumsum(dim=-1)[..., :-1] < sampling.top_p
        if sampling.min_p > 0:
            keep &= p >= sampling.min_p * p[..., :1]
    return logits.masked_fill(~torch.empty_like(keep).scatter_(-1, ids, keep), -math.inf)


def choose(
    logits: Float[Tensor, "*batch vocabulary"],
    noise: Float[Tensor, "*#batch vocabulary"],
    sampling: Sampling,
    temperatures: Float[Tensor, "*batch"] | None = None,
) -> Int[Tensor, "*batch"]:
    """The token that comes next. `noise` is from `gumbel`; at temperature 0 nothing depends on it.

    `temperatures` as in `cut`. A row of many is chosen as it would be alone, with its own temperature in `sampling`.
    """
    return drawn(cut(logits, sampling, temperatures), noise, sampling, temperatures)


def drawn(
    left: Float[Tensor, "*batch vocabulary"],
    noise: Float[Tensor, "*#batch vocabulary"],
    sampling: Sampling,
    temperatures: Float[Tensor, "*batch"] | None = None,
) -> Int[Tensor, "*batch"]:
    """Which of the tokens that `cut` left the dice choose.

    It is the formula times the temperature, which changes no maximum and divides by nothing. In single precision
    logits + noise * temperature is rounded once (a fused multiply-add), with one temperature as with many.
    """
    if temperatures is not None:
        noise = noise.clamp(min=-_LARGE)  # infinite noise, times temperature 0, would be no number
        return torch.addcmul(left, noise, temperatures.float()[..., None]).argmax(dim=-1)
    if sampling.temperature == 0:
        return left.argmax(dim=-1)
    return torch.add(left, noise, alpha=sampling.temperature).argmax(dim=-1)


def dice(seed: int, sample: int) -> Generator:
    """The generator of one sample's noise: its own for each seed and each place among the samples."""
    return generator(seed, f"sample {sample}")


def gumbel(generator: Generator, steps: int, vocabulary: int) -> Float[Tensor, "steps vocabulary"]:
    """Noise for so many tokens, -log(-log u). Drawn at once or in parts, it is the same.

    u has 53 bits, so that noise may be as large as 36: from the 24 bits of a float it would end at 17, and
    what is rarer than about one in ten million would hardly ever come.
    """
    u = torch.rand(steps, vocabulary, generator=generator, dtype=torch.float64)
    return u.log_().neg_().log_().neg_().float()
