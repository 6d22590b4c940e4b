"""Gradient flow: gradient norms along the sequence at every snapshot of the training, and the formulas behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer import charts, ui
from explorer.byte_cache import cached
from explorer.charts import Drawing
from explorer.charts.chart import Trace
from explorer.charts.style import band, css_colour, escape_markup, line_trace, power_of_ten
from explorer.experiments.model_variant import ModelVariant
from explorer.inspection.recurrent import input_gradients
from explorer.labs.memory import gradient_findings as findings
from explorer.labs.memory.state import MemoryState

MAX_POSITIONS = 60  # of a sequence that are shown
_MAX_TICKS = 5
_LABEL_LINE_HEIGHT = 0.062  # of one line of a label, as a share of the height
_LONG_LABEL = 12  # letters


@dataclass(frozen=True, eq=False)
class GradientLine:
    """The gradient norms of one model."""

    label: str  # short: it stands at the first symbol
    title: str
    colour: str
    dash: str
    norms: Float[ndarray, "frames seeds time"]  # |dL/dx_t|


def gradient_charts(words: str, lines: Sequence[GradientLine]) -> list[Drawing]:
    """Return |dL/dx_t| / |dL/dx_T| over the symbols, a chart for each frame, on the same logarithmic axis.

    words: the text alternative
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = [line.norms / line.norms[..., -1:] for line in lines]
    # Of each line the lowest seed, the highest seed and the median: frames x 3 x time.
    values = [np.stack([fold(each, axis=1) for fold in (np.min, np.max, np.median)], axis=1) for each in ratios]
    time = values[0].shape[-1]
    positions = np.unique(np.linspace(0, time - 1, min(time, MAX_POSITIONS)).round().astype(int))
    span = _exponent_range(values)
    layout = {
        "xaxis": {"title": {"text": "symbol"}, "range": [1, max(time, 2)], "tickvals": _position_ticks(time)},
        "yaxis": {"type": "log", "range": list(span), "side": "right", **_power_ticks(*span)},
        "margin": {"l": 104, "r": 8, "t": 12, "b": 8},
    }
    readouts = [
        {
            "title": line.title,
            "colour": line.colour,
            "digits": "power",
            "low": 4 * i,
            "high": 4 * i + 1,
            "trace": 4 * i + 2,
        }
        for i, line in enumerate(lines)
    ]
    found = []
    for frame in zip(*values, strict=True):
        heights = _label_heights([float(median[0]) for *_, median in frame], list(map(_label, lines)), span)
        traces = [
            trace
            for line, each, height in zip(lines, frame, heights, strict=True)
            for trace in _traces(line, (positions + 1).tolist(), each[:, positions], height)
        ]
        found.append(Drawing(words, traces, layout, readouts))
    return found


def _position_ticks(time: int) -> list[int]:
    """Return ticks from the first symbol to the last."""
    step = max(1, round(time / 5))
    between = [position for position in range(step, time, step) if 1 + step / 2 < position < time - step / 2]
    return [1, *between, time] if time > 1 else [1]


def _power_ticks(low: float, high: float) -> dict[str, Any]:
    """Return few ticks at whole powers of ten."""
    step = max(1, math.ceil((high - low) / (_MAX_TICKS - 1)))
    powers = [power for power in range(math.ceil(low), math.floor(high) + 1) if power % step == 0]
    return {"tickvals": [10.0**power for power in powers], "ticktext": list(map(power_of_ten, powers))}


def _exponent_range(values: Sequence[Float[ndarray, "frames 3 time"]]) -> tuple[float, float]:
    """Return the exponents between which the median of every line lies in every frame, with a margin.

    Bands may leave the figure: a single outlying seed would compress all other lines.
    """
    every = np.concatenate([each[:, 2].ravel() for each in values])
    every = every[np.isfinite(every) & (every > 0)]
    if not len(every):
        return -1.0, 0.0
    low, high = float(np.log10(every.min())), float(np.log10(every.max()))
    room = 0.04 * max(high - low, 1.0)
    return low - room, high + room


def _traces(line: GradientLine, x: list[int], values: Float[ndarray, "3 places"], height: float) -> list[Trace]:
    """Return the lowest seed, the highest seed, the median and the label of a line."""
    low, high, median = ([_round_positive(value) for value in each] for each in values)
    label = {
        "type": "scatter",
        "mode": "text",
        "x": [1],
        "y": [_round_positive(height)],
        "text": [_label(line)],
        "textposition": "middle left",
        "textfont": {"size": 14, "color": css_colour(line.colour)},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "name": line.title,
        "meta": {"label": True},  # excluded from saved tables: it has no data
    }
    edges = f"{line.title}, lowest seed", f"{line.title}, highest seed"
    middle = line_trace(x, median, f"{line.title}, median", line.colour, line.dash)
    return [*band(x, low, high, edges, line.colour, 0.18), middle, label]


def _round_positive(value: float) -> float | None:
    """Return a number with three significant digits; None for values that a logarithmic axis cannot show."""
    return float(f"{value:.3g}") if math.isfinite(value) and value > 0 else None


def _label(line: GradientLine) -> str:
    """Return a bold label with a space before the axis, in two lines if it is long."""
    first, _, rest = line.label.partition(" ")
    parts = [first, rest] if len(line.label) > _LONG_LABEL and rest else [line.label]
    return "<br>".join(f"<b>{escape_markup(each)}</b>&nbsp;&nbsp;" for each in parts)


def _label_heights(ends: Sequence[float], labels: Sequence[str], span: tuple[float, float]) -> list[float]:
    """Return the heights of the labels: where the lines begin, moved apart as little as possible where they overlap."""
    from scipy.optimize import isotonic_regression

    low, high = span
    shares = [(math.log10(end) - low) / (high - low) if end > 0 and math.isfinite(end) else 0.0 for end in ends]
    order = np.lexsort((np.arange(len(shares)), -np.asarray(shares)))  # from the top
    half = np.array([_LABEL_LINE_HEIGHT / 2 * (1 + label.count("<br>")) for label in labels])[order]
    below_first = np.cumsum(2 * half) - half - half[0]
    lifted = isotonic_regression(np.asarray(shares)[order] + below_first, increasing=False).x
    placed = np.empty(len(shares))
    placed[order] = np.clip(lifted, below_first[-1] + half[-1], 1.0 - half[0]) - below_first
    return [10 ** (low + placed[i] * (high - low)) for i in range(len(ends))]


MAX_STOPS = 28  # of the playback: more would only travel longer
HEIGHT = 400


def section(session: ui.PageSession[MemoryState], views: Mapping[str, ui.RunView]) -> None:
    """Draw the gradient norms of all runs at every snapshot, and a table of them."""
    ui.explanation(
        "A network learns from the gradient of its loss. The loss is known only after the last symbol, so its gradient "
        "has to travel back through every step to reach the first one."
    )
    runs = ui.loaded_runs(views, "No finished run yet: train the models above to see their gradients.", HEIGHT)
    if not runs:
        return
    ui.show_each(
        "memory-why",
        {name: ui.Call(input_gradients.gradient_history, run) for name, run in runs.items()},
        gradients_view,
        session.state.variants,
        "/".join(f"{run.key} {run.cache_key[1]}" for run in runs.values()),
        waiting="The gradients of every run are being computed …",
        height=HEIGHT + 420,
        partly=True,
    )


def playback_steps(histories: Mapping[str, input_gradients.GradientHistory]) -> list[int]:
    """Return the union of the snapshot steps, at most MAX_STOPS of them."""
    steps = sorted({step for each in histories.values() for step in each.steps})
    if len(steps) <= MAX_STOPS:
        return steps
    return [steps[i] for i in np.unique(np.linspace(0, len(steps) - 1, MAX_STOPS).round().astype(int))]


def norms_at_steps(each: input_gradients.GradientHistory, stops: list[int]) -> Float[ndarray, "stops replicas time"]:
    """Return a run's gradient norms at given steps: those of the last snapshot before each."""
    indices = np.searchsorted(each.steps, stops, side="right") - 1
    norms: ndarray = each.norms[np.maximum(indices, 0)]
    return norms


def gradients_view(
    document: ui.Document,
    histories: Mapping[str, input_gradients.GradientHistory],
    variants: Mapping[str, ModelVariant],
    run: str,
) -> None:
    """Write the finding, the chart and the table; `run`: of the playback, which restarts when it changes."""
    length = next(iter(histories.values())).norms.shape[-1]
    reached = {
        variants[name]: findings.gradient_ratio(
            variants[name].title, variants[name].model != "transformer", each.norms, each.steps[-1]
        )
        for name, each in histories.items()
    }
    document.finding(findings.gradient_finding(list(reached.values()), length))
    stops = playback_steps(histories)
    panel = _panel(tuple((variants[name], each) for name, each in histories.items()), tuple(stops))
    last, labels = len(stops) - 1, tuple(f"step {step:,}" if step else "before training" for step in stops)
    playback = ui.Playback(run, last, last, False, "", stops=labels, first=0)
    document.figures("memory-gradients", [panel], height=HEIGHT, playback=playback)
    document.caption(
        "Norm of the gradient |∂L/∂x| at each symbol divided by that at the last (logarithmic axis), a mean over 64 "
        "new sequences. Line: median over seeds; band: lowest to highest. After its last step a run keeps its values."
    )
    if length > 1:
        document.table("memory-gradient-ratios", ratios_table(reached, list(histories.values()), length))


def ratios_table(
    ratios: Mapping[ModelVariant, findings.GradientRatio],
    histories: Sequence[input_gradients.GradientHistory],
    length: int,
) -> charts.Table:
    """Return the ratio of the first to the last gradient, and the factors that explain it, a row for each variant."""
    columns = {
        "name": charts.Column("model", "model", wrap=True),
        "before": charts.Column("untrained", "number"),
        "range": charts.Column("lowest to highest seed", "number", minor=True),
        "after": charts.Column("trained", "number"),
        "factor": charts.Column("factor per step", minor=True),
        "left": charts.Column("product over all steps", "number", minor=True),
        "most": charts.Column("most open unit", "number", minor=True),
    }
    rows: list[charts.Row] = []
    for (variant, ratio), each in zip(ratios.items(), histories, strict=True):
        factor, left, most = findings.backward_factor(each.radii, each.shares, length)
        rows.append(
            {
                "name": charts.Cell(variant.title, variant.colour),
                "before": findings.format_ratio(ratio.before),
                "range": findings.format_ratio_range(ratio.before),
                "after": findings.format_ratio(ratio.after),
                "factor": factor,
                "left": left,
                "most": most,
            }
        )
    caption = (
        "Gradient at the first symbol divided by that at the last: median over seeds. Factor per step, before "
        "training: the spectral radius of U (RNN), or the share that the median unit keeps (gate); its product over "
        f"{length - 1} steps, and that of the unit whose gate is most open. A Transformer has no such product."
    )
    label = "Gradient at the first symbol divided by that at the last, a row a model"
    return charts.Table(columns, rows, label, caption)


def draw_formulas() -> None:
    """Draw the product of Jacobians and of gates."""
    ui.explanation(
        "In a plain RNN the gradient is multiplied by the matrix U, and by slopes of at most 1, at every step. A gate "
        "opens a second path: the cell of an LSTM, or the state of a GRU, is multiplied only by the gate itself."
    )
    rnn, gated = st.columns(2, vertical_alignment="center")
    rnn.latex(
        r"\frac{\partial L}{\partial h_t} = \frac{\partial L}{\partial h_T} "
        r"\prod_{k=t+1}^{T} \operatorname{diag}\!\left(1 - h_k^2\right) U"
    )
    gated.latex(r"c_T = \Big(\prod_{k=t+1}^{T} f_k\Big) \odot c_t + \ldots")


@cached()
def _panel(drawn: tuple[tuple[ModelVariant, input_gradients.GradientHistory], ...], stops: tuple[int, ...]) -> ui.Panel:
    """Return the chart with a frame for each stop; it is cached for all visitors of the same runs."""
    lines = [
        GradientLine(each.full_label, each.title, each.colour, each.dash, norms_at_steps(one, list(stops)))
        for each, one in drawn
    ]
    titles = ", ".join(line.title for line in lines)
    frames = gradient_charts(f"The gradient at each symbol, from before training to its end: {titles}.", lines)
    return ui.Panel("gradients", frames[0], rest=1.0, frames=frames)
