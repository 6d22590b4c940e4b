"""Sentences about whole texts, made from the numbers on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from explorer.ui.findings import listed, number
from explorer.ui.studio import Studio

if TYPE_CHECKING:
    from explorer.ui.studio_measures import Measured

_LITTLE = 0.05  # of a share


def measures(found: Mapping[str, Measured]) -> str:
    """At which temperature a model's text is as varied as what people wrote."""
    said = []
    for title, each in found.items():
        varied = each.written.distinct4.mean(axis=1)
        repeats = each.written.repetition8.mean(axis=1)
        temperatures = each.written.temperatures
        cold = f"{title}: at temperature 0 {repeats[0]:.0%} of it stood there before"
        if each.people is None:
            said.append(f"{cold}, at {temperatures[-1]:g} {repeats[-1]:.0%}.")
            continue
        near = int(np.abs(varied - each.people[0]).argmin())
        likely = each.written.log_probability.mean(axis=1)
        close = int(np.abs(likely - each.people[2]).argmin())
        said.append(
            f"{cold}; it is as varied as what people wrote at about {temperatures[near]:g}, and as likely to itself at "
            f"about {temperatures[close]:g}."
        )
    return " ".join(said)


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
        said.append(f"Dashed: {which}, in pieces of the same length.")
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
