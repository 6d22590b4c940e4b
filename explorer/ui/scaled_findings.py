"""What random vectors and two trainings say about the division by √d_k, in sentences made from their numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.ui.findings import number, seeds
from explorer.ui.learning import LEARNED, Learning

_TWICE = 1.5  # what is said to be slower takes so many times as long


def width_finding(widths: Sequence[int], gradient: Float[ndarray, "kinds widths"]) -> str:
    """Where the gradient of softmax peaks that is not divided, and what is left of it at the end."""
    raw, divided = gradient
    peak, last = int(raw.argmax()), len(widths) - 1
    end = f"at {widths[last]:,}"
    if peak == last:
        first = f"Not divided, the gradient of softmax grows all the way, to {raw[last]:.2g} {end}."
    elif peak == 0:
        first = f"Not divided, the gradient of softmax falls from the start, {_fall(raw[0], raw[last])} {end}."
    else:
        first = (
            f"Not divided, the gradient of softmax first rises, to {raw[peak]:.2f} at d_k = {widths[peak]:,}, then "
            f"collapses: {end} it is {_fall(raw[peak], raw[last])}."
        )
    settled = divided[widths.index(4) :] if 4 in widths else divided
    low, high = settled.min(), settled.max()
    if low > 0 and high / low < 1.2:
        return f"{first} Divided, it stays at {settled.mean():.2f}."
    return f"{first} Divided, it goes from {low:.2g} to {high:.2g}."


def _fall(before: float, after: float) -> str:
    """How many times lower."""
    if after <= 0 or before / after > 1e6:
        return "more than a million times lower"
    times = before / after
    return f"{float(f'{times:.2g}'):,.0f} times lower" if times >= 10 else f"{times:.1f} times lower"


def at_width(width: int, keys: int, largest: Float[ndarray, " kinds"], entropy: Float[ndarray, " kinds"]) -> str:
    """What softmax is like at one width."""
    return (
        f"At d_k = {width:,} the scores are divided by {math.sqrt(width):.2f}. The largest of {keys} weights is then "
        f"{largest[1]:.2f}, and the entropy {entropy[1]:.2f} of at most ln {keys} = {math.log(keys):.2f} nats. Not "
        f"divided they are {largest[0]:.2f} and {entropy[0]:.2f}."
    )


def training_verdict(width: int, divided: Learning | None, raw: Learning | None) -> str:
    """Whether and when each came below the threshold."""
    if divided is None or raw is None:
        return ""
    one, other = divided.reached, raw.reached
    count, there, without = len(other), int(np.isfinite(one).sum()), int(np.isfinite(other).sum())
    if not there and not without:
        return f"Neither model learned it: no seed comes below {LEARNED} nats."
    parts = [f"At d_k = {width}, {_arrived('divided', one)}; {_arrived('not divided', other)}."]
    if there == len(one) and without == count:
        ratio = float(np.median(other) / np.median(one))
        if ratio >= _TWICE:
            parts.append(f"Without the division it still learns, only {ratio:.1f} times more slowly.")
        elif ratio <= 1 / _TWICE:
            parts.append(f"Here it is even slower with the division, {1 / ratio:.1f} times.")
        else:
            parts.append("Here the division makes hardly a difference.")
    elif 0 < without < count and there == len(one):
        parts.append("Without the division it can learn, only more slowly, and not in every seed in this time.")
    return " ".join(parts)


def _arrived(name: str, steps: Float[ndarray, " replicas"]) -> str:
    there = steps[np.isfinite(steps)]
    if not len(there):
        return f"{name}, none of {seeds(len(steps))} comes below {LEARNED} nats"
    who = (
        f"all {seeds(len(steps))} come"
        if len(there) == len(steps)
        else f"{number(len(there))} of {seeds(len(steps))} " + ("comes" if len(there) == 1 else "come")
    )
    when = f"{there.min():.0f}" if there.min() == there.max() else f"{there.min():.0f} to {there.max():.0f}"
    return f"{name}, {who} below {LEARNED} nats, after {when} steps"
