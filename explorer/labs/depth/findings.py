"""Sentences on attention heads and on deep stacks of blocks, made from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.pretrained.intervals import Estimate
from explorer.inspection.steps_to_solve import LossCurves
from explorer.inspection.verdicts import judge, mean_difference, solved_difference
from explorer.number_format import format_percent, format_units
from explorer.ui.verdict_sentences import verdict_words
from explorer.ui.wording import count_seeds, format_median, join_words, number_word


def heads_finding(heads: int, trained: Sequence[float], untrained: Sequence[float]) -> str:
    """Say whether heads attend differently before and after training.

    trained, untrained: mean Jensen–Shannon divergence between heads in bits, per seed.
    """
    if heads == 1:
        return "With a single head, every token has only one pattern of attention."
    return (
        f"The attention of {number_word(heads)} heads differs by {np.median(trained):.2f} bits after training, and by "
        f"{np.median(untrained):.2f} bits before."
    )


def heads_text(
    heads: int,
    trained_heads: int | None,
    parameters: int,
    width: int,
    ranks: Sequence[int],
    tokens: int,
    evenness: float,
    verdict: str = "",
) -> str:
    """Describe a split into heads: what stays the same, what is split, and the rank limit of a head.

    heads: number of heads; trained_heads: number in training, None for untrained weights; parameters: of the layer;
    width: of the layer; ranks: of the scores of each head; tokens: in the text; evenness: entropy of the attention
    relative to uniform attention; verdict: on the difference between the heads, see `heads_verdict`.
    """
    split_note = f"The layer was trained with {trained_heads} heads. " if trained_heads else ""
    ranked, size = join_words([f"{rank}" for rank in sorted(set(ranks))]), width // heads
    limited_by = f"{size} numbers per head" if size <= tokens else f"{tokens} tokens"
    return (
        f"{split_note}Its {parameters:,} parameters are the same for every number of heads. The matrix of scores of a "
        f"head has rank {ranked}; the limit is {min(size, tokens)} ({limited_by}). Its attention has "
        f"{format_percent(evenness, 0)} of the maximum entropy.{verdict}"
    )


def heads_verdict(heads: int, trained: Sequence[float], untrained: Sequence[float]) -> str:
    """Say with both ranges whether the difference between heads changes in training; "" for one head."""
    if heads == 1:
        return ""
    before, after = format_median(untrained), format_median(trained)
    sentence = f" Jensen–Shannon divergence, median (lowest to highest seed): {before} before training, {after} after"
    difference = mean_difference(np.array(untrained, float), np.array(trained, float), paired=False)
    if difference is None:
        return f"{sentence}. One trained seed is too few for a verdict."
    return f"{sentence}: {verdict_words(judge([difference])[0])}."


def initialization_text(start: str, share: float) -> str:
    """Describe how matrices are initialized. `share`: of the mean square that is left after one matrix."""
    return {
        "zero": "The last matrix of each part is initialized with zeros, as in our language model: a part first adds "
        "nothing.",
        "kept": "Matrices are initialized uniformly within ±√(3/fan-in), which keeps the mean square: s = 1 (Xiong et "
        "al. 2020).",
        "usual": "Matrices are initialized uniformly within ±1/√fan-in, so that one keeps "
        f"s = {share:.2f} of the mean square.",
    }[start]


def formula_text(
    share: float,
    layers: int,
    pre: tuple[float, float],
    none: tuple[float, float],
    measured: Mapping[str, float],
) -> str:
    """State the expected and the measured mean square at the top of a stack.

    share: of the mean square that is left after one matrix; layers: number of blocks; pre, none: expected range with
    the norm before each part and without norms; measured: median over seeds by norm placement.
    """
    between_pre, between_none = (
        f"between {low:.3g} and {high:.3g}; measured is {measured[name]:.3g}"
        for name, (low, high) in (("pre", pre), ("none", none))
    )
    return (
        f"Here s² = {share**2:.3g} and l = {layers}. With the norm before each part, v after "
        f"{format_units(layers, 'block')} should be {between_pre}. Without a norm it should be {between_none}. "
        f"With the norm after each part it is 1 by construction; measured is {measured['post']:.3g}."
    )


def vanishing_gradient_text(ratios: Float[ndarray, " seeds"], layers: int) -> str:
    """Say how large the gradient is at the first block of a post-norm stack, over that at the last, per seed."""
    return (
        f"With the norm after each part, the gradient norm at the first of {layers} blocks is {format_median(ratios)} "
        "times that at the last."
    )


def norm_kinds_text(layer: Float[ndarray, " seeds"], rms: Float[ndarray, " seeds"], layers: int) -> str:
    """Compare LayerNorm with RMSNorm before training: mean square at the top, per seed."""
    summary = f"after {layers} blocks v is {format_median(layer)} with LayerNorm and {format_median(rms)} with RMSNorm"
    difference = mean_difference(layer, rms, paired=True)  # the weights of a seed are the same with both
    verdict = f": {verdict_words(judge([difference])[0])}" if difference else ""
    return (
        f"LayerNorm subtracts the mean of a token’s numbers before it divides; RMSNorm only divides. With the norm "
        f"before each part {summary}{verdict}."
    )


def top_block_text(
    after: tuple[float, float], before: tuple[float, float], heights: tuple[int, int], grown: float
) -> str:
    """Compare the gradient of the topmost block's weights in a low and a high stack.

    after, before: median gradient norms in both stacks with the norm after and before each part; heights: of both
    stacks; grown: ratio of the mean squares of the stream, norm before.
    """
    few, many = heights
    return (
        f"Gradient norm of the last block’s weights, with the norm after each part: {after[0]:.2f} in a stack of {few} "
        f"and {after[1]:.2f} in one of {many}; with the norm before each part: {before[0]:.2f} and {before[1]:.2f}. "
        f"The higher stream is then {np.sqrt(grown):.2f} times as large, and the last norm divides by its size."
    )


def learning_finding(blocks: int, ends: Mapping[str, LossCurves]) -> str:
    """Say which stacks learned in all seeds. `ends`: loss curves by name of the stack."""
    learned = [words for words, end in ends.items() if np.isfinite(end.steps_to_solve).all()]
    seeds = "every seed" if any(len(end.steps_to_solve) > 1 for end in ends.values()) else "their only seed"
    if not ends or len(learned) == len(ends):
        return f"All stacks of {blocks} blocks learn, with {seeds}." * bool(ends)
    return f"Stacks of {blocks} blocks that learn with {seeds}: {join_words(learned) or 'none'}."


def learning_text(ends: Mapping[str, LossCurves]) -> str:
    """Say with how many seeds each stack learned. `ends`: loss curves by name of the stack."""
    counts = [
        f"{words}: {int(np.isfinite(end.steps_to_solve).sum())} of {count_seeds(len(end.steps_to_solve))}"
        for words, end in ends.items()
    ]
    return f"Seeds that learn it, {'; '.join(counts)}." if counts else ""


def warmup_claim_text(after: LossCurves | None, gentle: LossCurves | None, rates: tuple[float, float]) -> str:
    """Say whether post-norm keeps a deep stack from learning.

    after: at the learning rate that is best for the norm before
    gentle: at the learning rate that is best for the norm after
    rates: both learning rates
    """
    if after is None or gentle is None:
        return ""
    learned = [np.isfinite(end.steps_to_solve) for end in (after, gentle)]
    high, own = (f"{each.sum()} of {count_seeds(len(each))}" for each in learned)
    verdict = verdict_words(judge([solved_difference(*learned)])[0])
    return (
        "Xiong et al. (2020) find that a Transformer with the norm after each part needs a warm-up. Without one, here "
        f"{high} learn at {rates[0]:g}, the best learning rate with the norm before, and {own} at {rates[1]:g}, that "
        f"with the norm after: {verdict}."
    )


def answer_depth_finding(settled: Estimate, rise: Estimate, layers: int) -> str:
    """Say from which depth on the answer of a real model is the most probable token, and how fast it rises.

    settled: median depth; rise: median number of layers from a tenth to a half of the highest probability.
    """
    within = "in a single layer" if rise.value <= 1 else f"within {rise.format(0)} layers"
    return (
        f"The answer is the most probable token from layer {settled.format(0)} of {layers} on (median over "
        f"{settled.texts} prompts). Its probability rises from a tenth to a half {within}."
    )


def single_answer_text(prompt: str, answer: str, ranks: Sequence[int], probability: float) -> str:
    """Describe the rank of the answer to one prompt at both ends of the model, and its probability there."""
    return (
        f"“{prompt}” is continued with “{answer}”. Its rank is {ranks[0]:,} in the embedding and {ranks[-1]:,} after "
        f"the last layer, where its probability is {probability:.2f}."
    )
