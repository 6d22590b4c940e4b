"""Softmax of random dot products at every width: computed once, browsed with a slider."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from explorer.byte_cache import cached
from explorer.figures.transformer.scaled_attention import COLOUR, TRACES_PER_LINE, Axis, quantity_by_width, weight_bars
from explorer.inspection.transformer.softmax_scaling import WIDTHS, SoftmaxStatistics, measure_softmax
from explorer.labs.scaled_attention import findings
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.ui.components.base import pop_event
from explorer.ui.components.plot_frame import Panel, Playback, add_plot_frame, value_tracks
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession, write_url

HEIGHT, NARROW = 230, 190
_PLACEHOLDER_HEIGHT = 780
_KEY = "scaled-width"
_GRADIENT_AXIS_MIN = 1e-5  # of the axis of the gradient


def width_section(session: PageSession[ScaledAttentionState]) -> None:
    """Draw softmax weights, their entropy and their gradient at every width."""
    explanation(
        "Here a query and 64 keys are random, with numbers from N(0, 1). Each dimension adds one random product to a "
        "score, so the standard deviation of the scores is √dₖ. Move the slider: the vectors get wider."
    )

    def requests() -> Mapping[str, Request[SoftmaxStatistics]]:
        _apply_event(session)
        return {"statistics": ((_KEY,), measure_softmax)}

    result_section(
        _KEY,
        requests,
        partial(_draw, session.state.wide),
        "512 random draws are measured at 20 widths …",
        _PLACEHOLDER_HEIGHT,
        events={_KEY: ("stop",)},
    )


def nearest_width_index(width: int) -> int:
    """Return the index of the slider stop nearest to a width (on a logarithmic scale)."""
    return int(np.abs(np.log(np.array(WIDTHS) / width)).argmin())


def _apply_event(session: PageSession[ScaledAttentionState]) -> None:
    """Store the width at which the visitor has released the slider."""
    stop = pop_event(_KEY, "stop")
    if isinstance(stop, int) and 0 <= stop < len(WIDTHS):
        session.change(lambda state: replace(state, wide=WIDTHS[stop]))
        write_url(session)


def _draw(width: int, document: Document, results: Mapping[str, SoftmaxStatistics]) -> None:
    statistics = results["statistics"]
    last, draws = len(WIDTHS) - 1, statistics.entropy.shape[-1]
    document.finding(findings.width_finding(WIDTHS, statistics.percentiles("gradient")[..., 0]))
    add_plot_frame(
        document,
        _panels(statistics),
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
            stops=tuple(f"dₖ = {width:,}" for width in WIDTHS),
            says=_captions(statistics),
            first=nearest_width_index(width),
            tells=True,
        ),
    )
    document.caption(
        f"Bars: one draw. Curves: median of {draws} draws, band: 10th to 90th percentile. Dashed: the entropy of "
        "uniform weights. The gradient of softmax is the Frobenius norm of its Jacobian, diag(α) − ααᵀ. Where it is "
        "near zero, almost no gradient reaches queries and keys."
    )


@cached()
def _captions(results: SoftmaxStatistics) -> tuple[str, ...]:
    """Return a sentence for every width."""
    largest, entropy = (results.percentiles(name)[..., 0] for name in ("largest", "entropy"))
    keys = results.one.shape[-1]
    return tuple(findings.softmax_at_width(width, keys, largest[:, i], entropy[:, i]) for i, width in enumerate(WIDTHS))


@cached()
def _panels(results: SoftmaxStatistics) -> tuple[Panel, ...]:
    """Draw the panels, cached for all visitors; the frame shows the selected width."""
    keys, last, result = results.one.shape[-1], len(WIDTHS) - 1, []
    for kind, title in enumerate(("Weights, not divided", "Weights, divided by √dₖ")):
        drawn, turned = weight_bars(results.one[kind], last)
        largest = f"at dₖ = {WIDTHS[-1]:,} the largest is {results.one[kind, -1].max():.2f}"
        alt = f"{title}: of one draw of {keys} keys, {largest}."
        result.append(Panel(f"weights-{kind}", drawn, alt=alt, title=title, frames=turned))
    ceiling = math.log(keys)
    axes: dict[str, tuple[str, Axis, int | str]] = {
        "largest": ("Largest weight", Axis((0.0, 1.02), (0.0, 0.5, 1.0)), 2),
        "size": ("Standard deviation of the scores", Axis((0.3, 40.0), (1.0, 10.0), log=True), 2),
        "entropy": (
            "Entropy of the weights, nats",
            Axis((0.0, ceiling * 1.12), (0.0, 1.0, 2.0, 3.0), (ceiling, f"ln {keys}")),
            2,
        ),
        "gradient": ("Gradient of softmax", Axis((_GRADIENT_AXIS_MIN, 1.0), (1e-4, 1e-2, 1.0), log=True), "power"),
    }
    for name, (title, axis, digits) in axes.items():
        values = results.percentiles(name)
        drawn, stops = quantity_by_width(WIDTHS, np.maximum(values, axis.span[0]) if axis.log else values, axis, last)
        ends = f"{values[0, -1, 0]:.2g} not divided, {values[1, -1, 0]:.2g} divided"
        result.append(
            Panel(
                f"widths-{name}",
                drawn,
                alt=f"{title} by dₖ from 1 to {WIDTHS[-1]:,}; at the end {ends}.",
                title=title,
                tracks=value_tracks([("not divided", COLOUR), ("divided", COLOUR)], digits, TRACES_PER_LINE),
                rest=tuple(map(float, WIDTHS)),
                frames=stops,
            )
        )
    return tuple(result)
