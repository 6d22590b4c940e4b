"""Sentences about whole texts, made from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from explorer.ui.findings import listed, number
from explorer.ui.studio import Studio

if TYPE_CHECKING:
    from explorer.ui.studio_measures import Measured

WINDOWS = 8  # pieces of the text that people wrote


def coldest(found: Mapping[str, Measured]) -> str:
    """How much the text at temperature 0 repeats."""
    cold = listed(
        [
            f"{100 * each.written.repetition8[0].mean():.0f} % of {'what ' * (not i)}the {title}{' writes' * (not i)}"
            for i, (title, each) in enumerate(found.items())
        ]
    )
    return f"At temperature 0, {cold} stood there before."


def like_people(found: Mapping[str, Measured]) -> str:
    """At which temperature a text is as varied as what people wrote, and as surprising to its model."""
    varied, likely = [], []
    for title, each in found.items():
        if each.people is None:
            continue
        temperatures = each.written.temperatures
        nearest = int(np.abs(each.written.distinct4.mean(axis=1) - each.people[0]).argmin())
        varied.append(f"the {title} at about {temperatures[nearest]:g}")
        nearest = int(np.abs(each.written.log_probability.mean(axis=1) - each.people[2]).argmin())
        likely.append(f"the {title} at about {temperatures[nearest]:g}")
    if not varied:
        return ""
    return (
        f"As varied as what people wrote is {listed(varied)}; as surprising to itself as their text, {listed(likely)}."
    )


def how_measured(found: Mapping[str, Measured], studio: Studio) -> str:
    """What lines, bands and the dashed line are."""
    seeds = next(iter(found.values())).written.distinct4.shape[1]
    said = [
        f"Line: the mean of {number(seeds)} texts of {studio.tokens} tokens, band: from the lowest to the highest; the "
        "dice of each text are the same at every temperature."
    ]
    people = [each for each in found.values() if each.people is not None]
    if people:
        which = "held-out text" if all(each.held_out for each in people) else "the text they learned from"
        said.append(f"Dashed: {which}, in {number(WINDOWS)} pieces of the same length.")
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
