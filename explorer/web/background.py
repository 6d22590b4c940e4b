"""Compute results on threads and cache them for all visitors.

A `LineageError` is cached like a result, because the same computation would fail again.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

from explorer import byte_cache, cores
from explorer.errors import LineageError
from explorer.tasks.text import corpora

Result = TypeVar("Result")
RETRY_SECONDS = 10.0  # seconds after an unexpected error before the work is tried again
ABANDONED_SECONDS = 30.0  # after which work that has not begun is cancelled; a page asks for its work each second
Pool: TypeAlias = Literal["usual", "quick", "patient", "timing"]
Key: TypeAlias = tuple[Hashable, ...]  # its first element is the kind of the work
_under_way: dict[Key, Future[Any]] = {}  # never dropped, because a page waits for it; the others are in `byte_cache`
_lock = threading.RLock()  # work that is cancelled ends on the thread that cancels it
_thread = threading.local()


def _run_with_one_torch_thread(make: Callable[[], Result]) -> Result:
    """Run `make`, with one torch thread if torch has been imported: work without torch must not wait for its import."""
    torch = sys.modules.get("torch")
    if not getattr(_thread, "limited", False) and (limit := getattr(torch, "set_num_threads", None)):
        limit(1)  # on a server there is always other work for the second core
        _thread.limited = True
    with cores.keep_core_free():
        return make()


_pools = {
    name: ThreadPoolExecutor(threads, thread_name_prefix=name)
    for name, threads in {"usual": 2, "quick": 2, "patient": 1, "timing": 1}.items()
}


def submit(key: Key, make: Callable[[], Result], pool: Pool = "usual") -> Future[Result]:
    """Return the future of the work with this key; start it unless a usable result is cached or it is under way.

    Work waits only for work in the same pool: "quick" takes well below 0.1 s, "patient" many seconds and follows no
    interaction, "timing" measures durations, one at a time.
    """
    for sha in own_texts(key):
        if not corpora.may_read(sha):  # the results of a visitor's text are not for others
            refused: Future[Result] = Future()
            refused.set_exception(corpora.needs_text(sha))
            return refused
    with _lock:
        future = _under_way.get(key) or byte_cache.get(key)
        if future is None or future.cancelled() or (future.done() and not _is_usable(future)):
            future = _under_way[key] = _pools[pool].submit(copy_context().run, _run_with_one_torch_thread, make)
            future.add_done_callback(partial(_keep_result, key))
        future.asked = time.monotonic()  # type: ignore[union-attr]
        return future


def own_texts(argument: object) -> set[str]:
    """Return the SHA-256 of each text of a visitor in a tuple: by itself, of a configuration or of a run."""
    if isinstance(argument, tuple):
        return set().union(*map(own_texts, argument))
    config = getattr(argument, "config", argument)
    text = argument if isinstance(argument, str) else getattr(getattr(config, "task", config), "text", "")
    return {text} if isinstance(text, str) and corpora.is_own_text(text) else set()


def _is_usable(future: Future[object]) -> bool:
    """Return whether finished work has a result or a LineageError, or an unexpected error not older than the limit."""
    if isinstance(future.exception(), LineageError | None):
        return True
    now = time.monotonic()
    return now - getattr(future, "ended", now) < RETRY_SECONDS  # waiting threads may run before `_keep_result`


def _keep_result(key: Key, future: Future[object]) -> None:
    future.ended = time.monotonic()  # type: ignore[attr-defined]
    failed = future.cancelled() or future.exception()
    size = 0 if failed else byte_cache.count_bytes(future.result())
    with _lock:
        if _under_way.get(key) is future:
            byte_cache.keep(key, _under_way.pop(key), size)
        asked_since = time.monotonic() - ABANDONED_SECONDS
        for waiting in [] if future.cancelled() else [*_under_way.values()]:  # before this thread begins other work
            if getattr(waiting, "asked", asked_since) < asked_since:
                waiting.cancel()


def drop_results(part: Hashable) -> None:
    """Drop every result whose key contains this element, and cancel it if it has not started."""
    _drop(lambda key: part in key)


def _drop(is_dropped: Callable[[Key], bool]) -> None:
    with _lock:
        byte_cache.drop_where(is_dropped)
        for key in list(filter(is_dropped, _under_way)):
            _under_way.pop(key).cancel()


def results() -> dict[Key, Future[Any]]:
    """Return all results that are stored or under way, by their keys."""
    with _lock:
        return {key: value for key, value in byte_cache.items() if isinstance(value, Future)} | _under_way


def reset() -> None:
    """Drop every result, and cancel work that has not started."""
    _drop(lambda key: True)
