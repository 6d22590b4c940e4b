"""Sentences about whole texts, made from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxtyping import Float
from numpy import ndarray

from explorer.ui.findings import listed, number
from explorer.ui.studio import Studio

if TYPE_CHECKING:
    from explorer.ui.studio_measures import Measured

WINDOWS = 8  # pieces of the text that people wrote


def coldest(found: Sequence[tuple[str, Measured]]) -> str:
    """How much the text at temperature 0 repeats."""
    cold = listed(
        [
            f"{100 * each.written.repetition8[0].mean():.0f} % of {'what ' * (not i)}the {title}{' writes' * (not i)}"
            for i, (title, each) in enumerate(found)
        ]
    )
    return f"At temperature 0, {cold} stood there before."


def like_people(found: Sequence[tuple[str, Measured]]) -> str:
    """At which temperature a text is as varied as what people wrote, and as surprising to its model."""
    varied, likely = [], []
    for title, each in found:
        if each.people is not None:
            written = each.written
            varied.append(f"the {title} {_where(written.temperatures, written.distinct4, each.people[0])}")
            likely.append(f"the {title} {_where(written.temperatures, written.log_probability, each.people[2])}")
    if not varied:
        return ""
    return (
        f"As varied as what people wrote is {listed(varied)}; as surprising to itself as their text, {listed(likely)}."
    )


def _where(temperatures: Sequence[float], values: Float[ndarray, "temperatures seeds"], people: float) -> str:
    """At which temperature the mean first crosses what people have, straight between two temperatures."""
    gaps = values.mean(axis=1) - people
    for i in range(len(gaps) - 1):
        if gaps[i] * gaps[i + 1] <= 0 and gaps[i] != gaps[i + 1]:
            share = gaps[i] / (gaps[i] - gaps[i + 1])
            return f"at about {temperatures[i] + share * (temperatures[i + 1] - temperatures[i]):.1f}"
    return "at no temperature"


def how_measured(found: Sequence[tuple[str, Measured]], studio: Studio) -> str:
    """What lines, bands and the dashed line are."""
    seeds = found[0][1].written.distinct4.shape[1]
    said = [
        f"Line: the mean of {number(seeds)} texts of {studio.tokens} tokens, band: from the lowest to the highest; the "
        "dice of each text are the same at every temperature."
    ]
    held_out = [title for title, each in found if each.people is not None and each.held_out]
    known = [title for title, each in found if each.people is not None and not each.held_out]
    parts = []
    if held_out:
        parts.append("held-out text" + (f" ({listed(held_out)})" if known else ""))
    if known:
        parts.append("the text it learned from" + (f" ({listed(known)})" if held_out else ""))
    if parts:
        said.append(f"Dashed: what people wrote, {listed(parts)}, in {number(WINDOWS)} pieces of the same length.")
    return " ".join(said)


def cuts(studio: Studio) -> str:
    """What may not be chosen, in words."""
    if studio.greedy:
        return "greedy"
    named = []
    if studio.top_k:
        named.append(f"top-k {studio.top_k}")
    if studio.top_p < 1:
        named.append(f"top-p {studio.top_p:g}")
    if studio.min_p:
        named.append(f"min-p {studio.min_p:g}")
    return listed(named)
