"""Sampling of the next token from a model's logits: temperature, top-k, top-p, min-p and the Gumbel-max trick.

The distribution is softmax(logits / temperature). Truncation rules may remove tokens; the remaining ones keep their
proportions. One is sampled by the Gumbel-max trick (Gumbel 1954; Maddison et al. 2014, A* sampling):

    argmax_i (logits_i / temperature + noise_i),   noise_i = -log(-log u_i),   u_i uniform between 0 and 1

has exactly the distribution softmax(logits / temperature). The noise does not depend on the logits: with the same
noise, another temperature or truncation changes only the tokens that it must change, and every sample has its own
noise, however many samples there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from explorer.models.settings import setting
from explorer.seeds import generator

_LARGE = 1e30
Logits: TypeAlias = Float[Tensor, "*batch vocabulary"]
Noise: TypeAlias = Float[Tensor, "*#batch vocabulary"]
Temperatures: TypeAlias = Float[Tensor, "*batch"]


@dataclass(frozen=True)
class Sampling:
    """The settings of sampling."""

    temperature: float = setting(
        1.0, "Below 1 the likely tokens become likelier, above 1 less so. 0: always the likeliest (greedy).", 0, 5
    )
    top_k: int = setting(0, "Only so many of the likeliest tokens may be chosen. 0: all.", 0, 20_000, label="Top-k")
    top_p: float = setting(
        1.0, "Only the likeliest tokens that together reach this probability. 1: all.", 0, 1, label="Top-p"
    )
    min_p: float = setting(
        0.0, "Only tokens at least this share as likely as the likeliest may be chosen. 0: all.", 0, 1, label="Min-p"
    )
    seed: int = setting(0, "Seed of the random numbers.", 0, 2**31 - 1)


def truncate_logits(logits: Logits, sampling: Sampling, temperatures: Temperatures | None = None) -> Logits:
    """Return the logits with -inf for every token that a rule removes. The likeliest token always remains.

    The rules apply one after the other, as in the library transformers, to the distribution p_1 >= p_2 >= … at this
    temperature; after each rule the remaining probabilities sum to 1 again:

        top-k   i <= k                         (Fan et al. 2018)
        top-p   p_1 + … + p_(i-1) < top_p      (Holtzman et al. 2020, nucleus: the smallest set that reaches it)
        min-p   p_i >= min_p * p_1             (Nguyen et al. 2024)

    Among equally likely tokens the smaller id ranks first, so that never more than k remain. At temperature 0 only
    the likeliest token remains. `temperatures`, one for each row, replace the temperature of `sampling`.
    """
    unrestricted = sampling.top_p == 1 and sampling.min_p == 0 and not 0 < sampling.top_k < logits.shape[-1]
    if temperatures is None:
        if unrestricted and sampling.temperature > 0:
            return logits
        temperatures = torch.full(logits.shape[:-1], sampling.temperature, dtype=torch.float64)
    temperature = temperatures.double()[..., None]
    greedy = temperature == 0
    if unrestricted:
        likeliest = logits.argmax(dim=-1, keepdim=True)
        return logits.masked_fill(greedy, -math.inf).scatter_(-1, likeliest, logits.gather(-1, likeliest))
    descending, ids = logits.sort(dim=-1, descending=True, stable=True)
    keep = torch.ones_like(descending, dtype=torch.bool)
    keep[..., sampling.top_k or logits.shape[-1] :] = False
    keep[..., 1:] &= ~greedy
    if sampling.top_p < 1 or sampling.min_p > 0:
        # Subtract the maximum first: dividing by a tiny temperature then overflows only to -inf.
        scaled = (descending - descending[..., :1]).double() / temperature.masked_fill(greedy, 1)
        p = scaled.masked_fill(~keep, -math.inf).softmax(dim=-1)
        if sampling.top_p < 1:
            keep[..., 1:] &= p.cumsum(dim=-1)[..., :-1] < sampling.top_p
        if sampling.min_p > 0:
            keep &= p >= sampling.min_p * p[..., :1]
    return logits.masked_fill(~torch.empty_like(keep).scatter_(-1, ids, keep), -math.inf)


def choose(
    logits: Logits, noise: Noise, sampling: Sampling, temperatures: Temperatures | None = None
) -> Int[Tensor, "*batch"]:
    """Sample the next token with `gumbel_noise`; see `truncate_logits`. Each row gets the token it would get alone."""
    return sample_tokens(truncate_logits(logits, sampling, temperatures), noise, sampling, temperatures)


def sample_tokens(
    truncated: Logits, noise: Noise, sampling: Sampling, temperatures: Temperatures | None = None
) -> Int[Tensor, "*batch"]:
    """Sample a token from logits that `truncate_logits` returned.

    The Gumbel-max formula is multiplied by the temperature, which does not change the argmax and avoids a division.
    In single precision, logits + noise * temperature is rounded once (a fused multiply-add), for one temperature and
    for many; the JavaScript of the page does the same.
    """
    if temperatures is not None:
        noise = noise.clamp(min=-_LARGE)  # infinite noise times temperature 0 would be NaN
        return torch.addcmul(truncated, noise, temperatures.float()[..., None]).argmax(dim=-1)
    if sampling.temperature == 0:
        return truncated.argmax(dim=-1)
    return torch.add(truncated, noise, alpha=sampling.temperature).argmax(dim=-1)


def noise_generator(seed: int, sample: int) -> Generator:
    """Return the random number generator of one sample's noise, which depends on the seed and the sample's index."""
    return generator(seed, f"sample {sample}")


def gumbel_noise(generator: Generator, steps: int, vocabulary: int) -> Float[Tensor, "steps vocabulary"]:
    """Return Gumbel noise -log(-log u) for `steps` tokens. Drawn at once or in parts, it is the same.

    u has 53 bits, so the noise reaches 36. With the 24 bits of a float it would end at 17, and tokens with a
    probability below about one in ten million would hardly ever be sampled.
    """
    u = torch.rand(steps, vocabulary, generator=generator, dtype=torch.float64)
    return u.log_().neg_().log_().neg_().float()
