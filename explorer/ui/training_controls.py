"""What every page with trainings has: Train and Stop, what it will cost, how far it is and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from explorer.errors import LineageError
from explorer.training import estimate
from explorer.training.config import RunConfig, key
from explorer.training.estimate import duration
from explorer.training.jobs import service
from explorer.ui import runs, warmup
from explorer.ui.components import Panel, Playback, frame, pictured
from explorer.ui.findings import listed, number, seeds
from explorer.ui.lab import AnyLab
from explorer.ui.live import offer
from explorer.ui.page import plain
from explorer.ui.runs import Lane
from explorer.ui.session import LabSession
from explorer.ui.visitors import visitor


def submit(configs: Iterable[RunConfig]) -> tuple[set[str], tuple[str, ...]]:
    """Train all of these: what runs already is joined, what was stopped is gone on with. Gives the keys of those that
    were taken, and why others were not."""
    asked = set()
    try:
        for config in configs:
            asked.add(service.submit(config, visitor().id).key)
    except LineageError as error:  # a limit of this server; what it took trains
        return asked, (str(error),)
    return asked, ()


@dataclass
class Asked:
    """What a visitor asked to be trained in one part of a page that has no lab."""

    raced: set[str] = field(default_factory=set)  # keys of the runs asked for in this window
    races: int = 0  # how often: each is a playback of its own
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str) -> Asked:
        """This visitor's, for the part of this name."""
        asked: Asked = st.session_state.setdefault(f"lineage.asked-to-train.{name}", cls())
        return asked

    def start(self, configs: Iterable[RunConfig]) -> None:
        """Train all of these."""
        taken, self.problems = submit(configs)
        self.raced |= taken
        self.races += 1


def run_button(asked: Asked, configs: Iterable[RunConfig], lanes: Mapping[str, Lane], name: str) -> None:
    """Train these here, or while any of them trains, Stop, in the same place. Why some were not taken, if they were
    not, stands in `asked.problems`."""
    if any(lane.live for lane in lanes.values()):
        stop_button(list(lanes.values()), f"{name}.stop")
        return
    label = "Run it again here" if all(lane.stored for lane in lanes.values()) else "Run it here"
    if any(_stopped(lane) for lane in lanes.values()):
        label = "Go on"
    st.button(label, icon=":material/play_arrow:", on_click=asked.start, args=(tuple(configs),), key=f"{name}.run")


def offer_missing(lanes: Mapping[str, Lane], asked: Asked, named: Callable[[Sequence[str]], str]) -> None:
    """Where some have no finished run under these settings: say so, what it costs, and offer it. `named`: those of
    these names, in a sentence."""
    missing = {name: lane for name, lane in lanes.items() if not finished(lane)}
    if not missing:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        if any(lane.live for lane in lanes.values()):
            st.markdown("They are training: “While they learn” below shows it live, and their answers follow.")
        else:
            who = plain(named(list(missing)))
            st.markdown(f"No finished run of {who} with these settings yet. Training takes {cost(missing)}.")
        run_button(asked, [lane.config for lane in missing.values()], lanes, "missing")


def start(session: LabSession[AnyLab]) -> None:
    """Train what is on the screen."""
    session.raced, session.problems = submit(session.lab.configs.values())
    session.races += 1


def start_elsewhere(session: LabSession[AnyLab]) -> None:
    """The same question to seeds that were not asked yet."""
    lab = session.lab
    session.change(lambda lab: lab.with_shared(seed=lab.value("seed") + lab.value("replicas")))
    if session.lab is not lab:
        start(session)


def stop(lanes: Iterable[Lane]) -> None:
    """End those of these trainings that this visitor started; they keep what they had."""
    me = visitor()
    for lane in lanes:
        job = service.find(key(lane.config), me.id)
        if job and not job.view().done and me.owns(job.starter):
            service.stop(job.key, me.id, me.operator)


def train_button(session: LabSession[AnyLab]) -> None:
    """Train, or while it runs, Stop, in the same place."""
    lanes = list(runs.lanes(session.lab.configs, session.raced).values())
    if any(lane.live for lane in lanes):
        stop_button(lanes, "stop")
        return
    again = all(map(finished, lanes))
    stopped = any(_stopped(lane) for lane in lanes)
    label = "Go on" if stopped else "Train again" if again else "Train"
    st.button(label, icon=":material/play_arrow:", on_click=start, args=(session,), key="train", width=150)
    if again:
        st.button(
            "With another seed",
            icon=":material/casino:",
            on_click=start_elsewhere,
            args=(session,),
            key="another-seed",
            help="The same settings, with the next seeds: another start, another order of batches.",
        )


def finished(lane: Lane) -> bool:
    """Whether a training came to its end, and what it made is still here."""
    return bool(lane.stored or (lane.private and lane.job and lane.job.state == "finished"))


def _stopped(lane: Lane) -> bool:
    """Whether a training was broken off that can be gone on with; of one on an own text no checkpoint is kept."""
    job = lane.job
    return bool(not lane.stored and (lane.stopped or (job and job.state == "stopped" and job.step and not job.private)))


def stop_button(lanes: Sequence[Lane], name: str) -> None:
    """Stop, for those who started it; the others read why they cannot."""
    mine = any(lane.live and lane.job and visitor().owns(lane.job.starter) for lane in lanes)
    why = "Somebody else started this training, and you watch it: only they can stop it. Leave, and it goes on."
    st.button(
        "Stop" if mine else "Training",
        icon=":material/stop:" if mine else ":material/group:",
        on_click=stop,
        args=(lanes,),
        key=name,
        width=150,
        disabled=not mine,
        help=None if mine else why,
    )


def call_to_train(session: LabSession[AnyLab], lanes: Mapping[str, Lane]) -> None:
    """Where models have no run under these settings, say so above all and offer to train."""
    missing = [lane for lane in lanes.values() if not finished(lane)]
    if not missing:
        return
    live = any(lane.live for lane in lanes.values())
    who = "any model" if len(missing) == len(lanes) else listed([lane.row.title for lane in missing])
    what = f"{seeds(session.lab.value('replicas'))} of {number(len(lanes))} model{'s' if len(lanes) > 1 else ''}"
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        if live:
            st.markdown(f"Training {what}: “The race” below shows it live, and their answers follow.")
            stop_button(list(lanes.values()), "stop-missing")
        else:
            st.markdown(f"No finished run of {who} with these settings yet. Training {what} takes {cost(lanes)}.")
            label = "Go on" if any(_stopped(lane) for lane in lanes.values()) else "Train"
            st.button(label, icon=":material/play_arrow:", on_click=start, args=(session,), key="train-missing")


def cost(lanes: Mapping[str, Lane]) -> str:
    """What these trainings take, before they are asked for."""
    taken = max(sum(estimate.seconds(lane.config) for lane in lanes.values()), 0.5)
    own = {key(lane.config) for lane in lanes.values()}
    others = sum(not view.done and view.key not in own for view in service.views(visitor().id))
    taken *= 1 + others / len(lanes)  # everybody has turns
    text = f"about {duration(taken)}"
    if warmup.ready():
        counts = [estimate.parameters(lane.config) for lane in lanes.values()]
        low, high = min(counts), max(counts)
        text += f" ({low:,}{f' to {high:,}' if high > low else ''} parameters a seed)"
    return text + (f", beside {number(others)} other training{'s' if others > 1 else ''}" if others else "")


def crowd() -> int:
    """How many times slower a live chart asks when many visitors follow trainings at once; it plays on meanwhile."""
    following = {visitor for view in service.views() if not view.done for visitor in service.asked(view.key)}
    return -(-max(len(following), 1) // 8)


def playback(lanes: Mapping[str, Lane], races: int, name: str, end: int, available: int, **more: Any) -> Playback:
    """A training's playback, with how far it is or how long it took. `name`: of what is shown; `races`: how often
    Train was pressed."""
    live = any(lane.live for lane in lanes.values())
    say = progress(lanes) if live else _told(lanes) if available else "not trained yet"
    return Playback(f"{name}/{races}", end, available, live, say, autoplay=races > 0, **more)


def _told(lanes: Mapping[str, Lane]) -> str:
    """How long it took, and whether that was now."""
    now = any(lane.job for lane in lanes.values())
    took = sum(lane.seconds or 0.0 for lane in lanes.values())
    return f"trained in {duration(took)}" if now else f"trained earlier, in {duration(took)}"


def live_frame(
    key: str,
    configs: Mapping[str, RunConfig],
    raced: Iterable[str],
    lanes: Mapping[str, Lane],
    picture: Callable[[Mapping[str, Lane]], tuple[list[Panel], Playback]],
    **layout: Any,
) -> None:
    """A frame about trainings. While any of them goes on the browser asks for it again by itself; what `picture`
    draws it is then asked for outside of any page. `raced`: the keys of what was asked for in this window."""
    mine, me = frozenset(raced), visitor().id

    def again() -> dict[str, object] | None:
        now = runs.lanes(configs, mine, me)
        return pictured(*picture(now)) if any(lane.live for lane in now.values()) else None

    panels, shown = picture(lanes)
    live = offer(key, again, 0.5 * crowd()) if any(lane.live for lane in lanes.values()) else None
    frame(panels, key=key, playback=shown, live=live, **layout)


def progress(lanes: Mapping[str, Lane]) -> str:
    """How far a training is, and how long it will still take at this pace."""
    steps = sum(lane.config.steps for lane in lanes.values() if lane.job)
    done = sum(lane.job.step if lane.live else lane.config.steps for lane in lanes.values() if lane.job)
    running = [lane.job.left for lane in lanes.values() if lane.live and lane.job and lane.job.left is not None]
    if not running:
        return (
            "waiting for its turn"
            if all(lane.job.state == "waiting" for lane in lanes.values() if lane.job)
            else "training"
        )
    return f"{done / steps:.0%}, about {duration(max(running))} left"


def outcome(lanes: Mapping[str, Lane]) -> str:
    """What is worth knowing of a training that is over."""
    jobs = [lane.job for lane in lanes.values() if lane.job]
    if not jobs and any(lane.stopped for lane in lanes.values()):
        ends = [
            f"{lane.row.title} at step {lane.stopped.card.step:,} of {lane.config.steps:,}"
            for lane in lanes.values()
            if lane.stopped
        ]
        return f"Stopped earlier: {listed(ends)}. Go on takes it up from there, to the same end."
    if not jobs or any(lane.live for lane in lanes.values()):
        return ""
    troubles = list(dict.fromkeys(job.problem for job in jobs if job.state in ("failed", "diverged")))
    if troubles:
        return " ".join(troubles)
    if any(job.state == "stopped" and job.private for job in jobs):
        return "Stopped: the curves end where it was. Training on a text of your own begins anew the next time."
    if any(job.state == "stopped" for job in jobs):
        return "Stopped: the curves end where it was. Go on takes it up from there, to the same end."
    if all(job.repeated for job in jobs):
        return "Trained once more, and every curve came out as before, bit for bit."
    if any(job.repeated is False for job in jobs):
        return "Trained once more; on this machine the curves differ in their last bits from the stored ones."
    if all(job.saved for job in jobs):
        return "Saved; the address of this page holds these runs."
    why = next((job.problem for job in jobs if job.problem), "")
    return f"Trained, but not saved. {why}"
