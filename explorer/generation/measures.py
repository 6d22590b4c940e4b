"""How repetitive a text is, and how far it drifts from what its model holds for likely: three numbers.

Of a text by a cold model, much stood earlier in it; in one by a hot model nothing did, and its tokens are unlikely.
A text that a person wrote is the measure of both (Holtzman et al. 2020, arXiv:1904.09751, figures 2 and 7).
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

from explorer.generation.sampling import Sampling
from explorer.generation.writing import Writer, answered

TEMPERATURES: tuple[float, ...] = tuple(i / 5 for i in range(11))
DISTINCT, REPEATED = 4, 8  # tokens of the n-grams that are compared: as words repeat, and as whole phrases do
_ROWS = 44  # texts that are written side by side; more are not faster, and each keeps what it has read


def distinct(ids: Sequence[int], n: int) -> float:
    """Distinct n-grams of a text, divided by all of them; NaN where there is none.

    Distinct-n (Li et al. 2016, arXiv:1510.03055).
    """
    grams = list(zip(*(ids[i:] for i in range(n)), strict=False))
    return len(set(grams)) / len(grams) if grams else math.nan


def repetition(ids: Sequence[int], n: int = REPEATED) -> float:
    """Share of the n-grams of a text that stood in it before; NaN where there is none.

    seq-rep-n (Welleck et al. 2020, arXiv:1908.04319, equation 11): 1 - distinct-n.
    """
    return 1 - distinct(ids, n)


@dataclass(frozen=True)
class OfText:
    """The measures of one text."""

    distinct4: float
    repetition8: float
    log_probability: float  # nats: mean of log p of its tokens, as the model learned it (temperature 1, no cut)


@dataclass(frozen=True, eq=False)
class ByTemperature:
    """The measures of texts at several temperatures, each with the same dice at all of them."""

    temperatures: tuple[float, ...]
    distinct4: Float[ndarray, "temperatures seeds"]
    repetition8: Float[ndarray, "temperatures seeds"]
    log_probability: Float[ndarray, "temperatures seeds"]


@torch.inference_mode()
def of_text(
    writer: Writer,
    prompt: Int[Tensor, " time"],
    text: Int[Tensor, " tokens"],
) -> OfText:
    """The measures of a text that stands after a prompt, whoever wrote it. Raises InvalidSetting for unknown tokens."""
    if not len(text):
        return OfText(math.nan, math.nan, math.nan)
    said = answered(writer, prompt, len(text), Sampling(), path=text)
    log_p = torch.stack([_log_probability(logits, ids) for logits, _, ids in said])
    ids = text.tolist()
    return OfText(distinct(ids, DISTINCT), repetition(ids), log_p.mean().item())


@torch.inference_mode()
def by_temperature(
    writer: Writer,
    prompt: Int[Tensor, " time"],
    tokens: int,
    sampling: Sampling,
    temperatures: Sequence[float] = TEMPERATURES,
    seeds: int = 8,
) -> ByTemperature:
    """The measures of the first samples that `write` gives at each temperature.

    Seed s of a row is sample s of the sampling's seed. The sampling's own temperature counts for nothing.
    """
    found: list[tuple[float, float, float]] = []
    together = max(1, _ROWS // seeds)
    for first in range(0, len(temperatures), together):
        some = torch.tensor(temperatures[first : first + together], dtype=torch.float64)
        text, log_p = [], torch.zeros(len(some) * seeds)
        for logits, _, ids in answered(writer, prompt, tokens, sampling, seeds, some):
            text.append(ids)
            log_p += _log_probability(logits, ids)
        rows = torch.stack(text, dim=1).tolist()
        means = (log_p / tokens).tolist()
        found += [(distinct(ids, DISTINCT), repetition(ids), mean) for ids, mean in zip(rows, means, strict=True)]
    measures = np.array(found).reshape(len(temperatures), seeds, 3)
    return ByTemperature(tuple(temperatures), *np.moveaxis(measures, -1, 0))


def _log_probability(logits: Float[Tensor, "rows vocabulary"], ids: Int[Tensor, " rows"]) -> Float[Tensor, " rows"]:
    """Of one token of every row, as learned."""
    chosen = logits.gather(-1, ids[:, None])[:, 0]
    return chosen - logits.logsumexp(dim=-1)
