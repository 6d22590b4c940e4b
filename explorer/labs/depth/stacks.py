"""Untrained stacks of up to 24 blocks: with and without residuals, with norms before or after each part, or none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import streamlit as st

from explorer.inspection.transformer import depth
from explorer.labs.depth import findings
from explorer.labs.depth.multi_head import heads_formulas
from explorer.labs.depth.stack_measurements import PackedMeasurements, measurement_job
from explorer.labs.depth.state import LAYERS, DepthState
from explorer.ui.document import Document
from explorer.ui.page_sections import explanation
from explorer.ui.result_section import Request, result_section
from explorer.ui.state.session import PageSession, apply_component_event
from explorer.ui.state.widgets import bind_widget, reset_button
from explorer.web.results import register_arrays

HEIGHT, NUMBERS_HEIGHT = 900, 260
_PLACEHOLDER = "Eighty untrained stacks of 24 blocks are measured, with their gradients …"
_KEY = "stacks"


def stacks_section(session: PageSession[DepthState]) -> None:
    """Draw the measurements of the stacks, and the settings below them."""

    def requested_measurements() -> Mapping[str, Request[PackedMeasurements]]:
        apply_component_event(session, _KEY, DepthState.apply_stacks_event)
        return {"stacks": measurement_job(session.state.start, session.state.heads)}

    result_section(
        "depth-stacks",
        requested_measurements,
        partial(_draw, session.state),
        _PLACEHOLDER,
        HEIGHT,
        events={_KEY: ("set",)},
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.popover("Settings", icon=":material/tune:"):
            bind_widget(session, "start", st.selectbox, width=260)
            bind_widget(session, "heads", st.selectbox, width=160)
        reset_button(session, "fresh", lambda _: DepthState())


def formulas_section(session: PageSession[DepthState]) -> None:
    """Draw the growth of the stream with its measured numbers, and the formulas of the split into heads."""
    _formulas()
    measurements = {"stacks": measurement_job(session.state.start, session.state.heads)}
    result_section(
        "depth-numbers", measurements, partial(_draw_numbers, session.state.layers), _PLACEHOLDER, NUMBERS_HEIGHT
    )
    heads_formulas()


def _draw(state: DepthState, document: Document, results: Mapping[str, PackedMeasurements]) -> None:
    result = results["stacks"]
    lines = [depth.expected_mean_squares(combination, result.start) for combination in depth.COMBINATIONS]
    document.component(
        "residual_stacks",
        {
            "combinations": [vars(combination) for combination in depth.COMBINATIONS],
            "heights": LAYERS,
            "expected": [None if line is None else np.log10(line).round(5).tolist() for line in lines],
            "chosen": {name: getattr(state, name) for name in ("residual", "norm", "kind", "layers")},
            "address": register_arrays(result.content),
            "file": f"stacks-{result.start}-{result.heads}-heads",
        },
        key=_KEY,
    )
    share = depth.MEAN_SQUARE_GAIN[result.start]
    document.caption(
        f"Line: median of {depth.SEEDS} random initializations, band: lowest to highest. Pale: the other combinations, "
        f"dotted without a residual. Dashed in the first panel: the expected range. Input: {depth.TOKENS} random "
        f"symbols out of {depth.SYMBOLS}. Width {depth.WIDTH}, {result.heads} heads. "
        f"{findings.initialization_text(result.start, share)}"
    )


def _formulas() -> None:
    """Draw how the mean square of the stream grows from block to block."""
    explanation(
        "Let v be the mean square of the numbers in the residual stream, and s the share of it that one matrix keeps. "
        "The attention adds at most s² of its input, less where it averages different tokens; the feedforward layer "
        "adds s²/2, because ReLU sets half of the numbers to zero. With the norm before each part the input has mean "
        "square 1, so v grows by a constant amount per block. Without a norm v grows by a constant factor. With the "
        "norm after each sum v stays 1."
    )
    st.latex(
        r"\begin{aligned}\text{before: }&1 + l\,\tfrac{s^2}{2} \le v_l \le 1 + l\left(\tfrac{s^2}{2} + s^2\right)\\"
        r"\text{none: }&a^l \le v_l \le a^l\left(1 + s^2\right)^l, \quad a = 1 + \tfrac{s^2}{2}\\"
        r"\text{after: }&v_l = 1\end{aligned}"
    )


def _draw_numbers(layers: int, document: Document, results: Mapping[str, PackedMeasurements]) -> None:
    """Write the numbers of the formulas for a stack of this many blocks, and what was measured of its gradients."""
    result = results["stacks"]
    middle, between = {}, {}
    for norm in ("pre", "none", "post"):
        combination = depth.Combination(True, norm)
        mean_squares = result.measurements.size[depth.COMBINATIONS.index(combination), layers]
        middle[norm] = float(np.median(mean_squares))
        line = depth.expected_mean_squares(combination, result.start)
        assert line is not None  # the formula covers all stacks with residuals
        between[norm] = (float(line[0, layers]), float(line[1, layers]))
    gain = depth.MEAN_SQUARE_GAIN[result.start]
    document.text(findings.formula_text(result.start, gain, layers, between["pre"], between["none"], middle))
    _gradient_findings(max(2, layers), document, result.measurements)


def _gradient_findings(top: int, document: Document, measured: depth.StackMeasurements) -> None:
    """Write what was measured of the gradients in stacks of `top` blocks."""
    after, before = (depth.COMBINATIONS.index(depth.Combination(True, norm)) for norm in ("post", "pre"))
    rms = depth.COMBINATIONS.index(depth.Combination(True, "pre", "rms"))
    document.text(findings.norm_kinds_text(measured.size[before, top], measured.size[rms, top], top))
    down = measured.stream[after, top - 1]
    document.text(findings.vanishing_gradient_text(down[1] / down[top], top))
    if top > 2:

        def topmost(which: int) -> tuple[float, float]:
            low, high = (float(np.median(measured.weights[which, height - 1, height])) for height in (2, top))
            return low, high

        grown = float(np.median(measured.size[before, top] / measured.size[before, 2]))
        document.text(findings.top_block_text(topmost(after), topmost(before), (2, top), grown))
