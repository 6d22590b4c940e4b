"""Figures over many texts, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np
from jaxtyping import Bool, Num
from numpy import ndarray

from explorer.number_format import format_interval

DRAWS = 2_000  # resamples of a bootstrap
_NORMAL = 1.959964  # the 97.5 % quantile


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval over texts."""

    value: float
    low: float
    high: float
    texts: int

    def format(self, digits: int = 2) -> str:
        """Return the figure with its interval: 0.20 (0.12 to 0.34)."""
        return format_interval(self.value, self.low, self.high, digits)


def estimate(values: Num[ndarray, "*shape"], statistic: Callable[..., SupportsFloat] = np.mean) -> Estimate:
    """Return a statistic of texts (`axis=0`) with the percentile interval of a bootstrap (Efron 1979)."""
    rng = np.random.default_rng(0)  # the same resamples at each call, so that a page shows the same interval again
    texts = len(values)
    resampled = [float(statistic(values[rng.integers(texts, size=texts)], axis=0)) for _ in range(DRAWS)]
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Estimate(float(statistic(values, axis=0)), float(low), float(high), texts)


def estimate_share(hits: Bool[ndarray, " texts"]) -> Estimate:
    """Return a share of texts with the interval of Wilson (1927), which is not empty if all texts agree."""
    texts = len(hits)
    share = float(np.mean(hits))
    shrink = 1 + _NORMAL**2 / texts
    middle = (share + _NORMAL**2 / (2 * texts)) / shrink
    margin = _NORMAL / shrink * np.sqrt(share * (1 - share) / texts + _NORMAL**2 / (4 * texts**2))
    return Estimate(share, float(max(0, middle - margin)), float(min(1, middle + margin)), texts)
