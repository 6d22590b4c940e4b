"""Sentences on attention heads and on deep stacks of blocks, made from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.pretrained.intervals import Estimate
from explorer.inspection.steps_to_solve import LossCurves
from explorer.inspection.verdicts import judge, mean_difference, solved_difference
from explorer.number_format import format_interval, format_percent
from explorer.ui.verdict_sentences import verdict_words
from explorer.ui.wording import count_seeds, join_words, number_word


def _median_and_range(values: Sequence[float] | Float[ndarray, " seeds"], digits: int = 2) -> str:
    """Format the median, and the range in brackets."""
    return format_interval(float(np.median(values)), min(values), max(values), digits)


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
    split_note = {
        None: "",
        heads: f"The layer was trained with these {heads} heads. ",
    }.get(trained_heads, f"The layer was trained with {trained_heads} heads, not with this split. ")
    limit = min(width // heads, tokens)
    rank_list = join_words(sorted({f"{rank}" for rank in ranks}, key=int))
    limited_by = f"{width // heads} numbers per head" if width // heads <= tokens else f"{tokens} tokens"
    return (
        f"{split_note}Its {parameters:,} parameters are the same for every number of heads. The matrix of scores of a "
        f"head has rank {rank_list}; the limit is {limit} ({limited_by}). Its attention has "
        f"{format_percent(evenness, 0)} of the maximum entropy.{verdict}"
    )


def heads_verdict(heads: int, trained: Sequence[float], untrained: Sequence[float]) -> str:
    """Say with both ranges whether the difference between heads changes in training; "" for one head."""
    if heads == 1:
        return ""
    before, after = _median_and_range(untrained), _median_and_range(trained)
    sentence = f" Jensen–Shannon divergence, median (lowest to highest seed): {before} before training, {after} after"
    difference = mean_difference(np.array(untrained, float), np.array(trained, float), paired=False)
    if difference is None:
        return f"{sentence}. One trained seed is too few for a verdict."
    return f"{sentence}: {verdict_words(judge([difference])[0])}."


def initialization_text(start: str, share: float) -> str:
    """Describe how matrices are initialized. `share`: of the mean square that is left after one matrix."""
    if start == "zero":
        return (
            "The last matrix of each part is initialized with zeros, as in our language model: a part first adds "
            "nothing."
        )
    if start == "kept":
        return (
            "Matrices are initialized uniformly within ±√(3/fan-in), which keeps the mean square: s = 1 (Xiong et "
            "al. 2020)."
        )
    return (
        f"Matrices are initialized uniformly within ±1/√fan-in, so that one keeps s = {share:.2f} of the mean square."
    )


def formula_text(
    start: str,
    share: float,
    layers: int,
    pre: tuple[float, float],
    none: tuple[float, float],
    measured: dict[str, float],
) -> str:
    """State the expected and the measured mean square at the top of a stack.

    init: initialization; share: of the mean square that is left after one matrix; layers: number of blocks; pre, none:
    expected range with the norm before each part and without norms; measured: median over seeds by norm placement.
    """
    part = share**2

    def expected_and_measured(name: str, between: tuple[float, float]) -> str:
        low, high = between
        value = measured[name]
        inside = 0.95 * low <= value <= 1.05 * high
        return f"between {low:.3g} and {high:.3g}; measured is {value:.3g}" + ("" if inside else ", outside of that")

    blocks = f"{layers} block{'' if layers == 1 else 's'}"
    return (
        f"Here s² = {part:.3g} and l = {layers}. With the norm before each part, v after {blocks} should be "
        f"{expected_and_measured('pre', pre)}. Without a norm it should be {expected_and_measured('none', none)}. "
        f"With the norm after each part it is 1 by construction; measured is {measured['post']:.3g}."
    )


def vanishing_gradient_text(ratios: Float[ndarray, " seeds"], layers: int) -> str:
    """Say whether the gradient vanishes towards the first block of a post-norm stack. `ratios`: gradient norm at the
    first block over that at the last, per seed.
    """
    summary = f"the gradient norm at the first of {layers} blocks is {_median_and_range(ratios)} times that at the last"
    low, high = float(ratios.min()), float(ratios.max())
    if high < 0.1:
        verdict = "it vanishes"
    elif high < 1:
        verdict = "it gets smaller, but does not vanish"
    else:
        verdict = "it grows" if low > 1 else "it neither clearly grows nor shrinks"
    return f"With the norm after each part, {summary}: {verdict}."


def norm_kinds_text(layer: Float[ndarray, " seeds"], rms: Float[ndarray, " seeds"], layers: int) -> str:
    """Compare LayerNorm with RMSNorm before training: mean square at the top, per seed."""
    summary = (
        f"after {layers} blocks v is {_median_and_range(layer)} with LayerNorm and {_median_and_range(rms)} with "
        "RMSNorm"
    )
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
    ways = {True: "stays about as large", False: "gets smaller"}
    loaded = before[1] > 0.9 * before[0]
    root = (
        f" The stream is then {np.sqrt(grown):.2f} times as large, and the last norm divides by its size."
        if not loaded
        else ""
    )
    return (
        f"Gradient norm of the last block’s weights, with the norm after each part: {after[0]:.2f} in a stack of {few} "
        f"and {after[1]:.2f} in one of {many}. With the norm before each part it {ways[loaded]}: {before[0]:.2f} and "
        f"{before[1]:.2f}.{root}"
    )


def learning_finding(blocks: int, ends: Mapping[str, LossCurves]) -> str:
    """Say which stacks learned in all seeds. `ends`: loss curves by name of the stack."""
    if not ends:
        return ""
    learned = [words for words, end in ends.items() if np.isfinite(end.steps_to_solve).all()]
    if len(learned) == len(ends):
        return f"All stacks of {blocks} blocks learn, with every seed."
    if not learned:
        return f"No stack of {blocks} blocks learns with every seed."
    if len(learned) > 2:
        failing = [words for words in ends if words not in learned]
        return f"Stacks of {blocks} blocks learn with every seed, except {join_words(failing)}."
    return f"Stacks of {blocks} blocks learn with every seed only {join_words(learned)}."


def learning_text(ends: Mapping[str, LossCurves]) -> str:
    """Say with how many seeds each stack learned. `ends`: loss curves by name of the stack."""
    counts = [
        f"{words}: {int(np.isfinite(end.steps_to_solve).sum())} of {count_seeds(len(end.steps_to_solve))}"
        for words, end in ends.items()
    ]
    return f"Seeds that learn it, {'; '.join(counts)}." if counts else ""


def warmup_claim_text(after: LossCurves | None, gentle: LossCurves | None) -> str:
    """Say whether post-norm keeps a deep stack from learning, at the default and at a quarter of the learning rate."""
    if after is None or gentle is None:
        return ""
    sentence = "Xiong et al. (2020) find that a Transformer with the norm after each part needs a warm-up."
    learned_default, learned_low_rate = (int(np.isfinite(end.steps_to_solve).sum()) for end in (after, gentle))
    count = len(after.steps_to_solve)
    summary = (
        f"{_seeds_that_learn(learned_default, count)} at this learning rate, "
        f"{_seeds_that_learn(learned_low_rate, count)} at a quarter of it"
    )
    if learned_default == learned_low_rate == count:
        return f"{sentence} Here it learns without one: {summary}."
    difference = solved_difference(np.isfinite(after.steps_to_solve), np.isfinite(gentle.steps_to_solve))
    return f"{sentence} Here {summary}: {verdict_words(judge([difference])[0])}."


def _seeds_that_learn(learned: int, count: int) -> str:
    """Say how many of the seeds learn."""
    return f"{number_word(learned) if learned else 'none'} of {count_seeds(count)} learn{'s' * (learned == 1)}"


_LATE, _ABRUPT = 0.75, 0.1  # shares of the layers: after which an answer is late, within which it is abrupt


def answer_depth_finding(settled: Estimate, rise: Estimate, layers: int) -> str:
    """Say from which depth on the answer of a real model is the most probable token, and how fast it rises.

    settled: median depth; rise: median number of layers from a tenth to a half of the highest probability.
    """
    late = "late: " if settled.value > _LATE * layers else ""
    abrupt = " abruptly," if rise.value <= _ABRUPT * layers else ""
    within = "in a single layer" if rise.value <= 1 else f"within {rise.format(0)} layers"
    return (
        f"The answer appears {late}it is the most probable token from layer {settled.format(0)} of {layers} on (median "
        f"over {settled.texts} prompts). Its probability rises{abrupt} from a tenth to a half {within}."
    )


def single_answer_text(prompt: str, answer: str, ranks: Sequence[int], probability: float) -> str:
    """Describe the rank of the answer to one prompt at some depths, and its probability at the end."""
    last = len(ranks) - 1
    depths = sorted({0, last // 2, max(last - 6, 0), max(last - 2, 0), max(last - 1, 0), last})
    found = join_words(
        [f"{ranks[depth]:,} after layer {depth}" if depth else f"{ranks[0]:,} in the embedding" for depth in depths]
    )
    return f"“{prompt}” is continued with “{answer}”. Its rank is {found}, where its probability is {probability:.2f}."
