"""Work that takes longer than a page may: done on a thread, looked at again by the page until it is there.

A result is kept for all who ask for the same, and so is the sentence of a text that nothing can be made of.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

import streamlit as st

from explorer.errors import LineageError
from explorer.ui.page import empty_panel, problems

Made = TypeVar("Made")
PATIENCE = 0.2  # seconds that a page waits before it is drawn without the result
AGAIN = 10.0  # seconds after a bug in which it is not tried again
_MOST = 256  # results
_works: OrderedDict[tuple[Hashable, ...], Future[object]] = OrderedDict()
_lock = threading.Lock()


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)  # on a server there is always other work for the second core


_pool = ThreadPoolExecutor(2, thread_name_prefix="slowly", initializer=_one_thread)


def work(key: tuple[Hashable, ...], make: Callable[[], Made]) -> Future[Made]:
    """What is made under this key: there already, on its way, or begun now, also where it went wrong a while ago."""
    with _lock:
        known = _works.get(key)
        if known is None or known.cancelled() or (known.done() and not _usable(known)):
            _works[key] = _pool.submit(make)
            _works[key].add_done_callback(_ended)
        _works.move_to_end(key)
        while len(_works) > _MOST:
            _works.popitem(last=False)[1].cancel()
        return _works[key]  # type: ignore[return-value]  # a key always stands for the same type


def _usable(done: Future[object]) -> bool:
    """Whether work came to a result, or to a sentence that says why there is none; a bug is one for a while."""
    if isinstance(done.exception(), LineageError | None):
        return True
    return time.monotonic() - getattr(done, "ended", 0.0) < AGAIN


def _ended(done: Future[object]) -> None:
    done.ended = time.monotonic()  # type: ignore[attr-defined]


def forget(part: Hashable) -> None:
    """Drop every result with this in its key."""
    with _lock:
        for key in [key for key in _works if part in key]:
            _works.pop(key).cancel()


def eventually(
    name: str,
    key: tuple[Hashable, ...],
    make: Callable[[], Made],
    draw: Callable[[Made], object],
    meanwhile: str,
    height: int,
    refused: Callable[[LineageError], object] = lambda error: problems([str(error)]),
) -> None:
    """A part of the page that is drawn once its result is there; until then `meanwhile` says what is being done.
    `refused` shows why there will be none."""
    future = work(key, make)
    wait([future], PATIENCE)
    waiting = not future.done()

    @st.fragment(key=name, run_every=0.5 if waiting else None)
    def drawn() -> None:
        asked = work(key, make)
        if not asked.done():
            empty_panel(meanwhile, height)
            return
        if waiting:
            st.rerun()  # the whole page once more, without the clock
        try:
            made = asked.result()
        except LineageError as error:
            refused(error)
            return
        draw(made)

    drawn()


def each_eventually(
    name: str,
    wanted: Mapping[str, tuple[tuple[Hashable, ...], Callable[[], Made]]],
    draw: Callable[[Mapping[str, Made]], object],
    meanwhile: str,
    height: int,
) -> None:
    """`eventually` for several results, each kept by itself: who trains one model anew waits for that alone."""
    begun = [work(key, make) for key, make in wanted.values()]
    wait(begun, PATIENCE)
    waiting = not all(future.done() for future in begun)

    @st.fragment(key=name, run_every=0.5 if waiting else None)
    def drawn() -> None:
        futures = {model: work(key, make) for model, (key, make) in wanted.items()}
        if not all(future.done() for future in futures.values()):
            empty_panel(meanwhile, height)
            return
        if waiting:
            st.rerun()  # the whole page once more, without the clock
        found: dict[str, Made] = {}
        said: list[str] = []
        for model, future in futures.items():
            try:
                found[model] = future.result()
            except LineageError as error:
                said.append(str(error))
        problems(dict.fromkeys(said))
        if found:
            draw(found)

    drawn()


def there(name: str, key: tuple[Hashable, ...], make: Callable[[], Made], meanwhile: str, height: int) -> Made | None:
    """A result that the page itself needs: None until it is there, and the page is run again then.

    Raises LineageError where there will be none.
    """
    future = work(key, make)
    wait([future], PATIENCE)
    if future.done():
        return future.result()

    @st.fragment(key=name, run_every=0.5)
    def waiting() -> None:
        if work(key, make).done():
            st.rerun()
        empty_panel(meanwhile, height)

    waiting()
    return None
