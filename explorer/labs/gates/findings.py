"""Sentences and LaTeX numbers of the page on gates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from jaxtyping import Bool
from numpy import ndarray

from explorer.ui.verdict_sentences import solved_comparison
from explorer.ui.wording import join_words

# Whether each seed of a network solved the recall task: by network, and by the initial bias of its gates.
Outcomes: TypeAlias = Mapping[str, Mapping[float, Bool[ndarray, " seeds"]]]


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


def initial_gate(bias: float) -> str:
    """Return the value of a gate at initialization, in words; a bias of 0 is the standard initialization."""
    return f"{1 / (1 + math.exp(-bias)):.2f} (bias {bias:g})" if bias else "about 0.50 (standard)"


def gate_init_finding(outcomes: Outcomes, length: int) -> str:
    """Return how many seeds recall the first symbol with the most open gates, by network; at most 20 words."""
    best = {title: max(each.items(), key=lambda item: item[0]) for title, each in outcomes.items() if each}
    parts = [f"{solved.sum()} of {len(solved)} {title}s (bias {bias:g})" for title, (bias, solved) in best.items()]
    return f"{join_words(parts)} recall the first of {length} symbols." if parts else ""


def gate_init_comparison(by_bias: Mapping[float, Bool[ndarray, " seeds"]], title: str) -> str:
    """Compare the numbers of seeds that learned to remember, by initial bias; "" if there is nothing to compare."""
    solved = {f"bias {bias:g}": each for bias, each in sorted(by_bias.items())}
    comparison = solved_comparison(solved, "learn the task") if solved else ""
    return f"{title}: {comparison}" if comparison else ""
