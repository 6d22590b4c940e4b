"""Controls that an address hides: `lock=KEY,KEY`. A class then sees only what its teacher left.

It hides, and protects nothing: whoever changes the address sees all of the page again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import streamlit as st

from explorer.errors import shortened
from explorer.ui.session import around

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
MOST = 60  # names


def names() -> tuple[str, ...]:
    """The controls that this address hides, as the page's style names them."""
    return tuple(name for name in around().get("lock", "").split(",")[:MOST] if _NAME.fullmatch(name))


def hide(locked: Iterable[str]) -> None:
    """Let these be on the page and not be seen. Streamlit marks each keyed element with the class st-key-KEY."""
    rules = ", ".join(f".st-key-{name}" for name in locked)
    if rules:
        st.html(f"<style>{rules} {{ display: none !important; }}</style>")


def marked(key: str) -> str:
    """A widget's key as Streamlit writes it into the page's style."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", key)


def unknown(locked: Iterable[str]) -> list[str]:
    """A sentence for every name that is no control of the page which was just drawn."""
    there = {marked(str(key)) for key in st.session_state}
    asked = [name for name in around().get("lock", "").split(",") if name]
    bad = [name for name in asked if name not in locked]
    return [
        f"There is no control “{shortened(name)}” on this page to hide; that part of the address was left out."
        for name in [*bad, *(name for name in locked if name not in there)]
    ]
