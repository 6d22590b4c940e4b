"""The state of one visitor on a page, kept between reruns and written to the URL.

The state object (an `ExperimentState` on a page that trains) is authoritative. Widgets show it and change it through
callbacks, so that two widgets can show one setting. Unlike widget values, it survives leaving the page.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin, get_type_hints

import streamlit as st
from streamlit.errors import StreamlitAPIException

from explorer.catalogue import TASKS, task_row
from explorer.errors import DamagedRun, LineageError
from explorer.training.config import Optimiser, RunConfig
from explorer.ui.state import experiment_state, url_codec
from explorer.ui.state.experiment_state import AnyExperiment, ExperimentState
from explorer.ui.state.run_lookup import find_config
from explorer.ui.state.visitor import current_visitor

State = TypeVar("State")
_STALE_SECONDS = 1.0  # seconds for which a request may still carry an old URL or value
_BUSY_FACTOR = 3.0  # times the duration of the run, if that is longer: the browser is then slow as well
_PAGE, _STAYED, _RUN, _DRAWN = "lineage.page", "lineage.stayed", "lineage.run", "lineage.drawn"
_BEGUN = "lineage.begun"  # start time of this run of the whole page; absent in a fragment rerun
SHARED_PARAMS = (
    "lesson",
    "part",
    "class",
    "lock",
    "screen",
)  # URL parameters that all pages share
_STALE_VALUES = "lineage.echoes"  # by widget: the previous value, and until when it is ignored


@dataclass
class PageSession(Generic[State]):
    """The state of a page for one visitor."""

    state: State
    problems: tuple[str, ...] = ()  # messages about the URL or the last change
    written_url: dict[str, str] | None = None  # the URL parameters that this page last wrote
    # Earlier URL parameters that a browser may still send, and when the newest were written.
    stale_urls: list[dict[str, str]] = field(default_factory=list)
    written_at: float = 0.0

    def change(self, make: Callable[[State], State]) -> None:
        """Change the state; on a LineageError keep it and store the message in `problems`."""
        try:
            self.state, self.problems = make(self.state), ()
        except LineageError as error:
            self.problems = (str(error),)

    def attempt(self, act: Callable[[], object]) -> bool:
        """Run `act`; return whether it succeeded. A LineageError becomes the problem that the page shows."""
        try:
            act()
        except LineageError as error:
            self.problems = (str(error),)
            return False
        self.problems = ()
        return True

    def read(self, params: Mapping[str, str]) -> None:
        """Set the state from URL parameters."""
        self.state, self.problems = url_codec.read(type(self.state), params)

    def write(self) -> dict[str, str]:
        """Return the URL parameters of the state."""
        return url_codec.write(self.state)


@dataclass
class ExperimentSession(PageSession[AnyExperiment]):
    """The state of a page that trains models for one visitor."""

    requested_runs: set[str] = field(default_factory=set)  # keys of the runs requested in this browser tab
    train_count: int = 0  # how often Train was pressed; each starts a new playback

    @property
    def experiment(self) -> AnyExperiment:
        return self.state

    def kept_across_runs(self) -> dict[str, str]:
        """Return the URL parameters that stay when the run of another page is shown here."""
        return {}

    def read(self, params: Mapping[str, str]) -> None:
        self.state, self.problems = experiment_state.read(type(self.state), params, current_visitor().id)

    def write(self) -> dict[str, str]:
        return experiment_state.write(self.state)


def record_page(page: str) -> None:
    """Record the current page; called once per run, before the page is drawn."""
    st.session_state[_STAYED] = st.session_state.get(_PAGE) == page
    st.session_state[_PAGE] = page
    st.session_state[_BEGUN] = time.monotonic()


def has_just_arrived() -> bool:
    """Return whether the visitor has just come to this page from another one."""
    return not st.session_state.get(_STAYED)


def focused_run() -> str:
    """Return the run that the visitor last opened by name, on any page; empty if none."""
    return str(st.session_state.get(_RUN, ""))


def focus_run(run: str) -> None:
    """Store a run as the one that other pages show too."""
    st.session_state[_RUN] = run


Session = TypeVar("Session", bound=ExperimentSession[Any])


def page_url_params() -> dict[str, str]:
    """Return the URL parameters of the page itself."""
    return {name: text for name, text in st.query_params.to_dict().items() if name not in SHARED_PARAMS}


def shared_url_params() -> dict[str, str]:
    """Return the URL parameters that all pages share (`SHARED_PARAMS`)."""
    return {name: text for name, text in st.query_params.to_dict().items() if name in SHARED_PARAMS}


def experiment_session(kind: Callable[[], Session]) -> Session:
    """Return this visitor's session of a page that trains; a run opened on another page is shown here too."""
    fresh = kind()
    session: Session = st.session_state.setdefault(f"lineage.{fresh.experiment.TASK}", fresh)
    run = focused_run()
    if (
        has_just_arrived()
        and not page_url_params()
        and run not in ("", session.experiment.run)
        and _is_run_of_task(run, session.experiment.TASK)
    ):
        session.read({"run": run, **session.kept_across_runs()})
    follow_url(session)
    if session.experiment.shows_requested_run or _is_run_of_task(run, session.experiment.TASK):
        focus_run(session.experiment.run if session.experiment.shows_requested_run else "")
    return session


def _is_run_of_task(run: str, task: str) -> bool:
    """Return whether a run belongs to this task; also true if it cannot be found, so that the page reports it."""
    try:
        return bool(run) and task_row(find_config(run, current_visitor().id).task).name == task
    except LineageError:
        return True


def page_session(name: str, kind: type[State]) -> PageSession[State]:
    """Return this visitor's session of a page whose state is one flat dataclass; see `url_codec.py`."""
    session: PageSession[State] = st.session_state.setdefault(f"lineage.{name}", PageSession(kind()))
    follow_url(session)
    return session


def comparison_session(name: str, kind: type[State]) -> PageSession[State]:
    """Return the session of a page that compares models, with its models (`who`) and run (`run`) within the limits.

    A URL may request more than this server allows.
    """
    session = page_session(name, kind)
    state: Any = session.state
    try:
        requested = state.with_run(current_visitor().id) if state.run else state
        session.state = requested.with_models(requested.who)
    except LineageError as error:
        session.problems = (*session.problems, str(error))
        session.state = state.reset().with_models(state.who)
    return session


def url_params_of(name: str, kind: type[State]) -> dict[str, str]:
    """Return the URL parameters of another page as this visitor left it."""
    return dict(st.session_state.setdefault(f"lineage.{name}", PageSession(kind())).write())


def follow_url(session: PageSession[Any]) -> None:
    """Apply URL parameters that this page did not write, then write those of the state.

    Coming from another page with an empty URL keeps the state; an empty URL on the same page (the back button) means
    the defaults. If the user acts before the browser has applied the last URL update, the request carries the previous
    URL. Treat it as stale, not as navigation.
    """
    params = page_url_params()
    if params == session.written_url:
        session.stale_urls.clear()
    elif not (params in session.stale_urls and _browser_may_lag(session)) and (params or not has_just_arrived()):
        session.stale_urls.clear()
        session.read(params)
    write_url(session)


def _browser_may_lag(session: PageSession[Any]) -> bool:
    """Return whether the browser may not have applied the last URL update yet."""
    drawn_at: float = st.session_state.get(_DRAWN, 0.0)
    return drawn_at < session.written_at or time.monotonic() - drawn_at < _STALE_SECONDS / 2


def record_page_drawn() -> None:
    """Record the time; called at the end of each run of a page or of a fragment."""
    st.session_state[_DRAWN] = now = time.monotonic()
    deadline = now + max(_STALE_SECONDS, _BUSY_FACTOR * (now - st.session_state.pop(_BEGUN, now)))
    stale = _stale_values()
    stale.update({key: (held, deadline if until == math.inf else until) for key, (held, until) in stale.items()})


def _stale_values() -> dict[str, tuple[object, float]]:
    stale: dict[str, tuple[object, float]] = st.session_state.setdefault(_STALE_VALUES, {})
    return stale


def write_url(session: PageSession[Any]) -> None:
    """Write the state to the URL."""
    params, current = session.write(), page_url_params()
    if current != params:
        st.query_params.from_dict(params | shared_url_params())
        session.stale_urls = [*session.stale_urls, current][-8:]
        session.written_at = time.monotonic()
    session.written_url = params


def bind_widget(
    session: PageSession[State],
    key: str,
    value: object,
    make: Callable[[State, Any], State],
    redraw: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the arguments that bind a widget to the state.

    key: key of the widget.
    value: the value that it shows.
    make: returns the new state for the old state and the new value.
    redraw: names of the only fragments that show the value (see `fragment`); the widget must be in one of them.

    A browser that has not received a new value yet sends the previous one with its next event. Until shortly after the
    page is drawn, the previous value is therefore ignored.
    """
    previous = st.session_state.get(key)
    if previous != value:
        _stale_values()[key] = previous, math.inf
    st.session_state[key] = value

    def apply_value() -> None:
        new = st.session_state[key]
        stale, deadline = _stale_values().get(key, (None, 0.0))
        if new != stale or time.monotonic() > deadline:
            change(session, lambda state: make(state, new), redraw)

    return {"key": key, "on_change": apply_value}


def change(session: PageSession[State], make: Callable[[State], State], redraw: tuple[str, ...] = ()) -> None:
    """Change the state in a widget's callback; rerun only the fragments in `redraw`, or the page if it is empty."""
    earlier_problems = session.problems
    session.change(make)
    if redraw:
        write_url(session)
        if not earlier_problems and not session.problems:
            with suppress(StreamlitAPIException):  # a fragment that was never drawn needs a run of the page
                st.rerun(redraw)
        st.rerun()


def fragment(session: PageSession[Any], name: str, draw: Callable[[], object]) -> None:
    """Draw a part of the page as a fragment that can rerun alone."""

    @st.fragment(key=name)
    def draw_fragment() -> None:
        try:
            draw()
        except DamagedRun as error:  # the run is now known as damaged, so the rerun finds another run or none
            session.problems = (str(error),)
            st.rerun()
        record_page_drawn()

    draw_fragment()


def setting_widget(
    session: ExperimentSession[AnyExperiment],
    name: str,
    label: str,
    *,
    model: str | None = None,
    section: str = "",
    make: Callable[[AnyExperiment, Any], AnyExperiment] | None = None,
    **more: Any,
) -> None:
    """Draw the widget of one setting, with type, limits and help from the field of its settings class.

    name, label: field name and visible label of the setting.
    model: the model that the setting belongs to; None for a setting that all models share.
    section: first part of the widget's key, for a setting with several widgets.
    make: returns the new state if a change affects more than this setting.
    more: further arguments of the widget.
    """
    settings_class = _settings_class(session.experiment, name, model)
    about = next(f for f in dataclasses.fields(settings_class) if f.name == name).metadata
    hint = get_type_hints(settings_class)[name]
    value = session.experiment.value(name, model)

    def update(lab: AnyExperiment, new: Any) -> AnyExperiment:
        return lab.with_own(model, **{name: new}) if model else lab.with_shared(**{name: new})

    key = f"{section}.{model or 'shared'}.{name}"
    widget_args = bind_widget(session, key, value, make or update) | more
    if get_origin(hint) is Literal:
        st.selectbox(label, get_args(hint), help=about["help"], **widget_args)
    elif hint is bool:
        st.toggle(label, help=about["help"], **widget_args)
    elif hint is int:
        st.number_input(label, int(about["low"]), int(about["high"]), step=1, help=about["help"], **widget_args)
    elif about["high"] == 1 and about["low"] == 0:
        st.slider(label, 0.0, 1.0, step=0.05, help=about["help"], **widget_args)
    else:
        low, high = float(about["low"]), float(about["high"])
        st.number_input(label, low, high, step=value / 2 or 0.1, format="%g", help=about["help"], **widget_args)


def _settings_class(lab: ExperimentState, name: str, model: str | None) -> type[Any]:
    """Return the settings class that has this field."""
    task = TASKS[lab.TASK].config
    kinds = [type(lab.config(model).model), Optimiser, RunConfig, task] if model else [task, RunConfig]
    return next(kind for kind in kinds if name in {f.name for f in dataclasses.fields(kind)})
