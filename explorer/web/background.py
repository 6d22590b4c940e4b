"""Compute results on threads and cache them for all visitors.

A `LineageError` is cached like a result, because the same computation would fail again.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal, TypeAlias, TypeVar

from explorer.errors import LineageError

Result = TypeVar("Result")
RETRY_SECONDS = 10.0  # seconds after an unexpected error before the work is tried again
_MAX_RESULTS = 256  # finished results; unfinished work is never dropped, because a page waits for it
_MAX_RESULTS_OF_A_KIND = 64  # with the same first element of the key; some results are a megabyte
Pool: TypeAlias = Literal["usual", "quick", "patient", "timing"]
_results: OrderedDict[tuple[Hashable, ...], Future[object]] = OrderedDict()
_lock = threading.Lock()


def _use_one_torch_thread() -> None:
    import torch

    torch.set_num_threads(1)  # on a server there is always other work for the second core


_pools = {
    name: ThreadPoolExecutor(threads, thread_name_prefix=name, initializer=_use_one_torch_thread)
    for name, threads in {"usual": 2, "quick": 2, "patient": 1, "timing": 1}.items()
}


def submit(key: tuple[Hashable, ...], make: Callable[[], Result], pool: Pool = "usual") -> Future[Result]:
    """Return the future of the work with this key; start it unless a usable result is cached or it is under way.

    Work waits only for work in the same pool. "quick" takes well below 0.1 s. "patient" takes many seconds and follows
    no interaction. "timing" measures durations, so only one such task runs at a time. "usual" is everything else.
    """
    with _lock:
        future = _results.get(key)
        if future is None or future.cancelled() or (future.done() and not _is_usable(future)):
            future = _pools[pool].submit(make)
            future.add_done_callback(_record_end)
            _results[key] = future
        _results.move_to_end(key)
        _evict_old_results(key[0])
        return future  # type: ignore[return-value]  # a key always has results of the same type


def _evict_old_results(kind: Hashable) -> None:
    """Drop the least recently requested results, of this kind and of all kinds, above the limits."""
    done = [key for key, future in _results.items() if future.done()]
    of_kind = [key for key in done if key[0] == kind]
    for key in {
        *of_kind[: max(0, len(of_kind) - _MAX_RESULTS_OF_A_KIND)],
        *done[: max(0, len(_results) - _MAX_RESULTS)],
    }:
        del _results[key]


def _is_usable(future: Future[object]) -> bool:
    """Return whether finished work has a result or a LineageError, or an unexpected error not older than the limit."""
    if isinstance(future.exception(), LineageError | None):
        return True
    now = time.monotonic()
    return now - getattr(future, "ended", now) < RETRY_SECONDS  # waiting threads may run before `_record_end`


def _record_end(future: Future[object]) -> None:
    future.ended = time.monotonic()  # type: ignore[attr-defined]


def drop_results(part: Hashable) -> None:
    """Drop every result whose key contains this element, and cancel it if it has not started."""
    with _lock:
        for key in [key for key in _results if part in key]:
            _results.pop(key).cancel()


def results() -> dict[tuple[Hashable, ...], Future[object]]:
    """Return all results that are stored or under way, by their keys."""
    with _lock:
        return dict(_results)


def reset() -> None:
    """Drop every result, and cancel work that has not started."""
    with _lock:
        while _results:
            _results.popitem()[1].cancel()
