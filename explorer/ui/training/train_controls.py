"""Controls of pages that train models: buttons to train and stop, settings, cost, progress and outcome."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st

from explorer.catalogue import model_row
from explorer.errors import LineageError
from explorer.jobs import limits
from explorer.jobs.service import service
from explorer.number_format import format_duration
from explorer.training.config import RunConfig, key
from explorer.ui.page_sections import caption, escape_markdown
from explorer.ui.state.experiment_state import LabellingComparison, VariantComparison
from explorer.ui.state.fragments import draw_fragment, rerun_fragments
from explorer.ui.state.session import PageSession
from explorer.ui.state.visitor import count_action, current_visitor
from explorer.ui.state.widgets import bind_widget, reset_button
from explorer.ui.training import run_view
from explorer.ui.training.run_view import RunView
from explorer.ui.wording import join_words
from explorer.web import rate_limits
from explorer.web.operations import warmup

Session = TypeVar("Session", bound=PageSession[Any])


@dataclass
class TrainRequest:
    """The jobs that a visitor requested in one section of a page, in one browser tab."""

    name: str  # of the section; its fragments and the keys of its buttons begin with it
    requested_runs: set[str] = field(default_factory=set)  # keys of the runs requested in this browser tab
    train_count: int = 0  # number of requests; each starts a new playback
    problems: tuple[str, ...] = ()  # messages about refused jobs
    fragments: tuple[str, ...] = ()  # the fragments that show the state of the training
    session: PageSession[Any] | None = None  # of the page, if its settings can be changed
    earlier: Mapping[str, RunConfig] = field(default_factory=dict)  # whose results the page shows meanwhile, if any
    offers_missing: bool = False  # whether the page has the panel of `draw_missing_runs`, with the Train button

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

    def session_with_results(self, session: Session) -> Session:
        """Return the session whose results the page shows: it, or a copy with the settings that were last trained.

        The copy is returned while a model has no finished run with the present settings, but had one before; after a
        reload, with the standard settings. What is changed through the copy is changed in the session.
        """
        self.session, self.earlier = session, {}
        missing = self._missing(session.state.configs)
        requested = session.state.run and len(missing) < len(session.state.configs)  # a run that is there
        for state in filter(None, (session.trained, session.state.reset()) if missing and not requested else ()):
            with suppress(LineageError):
                state = state.with_models(session.state.selected_models) if state.MODELS_FIELD else state
            if _data(state) == _data(session.state) and missing & (set(state.configs) - self._missing(state.configs)):
                shown = copy.copy(session)
                shown.state, shown.current, session.trained = state, session, state
                self.earlier = state.configs
                return shown
        session.trained = session.state
        return session

    def _missing(self, configs: Mapping[str, RunConfig]) -> set[str]:
        return {name for name, view in self.views(configs).items() if not is_finished(view)}

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


def _data(state: Any) -> set[tuple[object, ...]]:
    """Return what the models of a state learn from: those of another text cannot read the words of this one."""
    names = ("corpus", "text", "tokenizer", "vocabulary", "min_count", "size")
    tasks = [config.task for config in state.configs.values()]
    return {(type(task), *(getattr(task, name, "") for name in names)) for task in tasks}


def draw_train_controls(
    request: TrainRequest,
    configs: Mapping[str, RunConfig],
    *,
    next_seed: Callable[[], Iterable[RunConfig]] | None = None,
    keys: tuple[str, str] | None = None,
    label: str = "",
) -> None:
    """Draw the button that trains these configurations, or the one that stops them; the page is not run for a press.

    Nothing is drawn while `draw_missing_runs` offers to train what is missing.

    next_seed: changes the state of the page to other seeds and returns its configurations; None for no such button.
    keys: keys of the Train and the Stop button; by default the name of the request with `.run` and `.stop`.
    label: of the Train button; by default it says whether all of these runs are stored, or some can be resumed.
    """
    if request.offers_missing:
        return
    train_key, stop_key = keys or (f"{request.name}.run", f"{request.name}.stop")

    def draw() -> None:
        views = list(request.views(configs).values())
        with st.container(horizontal=True, width="content"):
            if any(view.live for view in views):
                _draw_stop_button(request, views, stop_key)
                return
            can_start = _draw_train_button(request, views, train_key, label)
            if can_start and next_seed and all(map(is_finished, views)):

                def train_with_next_seed() -> None:
                    request.start(next_seed())
                    st.rerun()

                st.button(
                    "With another seed",
                    icon=":material/casino:",
                    on_click=train_with_next_seed,
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
    draw_learning: Callable[[], object] | None = None,
) -> None:
    """If some models have no finished run with these settings, say so and offer to train them.

    format_names: returns the names of the missing models for a sentence; by default the titles of their models.
    keys: keys of the Train and the Stop button.
    draw_learning: draws the learning curves below, where the visitor looks; the page draws them elsewhere otherwise.
    """
    request.offers_missing = bool(request._missing(configs))
    if not request.offers_missing:
        return

    def draw() -> None:
        views = request.views(configs)
        missing = {name: view for name, view in views.items() if not is_finished(view)}
        if not missing:  # the page runs soon
            return
        with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            if any(view.live for view in views.values()):
                st.markdown("The models are training: the chart shows it live, and their results follow.")
                _draw_stop_button(request, list(views.values()), keys[1])
                return
            titles = [view.row.title for view in missing.values()]
            names = format_names(list(missing)) if format_names else join_words(list(dict.fromkeys(titles)))
            earlier = " Until then the page shows the results of the earlier settings." if request.earlier else ""
            st.markdown(escape_markdown(f"No finished run of {names} with these settings yet.{earlier}"))
            _draw_train_button(request, list(views.values()), keys[0])

    request.add_fragment(f"{request.name}.missing", draw)
    if draw_learning:
        draw_learning()


def draw_train_offer(
    request: TrainRequest, state: VariantComparison, draw_learning: Callable[[], object] | None = None
) -> None:
    """If some variants of a comparison have no finished run, say so in their words and offer to train them."""

    def format_names(names: Sequence[str]) -> str:
        return join_words([state.variants[name].words for name in names])

    draw_missing_runs(request, state.configs, format_names, draw_learning=draw_learning)


def draw_earlier_note(request: TrainRequest) -> None:
    """Say above results that they have earlier settings, if so, and which."""
    if request.earlier and request.session:
        sizes = describe_sizes(request.earlier, request.session.state.configs)
        note = f"Results of the earlier settings{f' ({sizes})' if sizes else ''}, until the new ones are trained."
        caption(f":material/history: {escape_markdown(note)}")


def describe_sizes(configs: Mapping[str, RunConfig], others: Mapping[str, RunConfig]) -> str:
    """Return the sizes (see `limits.REDUCIBLE`) that all of these configurations have and the others have not."""
    pairs = [(config, others[name]) for name, config in configs.items() if name in others]
    sizes = []
    for name, words in limits.REDUCIBLE.items():
        values = [tuple(limits.read_setting(config, name) for config in pair) for pair in pairs]
        changed = {value for value, other in values if value != other}
        sizes += [limits.format_size(value, words) for value in changed if len(changed) == 1]
    return ", ".join(sizes)


def _draw_train_button(request: TrainRequest, views: Sequence[RunView], name: str, label: str = "") -> bool:
    """Draw the button that trains what is not finished, or everything again, with its time.

    If this server does not allow these settings, the button is for the nearest ones that it allows. If all results are
    there and took long, it is for a short training. Returns whether the button is for the settings as they are.
    """
    chosen = [view for view in views if _was_stopped(view) or not is_finished(view)] or list(views)
    resumable, again = any(map(_can_resume, views)), all(map(is_finished, views))
    label = label or ("Go on" if resumable else "Train again" if again else "Train")
    configs = {key(view.config): view.config for view in chosen}
    state = request.session.state if request.session else None
    problem, other = "", state
    if warmup.is_ready():  # before, torch would have to be loaded for the cost
        problem = next(filter(None, map(limits.describe_excess, configs.values())), "")
        if state and again and configs.keys() == {key(config) for config in state.configs.values()}:
            other = state.short
        if state and problem and other == state:
            other = state.nearest_allowed()
    if request.session and other and other != state:
        _draw_button_for(request, request.session, other, name)
        return False
    if problem:
        st.markdown(escape_markdown(problem))
    else:
        _draw_button(request, label, chosen, name)
    return not problem


def _draw_button(request: TrainRequest, label: str, views: Sequence[RunView], name: str) -> None:
    """Draw the button that trains these runs, with its time."""

    def start() -> None:
        request.start(view.config for view in views)
        request.rerun_fragments()

    time = _format_time([view.config for view in views])
    st.button(label + time, icon=":material/play_arrow:", on_click=start, key=name)


def _draw_button_for(request: TrainRequest, session: PageSession[Any], state: Any, name: str) -> None:
    """Draw the button that changes the page to another state and trains what this state has no results of."""

    def start() -> None:
        session.change(lambda _: state)
        request.start(state.configs[name] for name in request._missing(state.configs) or state.configs)
        st.rerun()

    before, configs = session.state.configs, state.configs
    models = [model_row(config.model).title for config in configs.values()] if len(configs) < len(before) else []
    is_other_text = _data(state) != _data(session.state)
    what = "on a smaller text" if is_other_text else join_words(models) or describe_sizes(configs, before)
    time = _format_time(list(configs.values()))
    st.button(f"Train {what}{time}", icon=":material/play_arrow:", on_click=start, key=name)


def _format_time(configs: Sequence[RunConfig]) -> str:
    """Return the time that a button adds to its label; nothing until torch is loaded."""
    if not warmup.is_ready():
        return ""
    return f", about {format_duration(service.estimate_seconds(configs, current_visitor().id))}"


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
    return bool(_was_stopped(view) and view.job.step if view.job else view.stopped)


def _was_stopped(view: RunView) -> bool:
    return view.job is not None and view.job.state == "stopped"


Compared = TypeVar("Compared", bound=LabellingComparison)


def draw_training_settings(session: PageSession[Compared]) -> None:
    """Draw the inputs for seeds, steps and first seed, and a button for the defaults."""
    bind_widget(session, "seeds", st.number_input, width=110)
    bind_widget(session, "steps", st.number_input, width=170)
    bind_widget(session, "seed", st.number_input, width=120)
    reset_button(session)
