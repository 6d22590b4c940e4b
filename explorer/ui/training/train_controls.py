"""Controls of pages that train models: buttons to train and stop, cost, progress and outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from explorer.errors import LineageError
from explorer.jobs.cost import estimate_cost
from explorer.jobs.scheduler import service
from explorer.number_format import format_bytes, format_duration
from explorer.training.config import RunConfig, key
from explorer.ui.page_sections import escape_markdown
from explorer.ui.state.fragments import draw_fragment, rerun_fragments
from explorer.ui.state.visitor import count_action, current_visitor
from explorer.ui.training import run_view
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import join_words, number_word
from explorer.web import rate_limits
from explorer.web.operations import warmup


@dataclass
class TrainRequest:
    """The jobs that a visitor requested in one section of a page, in one browser tab."""

    name: str  # of the section; its fragments and the keys of its buttons begin with it
    requested_runs: set[str] = field(default_factory=set)  # keys of the runs requested in this browser tab
    train_count: int = 0  # number of requests; each starts a new playback
    problems: tuple[str, ...] = ()  # messages about refused jobs
    fragments: tuple[str, ...] = ()  # the fragments that show the state of the training

    @classmethod
    def for_section(cls, name: str) -> TrainRequest:
        """Return this visitor's request of a section, created on first use."""
        request: TrainRequest = st.session_state.setdefault(f"lineage.asked-to-train.{name}", cls(name))
        return request

    def views(self, configs: Mapping[str, RunConfig], visitor_id: str | None = None) -> dict[str, RunView]:
        """Return the run views of these configurations, with the jobs requested here.

        visitor_id: by default that of the current visitor, which is known while a page is drawn. What is drawn later
            calls this function at that time: after a press of Train only fragments run, with their old arguments.
        """
        return run_view.run_views(configs, frozenset(self.requested_runs), visitor_id)

    def start(self, configs: Iterable[RunConfig]) -> None:
        """Submit jobs for these configurations; running jobs are joined, stopped ones resumed."""
        self.problems = ()
        try:
            for config in configs:
                count_action(rate_limits.TRAININGS)
                self.requested_runs.add(service.submit(config, current_visitor().id).key)
        except LineageError as error:  # a limit of this server; the jobs accepted before continue
            self.problems = (str(error),)
        self.train_count += 1

    def add_fragment(self, name: str, draw: Callable[[], object]) -> None:
        """Draw a part of the page that shows the state of the training, as a fragment."""
        self.fragments = (*(each for each in self.fragments if each != name), name)
        draw_fragment(name, draw)

    def rerun_fragments(self) -> None:
        """Rerun what shows the state of the training, or the whole page if there is a message for it."""
        if not self.problems:
            rerun_fragments(self.fragments)
        st.rerun()


def draw_train_controls(
    request: TrainRequest,
    configs: Mapping[str, RunConfig],
    *,
    next_seed: Callable[[], Iterable[RunConfig]] | None = None,
    keys: tuple[str, str] | None = None,
    label: str = "",
) -> None:
    """Draw the button that trains these configurations, or the one that stops them; the page is not run for a press.

    next_seed: changes the state of the page to other seeds and returns its configurations; None for no such button.
    keys: keys of the Train and the Stop button; by default the name of the request with `.run` and `.stop`.
    label: of the Train button; by default it says whether all of these runs are stored, or some can be resumed.
    """
    train_key, stop_key = keys or (f"{request.name}.run", f"{request.name}.stop")

    def draw() -> None:
        views = list(request.views(configs).values())
        with st.container(horizontal=True, width="content"):
            if any(view.live for view in views):
                _draw_stop_button(request, views, stop_key)
                return
            _draw_train_button(request, views, train_key, label)
            if next_seed and all(map(is_finished, views)):
                st.button(
                    "With another seed",
                    icon=":material/casino:",
                    on_click=_train_with_next_seed,
                    args=(request, next_seed),
                    key="another-seed",
                    help="The same settings, with the next seeds: another start, another order of batches.",
                )

    request.add_fragment(f"{request.name}.controls", draw)


def draw_missing_runs(
    request: TrainRequest,
    configs: Mapping[str, RunConfig],
    format_names: Callable[[Sequence[str]], str] | None = None,
    *,
    keys: tuple[str, str] = ("missing.run", "missing.stop"),
) -> None:
    """If some models have no finished run with these settings, say so with the cost and offer to train them.

    format_names: returns the names of the missing models for a sentence; by default the titles of their models.
    keys: keys of the Train and the Stop button.
    """

    def draw() -> None:
        views = request.views(configs)
        missing = {name: view for name, view in views.items() if not is_finished(view)}
        if not missing:
            return
        with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            if any(view.live for view in views.values()):
                st.markdown("The models are training: the chart below shows it live, and their answers follow.")
                _draw_stop_button(request, list(views.values()), keys[1])
                return
            titles = [view.row.title for view in missing.values()]
            names = format_names(list(missing)) if format_names else join_words(list(dict.fromkeys(titles)))
            cost = describe_cost(missing)
            st.markdown(escape_markdown(f"No finished run of {names} with these settings yet. Training takes {cost}."))
            _draw_train_button(request, list(missing.values()), keys[0])

    request.add_fragment(f"{request.name}.missing", draw)


def _draw_train_button(request: TrainRequest, views: Sequence[RunView], name: str, label: str = "") -> None:
    def start() -> None:
        request.start([view.config for view in views])
        request.rerun_fragments()

    label = label or (
        "Train again" if all(map(is_finished, views)) else "Go on" if any(map(_can_resume, views)) else "Train"
    )
    st.button(label, icon=":material/play_arrow:", on_click=start, key=name, width=150)


def _train_with_next_seed(request: TrainRequest, next_seed: Callable[[], Iterable[RunConfig]]) -> None:
    request.start(next_seed())
    st.rerun()


def _draw_stop_button(request: TrainRequest, views: Sequence[RunView], name: str) -> None:
    """Draw a stop button, disabled with an explanation for visitors who did not start the job."""
    mine = any(view.live and view.job and current_visitor().owns(view.job.starter) for view in views)
    reason = "Somebody else started this training, and you watch it: only they can stop it. Leave, and it goes on."

    def stop() -> None:
        stop_trainings(views)
        request.rerun_fragments()

    st.button(
        "Stop" if mine else "Training",
        icon=":material/stop:" if mine else ":material/group:",
        on_click=stop,
        key=name,
        width=150,
        disabled=not mine,
        help=None if mine else reason,
    )


def stop_trainings(views: Iterable[RunView]) -> None:
    """Stop those of these jobs that this visitor started; their progress is kept."""
    visitor = current_visitor()
    for view in views:
        job = service.find(key(view.config), visitor.id)
        if job and not job.view().done and visitor.owns(job.starter):
            service.stop(job.key, visitor.id, visitor.operator)


def is_finished(view: RunView) -> bool:
    """Return whether a run is finished and its weights are available."""
    return view.loaded_run is not None


def _can_resume(view: RunView) -> bool:
    """Return whether a stopped run can be resumed; runs on an own text have no checkpoint."""
    job = view.job
    return bool(not view.stored and (view.stopped or (job and job.state == "stopped" and job.step and not job.private)))


def describe_cost(views: Mapping[str, RunView]) -> str:
    """Return what the training of these runs takes: their time together, and the memory of the largest."""
    if not warmup.is_ready():
        return "a time that is not known yet"
    costs = [estimate_cost(view.config) for view in views.values()]
    seconds = max(sum(cost.seconds for cost in costs), 0.5)
    own = {key(view.config) for view in views.values()}
    others = sum(not view.done and view.key not in own for view in service.views(current_visitor().id))
    seconds *= 1 + others / len(views)  # jobs share the processor
    text = f"about {format_duration(seconds)} and {format_bytes(max(cost.peak_bytes for cost in costs))} of memory"
    return text + (f", beside {number_word(others)} other training{'s' if others > 1 else ''}" if others else "")
