"""Sentences and LaTeX numbers of the page on gates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from explorer.ui.verdict_sentences import solved_comparison


def product_latex(factors: tuple[float, ...]) -> str:
    """Format a product in LaTeX, with equal factors as powers: 0.9^{49}. Of more than four different factors, the rest
    is an ellipsis.
    """
    counts = Counter(factors or (1.0,))  # of no factors: 1
    parts = [f"{value:g}^{{{count}}}" if count > 1 else f"{value:g}" for value, count in counts.most_common(4)]
    more = [r"\cdots"] * (len(counts) > 4)
    return r" \cdot ".join([*parts, *more])


def number_latex(value: float) -> str:
    """Format a number in LaTeX with two significant digits."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{float(f'{value:.2g}'):g}"
    digits, _, power = f"{value:.1e}".partition("e")
    return rf"{digits} \cdot 10^{{{int(power)}}}"


@dataclass(frozen=True)
class GateInitOutcome:
    """How many seeds of a network solved the recall task, by the bias that its gates were initialized with."""

    bias: float
    solved: int
    seeds: int


def gate_init_finding(outcomes: Mapping[float, GateInitOutcome], length: int, title: str) -> str:
    """Say how many seeds learned to remember, by the initial bias of their forget (or update) gates."""
    if not outcomes:
        return ""
    parts = []
    for bias, outcome in sorted(outcomes.items()):
        initialization = (
            f"at {1 / (1 + math.exp(-bias)):.2f} (bias {bias:g})" if bias else "at about 0.50 (the usual start)"
        )
        parts.append(f"{initialization} {outcome.solved} of {outcome.seeds}")
    solved = {f"bias {bias:g}": np.arange(each.seeds) < each.solved for bias, each in sorted(outcomes.items())}
    comparison = solved_comparison(solved, "learned it")
    return (
        f"{title}s were trained to name the first of {length} symbols. So many seeds learned it, by where their gates "
        f"started: {'; '.join(parts)}. {comparison}"
    ).strip()
