"""The memory lab's sentences about gradients, gates and clipping, made from the numbers of its runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.training.exploding_runs import CLIP
from explorer.training.recall_runs import SOLVED
from explorer.ui.findings import RAISED, capital, listed, number, power, seeds

ALONE = "With a single symbol there is nothing to carry: the first one is the last."


def as_much(ratio: float) -> str:
    """So many times as much, in words where it is near a whole part."""
    if 0.8 <= ratio <= 1.25:
        return "about as much"
    return f"{power(ratio)} times as much"


def within(title: str) -> str:
    """A contestant's title in the middle of a sentence: RNN (usual start)."""
    name, _, start = title.partition(", ")
    return f"{name} ({start.replace(' (', ', ').rstrip(')')})" if start else name


# ---- the gradient along the sequence


@dataclass(frozen=True)
class Reached:
    """How much of the last symbol's gradient the first one has, in each seed."""

    title: str
    recurrent: bool
    before: Float[ndarray, " replicas"]
    after: Float[ndarray, " replicas"]
    steps: int  # of training

    @property
    def known(self) -> bool:
        return bool(np.isfinite(self.before).all())

    @property
    def said(self) -> str:
        """The middle seed's, and its neighbours' where there are several."""
        low, high = power(float(self.before.min())), power(float(self.before.max()))
        spread = f" ({low} to {high} over {seeds(len(self.before))})" if len(self.before) > 1 and low != high else ""
        return f"{as_much(float(np.median(self.before)))} as the last{spread}"


def reached(title: str, recurrent: bool, norms: Float[ndarray, "steps replicas time"], steps: int) -> Reached:
    """The ratio before training and at its end."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = norms[..., 0] / norms[..., -1]
    return Reached(title, recurrent, ratios[0], ratios[-1], steps)


def gradient_finding(models: Sequence[Reached], length: int) -> str:
    """Who reaches the first symbol before training, and who does not."""
    compared = [each for each in models if each.recurrent] or list(models)
    known = sorted((each for each in compared if each.known), key=lambda each: float(np.median(each.before)))
    if not known or length < 2:
        return ALONE
    least, most = known[0], known[-1]
    said = f"Before training, the first of {length} symbols moves the loss of the {within(least.title)} {least.said}"
    return f"{said}." if len(known) == 1 else f"{said}; of the {within(most.title)}, {most.said}."


def trained_finding(models: Sequence[Reached]) -> str:
    """The same at the end of training, of the middle seed."""
    known = [(each.title, float(np.median(each.after))) for each in models]
    known = [(title, after) for title, after in known if math.isfinite(after)]
    return (
        "The same ratio, first to last, in the middle seed at the end of training: "
        + "; ".join(f"{within(title)} {power(after)}" for title, after in known)
        + "."
        if known
        else ""
    )


def straight_path(title: str, shares: Float[ndarray, "replicas units"], length: int) -> str:
    """What the gates alone leave of a memory, with the numbers of a run before training."""
    left = shares ** (length - 1)
    return (
        f"{within(title)}: before training a unit keeps {power(float(np.median(shares)))} of what it holds at a step; "
        f"over {length - 1} steps that leaves {power(float(np.median(left)))} in the middle unit and "
        f"{power(float(left.max()))} in the one that is most open."
    )


def shrinking(title: str, radii: Float[ndarray, " replicas"], length: int) -> str:
    """What a product of one matrix with itself would leave, with its spectral radius."""
    radius = round(float(np.median(radii)), 3)  # as it is printed: a small difference grows with the power
    spread = f" ({radii.min():.3f} to {radii.max():.3f} over {seeds(len(radii))})" if len(radii) > 1 else ""
    return (
        f"{within(title)}: the spectral radius of U is {radius:.3f} before training{spread}, and "
        f"{radius:.3f}{str(length - 1).translate(RAISED)} is {power(radius ** (length - 1))}. The factors 1 − h², at "
        "most 1, take away the rest."
    )


# ---- gates


def half_life_finding(lives: Mapping[str, Float[ndarray, "replicas units"]], when: str) -> str:
    """How long half of the units hold on, for each model by its title; the one that is looked into comes first."""
    if not lives:
        return "A plain RNN has no gate: nothing in it says how much is kept, and every step rewrites the whole state."
    (title, first), *others = lives.items()
    said = f"{capital(when)}, half of the units of the {within(title)} keep half of what they hold for "
    said += f"{_symbols(float(np.median(first)))} or longer, the longest for {_symbols(float(first.max()))}"
    for other, each in others:
        said += f"; those of the {within(other)} for {_symbols(float(np.median(each)))}"
    return f"{said}."


def _symbols(life: float) -> str:
    if not math.isfinite(life):
        return "ever"
    text = f"{life:.1f}" if life < 9.95 else f"{life:,.0f}"
    return f"{text} symbols"


def answer_finding(title: str, symbol: str, probability: float, likeliest: str, length: int, chance: float) -> str:
    """What a model says of a sequence's first symbol at its end, beside what guessing comes to."""
    verdict = "right" if likeliest == symbol else f"wrong: it says “{likeliest}”"
    read = f"After {length} symbol{'s' if length > 1 else ''}"
    said = f"{read} the {within(title)} gives the first one, “{symbol}”, {probability:.2f}"
    if abs(probability - chance) < 0.1:
        return f"{said}: hardly more or less than guessing, which is {chance:.2f}."
    return f"{said}, and that is {verdict}."


# ---- exploding, and clipping


def exploding_finding(gains: Sequence[float], norms: Float[ndarray, "gains replicas time"]) -> str:
    """From which radius on the first symbol's gradient is larger than the last one's."""
    if norms.shape[-1] < 2:
        return ALONE
    ratios = np.median(norms[..., 0] / norms[..., -1], axis=1)
    grows = [gain for gain, ratio in zip(gains, ratios, strict=True) if ratio > 1]
    low, high = f"{gains[0]:g}", f"{gains[-1]:g}"
    said = f"At a radius of {low} the first symbol has {power(float(ratios[0]))} of the last one’s gradient"
    if not grows:
        return f"{said}, at {high} {power(float(ratios[-1]))}: it nowhere explodes."
    peak = int(ratios.argmax())
    end = f"and at {gains[peak]:g} it has {power(float(ratios[peak]))} times as much as the last"
    return f"{said}; from {grows[0]:g} on it has more than that one, {end}."


@dataclass(frozen=True)
class Clipped:
    """What came of the runs on one ground, without and with clipping."""

    words: str
    none: Float[ndarray, " replicas"]  # accuracy at the end
    clip: Float[ndarray, " replicas"]
    longest: float  # gradient of any step without clipping
    same: bool  # whether every loss of both is the same number


def clipping_finding(found: Sequence[Clipped]) -> str:
    """Where clipping helps, and where it does nothing."""
    if not found:
        return "No run with and without clipping yet."
    return " ".join(map(_clipped, found))


def _clipped(each: Clipped) -> str:
    right, helped, all_seeds = _right(each.none), _right(each.clip), seeds(len(each.none))
    if each.same:
        return (
            f"{capital(each.words)} no gradient is longer than {power(each.longest)}: clipping at {CLIP:g} never acts, "
            f"both trainings are the same to the last digit, and {_count(right)} of {all_seeds} learn{_s(right)} it."
        )
    return (
        f"{capital(each.words)} {_count(right)} of {all_seeds} learn{_s(right)} it without clipping, {_count(helped)} "
        "with it."
    )


def _right(accuracy: Float[ndarray, " replicas"]) -> int:
    return int((accuracy > SOLVED).sum())


def _count(count: int) -> str:
    return number(count) if count else "none"


def _s(count: int) -> str:
    return "s" if count == 1 else ""


def missing(titles: Sequence[str]) -> str:
    """Who has no run to look into."""
    if not titles:
        return ""
    have = "has" if len(titles) == 1 else "have"
    return f"{capital(listed(titles))} {have} no run with these settings yet: train above, and they stand here too."
