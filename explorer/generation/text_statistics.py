"""Statistics of a text: distinct-4, repetition of 8-grams and mean log-probability under its model.

At a low temperature a generated text repeats itself; at a high temperature it does not, but its tokens are unlikely.
Both are compared with human text (Holtzman et al. 2020, arXiv:1904.09751, figures 2 and 7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from explorer.generation.generate import TextGenerator, generate_with_logits
from explorer.generation.sampling import Sampling

TEMPERATURES: tuple[float, ...] = tuple(i / 5 for i in range(11))
DISTINCT, REPEATED = 4, 8  # n of the n-grams: about a word, about a phrase
_ROWS = 44  # texts that are generated in one batch; more are not faster and need more memory


def distinct_n(ids: Sequence[int], n: int) -> float:
    """Return the share of distinct n-grams (Li et al. 2016, arXiv:1510.03055); NaN for a text without any."""
    grams = list(zip(*(ids[i:] for i in range(n)), strict=False))
    return len(set(grams)) / len(grams) if grams else math.nan


def repetition(ids: Sequence[int], n: int = REPEATED) -> float:
    """Return the share of earlier n-grams: seq-rep-n (Welleck et al. 2020, arXiv:1908.04319, eq. 11); or NaN."""
    return 1 - distinct_n(ids, n)


@dataclass(frozen=True)
class TextStatistics:
    """The statistics of one text."""

    distinct4: float
    repetition8: float
    log_probability: float  # mean log p of a token at temperature 1 without truncation, in nats


@dataclass(frozen=True, eq=False)
class StatisticsByTemperature:
    """The statistics of texts at several temperatures. Each seed has the same sampling noise at all of them."""

    temperatures: tuple[float, ...]
    distinct4: Float[ndarray, "temperatures seeds"]
    repetition8: Float[ndarray, "temperatures seeds"]
    log_probability: Float[ndarray, "temperatures seeds"]


@torch.inference_mode()
def compute_statistics(
    text_generator: TextGenerator, prompt: Int[Tensor, " time"], text: Int[Tensor, " tokens"]
) -> TextStatistics:
    """Compute the statistics of any text after a prompt. Raises InvalidSetting if an id is not in the vocabulary."""
    if not len(text):
        return TextStatistics(math.nan, math.nan, math.nan)
    generated = generate_with_logits(text_generator, prompt, len(text), Sampling(), path=text)
    log_p = torch.stack([_token_log_probabilities(logits, ids) for logits, _, ids in generated])
    ids = text.tolist()
    return TextStatistics(distinct_n(ids, DISTINCT), repetition(ids), log_p.mean().item())


@torch.inference_mode()
def compute_statistics_by_temperature(
    text_generator: TextGenerator,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    temperatures: Sequence[float] = TEMPERATURES,
    seeds: int = 8,
) -> StatisticsByTemperature:
    """Compute the statistics of `seeds` texts at each temperature; column s is sample s."""
    statistics: list[tuple[float, float, float]] = []
    per_batch = max(1, _ROWS // seeds)
    for first in range(0, len(temperatures), per_batch):
        batch = torch.tensor(temperatures[first : first + per_batch], dtype=torch.float64)
        text, log_p = [], torch.zeros(len(batch) * seeds)
        for logits, _, ids in generate_with_logits(text_generator, prompt, tokens, sampling, seeds, batch):
            text.append(ids)
            log_p += _token_log_probabilities(logits, ids)
        rows = torch.stack(text, dim=1).tolist()
        means = (log_p / tokens).tolist()
        statistics += [
            (distinct_n(ids, DISTINCT), repetition(ids), mean) for ids, mean in zip(rows, means, strict=True)
        ]
    measures = np.array(statistics).reshape(len(temperatures), seeds, 3)
    return StatisticsByTemperature(tuple(temperatures), *np.moveaxis(measures, -1, 0))


def _token_log_probabilities(
    logits: Float[Tensor, "rows vocabulary"], ids: Int[Tensor, " rows"]
) -> Float[Tensor, " rows"]:
    """Return log p of one token of every row, at temperature 1 without truncation."""
    chosen = logits.gather(-1, ids[:, None])[:, 0]
    return chosen - logits.logsumexp(dim=-1)
