"""Where gradients explode instead: the size of a plain net's recurrent matrix, and what clipping does about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.figures.comparison import Line
from explorer.figures.experiments import curves
from explorer.figures.memory_gradients import PER_LINE, Reach, reach_figure
from explorer.inspection.comparing import thinned
from explorer.training.config import RunConfig
from explorer.training.exploding_runs import GAINS, GROUNDS, LENGTH, Ground
from explorer.training.record import Curves
from explorer.ui import memory_why_findings as findings
from explorer.ui import runs, training_controls
from explorer.ui.components import Panel, Playback, frame, heard, tracks
from explorer.ui.memory import Memory
from explorer.ui.memory_why_findings import Clipped
from explorer.ui.page import explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, write_address
from explorer.ui.slowly import eventually
from explorer.ui.training_controls import Asked

HEIGHT = 360
_ROW = MODELS["rnn"]
_LINES = {"none": ("none", "without clipping", "6px,4px"), "clip": ("clip", "with clipping", "solid")}
_LOOKS = {"loss": "loss of each batch", "gradient": "length of the gradient"}


def exploding_section(session: PageSession[Memory]) -> None:
    """The whole section."""
    st.header("The other way round: gradients that explode", anchor=False)
    explanation(
        "The same product can also grow. Scale the recurrent matrix U of an untrained RNN, and see what comes back to "
        "the first symbol. Its size is its spectral radius, the largest of its eigenvalues without their signs."
    )
    length = min(session.state.length, _LONGEST)
    eventually(
        "memory-exploding",
        ("memory-exploding", length),
        partial(_measured, length),
        lambda measured: _gains(session, measured),
        f"Eight RNNs are scaled to {len(GAINS)} radii and asked for their gradients …",
        HEIGHT,
    )
    _clipping()


# ---- the size of the matrix

_LONGEST = 200  # symbols


@dataclass(frozen=True, eq=False)
class Measured:
    """The gradient at each symbol. As the key of a cache the same object is the same measurement."""

    norms: Float[ndarray, "gains replicas time"]


def _measured(length: int) -> Measured:
    from explorer.inspection.exploding import by_gain

    return Measured(by_gain(GAINS, length))


def _nearest(gain: float) -> int:
    return int(np.abs(np.array(GAINS) - gain).argmin())


def _gains(session: PageSession[Memory], measured: Measured) -> None:
    said = heard("memory-gains", "stop")
    if isinstance(said, int) and 0 <= said < len(GAINS):
        session.change(lambda state: replace(state, gain=GAINS[said]))
        write_address(session)
    st.subheader(plain(findings.exploding_finding(GAINS, measured.norms)), anchor=False)
    last = len(GAINS) - 1
    words = tuple(f"spectral radius {gain:g}" for gain in GAINS)
    run = f"gains/{measured.norms.shape[-1]}"
    frame(
        [_gain_panel(measured)],
        key="memory-gains",
        height=HEIGHT,
        playback=Playback(
            run, last, last, False, "all radii", stops=words, first=_nearest(session.state.gain), tells=True
        ),
    )
    st.caption(
        "Before training. Line: middle of eight seeds, band: lowest to highest. Dotted: a linear net of this radius, "
        "radius to the power of T − t, that ends alike. tanh flattens where it is far from 0, so the measured line "
        "grows more slowly."
    )


@lru_cache(maxsize=16)
def _gain_panel(measured: Measured) -> Panel:
    from explorer.inspection.exploding import linear

    lines = [
        Reach("RNN", "RNN, measured", _ROW.colour, "solid", measured.norms),
        Reach("linear net", "a linear net", "--soft", "2px,4px", linear(measured.norms, GAINS)),
    ]
    figure, frames = reach_figure(lines)
    return Panel(
        "gains",
        figure,
        alt=f"The gradient at each symbol of untrained RNNs, at spectral radii from {GAINS[0]:g} to {GAINS[-1]:g}.",
        tracks=tracks([(line.title, line.colour) for line in lines], "power", PER_LINE),
        rest=1.0,
        frames=frames,
    )


# ---- clipping


def _configs() -> dict[str, RunConfig]:
    return {f"{ground.name}-{which}": config for ground in GROUNDS for which, config in ground.runs().items()}


def _clipping() -> None:
    st.subheader("What clipping does, and what it cannot do", anchor=False)
    asked = Asked.of("exploding")
    lanes = runs.lanes(_configs(), asked.raced)
    st.markdown(f"##### {plain(findings.clipping_finding(_outcomes(lanes)))}")
    explanation(
        f"RNNs learn to recall the first of {LENGTH} symbols by plain gradient descent, whose steps are as long as the "
        "gradient. Clipping shortens a gradient that is longer than 1 to that length and leaves its direction. What "
        "has vanished it does not bring back."
    )
    st.latex(r"g \leftarrow g \cdot \min\!\left(1, \tfrac{1}{\lVert g \rVert}\right)")
    _controls(lanes, asked)
    races = asked.races
    training_controls.live_frame(
        "memory-clipping",
        _configs(),
        asked.raced,
        lanes,
        lambda now: (_panels(now), _playback(now, races)),
        height=220,
        narrow_height=180,
        columns=3,
    )
    st.caption(
        "Above the loss of each batch, in nats, below the length of the gradient before it is clipped; both axes are "
        "logarithmic. Line: mean of eight seeds. Band: lowest to highest."
    )


def _controls(lanes: Mapping[str, Lane], asked: Asked) -> None:
    problems(asked.problems)
    with st.container(horizontal=True, vertical_alignment="center"):
        training_controls.run_button(asked, _configs().values(), lanes, "memory.exploding")
        st.caption(f"{len(lanes)} trainings of eight seeds, {training_controls.cost(lanes)}.")


def _outcomes(lanes: Mapping[str, Lane]) -> list[Clipped]:
    """What came of each ground whose two runs are over."""
    found = []
    for ground in GROUNDS:
        none, clip = (lanes[f"{ground.name}-{which}"].result for which in ("none", "clip"))
        if none and clip and "accuracy" in none.metrics and "accuracy" in clip.metrics:
            found.append(
                Clipped(
                    ground.words,
                    none.last("accuracy"),
                    clip.last("accuracy"),
                    float(np.nanmax(none.signals["gradient_norm"])),
                    bool(np.array_equal(none.losses, clip.losses)),
                )
            )
    return found


def _panels(lanes: Mapping[str, Lane]) -> list[Panel]:
    """Above the loss, below the gradient, a column for each ground, all on one axis of their row."""
    spans = {look: _span(lanes, look) for look in _LOOKS}
    return [
        _panel(
            ground,
            look,
            tuple((which, lanes[f"{ground.name}-{which}"].curves) for which in _LINES),
            spans[look],
        )
        for look in _LOOKS
        for ground in GROUNDS
    ]


def _values(curves: Curves, look: str) -> Float[ndarray, "steps replicas"]:
    values: ndarray = curves.losses if look == "loss" else curves.signals["gradient_norm"]
    return values


def _span(lanes: Mapping[str, Lane], look: str) -> tuple[float, float]:
    """Whole powers of ten between which everything lies."""
    every = [_values(lane.curves, look).ravel() for lane in lanes.values() if lane.curves]
    known = np.concatenate(every) if every else np.ones(1)
    known = known[np.isfinite(known) & (known > 0)]
    if not len(known):
        return 0.1, 10.0
    low, high = np.floor(np.log10(known.min())), np.ceil(np.log10(known.max()))
    return float(10.0**low), float(10.0 ** max(high, low + 1))


@lru_cache(maxsize=64)
def _panel(ground: Ground, look: str, drawn: tuple[tuple[str, Curves | None], ...], span: tuple[float, float]) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    lines: list[Line] = []
    steps = 0.0
    for which, found in drawn:
        label, words, dash = _LINES[which]
        config = ground.runs()[which]
        steps = float(config.steps)
        if found is None or not len(found.losses):
            x, parts = np.zeros(0), np.zeros((0, 3))
        else:
            values = _values(found, look)
            parts = np.stack([values.mean(axis=1), values.min(axis=1), values.max(axis=1)], axis=1)
            kept = thinned(parts, most=150)
            x, parts = (kept + 1).astype(float), parts[kept]
        lines.append(Line(label, words, _ROW.colour, dash, x, *parts.T))
    return Panel(
        f"clipping-{ground.name}-{look}",
        curves(lines, "step", span, steps, log_y=True),
        alt=f"{ground.title}: {_LOOKS[look]} by step, without and with clipping.",
        title=f"{ground.title}: {'loss' if look == 'loss' else 'gradient'}",
        tracks=tracks([(line.title, line.colour) for line in lines], "power"),
    )


def _playback(lanes: Mapping[str, Lane], races: int) -> Playback:
    steps = max(lane.config.steps for lane in lanes.values())
    reached = max((lane.curves.step for lane in lanes.values() if lane.curves), default=0)
    return training_controls.playback(lanes, races, "exploding", steps, reached, unit="step", step=10.0)
