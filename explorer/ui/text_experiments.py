"""What the papers found, measured again: an experiment chosen, its runs followed or trained here, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache

import streamlit as st

from explorer.errors import LineageError
from explorer.training import estimate
from explorer.training.config import RunConfig, key
from explorer.training.estimate import duration
from explorer.training.experiments import EXPERIMENTS, Experiment, Field, Trial
from explorer.training.record import Curves
from explorer.ui import experiment_findings as findings
from explorer.ui import runs, training_controls, warmup
from explorer.ui.components import Playback, frame
from explorer.ui.experiment_findings import Outcome
from explorer.ui.experiment_views import LOOKS, curve_panels, end_panels, results
from explorer.ui.findings import seeds
from explorer.ui.page import explanation, plain, problems
from explorer.ui.runs import Lane
from explorer.ui.training_controls import Asked


def experiments_section(chosen: str, choose: Callable[[str], None]) -> None:
    """The whole section. `chosen` is the name of an experiment, `choose` is told of another one."""
    experiment = EXPERIMENTS.get(chosen) or next(iter(EXPERIMENTS.values()))
    asked = Asked.of("experiments")
    st.header("What the papers found, measured again", anchor=False)
    explanation(
        "Sentences that one reads about these models, each asked of small models on characters of Tiny Shakespeare, "
        "with three seeds a run. They stand here as they were measured, whether they hold or not."
    )
    _pills(experiment, asked, choose)
    lanes = runs.lanes(configs(experiment), asked.raced)
    found = outcomes(experiment, lanes)
    st.subheader(experiment.question, anchor=False)
    st.markdown(f"Often said: “{plain(experiment.said)}”")
    st.subheader(plain(findings.finding(experiment, found)), anchor=False)
    _controls(experiment, lanes, asked)
    left, right = st.columns([3, 2], gap="large")
    with left:
        _ends(experiment, found)
    with right:
        st.markdown(experiment.about)
        st.latex(experiment.formula)
        st.markdown(f"[{plain(experiment.paper)}]({experiment.link})")
    _curves(experiment, lanes, asked)
    results(experiment, found)


def configs(experiment: Experiment) -> dict[str, RunConfig]:
    return {trial.name: trial.config for trial in experiment.trials}


def outcomes(experiment: Experiment, lanes: Mapping[str, Lane]) -> dict[str, Outcome]:
    """What came of every run that is over, by the name of its trial."""
    found = {}
    for trial in experiment.trials:
        lane = lanes[trial.name]
        if lane.result is not None and (made := _outcome(lane.result, trial, _diverged(lane))):
            found[trial.name] = made
    return found


@lru_cache(maxsize=256)
def _outcome(curves: Curves, trial: Trial, diverged: bool) -> Outcome | None:
    return findings.outcome(trial, curves, diverged)


def _diverged(lane: Lane) -> bool:
    """Whether what there is of a run ended because its numbers did."""
    if lane.job and lane.job.done:
        return lane.job.state == "diverged"
    return bool(not lane.stored and lane.stopped and lane.stopped.card.state == "diverged")


# ---- what can be pressed


def _pills(experiment: Experiment, asked: Asked, choose: Callable[[str], None]) -> None:
    name = "text.experiment"
    st.session_state[name] = experiment.name

    def changed() -> None:
        asked.problems = ()
        choose(st.session_state[name] or experiment.name)

    st.pills(
        "Experiment",
        list(EXPERIMENTS),
        format_func=lambda each: EXPERIMENTS[each].title,
        key=name,
        on_change=changed,
        label_visibility="collapsed",
        wrap=True,
    )


def _controls(experiment: Experiment, lanes: Mapping[str, Lane], asked: Asked) -> None:
    """Run it here, or while it runs, Stop, in the same place; what it costs; and its runs on the Compare page."""
    problems(asked.problems)
    with st.container(horizontal=True, vertical_alignment="center"):
        training_controls.run_button(asked, configs(experiment).values(), lanes, "experiment")
        st.caption(_cost(experiment, lanes))
        for part in experiment.fields:
            _compare(part, [trial for trial in experiment.trials if trial.field == part], lanes)


def _cost(experiment: Experiment, lanes: Mapping[str, Lane]) -> str:
    """How many trainings these are, and how long they take by what they took before."""
    text = f"{len(lanes)} trainings of {seeds(experiment.trials[0].config.replicas)}"
    taken = 0.0
    for lane in lanes.values():
        kept = lane.stored or lane.stopped
        if kept:
            taken += kept.card.seconds
        elif warmup.ready():
            with suppress(LineageError):  # without the text nobody knows how many tokens it has
                taken += estimate.seconds(lane.config)
    return f"{text}, about {duration(taken)}." if taken >= 0.1 else f"{text}."


def _compare(part: Field, trials: list[Trial], lanes: Mapping[str, Lane]) -> None:
    keys = [key(trial.config) for trial in trials if lanes[trial.name].curves or lanes[trial.name].stored]
    st.page_link(
        "compare.py",
        label=f"Compare: {part.title}" if part.title else "Compare these runs",
        query_params={"runs": ",".join(keys), "y": "val_loss_part"},
        icon=":material/stacked_line_chart:",
        disabled=not keys,
    )


# ---- what is seen


def _ends(experiment: Experiment, found: Mapping[str, Outcome]) -> None:
    """How every run ended, over the values of the setting."""
    frame(end_panels(experiment, found), key="experiment-ends", height=300, columns=len(experiment.fields))
    many = experiment.trials[0].config.replicas
    st.caption(
        f"Bits a character on all held-out text at the end; lower is better. A dot for each of {seeds(many)}, the line "
        "through their means."
    )


def _curves(experiment: Experiment, lanes: Mapping[str, Lane], asked: Asked) -> None:
    """Every run by step; while any trains the browser asks for them by itself."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.markdown("##### Step by step")
        look = st.segmented_control(
            "What is drawn",
            list(LOOKS),
            default="bits",
            format_func=LOOKS.__getitem__,
            key="experiment.look",
            label_visibility="collapsed",
        )
    shown, races = look or "bits", asked.races
    training_controls.live_frame(
        "experiment-curves",
        configs(experiment),
        asked.raced,
        lanes,
        lambda now: (curve_panels(experiment, now, shown), _playback(experiment, now, races)),
        height=210 if len(experiment.lines) > 1 else 320,
        narrow_height=170 if len(experiment.lines) > 1 else 260,
        columns=None if len(experiment.fields) == 1 else 3,
    )
    size = experiment.trials[0].config.evaluation_size
    what = (
        f"Bits a character on {size:,} characters of the held-out text."
        if shown == "bits"
        else "Length of the gradient over all weights, before anything is shortened; the scale is logarithmic."
    )
    st.caption(f"{training_controls.outcome(lanes)} {what} Line: mean of the seeds. Band: lowest to highest.".strip())


def _playback(experiment: Experiment, lanes: Mapping[str, Lane], races: int) -> Playback:
    steps = max(lane.config.steps for lane in lanes.values())
    reached = max((lane.curves.step for lane in lanes.values() if lane.curves), default=0)
    by = float(max(steps // 50, 1))
    return training_controls.playback(lanes, races, experiment.name, steps, reached, unit="step", step=by)
