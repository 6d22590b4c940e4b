"""How a section of a page shows its results: the browser fetches them by an address, and the page never waits.

A view is a function that writes a result into a `Document`: its finding, charts, captions and texts. It needs no
streamlit, so it can run on any thread and in a test. `show` submits the work to the threads of
`explorer.web.background` and registers an answer in `explorer.web.results`. The browser shows what is being computed,
keeps the previous picture marked as old, and offers to cancel. `draw_now` draws a result that the page has already.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar, TypeVarTuple

import streamlit as st

from explorer.errors import LineageError
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.components.charts import mount_frame, mount_table
from explorer.ui.document import Document, to_html
from explorer.ui.page_sections import caption, escape_markdown, headline, paragraph, show_problems
from explorer.ui.state.fragments import PAGE_RUNS, draw_fragment
from explorer.web.background import Pool, submit
from explorer.web.call import Call
from explorer.web.results import Content, Section, is_ready
from explorer.web.results import register as register_answer

Result = TypeVar("Result")
Context = TypeVarTuple("Context")
Name = TypeVar("Name", bound=str)
_section = register("section")


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
    calls, each = {"": call}, _ViewOfOne(view)
    show_each(name, calls, each, *context, waiting=waiting, height=height, pool=pool, events=events, on_event=on_event)


@dataclass(frozen=True)
class _ViewOfOne:
    """A view of a single result as one of several; two of the same view are equal."""

    view: Callable[..., object]

    def __call__(self, document: Document, results: Mapping[str, Any], *context: object) -> None:
        self.view(document, results[""], *context)


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

    def draw_section() -> None:
        on_event()
        current = dict(calls() if callable(calls) else calls)

        def submit_all() -> dict[str, Future[Result]]:
            return {each: submit(call.key, call, pool) for each, call in current.items()}

        def draw_content(futures: Mapping[str, Future[Result]]) -> Content:
            document, results, problems = Document(), dict[Any, Result](), list[str]()
            for each, future in futures.items():
                try:
                    results[each] = future.result()
                except LineageError as error:
                    problems.append(str(error))
            document.problems(dict.fromkeys(problems))
            if results:
                _write(document, lambda: view(document, results, *context))
            return {"blocks": document.blocks}

        _cancel_outdated_requests(name, submit_all())
        keys = tuple((each, call.key) for each, call in current.items())
        sources, section = tuple({part for _, key in keys for part in key}), Section(submit_all, draw_content, partly)
        mount_section(name, section, sources, waiting, height, events, (keys, view, context))

    draw_fragment(name, draw_section)


def _write(document: Document, draw: Callable[[], Result]) -> Result | None:
    """Return what `draw` returns, or None after its LineageError, whose message is added to the document."""
    try:
        return draw()
    except LineageError as error:
        document.problems([str(error)])
        return None


def draw_now(view: Callable[[Document, *Context], object], *arguments: *Context) -> None:
    """Draw the document of a view with Streamlit's elements, in this run of the page."""
    document = Document()
    view(document, *arguments)
    for block in document.blocks:
        _DRAWN[str(block["kind"])](block)


def _draw_caption(text: str, folded: bool, **_: object) -> None:
    if folded:
        words = to_html(escape_markdown(text))
        st.html(f'<details class="lineage-about"><summary>About this figure</summary>{words}</details>')
    else:
        caption(escape_markdown(text))


_MOUNTED = {"plot_frame": mount_frame, "table": mount_table}
_DRAWN: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    "finding": lambda block: headline(block["text"]),
    "text": lambda block: paragraph(block["text"]),
    "caption": lambda block: _draw_caption(**block),
    "problem": lambda block: show_problems([block["text"]]),
    "component": lambda block: _MOUNTED[block["name"]](block["data"], block["key"]),
}


def live_section(
    name: str,
    draw: Callable[[Document], float | None],
    height: int,
    *,
    events: Mapping[str, tuple[str, ...]] | None = None,
    apply_events: Callable[[], object] = lambda: None,
    has_begun: Callable[[], bool] = lambda: False,
) -> None:
    """Show what changes while something trains; the browser asks again at an interval.

    `draw` writes the content and returns the seconds until the next request, or None if nothing trains any more. It
    runs at each request on another thread and must not use streamlit. At the end of a training the page reruns, also of
    one that ends before the first request: `has_begun` returns whether one was started since the last run of the page.
    `apply_events` is called whenever the fragment runs, to handle the `events` of the components in the section.
    """

    def draw_content(_: Mapping[str, Future[Any]]) -> Content:
        document = Document()
        seconds = _write(document, lambda: draw(document))
        return {"again": seconds, "blocks": document.blocks, "ended": seconds is None and has_begun()}

    def draw_section() -> None:
        apply_events()
        if pop_event(f"section.{name}", "over"):
            st.rerun()
        mount_section(name, Section(dict, draw_content), (), "", height, events)

    draw_fragment(name, draw_section)


def show_when_ready(
    name: str,
    key: tuple[Hashable, ...],
    make: Callable[[], Result],
    draw: Callable[[Result], object],
    placeholder: str,
    height: int,
    on_error: Callable[[LineageError], object] = lambda error: show_problems([str(error)]),
    pool: Pool = "usual",
) -> None:
    """Draw Streamlit's own elements once the result of `make` is ready; the fragment reruns then.

    For what a document cannot hold: formulas, widgets, or a change of the page's state. Everything else is a view,
    which needs no run. `on_error` is called if `make` raises a LineageError; by default its message is shown.
    """

    def draw_section() -> None:
        future = submit(key, make, pool)
        _cancel_outdated_requests(name, {"": future})
        if not is_ready(future):
            answer = Section(lambda: {"": submit(key, make, pool)}, lambda _: {"rerun": True})
            mount_section(name, answer, key, placeholder, height)
            return
        try:
            result = future.result()
        except LineageError as error:
            on_error(error)
            return
        draw(result)

    draw_fragment(name, draw_section)


def mount_section(
    name: str,
    answer: Section,
    sources: tuple[Hashable, ...],
    placeholder: str,
    height: int,
    events: Mapping[str, tuple[str, ...]] | None = None,
    what: object = None,
) -> None:
    """Register an answer for this browser tab and mount the component that fetches it.

    `what` identifies the content: while it is equal and not None, the browser keeps what it has.
    """
    slot = f"lineage.section.{name}"
    version, before = st.session_state.get(slot, (0, None))
    version += what is None or what != before
    st.session_state[slot] = version, what
    key = f"section.{name}"
    _section(
        data={
            "address": register_answer(tab_token(name), answer, sources),
            "version": version,  # a new one is fetched
            "placeholder": placeholder,
            "height": height,
            "page_run": st.session_state.get(PAGE_RUNS, 0),
        },
        key=key,
        **event_callbacks(key, "over", inner=events),
    )


def tab_token(name: str) -> str:
    """Return the secret of this browser tab for what `name` registers, which stays the same while the tab is open."""
    token: str = st.session_state.setdefault(f"lineage.token.{name}", secrets.token_urlsafe(16))
    return token


def _cancel_outdated_requests(name: str, futures: Mapping[str, Future[Any]]) -> None:
    """Cancel this tab's earlier requests for this section that have not started; other waiting pages resubmit them."""
    slot = f"lineage.requested.{name}"
    earlier: tuple[Future[Any], ...] = st.session_state.get(slot, ())
    for future in earlier:
        if future not in futures.values():
            future.cancel()
    st.session_state[slot] = tuple(futures.values())
