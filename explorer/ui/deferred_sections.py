"""Sections of a page that wait for a result: a fragment shows a placeholder and reruns until the result is ready.

The work runs on the threads of `explorer.web.background`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

import streamlit as st

from explorer.errors import LineageError
from explorer.ui.page_sections import empty_panel, show_problems
from explorer.web.background import Pool, submit

Result = TypeVar("Result")
WAIT_SECONDS = 0.2  # seconds that a page waits before it is drawn without the result


def _is_ready(future: Future[Result]) -> bool:
    """Return whether a future has a result. A future cancelled by `drop_results` has none and is submitted again."""
    return future.done() and not future.cancelled()


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
    """Draw a section with `draw` once the result of `make` is ready; show a placeholder until then.

    name: key of the fragment.
    key, make, pool: the work, as in `background.submit`.
    placeholder, height: text and height (pixels) of the empty section.
    on_error: called if `make` raises a LineageError; by default its message is shown as a warning.
    """

    def show(futures: Sequence[Future[Result]]) -> None:
        try:
            result = futures[0].result()
        except LineageError as error:
            on_error(error)
            return
        draw(result)

    _draw_once_ready(name, lambda: [submit(key, make, pool)], show, placeholder, height)


def show_all_when_ready(
    name: str,
    requests: Mapping[str, tuple[tuple[Hashable, ...], Callable[[], Result]]],
    draw: Callable[[Mapping[str, Result]], object],
    placeholder: str,
    height: int,
    pool: Pool = "usual",
) -> None:
    """Draw a section once all of several results are ready; each is cached under its own key.

    `requests` holds the key and the function of each result; results that raise a LineageError are shown as warnings
    and left out. The other parameters are those of `show_when_ready`.
    """

    def show(futures: Sequence[Future[Result]]) -> None:
        results: dict[str, Result] = {}
        problems: list[str] = []
        for model, future in zip(requests, futures, strict=True):
            try:
                results[model] = future.result()
            except LineageError as error:
                problems.append(str(error))
        show_problems(dict.fromkeys(problems))
        if results:
            draw(results)

    _draw_once_ready(
        name, lambda: [submit(key, make, pool) for key, make in requests.values()], show, placeholder, height
    )


def _cancel_outdated_requests(name: str, futures: Sequence[Future[Result]]) -> None:
    """Cancel this tab's earlier requests for this section that have not started; other waiting pages resubmit them."""
    earlier: Sequence[Future[object]] = st.session_state.get(f"lineage.asked.{name}", ())
    for future in earlier:
        if future not in futures:
            future.cancel()
    st.session_state[f"lineage.asked.{name}"] = tuple(futures)


def _draw_once_ready(
    name: str,
    submit_all: Callable[[], Sequence[Future[Result]]],
    draw: Callable[[Sequence[Future[Result]]], object],
    placeholder: str,
    height: int,
) -> None:
    """Draw a fragment that reruns at an interval until all futures of `submit_all` are ready."""
    first_futures = submit_all()
    _cancel_outdated_requests(name, first_futures)
    wait(first_futures, WAIT_SECONDS)
    waiting = not all(map(_is_ready, first_futures))

    @st.fragment(key=name, run_every=0.5 if waiting else None)
    def draw_section() -> None:
        futures = submit_all()
        if all(map(_is_ready, futures)) == waiting:
            st.rerun()  # rerun the page to stop the interval, or to start it again if a result was dropped
        if waiting:
            empty_panel(placeholder, height)
        else:
            draw(futures)

    draw_section()


def show_latest(
    name: str,
    requests: Callable[[], Mapping[str, tuple[tuple[Hashable, ...], Callable[[], Result]]]],
    draw: Callable[[Mapping[str, Result], frozenset[str]], object],
    placeholder: str,
    height: int,
    pool: Pool = "usual",
) -> None:
    """Draw several results; until a new result is ready, keep drawing the previous one of the same name.

    `requests` is called whenever the fragment runs. `draw` receives the results and the names of those that are
    outdated. The other parameters are those of `show_when_ready`.
    """

    def submit_all(timeout: float) -> dict[str, Future[Result]]:
        futures = {each: submit(key, make, pool) for each, (key, make) in requests().items()}
        _cancel_outdated_requests(name, tuple(futures.values()))
        wait(futures.values(), timeout)
        return futures

    waiting = not all(map(_is_ready, submit_all(WAIT_SECONDS).values()))

    @st.fragment(key=name, run_every=0.25 if waiting else None)
    def draw_section() -> None:
        futures = submit_all(0.0 if waiting else WAIT_SECONDS)
        if all(map(_is_ready, futures.values())) == waiting:
            st.rerun()
        previous: dict[str, Result] = st.session_state.get(f"lineage.latest.{name}", {})
        results: dict[str, Result] = {}
        outdated, problems = set(), []
        for each, future in futures.items():
            if not _is_ready(future):
                if each in previous:
                    results[each] = previous[each]
                    outdated.add(each)
                continue
            try:
                results[each] = future.result()
            except LineageError as error:
                problems.append(str(error))
        st.session_state[f"lineage.latest.{name}"] = results
        show_problems(dict.fromkeys(problems))
        if results:
            draw(results, frozenset(outdated))
        elif waiting:
            empty_panel(placeholder, height)

    draw_section()


def result_or_placeholder(
    name: str, key: tuple[Hashable, ...], make: Callable[[], Result], placeholder: str, height: int
) -> Result | None:
    """Return a result that the page itself needs, or draw a placeholder and return None; the page reruns when ready.

    Raises the LineageError that `make` raised.
    """
    future = submit(key, make)
    wait([future], WAIT_SECONDS)
    if _is_ready(future):
        return future.result()

    @st.fragment(key=name, run_every=0.5)
    def draw_placeholder() -> None:
        if _is_ready(submit(key, make)):
            st.rerun()
        empty_panel(placeholder, height)

    draw_placeholder()
    return None
