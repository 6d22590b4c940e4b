"""Untrained stacks of up to 24 blocks: with and without residuals, with norms before or after each part, or none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace

import numpy as np
import streamlit as st

from explorer.labs.depth import findings
from explorer.labs.depth.stack_measurements import PackedMeasurements, measurement_job
from explorer.labs.depth.state import HEAD_COUNTS, LAYERS, DepthState
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.deferred_sections import show_latest
from explorer.ui.page_sections import escape_markdown, explanation
from explorer.ui.state.session import PageSession, bind_widget, write_url
from explorer.web import array_store

HEIGHT = 900
_KEY = "stacks"
_component = register("residual_stacks")
INITIALIZATIONS = {
    "usual": "as our layers start",
    "kept": "each matrix keeps the size",
    "zero": "each part starts at zero",
}


def _handle_component_event(session: PageSession[DepthState]) -> None:
    """Apply the visitor's last change in the component. It is in a fragment, so the whole page is rerun if the state
    changed.
    """
    message, before = pop_event(_KEY, "set"), session.state
    if message is not None:
        session.change(lambda state: state.apply_stacks_event(message))
        write_url(session)
    if session.state != before:
        st.rerun()


def stacks_section(session: PageSession[DepthState]) -> None:
    """Draw the controls and the measurements of the stacks."""
    st.header("Up to 24 blocks: residuals and norms", anchor=False)
    explanation(
        "A stack of Transformer blocks that has learned nothing yet reads random symbols and is asked for random ones. "
        "What reaches its top, and what comes back to its bottom? Take the residual away, move the norm, add blocks."
    )
    _controls(session)

    def requested_measurements() -> Mapping[str, tuple[tuple[Hashable, ...], Callable[[], PackedMeasurements]]]:
        _handle_component_event(session)
        return {"stacks": measurement_job(session.state.start, session.state.heads)}

    show_latest(
        "depth-stacks",
        requested_measurements,
        lambda results, old: _draw(session.state, results["stacks"]),
        "Eighty stacks of 24 blocks are drawn, read and asked for their gradients …",
        HEIGHT,
    )


def _controls(session: PageSession[DepthState]) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="top"):
        binding = bind_widget(session, "depth.start", state.start, lambda s, start: replace(s, start=start))
        st.selectbox(
            "Start of the matrices",
            list(INITIALIZATIONS),
            format_func=INITIALIZATIONS.__getitem__,
            width=260,
            **binding,
        )
        binding = bind_widget(session, "depth.heads", state.heads, lambda s, heads: replace(s, heads=heads))
        st.selectbox("Heads in each block", list(HEAD_COUNTS), width=160, **binding)


def _draw(state: DepthState, result: PackedMeasurements) -> None:
    from explorer.inspection.transformer.depth import (
        COMBINATIONS,
        MEAN_SQUARE_GAIN,
        SEEDS,
        SYMBOLS,
        TOKENS,
        WIDTH,
        expected_mean_squares,
    )

    lines = [expected_mean_squares(combination, result.start) for combination in COMBINATIONS]
    _component(
        data={
            "combinations": [vars(combination) for combination in COMBINATIONS],
            "heights": LAYERS,
            "expected": [None if line is None else np.log10(line).round(5).tolist() for line in lines],
            "chosen": {name: getattr(state, name) for name in ("residual", "norm", "kind", "layers")},
            "address": array_store.register_array(result.content),
            "file": f"stacks-{result.start}-{result.heads}-heads",
        },
        key=_KEY,
        **event_callbacks(_KEY, "set"),
    )
    share = MEAN_SQUARE_GAIN[result.start]
    st.caption(
        escape_markdown(
            f"Line: the middle of {SEEDS} random starts, each with {TOKENS} symbols of {SYMBOLS} of its own; band: "
            f"lowest to highest. Dashed in the first panel: between what the formula expects. Pale: the other "
            f"combinations, dotted where there is no residual. Width {WIDTH}, {result.heads} heads. "
            f"{findings.initialization_text(result.start, share)}"
        )
    )
    _formulas(state, result)


def _formulas(state: DepthState, result: PackedMeasurements) -> None:
    """Draw the formulas with the numbers of the selected height."""
    from explorer.inspection.transformer.depth import COMBINATIONS, MEAN_SQUARE_GAIN, Combination, expected_mean_squares

    middle, between = {}, {}
    for norm in ("pre", "none", "post"):
        combination = Combination(True, norm)
        mean_squares = result.measurements.size[COMBINATIONS.index(combination), state.layers]
        middle[norm] = float(np.median(mean_squares))
        line = expected_mean_squares(combination, result.start)
        assert line is not None  # the formula covers all stacks with residuals
        between[norm] = (float(line[0, state.layers]), float(line[1, state.layers]))
    st.subheader("Why", anchor=False)
    explanation(
        "With a residual each part adds to what is there. The attention adds at most s² of what it reads, less where "
        "it averages tokens that differ; the feedforward layer adds s²/2, because ReLU takes half. A norm before the "
        "part makes what it reads 1, so that v grows by the same amount at every block. Without a norm the part reads "
        "what has grown already, and v grows by a factor. A norm after the sum divides by what has grown, and with it "
        "everything that older blocks have left."
    )
    st.latex(
        r"\begin{aligned}\text{before: }&1 + l\,\tfrac{s^2}{2} \le v_l \le 1 + l\left(\tfrac{s^2}{2} + s^2\right)\\"
        r"\text{none: }&a^l \le v_l \le a^l\left(1 + s^2\right)^l, \quad a = 1 + \tfrac{s^2}{2}\\"
        r"\text{after: }&v_l = 1\end{aligned}"
    )
    explanation(
        escape_markdown(
            findings.formula_text(
                result.start,
                MEAN_SQUARE_GAIN[result.start],
                state.layers,
                between["pre"],
                between["none"],
                middle,
            )
        )
    )
    _gradient_claims(state, result)


def _gradient_claims(state: DepthState, result: PackedMeasurements) -> None:
    """Draw what is often said about gradients in deep stacks beside what was measured."""
    from explorer.inspection.transformer.depth import COMBINATIONS, Combination

    after, before = (COMBINATIONS.index(Combination(True, norm)) for norm in ("post", "pre"))
    results, top = result.measurements, max(2, state.layers)
    rms = COMBINATIONS.index(Combination(True, "pre", "rms"))
    explanation(escape_markdown(findings.norm_kinds_text(results.size[before, top], results.size[rms, top], top)))
    down = results.stream[after, top - 1]
    explanation(escape_markdown(findings.vanishing_gradient_text(down[1] / down[top], top)))
    if top > 2:

        def topmost(which: int) -> tuple[float, float]:
            low, high = (float(np.median(results.weights[which, height - 1, height])) for height in (2, top))
            return low, high

        grown = float(np.median(results.size[before, top] / results.size[before, 2]))
        explanation(escape_markdown(findings.top_block_text(topmost(after), topmost(before), (2, top), grown)))
