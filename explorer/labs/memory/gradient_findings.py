"""Findings about gradients, gates and clipping on the memory page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.experiments.recall import SOLVED
from explorer.inspection.verdicts import Judgement, judge, solved_difference
from explorer.number_format import format_approximate, format_significant
from explorer.tasks.recall import MAX_EVALUATED_LENGTH
from explorer.ui.verdict_sentences import verdict_words
from explorer.ui.wording import capitalize

SINGLE_SYMBOL = "With a single symbol there is nothing to remember: the first one is the last."


def inline_title(title: str) -> str:
    """Return a variant's title for the middle of a sentence: RNN (standard initialization)."""
    name, _, start = title.partition(", ")
    return f"{name} ({start.replace(' (', ', ').rstrip(')')})" if start else name


# ---- the gradient along the sequence


@dataclass(frozen=True)
class GradientRatio:
    """The gradient norm at the first symbol divided by that at the last, for each seed."""

    title: str
    recurrent: bool
    before: Float[ndarray, " replicas"]
    after: Float[ndarray, " replicas"]
    steps: int  # of training


def gradient_ratio(
    title: str, recurrent: bool, norms: Float[ndarray, "steps replicas time"], steps: int
) -> GradientRatio:
    """Return the ratio before training and at its end."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = norms[..., 0] / norms[..., -1]
    return GradientRatio(title, recurrent, ratios[0], ratios[-1], steps)


def gradient_finding(models: Sequence[GradientRatio], length: int) -> str:
    """Return which model passes back the smallest and the largest share of the gradient before training (median)."""
    compared = [each for each in models if each.recurrent] or list(models)
    finite = [each for each in compared if np.isfinite(each.before).all()]
    finite.sort(key=lambda each: float(np.median(each.before)))
    if not finite or length < 2:
        return SINGLE_SYMBOL
    least, most = finite[0], finite[-1]
    sentence = (
        f"Before training, the {inline_title(least.title)} passes {_share(least)} of the gradient back over {length} "
        "symbols"
    )
    return f"{sentence}." if len(finite) == 1 else f"{sentence}, the {inline_title(most.title)} {_share(most)}."


def _share(each: GradientRatio) -> str:
    return format_significant(float(np.median(each.before)))


def backward_factor(
    radii: Float[ndarray, " replicas"] | None, shares: Float[ndarray, "replicas units"] | None, length: int
) -> tuple[str, str, str]:
    """Return the factor of the gradient at each step before training, and the product over all steps.

    radii: spectral radii of the recurrent matrix of a plain RNN
    shares: of its state that each unit keeps at a step, in a network with gates

    Of the product, the second text is that of the median seed or unit, the third that of the unit that keeps most.
    """
    if shares is not None:
        left = shares ** (length - 1)
        factors = map(format_significant, (float(np.median(shares)), float(np.median(left)), float(left.max())))
        factor, median, most = factors
        return f"gate {factor}", median, most
    if radii is None:
        return "–", "–", "–"
    radius = round(float(np.median(radii)), 3)  # as it is printed: a small difference grows with the power
    return f"radius {radius:.3f}", format_significant(radius ** (length - 1)), "–"


def format_ratio(values: Float[ndarray, " replicas"]) -> str:
    """Return the median of a ratio of gradients; a dash where no seed has a finite one."""
    finite = values[np.isfinite(values)]
    return format_significant(float(np.median(finite))) if len(finite) else "–"


def format_ratio_range(values: Float[ndarray, " replicas"]) -> str:
    """Return the lowest and the highest ratio of the seeds; a dash for one seed."""
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return "–"
    return f"{format_significant(float(finite.min()))} to {format_significant(float(finite.max()))}"


# ---- gates


def half_life_finding(lives: Mapping[str, Float[ndarray, "replicas units"]], when: str) -> str:
    """Return the median half-life of the units, in symbols. `lives` is keyed by title, the selected model first."""
    if not lives:
        return "A plain RNN has no gates: it rewrites its whole state at every step."
    (title, first), *others = lives.items()
    sentence = f"{capitalize(when)}, the median half-life is {_symbols(first)} in the {inline_title(title)}"
    if others:
        other, each = others[0]
        sentence += f", {_symbols(each)} in the {inline_title(other)}"
    return f"{sentence}."


def longest_half_life(lives: Float[ndarray, "replicas units"]) -> str:
    """Return the longest half-life of any unit; nothing is extrapolated beyond the longest tested sequence."""
    return _format_life(float(lives.max()))


def _symbols(lives: Float[ndarray, "replicas units"]) -> str:
    return _format_life(float(np.median(lives)))


def _format_life(life: float) -> str:
    if life > MAX_EVALUATED_LENGTH:  # also an infinite one
        return f"more than {MAX_EVALUATED_LENGTH:,} symbols"
    text = format_approximate(life)
    return f"{text} symbol{'' if text == '1' else 's'}"


def answer_finding(title: str, symbol: str, probability: float, likeliest: str, length: int, chance: float) -> str:
    """Return the probability that a variant gives the first symbol of a sequence, compared with that of a guess."""
    verdict = "right" if likeliest == symbol else f"wrong: it answers “{likeliest}”"
    read = f"After {length} symbol{'s' if length > 1 else ''}"
    sentence = f"{read} the {inline_title(title)} gives the first one, “{symbol}”, probability {probability:.2f}"
    if abs(probability - chance) < 0.1:
        return f"{sentence}, about as much as guessing ({chance:.2f})."
    return f"{sentence}, which is {verdict}."


# ---- exploding, and clipping


def exploding_finding(gains: Sequence[float], norms: Float[ndarray, "gains replicas time"]) -> str:
    """Return from which spectral radius on the gradient at the first symbol exceeds that at the last (median)."""
    if norms.shape[-1] < 2:
        return SINGLE_SYMBOL
    ratios = np.median(norms[..., 0] / norms[..., -1], axis=1)
    grows = [gain for gain, ratio in zip(gains, ratios, strict=True) if ratio > 1]
    if not grows:
        return f"At no spectral radius up to {gains[-1]:g} does the gradient grow on its way back."
    peak = int(ratios.argmax())
    where = (
        "From a spectral radius of {:g} on" if grows == list(gains[-len(grows) :]) else "At a spectral radius of {:g}"
    )
    return (
        f"{where.format(grows[0])}, the gradient grows on its way back: "
        f"{format_significant(float(ratios[peak]))} times at {gains[peak]:g}."
    )


@dataclass(frozen=True)
class ClippingResult:
    """The results of two runs that differ in gradient clipping only."""

    words: str
    none: Float[ndarray, " replicas"]  # accuracy at the end
    clip: Float[ndarray, " replicas"]
    longest: float  # gradient of any step without clipping
    same: bool  # whether every loss of both is the same number


def clipping_judgements(found: Sequence[ClippingResult]) -> dict[str, Judgement]:
    """Return for each pair of different runs whether clipping changes the number of seeds that solve recall."""
    differences = {
        each.words: solved_difference(each.none >= SOLVED, each.clip >= SOLVED) for each in found if not each.same
    }
    return dict(zip(differences, judge(list(differences.values())), strict=True))


def clipping_finding(found: Sequence[ClippingResult]) -> str:
    """Return where clipping changes how many seeds solve recall."""
    if not found:
        return ""
    judgements = clipping_judgements(found)
    for each in found:
        if each.words in judgements and judgements[each.words].verdict == "different":
            return (
                f"{capitalize(each.words)}, {count_solved(each.clip)} of {len(each.clip)} seeds learn the task with "
                f"clipping, {count_solved(each.none)} without."
            )
    return "In these runs clipping makes no certain difference."


def clipping_verdict(each: ClippingResult, judgements: Mapping[str, Judgement]) -> str:
    """Return for one pair of runs whether clipping makes a difference, for a table."""
    if each.words in judgements:
        return verdict_words(judgements[each.words])
    return f"no gradient is longer than {format_significant(each.longest)}, so clipping never acts"


def count_solved(accuracy: Float[ndarray, " replicas"]) -> int:
    """Return how many seeds solve recall."""
    return int((accuracy >= SOLVED).sum())
