"""What is said of heads and of stacks, made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.ui.findings import capital, listed, number

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
        f"after each part, in one of {many} {after[1]:.2f}. With the norm before it {ways[kept]}: {before[0]:.2f} and "
        f"{before[1]:.2f}.{root}"
    )


@dataclass(frozen=True)
class Ended:
    """Two trainings that differ in the place of the norm only: bits a character at the end, of every seed."""

    words: str  # all else
    after: Float[ndarray, " seeds"]
    before: Float[ndarray, " seeds"]


def learning_finding(pairs: Sequence[Ended]) -> str:
    """Where the place of the norm decides how a training ends: the seeds of one all end below those of the other."""
    if not pairs:
        return "None of these runs is on this machine yet."
    known = [pair for pair in pairs if np.isfinite(pair.after).all() and np.isfinite(pair.before).all()]
    lower = [pair for pair in known if pair.before.max() < pair.after.min()]
    higher = [pair for pair in known if pair.after.max() < pair.before.min()]
    told = []
    for found, place in ((lower, "before"), (higher, "after")):
        if found:
            gaps = [abs(float(pair.after.mean() - pair.before.mean())) for pair in found]
            by = (
                f"by {max(gaps):.2f} bits a character"
                if len(found) == 1
                else f"by up to {max(gaps):.2f} bits a character"
            )
            told.append(
                f"The norm {place} each part ends lower in every seed {listed([p.words for p in found])}, {by}."
            )
    for place, found in (
        ("after", [pair for pair in pairs if not np.isfinite(pair.after).all()]),
        ("before", [pair for pair in pairs if not np.isfinite(pair.before).all()]),
    ):
        if found:
            told.append(f"With the norm {place} each part it ended without numbers {listed([p.words for p in found])}.")
    rest = len(known) - len(lower) - len(higher)
    if rest == len(pairs):
        return f"Where the norm stands decides nothing here: in all {number(rest)} comparisons the seeds overlap."
    if rest:
        others = "In the other one" if rest == 1 else f"In the other {number(rest)} comparisons"
        told.append(f"{others} the seeds overlap.")
    return " ".join(told)


def warm_words(missing: bool) -> str:
    """What the runs below are."""
    if missing:
        return "Some of these runs are not on this machine; the page on language models trains them."
    return "They ship with the program; the page on language models trains them again and shows every step."
