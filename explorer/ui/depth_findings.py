"""What is said of heads and of stacks, made from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.ui.findings import capital, listed, number, seeds
from explorer.ui.learning import Learning

_ALIKE = 0.05  # bits apart of at most 1: one would have to look twice to tell two heads from one


def _range(values: Sequence[float] | Float[ndarray, " seeds"], digits: int = 2) -> str:
    """The middle, and from where to where."""
    low, mid, high = (f"{v:.{digits}f}" for v in (min(values), float(np.median(values)), max(values)))
    return mid if low == high else f"{mid} ({low} to {high})"


def heads_finding(heads: int, trained: Sequence[float], untrained: Sequence[float]) -> str:
    """Whether different heads see different things, before and after training: how far apart they look in bits, of
    every seed."""
    if heads == 1:
        return "A single head has nobody to differ from: every token has one picture of where to look."
    before, after = _range(untrained), _range(trained)
    many = capital(number(heads))
    if max(untrained) < min(trained):
        start = "hardly differ" if float(np.median(untrained)) < _ALIKE else "differ less"
        return (
            f"{many} heads {start} before training, {before} of at most 1 bit apart; training brings them to {after}."
        )
    if min(untrained) > max(trained):
        return f"{many} heads look {before} of at most 1 bit apart before training, and only {after} after it."
    return (
        f"Training does not tell {number(heads)} heads apart here: they look {before} of at most 1 bit apart before "
        f"it, and {after} after it."
    )


def heads_words(
    heads: int, learned: int | None, parameters: int, width: int, ranks: Sequence[int], tokens: int, evenness: float
) -> str:
    """The sentences below the tiles: what stays the same, what is cut, and what a head is limited to."""
    whole = {
        None: "",
        heads: f"This is the layer as it was learned, with {heads} heads. ",
    }.get(learned, f"It was learned with {learned} heads: cut like this, nobody trained it. ")
    limit = min(width // heads, tokens)
    seen = listed(sorted({f"{rank}" for rank in ranks}, key=int))
    held = "as" if set(ranks) == {limit} else "and at most"
    bound = f"the {width // heads} numbers of a head" if width // heads <= tokens else f"the {tokens} tokens"
    return (
        f"{whole}The matrices stay the same {parameters:,} numbers, however they are cut. The scores of a head have "
        f"rank {seen}, {held} {bound} allow ({limit}). They spread over {evenness:.0%} of an even look (entropy)."
    )


def start_words(start: str, share: float) -> str:
    """How the matrices are drawn, and what is left of the mean square behind one."""
    if start == "zero":
        return "The last matrix of each part starts at zero, as in our language model: a part first adds nothing."
    if start == "kept":
        return "Drawn evenly within √(3/fan-in), a matrix keeps the mean square: s = 1, as Xiong et al. assume."
    return f"Drawn evenly within 1/√fan-in, as our layers start, a matrix leaves s = {share:.2f} of the mean square."


def formula_words(
    start: str,
    share: float,
    layers: int,
    pre: tuple[float, float],
    none: tuple[float, float],
    measured: dict[str, float],
) -> str:
    """The formulas with the numbers of this stack in them. `pre` and `none`: between what each is expected; `measured`:
    the middle of the seeds."""
    part = share**2

    def told(name: str, between: tuple[float, float]) -> str:
        low, high = between
        value = measured[name]
        inside = 0.95 * low <= value <= 1.05 * high
        return f"between {low:.3g} and {high:.3g}, measured {value:.3g}" + ("" if inside else ", which is outside")

    blocks = f"{layers} block{'' if layers == 1 else 's'}"
    return (
        f"Here s² = {part:.3g} and l = {layers}. With the norm before each part, v after {blocks} is expected "
        f"{told('pre', pre)}. Without a norm it is expected {told('none', none)}. With the norm after each part it is "
        f"1 by construction, measured {measured['post']:.3g}."
    )


def fading_words(ratios: Float[ndarray, " seeds"], layers: int) -> str:
    """Whether the gradient fades towards the first block of a stack with the norm after each part; `ratios` are of the
    gradient at the first block to that at the last, of every seed."""
    told = f"over {layers} blocks the gradient at the first is {_range(ratios)} times as long as at the last"
    low, high = float(ratios.min()), float(ratios.max())
    if high < 0.1:
        verdict = "it vanishes"
    elif high < 1:
        verdict = "it gets shorter, and is far from vanishing"
    else:
        verdict = "it grows" if low > 1 else "it neither clearly grows nor fades"
    said = "It is often said that with the norm after each part the gradient vanishes on its way down."
    return f"{said} Here {told}: {verdict}."


def kinds_words(layer: Float[ndarray, " seeds"], rms: Float[ndarray, " seeds"], layers: int) -> str:
    """Whether it matters, before training, which norm stands before each part: the mean square of each seed."""
    told = f"after {layers} blocks v is {_range(layer)} with LayerNorm and {_range(rms)} with RMSNorm"
    apart = layer.max() < rms.min() or rms.max() < layer.min()
    return (
        f"LayerNorm subtracts the mean of a token’s numbers before it divides; RMSNorm only divides. With the norm "
        f"before each part {told}: {'no seed of one is within those of the other' if apart else 'the seeds overlap'}."
    )


def top_words(after: tuple[float, float], before: tuple[float, float], heights: tuple[int, int], grown: float) -> str:
    """What the weights of the topmost block are told in a low and in a high stack, by where the norm stands: the middle
    of the seeds; `grown`: how much larger the stream of the high one is with the norm before, as a mean square."""
    few, many = heights
    ways = {True: "stays about as long", False: "gets shorter"}
    kept = before[1] > 0.9 * before[0]
    root = f" That stream is {np.sqrt(grown):.2f} times as large, and the last norm divides by it." if not kept else ""
    return (
        f"In a stack of {few} the gradient of the topmost block’s weights has length {after[0]:.2f} with the norm "
        f"after each part, in one of {many} it has {after[1]:.2f}. With the norm before it {ways[kept]}: "
        f"{before[0]:.2f} and {before[1]:.2f}.{root}"
    )


def learning_finding(blocks: int, ends: Mapping[str, Learning]) -> str:
    """Which stacks learned, in all seeds, in some, in none; `ends`: by what sets a stack apart, of every seed."""
    everywhere, some, nowhere = [], [], []
    for words, end in ends.items():
        there, count = int(np.isfinite(end.reached).sum()), len(end.reached)
        if there == count:
            everywhere.append(words)
        elif there:
            some.append(f"in {number(there)} of {seeds(count)} {words}")
        else:
            nowhere.append(words)
    told = [f"in every seed {listed(everywhere)}"] if everywhere else []
    told += [listed(some)] if some else []
    told += [f"in no seed {', nor '.join(nowhere)}"] if nowhere else []
    return f"{blocks} blocks learn {'; '.join(told)}." if told else ""


def claim_words(after: Learning | None, gentle: Learning | None) -> str:
    """Whether the norm after each part keeps a high stack from learning: at the large steps, and at the small ones."""
    if after is None or gentle is None:
        return ""
    said = "It is often said that a deep Transformer with the norm after each part does not learn without a warm-up."
    large, small = (int(np.isfinite(end.reached).sum()) for end in (after, gentle))
    count = len(after.reached)
    told = f"{_seeds_of(large, count)} at these steps, {_seeds_of(small, count)} at a quarter of their size"
    if large == small == count:
        return f"{said} Here it does: {told}."
    if large < count and small == count:
        return f"{said} Here that depends on how large the steps are: {told}."
    return f"{said} Here {told}."


def _seeds_of(there: int, count: int) -> str:
    """Three of three seeds learn."""
    return f"{number(there) if there else 'none'} of {seeds(count)} learn{'s' * (there == 1)}"
