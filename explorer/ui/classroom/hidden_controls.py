"""Hide controls of a page from a class, by the URL parameter `lock=KEY,KEY`.

This is no protection: without the parameter the page shows all controls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import streamlit as st

from explorer.errors import shorten
from explorer.ui.page_sections import show_problems
from explorer.ui.sections import has_folded_sections
from explorer.ui.state.session import shared_url_params
from explorer.ui.state.widgets import original_key

_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
MAX_NAMES = 60  # names


def hidden_control_names() -> tuple[str, ...]:
    """Return the names of the controls that the URL hides, as used in CSS classes."""
    return tuple(name for name in shared_url_params().get("lock", "").split(",")[:MAX_NAMES] if _NAME.fullmatch(name))


def hide_controls(names: Iterable[str]) -> None:
    """Hide these controls by CSS; Streamlit gives each keyed element the class st-key-KEY."""
    rules = ", ".join(f'.st-key-{name}, [class*="st-key-{name}--v"]' for name in names)  # of any version of a widget
    if rules:
        st.html(f"<style>{rules} {{ display: none !important; }}</style>")


def show_unknown_controls(names: Iterable[str]) -> None:
    """Show a message for each name in the URL that is not a control of the page just drawn.

    The components inside a section are known to the browser only, where a style hides the message about them. The
    controls in a folded section are not known before it is unfolded, so a page with one shows no such message.
    """
    # The keys as Streamlit writes them in CSS classes, without their versions.
    keys = {re.sub(r"[^A-Za-z0-9_-]", "-", original_key(str(key))) for key in st.session_state}
    requested = [name for name in shared_url_params().get("lock", "").split(",") if name]
    show_problems(map(_unknown_message, (name for name in requested if name not in names)))
    for name in names:
        if name not in keys and not has_folded_sections():
            with st.container(key=f"unknown-{name}"):
                show_problems([_unknown_message(name)])
                st.html(f"<style>:root:has(.st-key-{name}) .st-key-unknown-{name} {{ display: none; }}</style>")


def _unknown_message(name: str) -> str:
    return f"There is no control “{shorten(name)}” on this page to hide; that part of the address was left out."
