"""The mask taken away: two models on noise, of which one can see what it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, partial

import numpy as np
import streamlit as st
from jaxtyping import Float
from numpy import ndarray

from explorer.figures.comparison import Line
from explorer.figures.masks import losses
from explorer.inspection.comparing import over_seeds
from explorer.tasks.noise import NoiseConfig
from explorer.training.labelling_runs import Contestant
from explorer.training.record import Curves
from explorer.ui import masks_findings as findings
from explorer.ui import runs, tagged, training_controls
from explorer.ui.components import Panel, Playback, frame, tracks
from explorer.ui.findings import listed, seeds
from explorer.ui.masks import Masks
from explorer.ui.masks_findings import Leaked
from explorer.ui.page import explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.session import PageSession, bound
from explorer.ui.slowly import each_eventually
from explorer.ui.stepwise import last_step, playback
from explorer.ui.tagged import COLOUR, by_step, parts
from explorer.ui.training_controls import Asked

HEIGHT, NARROW, WRITTEN = 260, 200, 330
_READ = {"loss": "Read at once, as in training", "prefix_loss": "Fed as in generation"}
_SHOWN = 10  # rows that a model has written


def leak_section(session: PageSession[Masks]) -> None:
    """The whole section."""
    state, asked = session.state, Asked.of("noise")
    lanes = runs.lanes(state.configs, asked.raced)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.header("Take the causal mask away", anchor=False)
        training_controls.run_button(asked, state.configs.values(), lanes, "masks")
    explanation(
        "Two Transformers, alike in all but the mask, are to name the next symbol of random rows, at every place at "
        "once. Nothing can be learned: whoever spreads an even guess loses the logarithm of the number of symbols, and "
        "nobody who sees only the past can lose less on average."
    )
    _settings(session)
    problems(asked.problems)
    words = {name: each.words for name, each in state.contestants.items()}
    training_controls.offer_missing(lanes, asked, lambda names: listed([words[name] for name in names]))
    ends = outcomes(lanes)
    causal, without = ends.get("causal"), ends.get("open")
    if said := findings.verdict(state.symbols, causal, without):
        st.subheader(plain(said), anchor=False)
    _race(state, lanes, asked)
    if without is not None:
        explanation(plain(findings.generation(state.symbols, without)))
        _by_place(state, lanes)
        explanation(plain(findings.places(state.symbols, without)))
    _writing(state, lanes)


def _settings(session: PageSession[Masks]) -> None:
    state = session.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ties = bound(session, "masks.symbols", state.symbols, lambda s, v: s.racing(symbols=v))
        st.number_input("Different symbols", 2, 26, step=1, width=150, **ties)
        tagged.settings(session, "masks", by=50)


def outcomes(lanes: Mapping[str, Lane]) -> dict[str, Leaked]:
    """How each ended that was trained to its end."""
    found = {}
    for name, lane in lanes.items():
        curves = lane.result
        if training_controls.finished(lane) and curves is not None and len(curves.evaluated):
            found[name] = Leaked(curves.last("loss"), curves.last("prefix_loss"), parts(curves, "by_place"))
    return found


# ---- while they learn


def _race(state: Masks, lanes: Mapping[str, Lane], asked: Asked) -> None:
    races = asked.races
    training_controls.live_frame(
        "masks-race",
        state.configs,
        asked.raced,
        lanes,
        lambda now: _racing(state, now, races),
        height=HEIGHT,
        narrow_height=NARROW,
        columns=2,
    )
    outcome = training_controls.outcome(lanes)
    st.caption(
        f"{outcome} Loss in nats on 256 fresh rows of {NoiseConfig().length} symbols. Left: the row is read at once, "
        "every place asked. Right: every symbol is asked of the symbols before it alone. "
        f"{_line(state.seeds)} Across: what guessing costs.".strip()
    )


def _line(count: int) -> str:
    return f"Line: mean of {seeds(count)}. Band: lowest to highest." if count > 1 else "Line: one seed."


def _racing(state: Masks, lanes: Mapping[str, Lane], races: int) -> tuple[list[Panel], Playback]:
    last = last_step(lanes)
    drawn = tuple((state.contestants[name], lane.curves) for name, lane in lanes.items())
    panels = [_learning(metric, drawn, last, _top(drawn, state.symbols), state.symbols) for metric in _READ]
    return panels, playback(lanes, races, "noise")


def _top(drawn: tuple[tuple[Contestant, Curves | None], ...], symbols: int) -> float:
    """The end of the axis that all panels share: whole nats."""
    every = [curves.metrics[name].ravel() for _, curves in drawn if curves for name in _READ if name in curves.metrics]
    known = np.concatenate(every) if every else np.zeros(0)
    known = known[np.isfinite(known)]
    return float(np.ceil(max(known.max(initial=0.0), 1.3 * np.log(symbols), 1.0)))


@lru_cache(maxsize=64)
def _learning(
    metric: str, drawn: tuple[tuple[Contestant, Curves | None], ...], last: int, top: float, symbols: int
) -> Panel:
    """Drawn once for all visitors who look at the same runs."""
    lines = [by_step(each, curves, metric) for each, curves in drawn]
    return _panel(f"noise-{metric}", _READ[metric], lines, "step", float(last), top, symbols)


def _panel(name: str, title: str, lines: list[Line], axis: str, last: float, top: float, symbols: int) -> Panel:
    floor = float(np.log(symbols))
    ends = listed([f"{line.title} {line.mean[-1]:.2f}" for line in lines if len(line.mean)])
    return Panel(
        name,
        losses(lines, axis == "place", last, top, floor, f"ln {symbols} = {floor:.2f}"),
        alt=f"{title}: loss by {axis}; at the end {ends or 'nothing yet'}; guessing costs {floor:.2f}.",
        title=title,
        tracks=tracks([(line.label, line.colour) for line in lines]),
        rest=6.0 if axis == "place" else None,
    )


# ---- by place


def _by_place(state: Masks, lanes: Mapping[str, Lane]) -> None:
    """The loss at each place of the row, at the end."""
    panels = []
    for answer, title in (("by_place", "Read at once, by place"), ("prefix_by_place", "As in generation, by place")):
        lines = []
        for name, lane in lanes.items():
            values = parts(lane.result, answer)
            if values is not None:
                lines.append(_over_places(state.contestants[name], values))
        if lines:
            top = float(np.ceil(max(np.nanmax(line.high) for line in lines)))
            panels.append((answer, title, lines, top))
    top = max((one[3] for one in panels), default=1.0)
    if panels:
        last = max(float(line.x[-1]) for _, _, lines, _ in panels for line in lines)
        frame(
            [_panel(f"noise-{a}", title, lines, "place", last, top, state.symbols) for a, title, lines, _ in panels],
            key="masks-places",
            height=HEIGHT,
            narrow_height=NARROW,
            columns=2,
        )


def _over_places(each: Contestant, values: Float[ndarray, "replicas places"]) -> Line:
    x = np.arange(1, values.shape[1] + 1, dtype=float)
    return Line(each.label, each.words, COLOUR, each.dash, x, *over_seeds(values.T).T)


# ---- what they write


def _writing(state: Masks, lanes: Mapping[str, Lane]) -> None:
    wanted = {
        name: (("masks-written", *lane.stamp), partial(_written, lane)) for name, lane in lanes.items() if lane.kept
    }
    if not wanted:
        return
    st.subheader("What they write", anchor=False)
    each_eventually(
        "masks-written", wanted, lambda found: _show(state, found), "The models write random rows …", WRITTEN
    )


def _written(lane: Lane) -> object:
    from explorer.inspection.leaking import written
    from explorer.inspection.opening import open_model

    assert lane.kept is not None
    return written(open_model(lane.kept))


def _show(state: Masks, found: Mapping[str, object]) -> None:
    from explorer.inspection.leaking import Written

    task = NoiseConfig(symbols=state.symbols)
    for name, column in zip(found, st.columns(len(found)), strict=True):
        made, each = found[name], state.contestants[name]
        assert isinstance(made, Written)
        with column:
            said = findings.writing(state.symbols, each.title, made.ids, made.first, made.surest)
            st.markdown(plain(said))
            st.code(findings.rows(made.ids[0, :_SHOWN], made.first, task.labels), language=None)
    st.caption(
        "Two symbols are given, the others drawn one by one as the model says, each read anew with all before it. "
        f"Shown: {_SHOWN} rows of the first seed; the sentences count 64 rows of every seed."
    )
