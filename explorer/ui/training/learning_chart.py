"""The chart of a training, and the words for its state: the same on every page.

A training was never started, waits in the queue, trains, was stopped, has finished, or has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from explorer.jobs.service import service
from explorer.models.configs import NgramTextConfig
from explorer.number_format import format_duration
from explorer.run_store.store import StoredRun
from explorer.training.config import RunConfig
from explorer.training.machine import local_kinds
from explorer.ui.budgets import examples_read
from explorer.ui.document import Document
from explorer.ui.frame import Panel, Playback
from explorer.ui.learning_rates import learning_rates_sentence
from explorer.ui.result_section import live_section
from explorer.ui.state.visitor import current_visitor
from explorer.ui.training.run_view import RunView
from explorer.ui.training.train_controls import TrainRequest, is_finished
from explorer.ui.wording import join_words

TrainingState: TypeAlias = Literal["never trained", "waiting", "training", "stopped", "finished", "failed"]
Views: TypeAlias = Mapping[str, RunView]
SAVED = "Saved; the address of this page holds these runs."
_LARGEST_RATIO = 1.1  # of the numbers of parameters of runs that count as equally large
_NAMED_MACHINES = 3  # kinds of machine that a caption names


def draw_learning_chart(
    key: str,
    request: TrainRequest,
    configs: Mapping[str, RunConfig],
    make_panels: Callable[[Views], list[Panel]],
    caption: str | Callable[[Views], str],
    *,
    run: str = "",
    axis: Callable[[Views], Axis] | None = None,
    **layout: Any,
) -> None:
    """Draw curves of runs with their playback; while one trains, the browser asks for new data.

    key: key of the chart and of its section.
    request: the jobs that the visitor requested.
    configs: the configurations shown, by model name.
    make_panels: returns the figures for the current run views; called on another thread.
    caption: what the chart shows; the outcome of the training is said before it, and other kinds of machine after it.
    run: identifies what is shown; when it changes, the playback starts anew.
    axis: returns what the playback moves along; by default the steps of the training.
    layout: further arguments of `Document.figures`.
    """
    visitor_id = current_visitor().id

    def draw(document: Document) -> float | None:
        views = request.views(configs, visitor_id)
        earlier = earlier_views(request, views, visitor_id)
        count = request.train_count
        along = (axis or step_axis)(views)
        live = any(view.live for view in views.values())
        playback = Playback(
            f"{key}/{run}/{count}",
            along.end,
            along.reached,
            live,
            describe_state(views),
            autoplay=count > 0,
            unit=along.unit,
            step=along.step or float(max(along.end // 50, 1)),
        )
        panels = make_panels(views)
        if earlier:
            panels = [
                replace(panel, earlier=before) for panel, before in zip(panels, make_panels(earlier), strict=False)
            ]
        document.figures(key, panels, playback=playback, **layout)
        words = caption if isinstance(caption, str) else caption(views)
        pale = "Pale: the earlier result." if earlier else ""
        document.text(describe_outcome(views))
        sentences = (
            pale,
            words,
            conditions_sentence(views.values()),
            describe_machines(views),
        )
        document.caption(" ".join(filter(None, sentences)))
        return seconds_to_next(views.values())

    live_training_section(key, request, draw, layout["height"] + 90)


def conditions_sentence(views: Iterable[RunView]) -> str:
    """Return under which conditions trained runs are compared: their examples, learning rates and parameters."""
    trained = [each for each in views if each.result and not isinstance(each.config.model, NgramTextConfig)]
    if len({each.config for each in trained}) < 2:
        return ""
    examples, steps = ([of(each.config) for each in trained] for of in (examples_read, lambda config: config.steps))
    sizes = [each.parameters for each in trained if each.parameters] or [0]
    few, many = min(sizes), max(sizes)
    same = min(examples) == max(examples)
    read = (
        f"the same number of examples, in {max(steps):,} steps"
        if same
        else f"{min(examples):,} to {max(examples):,} examples"
    )
    parameters = f" They have {few:,} to {many:,} parameters." if many > _LARGEST_RATIO * few else ""
    return f"All models read {read}. {learning_rates_sentence([each.config for each in trained])}{parameters}"


def live_training_section(
    name: str, request: TrainRequest, draw: Callable[[Document], float | None], height: int
) -> None:
    """Draw a live section that changes when the training of a request is started or stopped."""
    request.fragments = (*(each for each in request.fragments if each != name), name)
    count = request.train_count  # as the page shows it; a press of Train runs fragments only
    live_section(name, draw, height, has_begun=lambda: request.train_count > count)


def seconds_to_next(views: Iterable[RunView], seconds: float = 0.5) -> float | None:
    """Return when the browser asks for new data, longer when many visitors watch jobs; None if nothing trains."""
    following = {visitor for view in service.views() if not view.done for visitor in service.requesters(view.key)}
    crowd = -(-max(len(following), 1) // 8)
    return seconds * crowd if any(view.live for view in views) else None


def earlier_views(request: TrainRequest, views: Views, visitor_id: str) -> dict[str, RunView]:
    """Return the finished runs whose curves are shown pale until the new ones are complete; none if these are."""
    if all(is_finished(view) and (view.job is None or view.job.state == "finished") for view in views.values()):
        return {}
    if request.earlier:
        before = request.views({name: request.earlier[name] for name in views if name in request.earlier}, visitor_id)
    else:
        before = {name: replace(view, job=None) for name, view in views.items()}
    return before if len(before) == len(views) and all(map(is_finished, before.values())) else {}


@dataclass(frozen=True)
class Axis:
    """What a playback moves along."""

    unit: str
    end: int  # of the training
    reached: int  # by the training so far
    step: float | None = None  # of the arrow keys; None: a fiftieth of the whole


def step_axis(views: Views, step: float | None = None) -> Axis:
    """Return the axis of the optimizer steps."""
    reached = max((view.curves.step for view in views.values() if view.curves), default=0)
    return Axis("step", last_step(views), reached, step)


def epoch_axis(views: Views) -> Axis:
    """Return the axis of the epochs."""
    reached = max((int(view.epochs[-1]) for view in views.values() if len(view.epochs)), default=0)
    return Axis("epoch", max(view.config.epochs for view in views.values()), reached, 1.0)


def last_step(views: Views) -> int:
    """Return the last step of the longest run."""
    return max(view.config.steps for view in views.values())


def training_state(views: Views) -> TrainingState:
    """Return the state of a training of several models: what is still to happen counts before what has happened."""
    jobs = [view.job for view in views.values() if view.job]
    if any(job.state == "running" for job in jobs):
        return "training"
    if any(job.state == "waiting" for job in jobs):
        return "waiting"
    if any(job.state in ("failed", "diverged") for job in jobs):
        return "failed"
    if all(map(is_finished, views.values())) or (jobs and all(job.state == "finished" for job in jobs)):
        return "finished"
    if any(view.stopped for view in views.values()) or any(job.state == "stopped" for job in jobs):
        return "stopped"
    return "never trained"


def describe_state(views: Views) -> str:
    """Return the state of a training in a few words, with its progress or its duration."""
    state = training_state(views)
    if state == "training":
        return describe_progress(views)
    if state == "finished":
        took = format_duration(sum(view.seconds or 0.0 for view in views.values()))
        return f"trained in {took}" if any(view.job for view in views.values()) else f"trained earlier, in {took}"
    if state == "waiting":
        problem = next((view.job.problem for view in views.values() if view.job and view.job.problem), "")
        return f"waiting in the queue. {problem}".rstrip(". ")
    return {"never trained": "not trained yet"}.get(state, state)


def describe_progress(views: Views) -> str:
    """Return the progress of the jobs and the estimated remaining time."""
    steps = sum(view.config.steps for view in views.values() if view.job)
    done = sum(view.job.step if view.live else view.config.steps for view in views.values() if view.job)
    jobs = [view.job for view in views.values() if view.live and view.job]
    left = [seconds for job in jobs if (seconds := service.seconds_left(job)) is not None]
    return f"{done / steps:.0%}, about {format_duration(max(left))} left" if left else "training"


def describe_outcome(views: Views) -> str:
    """Return one sentence about how the jobs ended; empty while any of them runs."""
    jobs = [view.job for view in views.values() if view.job]
    if not jobs and any(view.stopped for view in views.values()):
        ends = [
            f"{view.row.title} at step {view.stopped.card.step:,} of {view.config.steps:,}"
            for view in views.values()
            if view.stopped
        ]
        return f"Stopped earlier: {join_words(ends)}. Go on takes it up from there."
    if not jobs or any(view.live for view in views.values()):
        return ""
    problems = list(dict.fromkeys(job.problem for job in jobs if job.state in ("failed", "diverged")))
    if problems:
        return " ".join(problems)
    if any(job.state == "stopped" for job in jobs):
        return "Stopped: the curves end where it was. Go on takes it up from there."
    if all(job.repeated for job in jobs):
        return "Trained once more on the same kind of machine, and every curve came out as before, bit for bit."
    if any(job.repeated is False for job in jobs):
        return "Trained once more; on this machine the curves differ in their last bits from the stored ones."
    differences = [job.difference for job in jobs if job.difference is not None]
    if differences:
        return (
            "Trained once more. Another kind of machine may have trained the stored runs, so equal bits cannot be "
            f"expected. The losses of one batch differ by at most {max(differences):.2g} nats."
        )
    if all(job.saved for job in jobs):
        return SAVED
    why = next((job.problem for job in jobs if job.problem), "")
    return f"Trained, but not saved. {why}"


def machines_of(view: RunView) -> tuple[str, ...] | None:
    """Return the kinds of machine that trained a run, empty if it names none; None if it trains now or has no curve."""
    run = None if view.live else view.loaded_run or view.stopped
    if run is None:
        return None
    return run.card.machines if isinstance(run, StoredRun) else run.machines


def describe_machines(views: Views) -> str:
    """Return one sentence about where the runs were trained: on several kinds of machine, or on none like this server.

    It is empty for runs of this server's kind, and while they are trained. Older runs name no kind of machine.
    """
    kinds = list(dict.fromkeys(kind for view in views.values() for kind in machines_of(view) or ()))
    if len(kinds) > 1:
        more = ["more"] * (len(kinds) > _NAMED_MACHINES)
        return f"Trained on {len(kinds)} kinds of machine: {'; '.join([*kinds[:_NAMED_MACHINES], *more])}."
    if kinds and kinds[0] not in local_kinds():
        return f"Trained on another kind of machine than this server: {kinds[0]}."
    return ""
