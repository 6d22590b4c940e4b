"""Sentences of the page on sequence shapes, made from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.verdicts import judge, mean_difference, solved_difference
from explorer.number_format import format_range, format_significant
from explorer.ui.verdict_sentences import verdict_words
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

LAST_STEPS = 2  # the last steps, whose share of the gradient is reported
LEARNED = 0.95  # accuracy from which a seed counts as successful
MIN_ACCURACY_LOSS = 0.05  # smallest drop in accuracy that counts
_VANISHED = 1e-3


def last_steps_share(share: Float[ndarray, "replicas time"], few: int = LAST_STEPS) -> float:
    """Return the share of the whole gradient that comes from the last steps (median over seeds)."""
    return float(np.median(share[:, -few:].sum(axis=1)))


def gradient_share_finding(nets: Sequence[tuple[str, Float[ndarray, "replicas time"]]], trained: bool) -> str:
    """Say how much of the gradient of the shared weights the last steps contribute. `nets`: names and shares."""
    parts = [f"of {words} {last_steps_share(share):.0%}" for words, share in nets]
    when = "After training" if trained else "Before training"
    steps = nets[0][1].shape[1]
    return (
        f"{when}, the last {number_word(LAST_STEPS)} of {steps} steps make so much of the whole gradient: "
        f"{join_words(parts)}."
    )


def exactness_text(off: float, seeds_asked: int, steps: int) -> str:
    """Say how closely the terms add up to the gradient that PyTorch computes. `off`: largest relative difference."""
    return (
        f"Added up, the {steps} terms of {count_seeds(seeds_asked)} differ from the gradient that PyTorch finds by "
        "at most "
        f"{format_significant(off)}, in double precision."
    )


# ---- clipping


@dataclass(frozen=True, eq=False)
class ClippingOutcome:
    """Accuracy and gradients of a plain RNN trained with or without clipping."""

    accuracy: Float[ndarray, " replicas"]
    gradient_ratio: Float[
        ndarray, " replicas"
    ]  # gradient at the first symbol over that at the last one, after training


def clipping_verdict(clipped: ClippingOutcome, unclipped: ClippingOutcome) -> str:
    """Say whether clipping restores vanished gradients."""
    solved = [int((each.accuracy >= LEARNED).sum()) for each in (clipped, unclipped)]
    ends = [float(np.median(each.gradient_ratio)) for each in (clipped, unclipped)]
    learned = solved_difference(unclipped.accuracy >= LEARNED, clipped.accuracy >= LEARNED, paired=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        orders = [np.log10(each.gradient_ratio) for each in (unclipped, clipped)]
    ratio = mean_difference(orders[0], orders[1], paired=True) if np.isfinite(orders).all() else None
    judgements = judge([learned, *([ratio] if ratio else [])])
    summary = (
        f"With clipping {solved[0]} of {len(clipped.accuracy)} seeds learn to recall, without it {solved[1]}: "
        f"{verdict_words(judgements[0])}. In the middle seed the first symbol gets {format_significant(ends[0])} and "
        f"{format_significant(ends[1])} of the last one’s gradient at the end"
        f"{f': {verdict_words(judgements[1])}' if ratio else ''}."
    )
    if ends[0] < _VANISHED:
        return f"No. The gradient vanishes with clipping too. {summary}"
    if ends[1] > _VANISHED:
        return f"These gradients do not vanish, clipped or not. {summary}"
    if ratio and judgements[1].verdict == "different":
        return f"In these runs, yes. {summary}"
    return f"These runs cannot tell. {summary}"


# ---- places


@dataclass(frozen=True, eq=False)
class PositionRuleAccuracy:
    """Accuracy of a model on a rule that depends on the position."""

    words: str  # with its article
    shares_weights: bool  # the same weights at every position
    trained: Float[ndarray, " replicas"]  # accuracy at the trained positions
    beyond: Float[ndarray, " replicas"]  # accuracy at later positions


def position_verdict(results: Mapping[str, Sequence[PositionRuleAccuracy]]) -> str:
    """Say whether shared weights learn rules that depend on the position; `found` by the words for the rule."""
    learned: list[tuple[str, PositionRuleAccuracy, int]] = []
    failed: list[tuple[str, PositionRuleAccuracy, int]] = []
    for rule, models in results.items():
        for each in models:
            count = int((each.trained >= LEARNED).sum())
            if each.shares_weights:
                (learned if count == len(each.trained) else failed).append((rule, each, count))
    successes = [
        f"{each.words} learns {rule} with all {number_word(len(each.trained))} seeds" for rule, each, _ in learned
    ]
    failures = [f"{each.words} learns {rule} with {count} of {len(each.trained)}" for rule, each, count in failed]
    if not successes:
        return f"Not in these runs: {join_words(failures)}."
    return f"Yes. {capitalize(join_words(successes))}." + (f" Not always: {join_words(failures)}." if failures else "")


def extrapolation_finding(results: Mapping[str, Sequence[PositionRuleAccuracy]]) -> str:
    """Say how accurate models are beyond the trained positions, of the seeds that learned the rule."""
    parts = []
    for models in results.values():
        for each in models:
            learned = each.trained >= LEARNED
            if learned.any():
                parts.append((each, float(np.median(each.beyond[learned]))))
    shared = [value for each, value in parts if each.shares_weights]
    own = [value for each, value in parts if not each.shares_weights]
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
    """Say whether a single head follows the subject: it attends to it, and its ablation costs accuracy.

    what: the predicted word; whole: accuracy with all heads; subject: attention to the subject; without: accuracy with
    each head ablated.
    """
    seed_count = len(whole)
    attention = subject.reshape(seed_count, -1)
    accuracy_loss = whole[:, None] - without.reshape(seed_count, -1)
    attending = (attention > 0.5).sum(axis=1)
    needed = (accuracy_loss > MIN_ACCURACY_LOSS).sum(axis=1)
    single = int((needed == 1).sum())
    attention_text = (
        f"In {int((attending > 0).sum())} of {seed_count} seeds at least one head gives the subject more than half "
        "of its "
        f"attention ({format_range(attending.min(), attending.max(), 0)} of {attention.shape[1]} heads do)."
    )
    ablation_text = (
        f"Switched off alone, one head and no other costs the {what} more than {MIN_ACCURACY_LOSS:.0%} in {single} of "
        f"{seed_count} "
        f"seeds; the dearest costs {accuracy_loss.max():.0%}, in the middle seed it is "
        f"{float(np.median(accuracy_loss.max(axis=1))):.0%}."
    )
    verdict = "Yes" if single == seed_count else "No" if single <= seed_count // 2 else "Sometimes"
    return f"{verdict}. {attention_text} {ablation_text}"
