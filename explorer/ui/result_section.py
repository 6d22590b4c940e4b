"""Sections of a page that show results: the browser fetches them by an address, and the page never waits.

A section submits its work to the threads of `explorer.web.background` and registers an answer in
`explorer.web.results`. The browser shows what is being computed, keeps the previous picture marked as old, and offers
to cancel.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeAlias, TypeVar

import streamlit as st

from explorer.errors import LineageError
from explorer.ui.components.base import event_callbacks, pop_event, register
from explorer.ui.document import Document
from explorer.ui.state.fragments import PAGE_RUNS, draw_fragment
from explorer.web.background import Pool, submit
from explorer.web.results import Content, Section, is_ready
from explorer.web.results import register as register_answer

Result = TypeVar("Result")
Request: TypeAlias = tuple[tuple[Hashable, ...], Callable[[], Result]]  # key and function, as in `background.submit`
_section = register("section")


def result_section(
    name: str,
    requests: Mapping[str, Request[Result]] | Callable[[], Mapping[str, Request[Result]]],
    draw: Callable[[Document, Mapping[str, Result]], object],
    placeholder: str,
    height: int,
    *,
    pool: Pool = "usual",
    partly: bool = False,
    events: Mapping[str, tuple[str, ...]] | None = None,
) -> None:
    """Show results in a section of the page as soon as they are computed.

    name: key of the section and of its fragment.
    requests: key and function of each result, by name; or a function that returns them, called whenever the fragment
        runs: it may first apply events of the components in the section.
    draw: writes the content for the results into a document. It runs on another thread and must not use streamlit;
        results that raised a LineageError are left out, and their messages are shown. If it is a `functools.partial` of
        values that can be compared, the browser asks again only when one of them has changed.
    placeholder, height: what is being computed, in words, and the pixels that are reserved for the content.
    pool: the threads for the work, as in `background.submit`.
    partly: draw as soon as one result is computed, and again with each further one.
    events: names of the events of the components in the section, by their keys. An event reruns the fragment only.
    """

    def draw_section() -> None:
        current = dict(requests() if callable(requests) else requests)

        def submit_all() -> dict[str, Future[Result]]:
            return {each: submit(key, make, pool) for each, (key, make) in current.items()}

        def draw_content(futures: Mapping[str, Future[Result]]) -> Content:
            document, results = Document(), {}
            problems: list[str] = []
            for each, future in futures.items():
                try:
                    results[each] = future.result()
                except LineageError as error:
                    problems.append(str(error))
            document.problems(dict.fromkeys(problems))
            if results:
                try:
                    draw(document, results)
                except LineageError as error:
                    document.problems([str(error)])
            return {"blocks": document.blocks}

        _cancel_outdated_requests(name, submit_all())
        keys = tuple((each, key) for each, (key, _) in current.items())
        sources = tuple({part for _, key in keys for part in key})
        what = (keys, draw.func, draw.args, *sorted(draw.keywords.items())) if isinstance(draw, partial) else None
        mount_section(name, Section(submit_all, draw_content, partly), sources, placeholder, height, events, what)

    draw_fragment(name, draw_section)


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
        document, seconds = Document(), None
        try:
            seconds = draw(document)
        except LineageError as error:
            document.problems([str(error)])
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
    on_error: Callable[[LineageError], object] | None = None,
    pool: Pool = "usual",
) -> None:
    """Draw Streamlit's own elements once the result of `make` is ready; the fragment reruns then.

    For what a document cannot hold: formulas, widgets, or a change of the page's state. Everything else is a
    `result_section`, which needs no run. `on_error` is called if `make` raises a LineageError; by default its message
    is shown. The other parameters are those of `result_section`.
    """
    from explorer.ui.page_sections import show_problems

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
            (on_error or (lambda error: show_problems([str(error)])))(error)
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
