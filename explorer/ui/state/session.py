"""The state of one visitor on a page, kept between reruns and written to the URL.

The state object (an `ExperimentState` on a page that trains) is authoritative. Widgets show it and change it through
callbacks, so that two widgets can show one setting. Unlike widget values, it survives leaving the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

import streamlit as st

from explorer.catalogue import page_file, task_row
from explorer.errors import DamagedRun, LineageError
from explorer.training.config import RunConfig
from explorer.ui.components.base import event_key, pop_event
from explorer.ui.state import url_codec
from explorer.ui.state.experiment_state import VariantComparison
from explorer.ui.state.fields import PageState
from explorer.ui.state.fragments import draw_fragment, forget_fragments, rerun_fragments
from explorer.ui.state.open_experiment import AnyExperiment
from explorer.ui.state.run_lookup import find_config
from explorer.ui.state.visitor import current_visitor, read_as_visitor

State = TypeVar("State", bound=PageState)
Compared = TypeVar("Compared", bound=VariantComparison)
_MAX_SEARCH = 8_000  # characters of a URL that a browser reports
_PAGE, _STAYED, _RUN = "lineage.page", "lineage.stayed", "lineage.run"
_URL = "lineage.url"  # the URL parameters of the page that the browser shows, or will show
_UNREAD = "lineage.unread"  # URL parameters that the page has not read yet
_SHARED = "lineage.shared"  # the URL parameters that all pages share
_VISITED = event_key("address", "visited")  # the last step back, forward or by a link that the browser reported
_FOLLOWED = "lineage.followed"  # the query string of this step, until another URL is read or written
_TARGET = "lineage.target"  # the page that the server opens: its path, its parameters, and the path of the page left
SHARED_PARAMS = (
    "lesson",
    "part",
    "class",
    "lock",
    "screen",
    "unfold",
)  # URL parameters that all pages share


@dataclass
class PageSession(Generic[State]):
    """The state of a page for one visitor."""

    state: State
    prefix: str = ""  # of the keys of the page's widgets, which are stored in lessons and in `lock=` of a URL
    problems: tuple[str, ...] = ()  # messages about the URL or the last change
    # On a page that trains, see `TrainRequest.session_with_results`:
    trained: State | None = None  # the last state whose runs were trained
    current: PageSession[State] | None = None  # in a copy with that state: the session that it is a copy of

    def change(self, make: Callable[[State], State]) -> None:
        """Change the state; on a LineageError keep it and store the message in `problems`.

        A change of what is shown of the results also applies to the results of earlier settings.
        """
        if self.current:
            self.current.change(make)
            self.state, self.problems = self.current.trained or self.state, self.current.problems
            return
        read_as_visitor()
        try:
            self.problems = ()
            self.state = make(self.state)
        except LineageError as error:
            self.problems = (str(error),)
        with suppress(LineageError):
            if self.trained is not None and (changed := make(self.trained)).configs == self.trained.configs:  # type: ignore[attr-defined]
                self.trained = changed

    def attempt(self, act: Callable[[], object]) -> bool:
        """Run `act`; return whether it succeeded. A LineageError becomes the problem that the page shows."""
        read_as_visitor()
        try:
            act()
        except LineageError as error:
            self.problems = (str(error),)
            return False
        self.problems = ()
        return True

    def read(self, params: Mapping[str, str]) -> None:
        """Set the state from URL parameters."""
        self.state, self.problems = url_codec.read(type(self.state), params, current_visitor().id)

    def write(self) -> dict[str, str]:
        """Return the URL parameters of the state."""
        return url_codec.write((self.current or self).state)


@dataclass
class ExperimentSession(PageSession[AnyExperiment]):
    """The state of a page that trains models for one visitor."""

    @property
    def experiment(self) -> AnyExperiment:
        return self.state

    def next_seed_configs(self) -> list[RunConfig]:
        """Change the seeds to the next ones and return the configurations; none if that is not possible."""
        lab = self.experiment
        self.change(lambda lab: lab.with_shared(seed=lab.value("seed") + lab.value("replicas")))
        return [] if self.experiment is lab else list(self.experiment.configs.values())

    def kept_across_runs(self) -> dict[str, str]:
        """Return the URL parameters that stay when the run of another page is shown here."""
        return {}


def record_page(page: str) -> None:
    """Record the current page and the URL that it is opened with; called once per run, before the page is drawn.

    A URL is read when the visitor comes to a page, when the server opens it (`open_page`), and when the visitor goes
    back or forward, which the component `address` reports. Every other request may carry a URL from before the last
    change of the state, so its URL is ignored.
    """
    forget_fragments()
    arrived = st.session_state.get(_PAGE) != page
    target = st.session_state.get(_TARGET)
    if target and target[2] == page != target[0]:  # a late request of the page that was left
        open_page(target[0], target[1])
    visited = st.session_state.get(_VISITED)
    if target and target[0] == page:
        _set_url(target[1])
    elif arrived:
        _set_url(st.query_params.to_dict())
    elif isinstance(visited, dict) and visited.get("path") == page and isinstance(visited.get("search"), str):
        search = visited["search"][:_MAX_SEARCH]
        _set_url(dict(parse_qsl(search.removeprefix("?"))), keep_if_empty=False)
        st.session_state[_FOLLOWED] = search
    st.session_state[_STAYED] = not arrived
    st.session_state[_PAGE] = page
    # Removed last, because Streamlit may interrupt a run for the next one wherever the session state is used.
    st.session_state.pop(_TARGET, None)
    st.session_state.pop(_VISITED, None)


def _set_url(params: Mapping[str, str], keep_if_empty: bool = True) -> None:
    """Record the URL of the page; without parameters a page keeps the state in which the visitor left it."""
    own = {name: text for name, text in params.items() if name not in SHARED_PARAMS}
    st.session_state[_URL] = own
    st.session_state[_SHARED] = {name: text for name, text in params.items() if name in SHARED_PARAMS}
    st.session_state[_UNREAD] = None if keep_if_empty and not own else own
    st.session_state[_FOLLOWED] = None


def open_page(page: str, params: Mapping[str, str]) -> None:
    """Open a page (its path) with these URL parameters. Ends the run of the current page."""
    st.session_state[_TARGET] = page, dict(params), st.session_state.get(_PAGE)
    st.switch_page(page_file(page), query_params=dict(params))


def followed_search() -> str | None:
    """Return the query string of the last step back, forward or by a link; None if the page has another URL by now."""
    search: str | None = st.session_state.get(_FOLLOWED)
    return search


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


def unread_url() -> dict[str, str] | None:
    """Return the URL parameters with which the page was opened, until its session has read them."""
    unread: dict[str, str] | None = st.session_state.get(_UNREAD)
    return unread


def page_url_params() -> dict[str, str]:
    """Return the URL parameters of the page itself."""
    return dict(st.session_state.get(_URL, {}))


def shared_url_params() -> dict[str, str]:
    """Return the URL parameters that all pages share (`SHARED_PARAMS`)."""
    shared: dict[str, str] = dict(st.session_state.get(_SHARED, {}))
    shared.pop("screen", None)  # the browser sets it without the server
    return shared | ({"screen": st.query_params["screen"]} if "screen" in st.query_params else {})


def set_shared_param(name: str, text: str) -> None:
    """Write a URL parameter that all pages share; an empty text removes it."""
    shared = {each: value for each, value in shared_url_params().items() if each != name}
    shared |= {name: text} if text else {}
    st.session_state[_SHARED] = shared
    st.query_params.from_dict(page_url_params() | shared)


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
    """Return this visitor's session of a page whose state is one flat dataclass; see `url_codec.py`.

    name: the prefix of the keys of the page's widgets; each page has its own.
    """
    session: PageSession[State] = st.session_state.setdefault(f"lineage.{name}", PageSession(kind(), name))
    follow_url(session)
    return session


def comparison_session(name: str, kind: type[Compared]) -> PageSession[Compared]:
    """Return the session of a page that compares models, with its models (`who`) and run (`run`) within the limits.

    A URL may request more than this server allows.
    """
    session = page_session(name, kind)
    session.state, problems = session.state.open_run(current_visitor().id)
    session.problems = (*session.problems, *problems)
    return session


def url_params_of(name: str, kind: type[State]) -> dict[str, str]:
    """Return the URL parameters of another page as this visitor left it."""
    return dict(st.session_state.setdefault(f"lineage.{name}", PageSession(kind(), name)).write())


def follow_url(session: PageSession[Any]) -> None:
    """Apply the URL with which the page was opened, if it has not been read yet, then write that of the state."""
    unread = st.session_state.get(_UNREAD)
    if unread is not None:
        session.read(unread)
    st.session_state[_UNREAD] = None  # after reading, which may be interrupted
    write_url(session)


def write_url(session: PageSession[Any]) -> None:
    """Write the state to the URL."""
    params = session.write()
    if params != page_url_params():
        st.query_params.from_dict(params | shared_url_params())
        st.session_state[_URL] = params
        st.session_state[_FOLLOWED] = None


def take_component_message(session: PageSession[State], key: str) -> None:
    """Apply the last event `set` of a component to the fields that it sets (see `url_codec.apply_message`)."""
    if (message := pop_event(key, "set")) is not None:
        session.change(lambda state: url_codec.apply_message(state, message))


def apply_component_event(session: PageSession[State], key: str) -> None:
    """Apply the last event `set` of a component in a fragment, and rerun the whole page if it changed the state."""
    before = session.state
    take_component_message(session, key)
    if session.state != before:
        write_url(session)
        st.rerun()


def change(session: PageSession[State], make: Callable[[State], State], redraw: tuple[str, ...] = ()) -> None:
    """Change the state in a widget's callback, and rerun the fragments in `redraw`, or the page if it is empty.

    The page writes the URL when it runs. Streamlit alone would rerun only the fragment that contains the widget.
    """
    earlier_problems = session.problems
    session.change(make)
    if redraw and not earlier_problems and not session.problems:
        write_url(session)
        rerun_fragments(redraw)
    st.rerun()


def fragment(session: PageSession[Any], name: str, draw: Callable[[], object]) -> None:
    """Draw a part of the page as a fragment that can rerun alone."""

    def draw_part() -> None:
        try:
            draw()
        except DamagedRun as error:  # the run is now known as damaged, so the rerun finds another run or none
            session.problems = (str(error),)
            st.rerun()

    draw_fragment(name, draw_part)
