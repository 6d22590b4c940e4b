"""Sentences and LaTeX numbers of the page on gates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from explorer.ui.verdict_sentences import solved_comparison
from explorer.ui.wording import join_words


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


def initial_gate(bias: float) -> str:
    """Return the value of a gate at initialization, in words; a bias of 0 is the standard initialization."""
    return f"{1 / (1 + math.exp(-bias)):.2f} (bias {bias:g})" if bias else "about 0.50 (standard)"


def gate_init_finding(outcomes: Mapping[str, Mapping[float, GateInitOutcome]], length: int) -> str:
    """Return how many seeds recall the first symbol with the most open gates, by network; at most 20 words."""
    parts = []
    for title, by_bias in outcomes.items():
        if by_bias:
            outcome = by_bias[max(by_bias)]
            parts.append(f"{outcome.solved} of {outcome.seeds} {title}s (bias {outcome.bias:g})")
    return f"{join_words(parts)} recall the first of {length} symbols." if parts else ""


def gate_init_comparison(outcomes: Mapping[float, GateInitOutcome], title: str) -> str:
    """Compare the numbers of seeds that learned to remember, by initial bias; "" if there is nothing to compare."""
    solved = {f"bias {bias:g}": np.arange(each.seeds) < each.solved for bias, each in sorted(outcomes.items())}
    comparison = solved_comparison(solved, "learn the task") if solved else ""
    return f"{title}: {comparison}" if comparison else ""
