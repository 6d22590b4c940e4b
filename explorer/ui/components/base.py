"""The browser components of the app: folders of JavaScript and CSS, mounted as Streamlit components.

A component of a single page is in `labs/PAGE/components/`, one of several pages in `static/components/`. Their code is
served once by the `/assets` routes of `app.py` instead of with every message; only a short loader is
registered with Streamlit. Each module documents the data that it draws. Text of visitors is passed as data and shown
as text, never as markup.

A component sends its events as a log of its last few, each with a number that grows. Events that arrive twice or late
are recognised by their number, and none is lost when the server handles several messages at once.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import partial
from typing import Any

import streamlit as st

from explorer.program_files import component_folders

# The line breaks matter: Streamlit takes a one-line string for the path of a file.
_MODULE = """
const runtime = import(new URL("assets/static/shared/runtime/mount.js", document.baseURI).href);
export default function (component) {{
  let unmount, gone = false;
  runtime.then(({{ mount }}) => mount("{folder}", component, () => gone)).then((result) => (unmount = result));
  return () => {{ gone = true; unmount?.(); }};
}}
"""
_PLACE = """
<link rel="stylesheet" href="assets/static/shared/base.css">
<link rel="stylesheet" href="assets/{folder}/style.css">
<div class="lineage lineage-{css_class}"></div>
"""


def register(name: str) -> Any:
    """Register the component of this name and return the function that mounts it."""
    folder = component_folders()[name]
    component = st.components.v2.component(
        f"lineage_{name}",
        html=_PLACE.format(folder=folder, css_class=name.replace("_", "-")),
        js=_MODULE.format(folder=folder),
        isolate_styles=False,  # plotly writes its style rules into the document's head
    )

    def mount(*, key: str, **arguments: Any) -> Any:
        result = component(key=key, **arguments)
        _skip_earlier_events(key)
        return result

    return mount


def event_key(key: str, event: str) -> str:
    """Return the key under which the session state keeps the last event of this name of a component."""
    return f"{key}: {event}"


def pop_event(key: str, event: str) -> Any:
    """Return the value of the last event of a component and remove it; None without a new event.

    A page may call this before it draws the component; the component's own function then finds no event.
    """
    return st.session_state.pop(event_key(key, event), None)


def pop_choices(key: str, allowed: Mapping[str, Container[object]]) -> dict[str, Any]:
    """Return the new events of a component whose value is allowed, by name: a browser can send anything.

    allowed: the possible texts or whole numbers of each event
    """
    values = {event: pop_event(key, event) for event in allowed}
    return {event: value for event, value in values.items() if type(value) in (int, str) and value in allowed[event]}


def event_callbacks(key: str, *events: str, inner: Mapping[str, tuple[str, ...]] | None = None) -> dict[str, Any]:
    """Return the callback that stores the value of each event until `pop_event` returns it.

    key: key of the component.
    events: names of its events.
    inner: names of the events of the components inside it, by their keys.

    The value is stored because the run that receives the event may be interrupted.
    """
    allowed = {key: events, **(inner or {})}
    return {"on_events_change": partial(_store_events, key, allowed), "default": {"events": []}}


def _counter(key: str) -> str:
    return f"{key}: number of the last event"


def _skip_earlier_events(key: str) -> None:
    """Do not take up events that were handled before this session began, as on a server that is no more."""
    if _counter(key) not in st.session_state:
        values: Mapping[str, Any] = st.session_state.get(key) or {}
        numbers = (number for number, *_ in _valid_events(values.get("events")))
        st.session_state[_counter(key)] = max(numbers, default=0)


def _store_events(key: str, allowed: Mapping[str, tuple[str, ...]]) -> None:
    """Store the events of a component that are newer than those stored before."""
    counter = _counter(key)
    values: Mapping[str, Any] = st.session_state.get(key) or {}
    for number, component, event, value in _valid_events(values.get("events")):
        if number > st.session_state.get(counter, 0):
            st.session_state[counter] = number
            if event in allowed.get(component or key, ()):
                st.session_state[event_key(component or key, event)] = value


def _valid_events(log: object) -> Iterator[tuple[float, str, str, Any]]:
    """Yield the entries of a log that have the form [number, key of an inner component or "", event, value]."""
    for entry in log if isinstance(log, list) else []:
        if isinstance(entry, list) and len(entry) == 4:
            number, component, event, _ = entry
            if isinstance(number, int | float) and isinstance(component, str) and isinstance(event, str):
                yield tuple(entry)
