"""What positions are worth, in sentences made from what models answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.positions import ROUNDING
from explorer.ui.findings import capital, listed, number, seeds

if TYPE_CHECKING:
    from explorer.inspection.positions import Order

NAMES = {"none": "no positions", "sinusoidal": "sines", "learned": "learned positions", "rotary": "rotary positions"}


# ---- two sentences


def order_finding(first: Sequence[str], second: Sequence[str], found: Sequence[Order]) -> str:
    """Who can tell the two sentences apart."""
    count = len(found[0].sentence)
    if list(first) == list(second):
        return "This is one sentence twice: nobody has a difference to see."
    if sorted(first) != sorted(second):
        return "These sentences have not the same words, and that every model sees, with positions or without."
    blind = [one for one in found if float(one.sentence.max()) < ROUNDING]
    if not blind:
        return f"The same words in another order: every one of these models sees it, in all {seeds(count)}."
    told = listed([_model(one) for one in blind])
    return (
        f"The same words in another order: {told} cannot tell, in any of {seeds(count)}."
        if len(blind) < len(found)
        else f"The same words in another order, and none of these models can tell, in any of {seeds(count)}."
    )


def masked_finding(found: Sequence[Order]) -> str:
    """What the causal mask alone tells of order."""
    encoder, decoder = (
        next(one for one in found if one.positions == "none" and one.causal is mask) for mask in (False, True)
    )
    parts = []
    if encoder.words is not None:
        most = float(encoder.words.max())
        if most < ROUNDING:
            parts.append(
                "Without positions an encoder gives each word the same vector in both sentences; what differs, at "
                f"most {_power(most)} of its length, is rounding: it adds the same numbers in another order."
            )
        else:
            parts.append(f"Without positions an encoder’s words differ by up to {most:.2g} of their length.")
    low, high = float(decoder.sentence.min()), float(decoder.sentence.max())
    if low > ROUNDING:
        parts.append(
            f"With a causal mask the same model is not blind: {low:.2f} to {high:.2f}. Each word sees those before it, "
            "so the mask itself tells the order."
        )
    return " ".join(parts)


def _power(value: float) -> str:
    """A tiny number to one digit: 2·10⁻⁷."""
    if value == 0:
        return "0"
    digit, _, power = f"{value:.0e}".partition("e")
    return f"{digit}·10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _model(one: Order) -> str:
    with_ = "without positions" if one.positions == "none" else f"with {NAMES[one.positions]}"
    return f"{'a causal decoder' if one.causal else 'an encoder'} {with_}"


def model_row(one: Order) -> str:
    """Its name beside the axis."""
    return f"{NAMES[one.positions]}{', causal' if one.causal else ''}"


# ---- digits


@dataclass(frozen=True, eq=False)
class Echoed:
    """How a model ended: exact match at each length that it was asked."""

    words: str
    lengths: tuple[int, ...]
    exact: Float[ndarray, "replicas lengths"]

    def at(self, length: int) -> float:
        """Mean over the seeds; NaN where it was not asked."""
        return float(self.exact[:, self.lengths.index(length)].mean()) if length in self.lengths else float("nan")

    def reach(self, level: float = 0.5) -> int:
        """The longest length up to which at least this share comes out right on average; 0 if none."""
        enough = self.exact.mean(axis=0) >= level
        return self.lengths[-1] if enough.all() else int(np.array((0, *self.lengths))[int(np.argmin(enough))])


def verdict(found: Mapping[str, Echoed], longest: int) -> str:
    """Up to which length each gets at least half of the rows right, and whether anybody goes on behind the training."""
    known = [one for one in found.values() if one.reach() >= longest]
    further = [one for one in known if one.reach() > longest]
    if not known:
        best = max(found.values(), key=Echoed.reach)
        return (
            f"Nobody gets half of the rows right at the {longest} digits that were trained; {best.words} comes "
            f"nearest, up to {best.reach()}."
        )
    who = capital(listed([one.words for one in known]))
    first = f"{who} get{'s' if len(known) == 1 else ''} at least half of the rows right up to {longest} digits"
    if not further:
        best = max(known, key=lambda one: one.at(longest + 1))
        after = f"at {longest + 1} the best, {best.words}, has {best.at(longest + 1):.2f}"
        return f"{first}, as trained; {after if best.at(longest + 1) >= 0.005 else f'at {longest + 1} none'}."
    more = listed([f"{one.words} up to {one.reach()}" for one in further])
    return f"{first}, as trained; beyond that {more}."


def beyond(found: Mapping[str, Echoed], longest: int) -> str:
    """How each falls behind the longest length that was trained, and whether anybody reaches the end."""
    falls = [
        f"{one.words} {one.at(longest):.2f}, {one.at(longest + 1):.2f}, {one.at(longest + 2):.2f}"
        for one in found.values()
    ]
    last = max(one.lengths[-1] for one in found.values())
    best = max(found.values(), key=lambda one: float(np.nan_to_num(one.at(last))))
    reached = best.at(last)
    end = (
        f"At {last} digits the best, {best.words}, has {reached:.2f}."
        if reached >= 0.005
        else f"At {last} digits nobody gets a row right."
    )
    return f"At {longest}, {longest + 1} and {longest + 2} digits: {'; '.join(falls)}. {end}"


def nothing(found: Mapping[str, Echoed], longest: int) -> str:
    """How far the mask alone carries a model that has no positions."""
    one, others = found.get("none"), [each for name, each in found.items() if name != "none"]
    if one is None or not others:
        return ""
    reach, best = one.reach(), max(each.reach() for each in others)
    how = f"up to {number(reach)} digit{'' if reach == 1 else 's'}" if reach else "at no length"
    more = "as far as any other" if reach >= best else f"the others up to {number(best)}"
    return (
        f"Without positions half of the rows come out right {how}, {more}: the mask says what came before, not where."
    )
