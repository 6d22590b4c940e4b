"""Sentences on attention heads and on deep stacks of blocks, made from measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.inspection.steps_to_solve import LossCurves
from explorer.inspection.verdicts import judge, mean_difference, solved_difference
from explorer.number_format import format_interval
from explorer.ui.verdict_sentences import verdict_words
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word


def _median_and_range(values: Sequence[float] | Float[ndarray, " seeds"], digits: int = 2) -> str:
    """Format the median, and the range in brackets."""
    return format_interval(float(np.median(values)), min(values), max(values), digits)


def heads_finding(heads: int, trained: Sequence[float], untrained: Sequence[float]) -> str:
    """Say whether heads attend differently before and after training.

    trained, untrained: mean Jensen–Shannon divergence between heads in bits, per seed.
    """
    if heads == 1:
        return "A single head has nobody to differ from: every token has one picture of where to look."
    before, after = _median_and_range(untrained), _median_and_range(trained)
    head_count = capitalize(number_word(heads))
    sentence = f"{head_count} heads look {before} of at most 1 bit apart before training and {after} after it"
    difference = mean_difference(np.array(untrained, float), np.array(trained, float), paired=False)
    if difference is None:
        return f"{sentence}. One trained seed is too few for a verdict."
    return f"{sentence}: {verdict_words(judge([difference])[0])}."


def heads_text(
    heads: int,
    trained_heads: int | None,
    parameters: int,
    width: int,
    ranks: Sequence[int],
    tokens: int,
    evenness: float,
) -> str:
    """Describe a split into heads: what stays the same, what is split, and the rank limit of a head.

    heads: number of heads; trained_heads: number in training, None for untrained weights; parameters: of the layer;
    width: of the layer; ranks: of the scores of each head; tokens: in the text; evenness: entropy of the attention
    relative to uniform attention.
    """
    split_note = {
        None: "",
        heads: f"This is the layer as it was learned, with {heads} heads. ",
    }.get(trained_heads, f"It was learned with {trained_heads} heads: cut like this, nobody trained it. ")
    limit = min(width // heads, tokens)
    rank_list = join_words(sorted({f"{rank}" for rank in ranks}, key=int))
    relation = "as" if set(ranks) == {limit} else "and at most"
    limited_by = f"the {width // heads} numbers of a head" if width // heads <= tokens else f"the {tokens} tokens"
    return (
        f"{split_note}The matrices stay the same {parameters:,} numbers, however they are cut. The scores of a head "
        "have "
        f"rank {rank_list}, {relation} {limited_by} allow ({limit}). They spread over {evenness:.0%} of an even look "
        "(entropy)."
    )


def initialization_text(start: str, share: float) -> str:
    """Describe how matrices are initialized. `share`: of the mean square that is left after one matrix."""
    if start == "zero":
        return "The last matrix of each part starts at zero, as in our language model: a part first adds nothing."
    if start == "kept":
        return "Drawn evenly within √(3/fan-in), a matrix keeps the mean square: s = 1, as Xiong et al. assume."
    return f"Drawn evenly within 1/√fan-in, as our layers start, a matrix leaves s = {share:.2f} of the mean square."


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
        return f"between {low:.3g} and {high:.3g}, measured {value:.3g}" + ("" if inside else ", which is outside")

    blocks = f"{layers} block{'' if layers == 1 else 's'}"
    return (
        f"Here s² = {part:.3g} and l = {layers}. With the norm before each part, v after {blocks} is expected "
        f"{expected_and_measured('pre', pre)}. Without a norm it is expected {expected_and_measured('none', none)}. "
        "With the norm after each part it is "
        f"1 by construction, measured {measured['post']:.3g}."
    )


def vanishing_gradient_text(ratios: Float[ndarray, " seeds"], layers: int) -> str:
    """Say whether the gradient vanishes towards the first block of a post-norm stack. `ratios`: gradient norm at the
    first block over that at the last, per seed.
    """
    summary = (
        f"over {layers} blocks the gradient at the first is {_median_and_range(ratios)} times as long as at the last"
    )
    low, high = float(ratios.min()), float(ratios.max())
    if high < 0.1:
        verdict = "it vanishes"
    elif high < 1:
        verdict = "it gets shorter, and is far from vanishing"
    else:
        verdict = "it grows" if low > 1 else "it neither clearly grows nor fades"
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
    ways = {True: "stays about as long", False: "gets shorter"}
    loaded = before[1] > 0.9 * before[0]
    root = (
        f" That stream is {np.sqrt(grown):.2f} times as large, and the last norm divides by it." if not loaded else ""
    )
    return (
        f"In a stack of {few} the gradient of the topmost block’s weights has length {after[0]:.2f} with the norm "
        f"after each part, in one of {many} it has {after[1]:.2f}. With the norm before it {ways[loaded]}: "
        f"{before[0]:.2f} and {before[1]:.2f}.{root}"
    )


def learning_finding(blocks: int, ends: Mapping[str, LossCurves]) -> str:
    """Say which stacks learned in all seeds, in some, or in none. `ends`: loss curves by name of the stack."""
    in_all_seeds, in_some_seeds, in_no_seed = [], [], []
    for words, end in ends.items():
        learned, count = int(np.isfinite(end.steps_to_solve).sum()), len(end.steps_to_solve)
        if learned == count:
            in_all_seeds.append(words)
        elif learned:
            in_some_seeds.append(f"in {number_word(learned)} of {count_seeds(count)} {words}")
        else:
            in_no_seed.append(words)
    parts = [f"in every seed {join_words(in_all_seeds)}"] if in_all_seeds else []
    parts += [join_words(in_some_seeds)] if in_some_seeds else []
    parts += [f"in no seed {', nor '.join(in_no_seed)}"] if in_no_seed else []
    return f"{blocks} blocks learn {'; '.join(parts)}." if parts else ""


def warmup_claim_text(after: LossCurves | None, gentle: LossCurves | None) -> str:
    """Say whether post-norm keeps a deep stack from learning, at the default and at a quarter of the learning rate."""
    if after is None or gentle is None:
        return ""
    sentence = "A Transformer with the norm after each part needs a warm-up, Xiong et al. (2020) find."
    learned_default, learned_low_rate = (int(np.isfinite(end.steps_to_solve).sum()) for end in (after, gentle))
    count = len(after.steps_to_solve)
    summary = (
        f"{_seeds_that_learn(learned_default, count)} at these steps, {_seeds_that_learn(learned_low_rate, count)} "
        "at a quarter of their "
        "size"
    )
    if learned_default == learned_low_rate == count:
        return f"{sentence} Here it learns without one: {summary}."
    difference = solved_difference(np.isfinite(after.steps_to_solve), np.isfinite(gentle.steps_to_solve), paired=False)
    return f"{sentence} Here {summary}: {verdict_words(judge([difference])[0])}."


def _seeds_that_learn(learned: int, count: int) -> str:
    """Say how many of the seeds learn."""
    return f"{number_word(learned) if learned else 'none'} of {count_seeds(count)} learn{'s' * (learned == 1)}"
