"""One visitor's state on the negation page, kept between gestures and written into the address.

The lab (`Lab`) is the truth; widgets show it and change it through their callbacks, so one setting may
stand in two places of the page. Streamlit forgets a widget when its page is left; this does not.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

import streamlit as st

from explorer.catalogue import model_row
from explorer.errors import LineageError
from explorer.tasks.negation import VOCABULARY, NegationConfig
from explorer.training.config import Adam, RunConfig
from explorer.ui import lab as address
from explorer.ui.lab import Lab

_KEY = "lineage.negation"
_ECHO = 1.0  # seconds; nobody types the old value again in that time
_PAGE, _STAYED = "lineage.page", "lineage.stayed"


@dataclass
class LabSession:
    """What this visitor has on the screen."""

    lab: Lab = field(default_factory=Lab)
    problems: tuple[str, ...] = ()  # about the address, or the last change
    raced: set[str] = field(default_factory=set)  # keys of the runs this visitor asked to train
    races: int = 0  # how often Train was pressed: each is a playback of its own
    spoken: tuple[str, ...] = VOCABULARY.split(Lab.say)  # the last sentence that every model could read
    written: dict[str, str] | None = None  # the address as this page last wrote it
    echoes: dict[str, tuple[object, float]] = field(default_factory=dict)  # by widget: an old value, and until when

    def change(self, make: Callable[[Lab], Lab]) -> None:
        """Change the lab, or keep it and say why not."""
        try:
            self.lab, self.problems = make(self.lab), ()
        except LineageError as error:
            self.problems = (str(error),)


def remember_page(page: str) -> None:
    """Called once a run, before the page: whether this visitor was on it already."""
    st.session_state[_STAYED] = st.session_state.get(_PAGE) == page
    st.session_state[_PAGE] = page


def lab_session() -> LabSession:
    """This visitor's state; an address that this page did not write is read anew.

    Whoever comes from another page brings an empty address and finds everything as it was left; an
    address emptied on this page (the browser's back button) means the defaults.
    """
    session: LabSession = st.session_state.setdefault(_KEY, LabSession())
    here = st.query_params.to_dict()
    if here != session.written and (here or st.session_state.get(_STAYED)):
        session.lab, session.problems = address.read(here)
    write_address(session)
    return session


def write_address(session: LabSession) -> None:
    """Let the address hold what is on the screen."""
    wanted = address.write(session.lab)
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)
    session.written = wanted


def bound(session: LabSession, key: str, value: object, make: Callable[[Lab, Any], Lab]) -> dict[str, Any]:
    """The arguments that tie a widget to the lab: it shows `value`, and `make` says what its change means.

    A browser that has not yet been shown a new value sends the old one with its next gesture. That is an
    echo and no change, so for a moment what the widget held before is not taken for a wish.
    """
    held = st.session_state.get(key)
    if held != value:
        session.echoes[key] = (held, time.monotonic() + _ECHO)
    st.session_state[key] = value

    def changed() -> None:
        new = st.session_state[key]
        echo, until = session.echoes.get(key, (None, 0.0))
        if new != echo or time.monotonic() > until:
            session.change(lambda lab: make(lab, new))

    return {"key": key, "on_change": changed}


def setting(session: LabSession, name: str, label: str, *, model: str | None = None, place: str = "") -> None:
    """A widget for one setting, made from its own description: its kind, limits and explanation."""
    holder = _holder(session.lab, name, model)
    about = next(f for f in dataclasses.fields(holder) if f.name == name).metadata
    hint = get_type_hints(holder)[name]
    value = session.lab.value(name, model)

    def make(lab: Lab, new: Any) -> Lab:
        return lab.with_own(model, **{name: new}) if model else lab.with_shared(**{name: new})

    key = f"{place}.{model or 'shared'}.{name}"
    ties = bound(session, key, value, make)
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
        st.number_input(label, low, high, step=value / 2, format="%g", help=about["help"], **ties)


def _holder(lab: Lab, name: str, model: str | None) -> type[Any]:
    """The settings class that a setting belongs to."""
    if model is None:
        return NegationConfig if hasattr(NegationConfig, name) else RunConfig
    config = model_row(lab.config(model).model).config
    return next(kind for kind in (config, Adam, RunConfig) if hasattr(kind, name))
