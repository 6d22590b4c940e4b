"""What the page on shapes of tasks says, made from numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.ui.findings import capital, listed, number, power, seeds

FEW = 2  # the last steps, whose share of a gradient is told
LEARNED = 0.95  # accuracy
NOTICED = 0.05  # by which an answer is worse, if that is to count
_NOTHING = 1e-3


def of_the_last(share: Float[ndarray, "replicas time"], few: int = FEW) -> float:
    """The middle seed's part of the whole gradient that comes from the last steps."""
    return float(np.median(share[:, -few:].sum(axis=1)))


def sum_finding(nets: Sequence[tuple[str, Float[ndarray, "replicas time"]]], trained: bool) -> str:
    """Where the gradient of the shared weights comes from; nets with the words for each."""
    parts = [f"of {words} {of_the_last(share):.0%}" for words, share in nets]
    when = "After training" if trained else "Before training"
    steps = nets[0][1].shape[1]
    return f"{when}, the last {number(FEW)} of {steps} steps make so much of the whole gradient: {listed(parts)}."


def proof(off: float, seeds_asked: int, steps: int) -> str:
    """That the terms are the terms."""
    return (
        f"Added up, the {steps} terms of {seeds(seeds_asked)} differ from the gradient that PyTorch finds by at most "
        f"{power(off)}, in double precision."
    )


# ---- clipping


@dataclass(frozen=True, eq=False)
class Kept:
    """What a plain net came to with one way of clipping."""

    accuracy: Float[ndarray, " replicas"]
    reach: Float[ndarray, " replicas"]  # gradient at the first symbol over that at the last one, after training


def clipping_verdict(clipped: Kept, free: Kept) -> str:
    """Whether clipping brings back what has vanished."""
    solved = [int((each.accuracy >= LEARNED).sum()) for each in (clipped, free)]
    ends = [float(np.median(each.reach)) for each in (clipped, free)]
    told = (
        f"With clipping {solved[0]} of {len(clipped.accuracy)} seeds learn to recall, without it {solved[1]}; at the "
        f"end the first symbol gets {power(ends[0])} and {power(ends[1])} of the last one’s gradient."
    )
    if max(ends) < _NOTHING and abs(solved[0] - solved[1]) <= 1:
        return f"False. {told}"
    if ends[0] > _NOTHING > ends[1]:
        return f"These runs speak for it. {told}"
    return f"Not so: it is no cure for what has vanished, though the runs differ. {told}"


# ---- places


@dataclass(frozen=True, eq=False)
class Counted:
    """A model that learned a rule that depends on the place."""

    words: str  # with its article
    shares: bool  # the same weights at every place
    right: Float[ndarray, " replicas"]  # accuracy at the places of its training
    beyond: Float[ndarray, " replicas"]  # and at those after them


def place_verdict(found: Mapping[str, Sequence[Counted]]) -> str:
    """Whether shared weights can learn rules that depend on the place; by rule, in words."""
    learned: list[tuple[str, Counted, int]] = []
    failed: list[tuple[str, Counted, int]] = []
    for rule, models in found.items():
        for each in models:
            count = int((each.right >= LEARNED).sum())
            if each.shares:
                (learned if count == len(each.right) else failed).append((rule, each, count))
    told = [f"{each.words} learns {rule} with all {number(len(each.right))} seeds" for rule, each, _ in learned]
    others = [f"{each.words} learns {rule} with {count} of {len(each.right)}" for rule, each, count in failed]
    if not told:
        return f"These runs speak for it: {listed(others)}."
    return f"False. {capital(listed(told))}." + (f" Not always: {listed(others)}." if others else "")


def beyond_finding(found: Mapping[str, Sequence[Counted]]) -> str:
    """What becomes of it beyond the trained places, for those that learned it."""
    parts = []
    for models in found.values():
        for each in models:
            there = each.right >= LEARNED
            if there.any():
                parts.append((each, float(np.median(each.beyond[there]))))
    shared = [value for each, value in parts if each.shares]
    own = [value for each, value in parts if not each.shares]
    if not shared or not own:
        return ""
    return (
        "Asked at places beyond those of the training, the seeds that had learned it are right in "
        f"{min(shared):.0%} to {max(shared):.0%} where weights are shared, and in {min(own):.0%} to {max(own):.0%} "
        "where every place has a vector of its own: that one never met these places."
    )


# ---- heads


def heads_verdict(
    what: str,
    whole: Float[ndarray, " replicas"],
    subject: Float[ndarray, "replicas layers heads"],
    without: Float[ndarray, "replicas layers heads"],
) -> str:
    """Whether one head follows the subject, in that it looks there and is missed."""
    each = len(whole)
    look = subject.reshape(each, -1)
    lost = whole[:, None] - without.reshape(each, -1)
    looking = (look > 0.5).sum(axis=1)
    missed = (lost > NOTICED).sum(axis=1)
    alone = int((missed == 1).sum())
    seen = (
        f"In {int((looking > 0).sum())} of {each} seeds at least one head gives the subject more than half of its "
        f"attention ({_span(looking)} of {look.shape[1]} heads do)."
    )
    lost_words = (
        f"Switched off alone, one head and no other costs the {what} more than {NOTICED:.0%} in {alone} of {each} "
        f"seeds; the dearest costs {lost.max():.0%}, in the middle seed it is "
        f"{float(np.median(lost.max(axis=1))):.0%}."
    )
    verdict = "True here" if alone == each else "False here" if alone <= each // 2 else "Sometimes"
    return f"{verdict}. {seen} {lost_words}"


def _span(counts: ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"
