"""Why some remember: the gradient along the sequence, step by step of every training, and the formula behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.catalogue import MODELS
from explorer.figures.memory_gradients import PER_LINE, Reach, reach_figure
from explorer.training.recall_runs import Contestant
from explorer.training.record import Record
from explorer.training.store import StoredRun
from explorer.ui import memory_why_findings as findings
from explorer.ui.components import Panel, Playback, frame, tracks
from explorer.ui.memory import Memory
from explorer.ui.page import empty_panel, explanation, plain
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession
from explorer.ui.slowly import each_eventually

MOST_STOPS = 28  # of the playback: more would only travel longer
HEIGHT = 440


@dataclass(frozen=True, eq=False)
class Through:
    """What one run's gradients and gates were at its snapshots."""

    steps: tuple[int, ...]
    norms: Float[ndarray, "steps replicas time"]
    shares: Float[ndarray, "replicas units"] | None  # that are kept at a step before training; None without gates
    radii: Float[ndarray, " replicas"] | None  # of a plain net before training


def why_section(session: PageSession[Memory], lanes: Mapping[str, Lane]) -> None:
    """The whole section. `lanes` are those of the page, by the name of their contestant."""
    st.header("Why: how far back the loss reaches", anchor=False)
    explanation(
        "Learning follows the gradient. What the first symbol should change is known only at the end, and word of it "
        "must come back through every step between. Here is how much of it arrives at each symbol."
    )
    contestants = session.state.contestants
    without(lanes, contestants)
    wanted = {
        name: (("memory-gradients", *lane.stamp), partial(through, lane)) for name, lane in lanes.items() if lane.kept
    }
    if not wanted:
        empty_panel("No run to look into yet: train above, and its gradients stand here.", HEIGHT)
        return

    def draw(found: Mapping[str, Through]) -> None:
        _draw({name: each for name, each in found.items() if name in contestants}, contestants, lanes)

    each_eventually("memory-why", wanted, draw, "Every run is asked for its gradients, snapshot by snapshot …", HEIGHT)


def without(lanes: Mapping[str, Lane], contestants: Mapping[str, Contestant]) -> None:
    """Say who has no run to look into, if others have."""
    titles = [contestants[name].title for name, lane in lanes.items() if not lane.kept and name in contestants]
    if titles and len(titles) < len(lanes):
        st.caption(plain(findings.missing(titles)))


def through(lane: Lane) -> Through:
    """Ask a run at each of its snapshots. Raises DamagedRun."""
    from explorer.inspection.gates import gated, kept_shares
    from explorer.inspection.gradients import along_sequence, spectral_radii
    from explorer.inspection.opening import open_model
    from explorer.models.recurrence import RecurrentClassifier

    assert lane.kept is not None
    steps = snapshot_steps(lane.kept)
    norms = [along_sequence(open_model(lane.kept, step)) for step in steps]
    first = open_model(lane.kept, steps[0])
    recurrent = isinstance(first.stack, RecurrentClassifier)
    return Through(
        tuple(steps),
        np.stack(norms),
        kept_shares(first) if recurrent and gated(first) else None,
        spectral_radii(first) if recurrent and not gated(first) else None,
    )


def snapshot_steps(kept: StoredRun | Record) -> list[int]:
    """At which steps of a run there are weights."""
    return kept.snapshot_steps() if isinstance(kept, StoredRun) else sorted(kept.snapshots)


def step_words(step: int) -> str:
    return "before training" if step == 0 else f"step {step:,}"


def stops_of(found: Mapping[str, Through]) -> list[int]:
    """The steps at which any of the runs was kept, or so many of them that they travel quickly."""
    steps = sorted({step for each in found.values() for step in each.steps})
    if len(steps) <= MOST_STOPS:
        return steps
    return [steps[i] for i in np.unique(np.linspace(0, len(steps) - 1, MOST_STOPS).round().astype(int))]


def at_stops(each: Through, stops: list[int]) -> Float[ndarray, "stops replicas time"]:
    """A run's gradients at steps of others: those of its last snapshot before, and at its end it stays."""
    places = np.searchsorted(each.steps, stops, side="right") - 1
    whole: ndarray = each.norms[np.maximum(places, 0)]
    return whole


def _draw(found: Mapping[str, Through], contestants: Mapping[str, Contestant], lanes: Mapping[str, Lane]) -> None:
    length = next(iter(found.values())).norms.shape[-1]
    reached = [
        findings.reached(contestants[name].title, contestants[name].model != "transformer", each.norms, each.steps[-1])
        for name, each in found.items()
    ]
    st.subheader(plain(findings.gradient_finding(reached, length)), anchor=False)
    stops = stops_of(found)
    panel = _panel(tuple((contestants[name], each) for name, each in found.items()), tuple(stops))
    words = tuple(map(step_words, stops))
    run = "/".join(str(lanes[name].stamp) for name in found)
    last = len(stops) - 1
    frame(
        [panel],
        key="memory-gradients",
        height=HEIGHT,
        playback=Playback(run, last, last, False, "all trainings", stops=words, first=0),
    )
    st.caption(
        "|∂L/∂x| at each symbol, a mean over 64 fresh sequences; the axis is logarithmic and the same at every step. "
        "Line: middle seed. Band: lowest to highest. A run that has ended stays as it was."
    )
    st.markdown(plain(findings.trained_finding(reached)))
    _formulas(found, contestants, length)


def _formulas(found: Mapping[str, Through], contestants: Mapping[str, Contestant], length: int) -> None:
    """The product behind it, and what it comes to in these runs."""
    if length < 2:
        return
    explanation("In a plain RNN the way back is a product of as many matrices as there are steps between:")
    st.latex(
        r"\frac{\partial L}{\partial h_t} = \frac{\partial L}{\partial h_T} "
        r"\prod_{k=t+1}^{T} \operatorname{diag}\!\left(1 - h_k^2\right) U"
    )
    for name, each in found.items():
        if each.radii is not None:
            explanation(plain(findings.shrinking(contestants[name].title, each.radii, length)))
    explanation(
        "A gate opens a second way, on which nothing is multiplied but the gate itself: what the LSTM’s cell or the "
        "GRU’s state keeps at each step."
    )
    st.latex(r"c_T = \Big(\prod_{k=t+1}^{T} f_k\Big) \odot c_t + \ldots")
    for name, each in found.items():
        if each.shares is not None:
            explanation(plain(findings.straight_path(contestants[name].title, each.shares, length)))


@lru_cache(maxsize=32)
def _panel(drawn: tuple[tuple[Contestant, Through], ...], stops: tuple[int, ...]) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    lines = [
        Reach(each.short, each.title, MODELS[each.model].colour, each.dash, at_stops(one, list(stops)))
        for each, one in drawn
    ]
    figure, frames = reach_figure(lines)
    return Panel(
        "gradients",
        figure,
        alt=f"The gradient at each symbol, from before training to its end: {', '.join(line.title for line in lines)}.",
        tracks=tracks([(line.title, line.colour) for line in lines], "power", PER_LINE),
        rest=1.0,
        frames=frames,
    )
