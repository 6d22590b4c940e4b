"""One visitor's state on a page, kept between gestures and written into the address.

The state (of a page that trains: a `Lab`) is the truth; widgets show it and change it through their callbacks,
so one setting may stand in two places of the page. Streamlit forgets a widget when its page is left; this
does not.
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
from explorer.tasks.negation import VOCABULARY
from explorer.training.config import Optimiser, RunConfig
from explorer.ui import address, lab
from explorer.ui.known import config_of
from explorer.ui.lab import AnyLab, Lab
from explorer.ui.negation_lab import NegationLab

State = TypeVar("State")
_ECHO = 1.0  # seconds; nobody types the old value again in that time
_BUSY = 3.0  # times what drawing the page took, where that is longer: then the browser, too, takes its time
_PAGE, _STAYED, _RUN, _DRAWN = "lineage.page", "lineage.stayed", "lineage.run", "lineage.drawn"
_BEGUN = "lineage.begun"  # when this run of the whole page began; nothing while a part of it is drawn alone
AROUND = ("lesson", "part", "class", "lock", "screen")  # parts of an address that are of no page, but around them all
_ECHOES = "lineage.echoes"  # by widget: an old value, and until when it is no wish


@dataclass
class PageSession(Generic[State]):
    """What a visitor has on the screen of one page."""

    state: State
    problems: tuple[str, ...] = ()  # about the address, or the last change
    written: dict[str, str] | None = None  # the address as this page last wrote it
    # Addresses that a browser which has not heard of the newest one may still send, and when that was written.
    stale: list[dict[str, str]] = field(default_factory=list)
    moved: float = 0.0

    def change(self, make: Callable[[State], State]) -> None:
        """Change the state, or keep it and say why not."""
        try:
            self.state, self.problems = make(self.state), ()
        except LineageError as error:
            self.problems = (str(error),)

    def read(self, here: Mapping[str, str]) -> None:
        """Take the state that an address asks for."""
        self.state, self.problems = address.read(type(self.state), here)

    def write(self) -> dict[str, str]:
        """The address of the state."""
        return address.write(self.state)


@dataclass
class LabSession(PageSession[AnyLab]):
    """What a visitor has on the screen of a page that trains models."""

    raced: set[str] = field(default_factory=set)  # keys of the runs asked for in this window
    races: int = 0  # how often Train was pressed: each is a playback of its own

    @property
    def lab(self) -> AnyLab:
        return self.state

    def read(self, here: Mapping[str, str]) -> None:
        self.state, self.problems = lab.read(type(self.state), here)

    def write(self) -> dict[str, str]:
        return lab.write(self.state)


@dataclass
class NegationSession(LabSession[NegationLab]):
    """What a visitor has on the screen of the negation lab."""

    state: NegationLab = field(default_factory=NegationLab)
    spoken: tuple[str, ...] = VOCABULARY.split(NegationLab.say)  # the last sentence that every model could read


def remember_page(page: str) -> None:
    """Called once a run, before the page: whether this visitor was on it already."""
    st.session_state[_STAYED] = st.session_state.get(_PAGE) == page
    st.session_state[_PAGE] = page
    st.session_state[_BEGUN] = time.monotonic()


def arrived() -> bool:
    """Whether the visitor has just come to this page from another one."""
    return not st.session_state.get(_STAYED)


def run_in_focus() -> str:
    """The run that the visitor last asked for by name, on whichever page; empty if none."""
    return str(st.session_state.get(_RUN, ""))


def focus(run: str) -> None:
    """Remember a run for the other pages."""
    st.session_state[_RUN] = run


Session = TypeVar("Session", bound=LabSession[Any])


def page_address() -> dict[str, str]:
    """The part of the address that is the page's own."""
    return {name: text for name, text in st.query_params.to_dict().items() if name not in AROUND}


def around() -> dict[str, str]:
    """The part of the address that is of no page: the lesson it is shown in, and how it is shown."""
    return {name: text for name, text in st.query_params.to_dict().items() if name in AROUND}


def lab_session(kind: Callable[[], Session]) -> Session:
    """This visitor's state of a lab; the run that was asked for on another page is shown here too."""
    fresh = kind()
    session: Session = st.session_state.setdefault(f"lineage.{fresh.lab.TASK}", fresh)
    wanted = run_in_focus()
    if arrived() and not page_address() and wanted not in ("", session.lab.run) and _learned(wanted, session.lab.TASK):
        session.read({"run": wanted, **({"say": session.lab.say} if isinstance(session, NegationSession) else {})})
    follow_address(session)
    if session.lab.shows_asked or _learned(wanted, session.lab.TASK):
        focus(session.lab.run if session.lab.shows_asked else "")
    return session


def _learned(run: str, task: str) -> bool:
    """Whether a run that somebody looks at belongs on the page of this task."""
    try:
        return bool(run) and task_row(config_of(run).task).name == task
    except LineageError:
        return True  # the page says what is wrong with it


def page_session(name: str, kind: type[State]) -> PageSession[State]:
    """This visitor's state of a page that is one flat dataclass; see `address.py`."""
    session: PageSession[State] = st.session_state.setdefault(f"lineage.{name}", PageSession(kind()))
    follow_address(session)
    return session


def race_session(name: str, kind: type[State]) -> PageSession[State]:
    """`page_session` of chosen models (`who`) and a run that an address names (`run`), in order and as this server
    allows it: an address may ask for more."""
    session = page_session(name, kind)
    state: Any = session.state
    try:
        asked = state.with_run() if state.run else state
        session.state = asked.with_who(asked.who)
    except LineageError as error:
        session.problems = (*session.problems, str(error))
        session.state = state.reset().with_who(state.who)
    return session


def address_of(name: str, kind: type[State]) -> dict[str, str]:
    """The address of another page as this visitor left it."""
    return dict(st.session_state.setdefault(f"lineage.{name}", PageSession(kind())).write())


def follow_address(session: PageSession[Any]) -> None:
    """Let an address that this page did not write change its state, then let it hold what is on the screen.

    Whoever comes from another page brings an empty address and finds everything as it was left; an
    address emptied on this page (the browser's back button) means the defaults. A gesture made before the
    browser has shown the address of the last one brings an older address: that is an echo, and no wish.
    """
    here = page_address()
    if here == session.written:
        session.stale.clear()
    elif not (here in session.stale and _unheard(session)) and (here or not arrived()):
        session.stale.clear()
        session.read(here)
    write_address(session)


def _unheard(session: PageSession[Any]) -> bool:
    """Whether the browser may not have seen the newest address yet: it is shown while a page is drawn."""
    drawn: float = st.session_state.get(_DRAWN, 0.0)
    return drawn < session.moved or time.monotonic() - drawn < _ECHO / 2


def page_drawn() -> None:
    """Called at the end of each run of a page, or of a part of it."""
    st.session_state[_DRAWN] = now = time.monotonic()
    heard = now + max(_ECHO, _BUSY * (now - st.session_state.pop(_BEGUN, now)))
    echoes = _echoes()
    echoes.update({key: (held, heard if until == math.inf else until) for key, (held, until) in echoes.items()})


def _echoes() -> dict[str, tuple[object, float]]:
    echoes: dict[str, tuple[object, float]] = st.session_state.setdefault(_ECHOES, {})
    return echoes


def write_address(session: PageSession[Any]) -> None:
    """Let the address hold what is on the screen."""
    wanted, here = session.write(), page_address()
    if here != wanted:
        st.query_params.from_dict(wanted | around())
        session.stale = [*session.stale, here][-8:]
        session.moved = time.monotonic()
    session.written = wanted


def bound(
    session: PageSession[State],
    key: str,
    value: object,
    make: Callable[[State, Any], State],
    redraw: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The arguments that tie a widget to the state: it shows `value`, and `make` says what its change means.

    `redraw` names the only parts of the page that show it, see `part`; the widget must stand in one of them.

    A browser that has not yet been shown a new value sends the old one with its next gesture. That is an
    echo and no change: until the page is drawn, and for a moment then, what the widget held before is no wish.
    """
    held = st.session_state.get(key)
    if held != value:
        _echoes()[key] = held, math.inf
    st.session_state[key] = value

    def changed() -> None:
        new = st.session_state[key]
        echo, until = _echoes().get(key, (None, 0.0))
        if new != echo or time.monotonic() > until:
            change(session, lambda state: make(state, new), redraw)

    return {"key": key, "on_change": changed}


def change(session: PageSession[State], make: Callable[[State], State], redraw: tuple[str, ...] = ()) -> None:
    """Change the state in a widget's callback; only these parts of the page are drawn again, or all of it."""
    told = session.problems
    session.change(make)
    if redraw:
        write_address(session)
        if not told and not session.problems:
            with suppress(StreamlitAPIException):  # a part that was never drawn yet comes with the whole page
                st.rerun(redraw)
        st.rerun()


def part(session: PageSession[Any], name: str, draw: Callable[[], object]) -> None:
    """A part of the page that can be drawn again alone: that costs a fraction of the whole page."""

    @st.fragment(key=name)
    def drawn() -> None:
        try:
            draw()
        except DamagedRun as error:  # known from now on, so the next run of the page finds another run or none
            session.problems = (str(error),)
            st.rerun()
        page_drawn()

    drawn()


def setting(
    session: LabSession[AnyLab],
    name: str,
    label: str,
    *,
    model: str | None = None,
    place: str = "",
    make: Callable[[AnyLab, Any], AnyLab] | None = None,
    **more: Any,
) -> None:
    """A widget for one setting, made from its own description: its kind, limits and explanation.

    `make` says what a change means, where that is more than this setting.
    """
    holder = _holder(session.lab, name, model)
    about = next(f for f in dataclasses.fields(holder) if f.name == name).metadata
    hint = get_type_hints(holder)[name]
    value = session.lab.value(name, model)

    def usual(lab: AnyLab, new: Any) -> AnyLab:
        return lab.with_own(model, **{name: new}) if model else lab.with_shared(**{name: new})

    key = f"{place}.{model or 'shared'}.{name}"
    ties = bound(session, key, value, make or usual) | more
    if get_origin(hint) is Literal:
        st.selectbox(label, get_args(hint), help=about["help"], **ties)
    elif hint is bool:
        st.toggle(label, help=about["help"], **ties)
    elif hint is int:
        st.number_input(label, int(about["low"]), int(about["high"]), step=1, help=about["help"], **ties)
    elif about["high"] == 1 and about["low"] == 0:
        st.slider(label, 0.0, 1.0, step=0.05, help=about["help"], **ties)
    else:
        low, high = float(about["low"]), float(about["high"])
        st.number_input(label, low, high, step=value / 2 or 0.1, format="%g", help=about["help"], **ties)


def _holder(lab: Lab, name: str, model: str | None) -> type[Any]:
    """The settings class that a setting belongs to."""
    task = TASKS[lab.TASK].config
    kinds = [type(lab.config(model).model), Optimiser, RunConfig, task] if model else [task, RunConfig]
    return next(kind for kind in kinds if name in {f.name for f in dataclasses.fields(kind)})
