"""softmax of random dot products at every width: computed once, looked at with a slider in the browser."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from explorer.figures.scaled import COLOUR, PER_LINE, Axis, bars, by_width
from explorer.ui import scaled_findings as findings
from explorer.ui.components import Panel, Playback, frame, heard, tracks
from explorer.ui.page import explanation, plain
from explorer.ui.scaled import Scaled
from explorer.ui.session import PageSession, write_address
from explorer.ui.slowly import eventually

if TYPE_CHECKING:
    from explorer.inspection.scaled import Softmaxes

HEIGHT, NARROW = 230, 190
_MEANWHILE = 780
_KEY = "scaled-width"
_FLOOR = 1e-5  # of the axis of the gradient


def width_section(session: PageSession[Scaled]) -> None:
    """The whole section."""
    st.header("Why divide: vectors get wider", anchor=False)
    explanation(
        "A query and 64 keys, all their numbers drawn from N(0, 1). Each further dimension adds one more random "
        "product to each score, so scores spread by √d_k. Move the slider, and see what softmax makes of that with "
        "the division and without."
    )
    eventually(
        _KEY,
        (_KEY,),
        _measured,
        lambda found: _show(session, found),
        "512 draws are read at 20 widths …",
        _MEANWHILE,
    )


def _measured() -> Softmaxes:
    from explorer.inspection.scaled import softmaxes

    return softmaxes()


def nearest(width: int) -> int:
    """The stop of the slider that is nearest to a width."""
    from explorer.inspection.scaled import WIDTHS

    return int(np.abs(np.log(np.array(WIDTHS) / width)).argmin())


def _show(session: PageSession[Scaled], found: Softmaxes) -> None:
    from explorer.inspection.scaled import WIDTHS

    said = heard(_KEY, "stop")
    if isinstance(said, int) and 0 <= said < len(WIDTHS):
        session.change(lambda state: replace(state, wide=WIDTHS[said]))
        write_address(session)
    at, last = nearest(session.state.wide), len(WIDTHS) - 1
    draws = found.entropy.shape[-1]
    gradient = found.over_draws("gradient")[..., 0]
    st.subheader(plain(findings.width_finding(WIDTHS, gradient)), anchor=False)
    frame(
        _panels(found),
        key=_KEY,
        height=HEIGHT,
        narrow_height=NARROW,
        columns=3,
        playback=Playback(
            "widths",
            last,
            last,
            False,
            "all widths",
            unit="width",
            stops=tuple(f"d_k = {width:,}" for width in WIDTHS),
            says=_said(found),
            first=at,
            tells=True,
        ),
    )
    st.caption(
        f"Bars: one draw. Curves: median of {draws} draws, band: from the 10th to the 90th percentile, dot: the chosen "
        "width. The gradient is the size of softmax’s Jacobian, the Frobenius norm of diag(α) − ααᵀ: how much all "
        "weights move when its inputs do. Where it is nearly zero, queries and keys learn next to nothing."
    )


@lru_cache(maxsize=4)
def _said(found: Softmaxes) -> tuple[str, ...]:
    """A sentence for every width."""
    from explorer.inspection.scaled import WIDTHS

    largest, entropy = (found.over_draws(name)[..., 0] for name in ("largest", "entropy"))
    keys = found.one.shape[-1]
    return tuple(findings.at_width(width, keys, largest[:, i], entropy[:, i]) for i, width in enumerate(WIDTHS))


@lru_cache(maxsize=4)
def _panels(found: Softmaxes) -> tuple[Panel, ...]:
    """Drawn once for all visitors; the frame turns to the chosen width and reads it there by itself."""
    from explorer.inspection.scaled import WIDTHS

    keys, last, made = found.one.shape[-1], len(WIDTHS) - 1, []
    for kind, title in enumerate(("Weights, not divided", "Weights, divided by √d_k")):
        drawn, turned = bars(found.one[kind], last)
        largest = f"at d_k = {WIDTHS[-1]:,} the largest is {found.one[kind, -1].max():.2f}"
        alt = f"{title}: of one draw of {keys} keys, {largest}."
        made.append(Panel(f"weights-{kind}", drawn, alt=alt, title=title, frames=turned))
    ceiling = math.log(keys)
    axes: dict[str, tuple[str, Axis, int | str]] = {
        "largest": ("Largest weight", Axis((0.0, 1.02), (0.0, 0.5, 1.0)), 2),
        "size": ("Spread of the scores", Axis((0.3, 40.0), (1.0, 10.0), log=True), 2),
        "entropy": (
            "Entropy of the weights, nats",
            Axis((0.0, ceiling * 1.12), (0.0, 1.0, 2.0, 3.0, 4.0), (ceiling, f"even: ln {keys} = {ceiling:.2f}")),
            2,
        ),
        "gradient": ("Gradient of softmax", Axis((_FLOOR, 1.0), (1e-4, 1e-2, 1.0), log=True), "power"),
    }
    for name, (title, axis, digits) in axes.items():
        values = found.over_draws(name)
        drawn, stops = by_width(WIDTHS, np.maximum(values, axis.span[0]) if axis.log else values, axis, last)
        ends = f"{values[0, -1, 0]:.2g} not divided, {values[1, -1, 0]:.2g} divided"
        made.append(
            Panel(
                f"widths-{name}",
                drawn,
                alt=f"{title} by d_k from 1 to {WIDTHS[-1]:,}; at the end {ends}.",
                title=title,
                tracks=tracks([("not divided", COLOUR), ("divided", COLOUR)], digits, PER_LINE),
                rest=tuple(map(float, WIDTHS)),
                frames=stops,
            )
        )
    return tuple(made)
