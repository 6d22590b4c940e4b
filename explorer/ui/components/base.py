"""The browser components of the app: JavaScript modules in `static/components/`, mounted as Streamlit components.

Their code is served once by the `/assets` route of `app.py` instead of with every message; only a short loader is
registered with Streamlit. Each module documents the data that it draws. Text of visitors is passed as data and shown
as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

# The line breaks matter: Streamlit takes a one-line string for the path of a file.
_MODULE = """
const module = import(new URL("/assets/lineage/components/{name}/view.js", location.origin).href);
export default function (component) {{
  let unmount, gone = false;
  module.then((m) => {{ if (!gone) unmount = m.default(component); }});
  return () => {{ gone = true; unmount?.(); }};
}}
"""
_PLACE = """
<link rel="stylesheet" href="/assets/lineage/shared/base.css">
<link rel="stylesheet" href="/assets/lineage/components/{name}/style.css">
<div class="lineage lineage-{css_class}"></div>
"""


def register(name: str) -> Any:
    """Register the component in `static/components/NAME/` and return the function that mounts it."""
    return st.components.v2.component(
        f"lineage_{name}",
        html=_PLACE.format(name=name, css_class=name.replace("_", "-")),
        js=_MODULE.format(name=name),
        isolate_styles=False,  # plotly writes its style rules into the document's head
    )


def pop_event(key: str, event: str) -> Any:
    """Return the value of the last event of a component and remove it; None without a new event.

    A page may call this before it draws the component; the component's own function then finds no event.
    """
    return st.session_state.pop(f"{key}: {event}", None)


def event_callbacks(key: str, *events: str) -> dict[str, Callable[[], None]]:
    """Return callbacks that store the value of each event until `pop_event` returns it.

    The value is stored because the run that receives the event may be interrupted. Events that arrive while the user
    leaves the page are lost.
    """

    def store_event(name: str) -> None:
        values = st.session_state.get(key)
        if values is not None:
            st.session_state[f"{key}: {name}"] = values[name]

    return {f"on_{name}_change": partial(store_event, name) for name in events}
