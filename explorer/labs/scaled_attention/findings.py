"""Sentences on the division by √d_k, made from random vectors and from two trainings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.pretrained.intervals import Estimate
from explorer.inspection.steps_to_solve import LEARNED_LOSS, LossCurves
from explorer.inspection.verdicts import judge, mean_difference, time_difference
from explorer.number_format import format_interval, format_range
from explorer.ui.verdict_sentences import describe_judgement
from explorer.ui.wording import count_seeds, number_word


def width_finding(widths: Sequence[int], gradient: Float[ndarray, "kinds widths"]) -> str:
    """Say at which width the gradient of unscaled softmax peaks, and what is left of it at the largest width."""
    raw, divided = gradient
    peak, settled = int(raw.argmax()), divided[widths.index(4) :] if 4 in widths else divided
    return (
        f"Undivided, the gradient of softmax is largest at dₖ = {widths[peak]:,} ({raw[peak]:.2g}) and {raw[-1]:.2g} "
        f"at {widths[-1]:,}; divided, it is {format_range(settled.min(), settled.max())} from dₖ = 4 on."
    )


def softmax_at_width(
    width: int, keys: int, largest: Float[ndarray, " kinds"], entropy: Float[ndarray, " kinds"]
) -> str:
    """Describe softmax at one width. `largest` and `entropy` hold the value without and with the division."""
    return (
        f"At dₖ = {width:,} the scores are divided by {math.sqrt(width):.2f}. The largest of {keys} weights is then "
        f"{largest[1]:.2f}, and the entropy is {entropy[1]:.2f} nats of at most ln {keys} = {math.log(keys):.2f}. "
        f"Without the division they are {largest[0]:.2f} and {entropy[0]:.2f}."
    )


def training_verdict(width: int, divided: LossCurves | None, raw: LossCurves | None) -> str:
    """Say how many seeds of each model came below the loss threshold; "" before both runs are finished."""
    if divided is None or raw is None:
        return ""
    counts = [int(np.isfinite(each.steps_to_solve).sum()) for each in (divided, raw)]
    seeds = [len(each.steps_to_solve) for each in (divided, raw)]
    if not any(counts):
        return f"Neither model learns the task: no seed has a loss below {LEARNED_LOSS} nats."
    return (
        f"With the division {counts[0]} of {count_seeds(seeds[0])} learn the task at dₖ = {width}; without it "
        f"{counts[1]} of {number_word(seeds[1])}."
    )


def training_text(divided: LossCurves | None, raw: LossCurves | None) -> str:
    """Say after how many steps the seeds learned, and whether the models differ."""
    steps = [] if divided is None or raw is None else [divided.steps_to_solve, raw.steps_to_solve]
    learned = [np.isfinite(each) for each in steps]
    if not any(each.any() for each in learned):
        return ""
    names = zip(("With the division", "without it"), steps, strict=True)
    needed = "; ".join(_steps_to_learn(name, each) for name, each in names)
    ratio = f" {_ratio_of_steps(*steps)}" if all(each.all() for each in learned) else ""
    without = describe_judgement(judge([time_difference(steps[0], steps[1], np.inf)])[0])
    return f"{needed}.{ratio} By the order in which the seeds learn it, those without the division are {without}."


def _ratio_of_steps(scaled_steps: Float[ndarray, " replicas"], raw_steps: Float[ndarray, " replicas"]) -> str:
    """Say how many times as many steps it takes without the division. Seeds are compared with themselves."""
    logarithms = [np.log2(np.maximum(steps, 1.0)) for steps in (scaled_steps, raw_steps)]
    difference = mean_difference(logarithms[0], logarithms[1], paired=True)
    if difference is None:
        return f"Without the division it takes {raw_steps[0] / max(scaled_steps[0], 1.0):.1f} times as many steps."
    mean, low, high = (2**value for value in (difference.mean, difference.low, difference.high))
    return f"Without the division it takes {format_interval(mean, low, high)} times as many steps."


def _steps_to_learn(name: str, steps: Float[ndarray, " replicas"]) -> str:
    learned = steps[np.isfinite(steps)]
    if not len(learned):
        return f"{name}, no seed learns it"
    return f"{name}, the seeds that learn it need {format_range(learned.min(), learned.max(), 0)} steps"


def first_token_finding(resting: Estimate, total: int) -> str:
    """Say how many heads of a real model give more than half of their attention to the first token."""
    if resting.value == 0:
        return f"None of the {total} heads gives more than half of its attention to the first token."
    return (
        f"{resting.format(0)} of {total} heads give more than half of their attention to the first token of a sentence."
    )


def value_norm_text(norm: Estimate) -> str:
    """Say how long the value vector of the first token is in the heads that rest on it."""
    return (
        f"In these heads the value vector of the first token is {norm.format()} times as long as those of the other "
        "tokens."
    )
