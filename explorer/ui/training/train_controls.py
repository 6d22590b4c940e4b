"""Controls of pages that train models: buttons to train and stop, cost, progress and outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from explorer.errors import LineageError
from explorer.jobs import estimate
from explorer.jobs.estimate import format_duration
from explorer.jobs.scheduler import service
from explorer.training.config import RunConfig, key
from explorer.ui.components.plot_frame import Panel, Playback, draw_plot_frame, frame_data
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.experiment_state import AnyExperiment
from explorer.ui.state.session import ExperimentSession
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training import run_view
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import count_seeds, join_words, number_word
from explorer.web import warmup
from explorer.web.polling import register_poll


def submit_trainings(configs: Iterable[RunConfig]) -> tuple[set[str], tuple[str, ...]]:
    """Submit jobs for these configurations; running jobs are joined, stopped ones resumed.

    Returns the keys of the accepted runs, and the messages for those that were refused.
    """
    run_keys = set()
    try:
        for config in configs:
            run_keys.add(service.submit(config, current_visitor().id).key)
    except LineageError as error:  # a limit of this server; the jobs accepted before continue
        return run_keys, (str(error),)
    return run_keys, ()


@dataclass
class TrainRequest:
    """The jobs that a visitor requested in one section of a page without an experiment state."""

    requested_runs: set[str] = field(default_factory=set)  # keys of the runs requested in this browser tab
    train_count: int = 0  # number of requests; each starts a new playback
    problems: tuple[str, ...] = ()

    @classmethod
    def for_section(cls, name: str) -> TrainRequest:
        """Return this visitor's request of a section, created on first use."""
        request: TrainRequest = st.session_state.setdefault(f"lineage.asked-to-train.{name}", cls())
        return request

    def start(self, configs: Iterable[RunConfig]) -> None:
        """Submit jobs for these configurations."""
        run_keys, self.problems = submit_trainings(configs)
        self.requested_runs |= run_keys
        self.train_count += 1


def draw_run_button(
    request: TrainRequest, configs: Iterable[RunConfig], views: Mapping[str, RunView], name: str
) -> None:
    """Draw a button that trains these configurations, or a stop button while any of them trains.

    The messages for refused jobs are stored in `request.problems`.
    """
    if any(view.live for view in views.values()):
        draw_stop_button(list(views.values()), f"{name}.stop")
        return
    label = "Run it again here" if all(view.stored for view in views.values()) else "Run it here"
    if any(_can_resume(view) for view in views.values()):
        label = "Go on"
    st.button(label, icon=":material/play_arrow:", on_click=request.start, args=(tuple(configs),), key=f"{name}.run")


def draw_missing_runs(
    views: Mapping[str, RunView], request: TrainRequest, format_names: Callable[[Sequence[str]], str]
) -> None:
    """If some models have no finished run with these settings, say so with the cost and offer to train them.

    `format_names` returns the names of the missing models for a sentence.
    """
    missing = {name: view for name, view in views.items() if not is_finished(view)}
    if not missing:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        if any(view.live for view in views.values()):
            st.markdown("They are training: “While they learn” below shows it live, and their answers follow.")
        else:
            names = escape_markdown(format_names(list(missing)))
            st.markdown(f"No finished run of {names} with these settings yet. Training takes {describe_cost(missing)}.")
        draw_run_button(request, [view.config for view in missing.values()], views, "missing")


def start_training(session: ExperimentSession[AnyExperiment]) -> None:
    """Submit jobs for the configurations of the page."""
    session.requested_runs, session.problems = submit_trainings(session.experiment.configs.values())
    session.train_count += 1


def train_with_next_seed(session: ExperimentSession[AnyExperiment]) -> None:
    """Submit jobs for the same settings with the next seeds."""
    lab = session.experiment
    session.change(lambda lab: lab.with_shared(seed=lab.value("seed") + lab.value("replicas")))
    if session.experiment is not lab:
        start_training(session)


def stop_trainings(views: Iterable[RunView]) -> None:
    """Stop those of these jobs that this visitor started; their progress is kept."""
    visitor = current_visitor()
    for view in views:
        job = service.find(key(view.config), visitor.id)
        if job and not job.view().done and visitor.owns(job.starter):
            service.stop(job.key, visitor.id, visitor.operator)


def draw_train_button(session: ExperimentSession[AnyExperiment]) -> None:
    """Draw the Train button, or the Stop button while a job runs."""
    views = list(run_view.run_views(session.experiment.configs, session.requested_runs).values())
    if any(view.live for view in views):
        draw_stop_button(views, "stop")
        return
    all_finished = all(map(is_finished, views))
    stopped = any(_can_resume(view) for view in views)
    label = "Go on" if stopped else "Train again" if all_finished else "Train"
    st.button(label, icon=":material/play_arrow:", on_click=start_training, args=(session,), key="train", width=150)
    if all_finished:
        st.button(
            "With another seed",
            icon=":material/casino:",
            on_click=train_with_next_seed,
            args=(session,),
            key="another-seed",
            help="The same settings, with the next seeds: another start, another order of batches.",
        )


def is_finished(view: RunView) -> bool:
    """Return whether a run is finished and its weights are available."""
    return bool(view.stored or (view.private and view.job and view.job.state == "finished"))


def _can_resume(view: RunView) -> bool:
    """Return whether a stopped run can be resumed; runs on an own text have no checkpoint."""
    job = view.job
    return bool(not view.stored and (view.stopped or (job and job.state == "stopped" and job.step and not job.private)))


def draw_stop_button(views: Sequence[RunView], name: str) -> None:
    """Draw a stop button, disabled with an explanation for visitors who did not start the job."""
    mine = any(view.live and view.job and current_visitor().owns(view.job.starter) for view in views)
    reason = "Somebody else started this training, and you watch it: only they can stop it. Leave, and it goes on."
    st.button(
        "Stop" if mine else "Training",
        icon=":material/stop:" if mine else ":material/group:",
        on_click=stop_trainings,
        args=(views,),
        key=name,
        width=150,
        disabled=not mine,
        help=None if mine else reason,
    )


def draw_call_to_train(session: ExperimentSession[AnyExperiment], views: Mapping[str, RunView]) -> None:
    """If models have no finished run with these settings, say so and offer to train them."""
    missing = [view for view in views.values() if not is_finished(view)]
    if not missing:
        return
    live = any(view.live for view in views.values())
    names = "any model" if len(missing) == len(views) else join_words([view.row.title for view in missing])
    models = f"{number_word(len(views))} model{'s' if len(views) > 1 else ''}"
    count = f"{count_seeds(session.experiment.value('replicas'))} of {models}"
    with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        if live:
            st.markdown(f"Training {count}: “The race” below shows it live, and their answers follow.")
            draw_stop_button(list(views.values()), "stop-missing")
        else:
            st.markdown(
                f"No finished run of {names} with these settings yet. Training {count} takes {describe_cost(views)}."
            )
            label = "Go on" if any(_can_resume(view) for view in views.values()) else "Train"
            st.button(
                label, icon=":material/play_arrow:", on_click=start_training, args=(session,), key="train-missing"
            )


def describe_cost(views: Mapping[str, RunView]) -> str:
    """Return the estimated duration and the number of parameters of these runs."""
    seconds = max(sum(estimate.estimate_seconds(view.config) for view in views.values()), 0.5)
    own = {key(view.config) for view in views.values()}
    others = sum(not view.done and view.key not in own for view in service.views(current_visitor().id))
    seconds *= 1 + others / len(views)  # jobs share the processor
    text = f"about {format_duration(seconds)}"
    if warmup.is_ready():
        from explorer.training.model_factory import count_parameters

        counts = [count_parameters(view.config) for view in views.values()]
        low, high = min(counts), max(counts)
        text += f" ({low:,}{f' to {high:,}' if high > low else ''} parameters a seed)"
    return text + (f", beside {number_word(others)} other training{'s' if others > 1 else ''}" if others else "")


def polling_slowdown() -> int:
    """Return the factor by which live charts poll less often when many visitors watch jobs."""
    following = {visitor for view in service.views() if not view.done for visitor in service.requesters(view.key)}
    return -(-max(len(following), 1) // 8)


def playback(
    views: Mapping[str, RunView], train_count: int, name: str, end: int, available: int, **more: Any
) -> Playback:
    """Return the playback of a training, with its progress or duration as text.

    views: the runs on the chart.
    train_count: how often Train was pressed; above 0 the playback starts by itself.
    name: identifies what is shown.
    end, available: the last epoch (or step) of the training, and the last one recorded so far.
    more: further fields of `Playback`.
    """
    live = any(view.live for view in views.values())
    say = describe_progress(views) if live else _describe_duration(views) if available else "not trained yet"
    return Playback(f"{name}/{train_count}", end, available, live, say, autoplay=train_count > 0, **more)


def _describe_duration(views: Mapping[str, RunView]) -> str:
    """Return the total training time, and whether the runs were trained just now or earlier."""
    now = any(view.job for view in views.values())
    took = sum(view.seconds or 0.0 for view in views.values())
    return f"trained in {format_duration(took)}" if now else f"trained earlier, in {format_duration(took)}"


def draw_live_frame(
    key: str,
    configs: Mapping[str, RunConfig],
    requested_runs: Iterable[str],
    views: Mapping[str, RunView],
    make_frame: Callable[[Mapping[str, RunView]], tuple[list[Panel], Playback]],
    **layout: Any,
) -> None:
    """Draw a frame about runs; while a job runs the browser polls for new data.

    key: key of the component.
    configs: the configurations shown, by model name.
    requested_runs: keys of the runs requested in this browser tab.
    views: the current run views of `configs`.
    make_frame: returns panels and playback for run views; also called outside a page script.
    layout: further arguments of `draw_plot_frame`.
    """
    run_keys, visitor_id = frozenset(requested_runs), current_visitor().id

    def poll() -> dict[str, object] | None:
        now = run_view.run_views(configs, run_keys, visitor_id)
        return frame_data(*make_frame(now)) if any(view.live for view in now.values()) else None

    panels, playback_state = make_frame(views)
    live = register_poll(key, poll, 0.5 * polling_slowdown()) if any(view.live for view in views.values()) else None
    draw_plot_frame(panels, key=key, playback=playback_state, live=live, **layout)


def describe_progress(views: Mapping[str, RunView]) -> str:
    """Return the progress of the jobs and the estimated remaining time."""
    steps = sum(view.config.steps for view in views.values() if view.job)
    done = sum(view.job.step if view.live else view.config.steps for view in views.values() if view.job)
    running = [view.job.left for view in views.values() if view.live and view.job and view.job.left is not None]
    if not running:
        return (
            "waiting for its turn"
            if all(view.job.state == "waiting" for view in views.values() if view.job)
            else "training"
        )
    return f"{done / steps:.0%}, about {format_duration(max(running))} left"


def describe_outcome(views: Mapping[str, RunView]) -> str:
    """Return one sentence about how the jobs ended; empty while any of them runs."""
    jobs = [view.job for view in views.values() if view.job]
    if not jobs and any(view.stopped for view in views.values()):
        ends = [
            f"{view.row.title} at step {view.stopped.card.step:,} of {view.config.steps:,}"
            for view in views.values()
            if view.stopped
        ]
        return f"Stopped earlier: {join_words(ends)}. Go on takes it up from there, to the same end."
    if not jobs or any(view.live for view in views.values()):
        return ""
    problems = list(dict.fromkeys(job.problem for job in jobs if job.state in ("failed", "diverged")))
    if problems:
        return " ".join(problems)
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
