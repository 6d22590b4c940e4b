"""How a section of a page shows its results.

A view is a function that writes a result into a `Document`: its finding, charts, captions and texts. It needs no
streamlit, so it can run on any thread and in a test. `show` computes the result in the background, and the browser
fetches the document; `draw_now` draws a result that the page has already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

import streamlit as st

from explorer.ui.components.plot_frame import mount_frame
from explorer.ui.components.table import mount_table
from explorer.ui.document import Document
from explorer.ui.page_sections import escape_markdown, headline, paragraph, show_problems
from explorer.ui.result_section import Request, result_section
from explorer.web.background import Pool
from explorer.web.call import Call

Result = TypeVar("Result")
Context = TypeVarTuple("Context")
Name = TypeVar("Name", bound=str)


def show(
    name: str,
    call: Call[Result],
    view: Callable[[Document, Result, *Context], object],
    *context: *Context,
    waiting: str,
    height: int,
    pool: Pool = "usual",
    events: Mapping[str, tuple[str, ...]] | None = None,
    on_event: Callable[[], object] = lambda: None,
) -> None:
    """Show the result of a call as soon as it is computed.

    name: key of the section and of its fragment
    view: writes the result into a document; `context` is what else it needs. The browser asks again only when the call
        or the context has changed.
    waiting, height: what is being computed, in words, and the pixels that are reserved for it
    pool: the threads for the work, as in `background.submit`
    events: names of the events of the components in the section, by their keys. An event reruns the fragment only.
    on_event: called whenever the fragment runs, to apply the events
    """
    calls, draw = {"": call}, partial(_draw_one, view, context)
    result_section(name, _requests(calls, on_event), draw, waiting, height, pool=pool, events=events)


def show_each(
    name: str,
    calls: Mapping[Name, Call[Result]] | Callable[[], Mapping[Name, Call[Result]]],
    view: Callable[[Document, Mapping[Name, Result], *Context], object],
    *context: *Context,
    waiting: str,
    height: int,
    pool: Pool = "usual",
    partly: bool = False,
    events: Mapping[str, tuple[str, ...]] | None = None,
    on_event: Callable[[], object] = lambda: None,
) -> None:
    """Show the results of several calls by their names: all of them, or `partly` as soon as there is one.

    `calls` may be a function that returns them whenever the fragment runs, after `on_event`. The other parameters are
    those of `show`. Results that raised a LineageError are left out, and their messages shown.
    """
    draw = partial(_draw_each, view, context)
    result_section(name, _requests(calls, on_event), draw, waiting, height, pool=pool, partly=partly, events=events)


def draw_now(view: Callable[[Document, *Context], object], *arguments: *Context) -> None:
    """Draw the document of a view with Streamlit's elements, in this run of the page."""
    document = Document()
    view(document, *arguments)
    for block in document.blocks:
        _DRAWN[str(block["kind"])](block)


def _requests(
    calls: Mapping[Name, Call[Result]] | Callable[[], Mapping[Name, Call[Result]]], on_event: Callable[[], object]
) -> Callable[[], Mapping[str, Request[Result]]]:
    def requests() -> Mapping[str, Request[Result]]:
        on_event()
        current = calls() if callable(calls) else calls
        return {name: (call.key, call) for name, call in current.items()}

    return requests


def _draw_one(view: Callable[..., object], context: tuple[Any, ...], document: Document, results: Any) -> None:
    view(document, results[""], *context)


def _draw_each(view: Callable[..., object], context: tuple[Any, ...], document: Document, results: Any) -> None:
    view(document, results, *context)


_MOUNTED = {"plot_frame": mount_frame, "table": mount_table}
_DRAWN: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "finding": lambda block: headline(block["text"]),
    "text": lambda block: paragraph(block["text"]),
    "caption": lambda block: st.caption(escape_markdown(block["text"])),
    "problem": lambda block: show_problems([block["text"]]),
    "component": lambda block: _MOUNTED[block["name"]](block["data"], block["key"]),
}
