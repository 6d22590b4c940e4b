"""Our own instruments in the browser: each a module in `assets/`, mounted as a Streamlit component.

Their code is served once by the `/assets` route of `app.py` instead of travelling with every
message; what is registered here is only the few lines that fetch it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

# The line breaks matter: Streamlit takes a one-line string for the path of a file.
_MODULE = """
const module = import(new URL("/assets/lineage/{name}.js", location.origin).href);
export default function (component) {{
  let unmount;
  module.then((m) => {{ unmount = m.default(component); }});
  return () => unmount?.();
}}
"""
_PLACE = """
<link rel="stylesheet" href="/assets/lineage/base.css">
<link rel="stylesheet" href="/assets/lineage/{name}.css">
<div class="lineage lineage-{name}"></div>
"""


def _register(name: str) -> Any:
    return st.components.v2.component(
        f"lineage_{name}",
        html=_PLACE.format(name=name),
        js=_MODULE.format(name=name),
        isolate_styles=False,  # plotly writes its style rules into the document's head
    )


_verdicts = _register("verdicts")


def verdicts(data: Mapping[str, object], key: str) -> None:
    """Draw what every model says about one sentence; see `assets/verdicts.js` for the data."""
    _verdicts(data=data, key=key)
