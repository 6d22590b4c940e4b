"""Findings about gradients, gates and clipping on the memory page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.experiments.gradient_clipping import CLIP
from explorer.experiments.recall import SOLVED
from explorer.inspection.verdicts import Judgement, judge, solved_difference
from explorer.number_format import format_approximate, format_significant, superscript
from explorer.ui.verdict_sentences import verdict_words
from explorer.ui.wording import capitalize, count_seeds, join_words, number_word

SINGLE_SYMBOL = "With a single symbol there is nothing to carry: the first one is the last."


def times_as_much(ratio: float) -> str:
    """Return a ratio in words if it is near 1, else as a number."""
    if 0.8 <= ratio <= 1.25:
        return "about as much"
    return f"{format_significant(ratio)} times as much"


def inline_title(title: str) -> str:
    """Return a variant's title for the middle of a sentence: RNN (usual start)."""
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

    @property
    def is_finite(self) -> bool:
        """Whether every ratio before training is finite."""
        return bool(np.isfinite(self.before).all())

    @property
    def words(self) -> str:
        """The median over the seeds in words, with the range if there are several."""
        low, high = format_significant(float(self.before.min())), format_significant(float(self.before.max()))
        spread = (
            f" ({low} to {high} over {count_seeds(len(self.before))})" if len(self.before) > 1 and low != high else ""
        )
        return f"{times_as_much(float(np.median(self.before)))} as the last{spread}"


def gradient_ratio(
    title: str, recurrent: bool, norms: Float[ndarray, "steps replicas time"], steps: int
) -> GradientRatio:
    """Return the ratio before training and at its end."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = norms[..., 0] / norms[..., -1]
    return GradientRatio(title, recurrent, ratios[0], ratios[-1], steps)


def gradient_finding(models: Sequence[GradientRatio], length: int) -> str:
    """Return which model has the smallest and which the largest ratio before training."""
    compared = [each for each in models if each.recurrent] or list(models)
    finite = sorted((each for each in compared if each.is_finite), key=lambda each: float(np.median(each.before)))
    if not finite or length < 2:
        return SINGLE_SYMBOL
    least, most = finite[0], finite[-1]
    title = inline_title(least.title)
    sentence = f"Before training, the first of {length} symbols moves the loss of the {title} {least.words}"
    return f"{sentence}." if len(finite) == 1 else f"{sentence}; of the {inline_title(most.title)}, {most.words}."


def trained_finding(models: Sequence[GradientRatio]) -> str:
    """Return the median ratio of every model at the end of training."""
    finite = [(each.title, float(np.median(each.after))) for each in models]
    finite = [(title, after) for title, after in finite if math.isfinite(after)]
    return (
        "The same ratio, first to last, in the middle seed at the end of training: "
        + "; ".join(f"{inline_title(title)} {format_significant(after)}" for title, after in finite)
        + "."
        if finite
        else ""
    )


def gate_product_finding(title: str, shares: Float[ndarray, "replicas units"], length: int) -> str:
    """Return what a unit keeps over the sequence through its gates alone, before training.

    `shares` is the share of its state that each unit keeps at a step.
    """
    left = shares ** (length - 1)
    return (
        f"{inline_title(title)}: before training a unit keeps {format_significant(float(np.median(shares)))} of what "
        "it holds at "
        f"a step; over {length - 1} steps that leaves {format_significant(float(np.median(left)))} in the middle unit "
        f"and {format_significant(float(left.max()))} in the one that is most open."
    )


def spectral_radius_finding(title: str, radii: Float[ndarray, " replicas"], length: int) -> str:
    """Return the spectral radius of the recurrent matrix, and its power over the sequence."""
    radius = round(float(np.median(radii)), 3)  # as it is printed: a small difference grows with the power
    spread = f" ({radii.min():.3f} to {radii.max():.3f} over {count_seeds(len(radii))})" if len(radii) > 1 else ""
    return (
        f"{inline_title(title)}: the spectral radius of U is {radius:.3f} before training{spread}, and "
        f"{radius:.3f}{superscript(length - 1)} is {format_significant(radius ** (length - 1))}. The factors "
        "1 − h², at "
        "most 1, take away the rest."
    )


# ---- gates


def half_life_finding(lives: Mapping[str, Float[ndarray, "replicas units"]], when: str) -> str:
    """Return the half-lives of the units, in symbols. `lives` is keyed by title, the selected model first."""
    if not lives:
        return "A plain RNN has no gate: nothing in it says how much is kept, and every step rewrites the whole state."
    (title, first), *others = lives.items()
    sentence = f"{capitalize(when)}, half of the units of the {inline_title(title)} keep half of what they hold for "
    sentence += f"{_symbols(float(np.median(first)))} or longer, the longest for {_symbols(float(first.max()))}"
    for other, each in others:
        sentence += f"; those of the {inline_title(other)} for {_symbols(float(np.median(each)))}"
    return f"{sentence}."


def _symbols(life: float) -> str:
    if not math.isfinite(life):
        return "ever"
    return f"{format_approximate(life)} symbols"


def answer_finding(title: str, symbol: str, probability: float, likeliest: str, length: int, chance: float) -> str:
    """Return the probability of the right answer after a sequence, compared with chance.

    title: the title of the variant.
    symbol: the first symbol of the sequence.
    probability: what the model gives it.
    likeliest: the most probable symbol.
    length: of the sequence.
    chance: the probability of a guess.
    """
    verdict = "right" if likeliest == symbol else f"wrong: it says “{likeliest}”"
    read = f"After {length} symbol{'s' if length > 1 else ''}"
    sentence = f"{read} the {inline_title(title)} gives the first one, “{symbol}”, {probability:.2f}"
    if abs(probability - chance) < 0.1:
        return f"{sentence}: hardly more or less than guessing, which is {chance:.2f}."
    return f"{sentence}, and that is {verdict}."


# ---- exploding, and clipping


def exploding_finding(gains: Sequence[float], norms: Float[ndarray, "gains replicas time"]) -> str:
    """Return from which spectral radius on the gradient at the first symbol exceeds that at the last."""
    if norms.shape[-1] < 2:
        return SINGLE_SYMBOL
    ratios = np.median(norms[..., 0] / norms[..., -1], axis=1)
    grows = [gain for gain, ratio in zip(gains, ratios, strict=True) if ratio > 1]
    low, high = f"{gains[0]:g}", f"{gains[-1]:g}"
    sentence = (
        f"At a radius of {low} the first symbol has {format_significant(float(ratios[0]))} of the last one’s gradient"
    )
    if not grows:
        return f"{sentence}, at {high} {format_significant(float(ratios[-1]))}: it nowhere explodes."
    peak = int(ratios.argmax())
    end = f"and at {gains[peak]:g} it has {format_significant(float(ratios[peak]))} times as much as the last"
    return f"{sentence}; from {grows[0]:g} on it has more than that one, {end}."


@dataclass(frozen=True)
class ClippingResult:
    """The results of two runs that differ in gradient clipping only."""

    words: str
    none: Float[ndarray, " replicas"]  # accuracy at the end
    clip: Float[ndarray, " replicas"]
    longest: float  # gradient of any step without clipping
    same: bool  # whether every loss of both is the same number


def clipping_finding(found: Sequence[ClippingResult]) -> str:
    """Return for each pair of runs how many seeds solve recall with and without clipping."""
    if not found:
        return "No run with and without clipping yet."
    differences = {
        each.words: solved_difference(each.none > SOLVED, each.clip > SOLVED, paired=False)
        for each in found
        if not each.same
    }
    judgements = dict(zip(differences, judge(list(differences.values())), strict=True))
    return " ".join(_clipping_sentence(each, judgements.get(each.words)) for each in found)


def _clipping_sentence(each: ClippingResult, judgement: Judgement | None) -> str:
    right, helped, all_seeds = _count_solved(each.none), _count_solved(each.clip), count_seeds(len(each.none))
    if judgement is None:
        return (
            f"{capitalize(each.words)} no gradient is longer than {format_significant(each.longest)}: clipping at "
            f"{CLIP:g} never acts, "
            f"both trainings are the same to the last digit, and {_count(right)} of {all_seeds} "
            f"learn{_plural_s(right)} it."
        )
    return (
        f"{capitalize(each.words)} {_count(right)} of {all_seeds} learn{_plural_s(right)} it without clipping, "
        f"{_count(helped)} with it: {verdict_words(judgement)}."
    )


def _count_solved(accuracy: Float[ndarray, " replicas"]) -> int:
    return int((accuracy > SOLVED).sum())


def _count(count: int) -> str:
    return number_word(count) if count else "none"


def _plural_s(count: int) -> str:
    return "s" if count == 1 else ""


def missing_runs_caption(titles: Sequence[str]) -> str:
    """Return which models have no run; empty if all have one."""
    if not titles:
        return ""
    have = "has" if len(titles) == 1 else "have"
    return (
        f"{capitalize(join_words(titles))} {have} no run with these settings yet: train above, and they stand here too."
    )
