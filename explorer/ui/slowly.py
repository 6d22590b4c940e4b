"""Work that takes longer than a page may: done on a thread, looked at again by the page until it is there.

A result is kept for all who ask for the same, and so is the sentence of a text that nothing can be made of.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Literal, TypeAlias, TypeVar

import streamlit as st

from explorer.errors import LineageError
from explorer.ui.page import empty_panel, problems

Made = TypeVar("Made")
PATIENCE = 0.2  # seconds that a page waits before it is drawn without the result
AGAIN = 10.0  # seconds after a bug in which it is not tried again
_MOST = 256  # results; what is still on its way is never dropped, because somebody waits for it
_MOST_OF_A_KIND = 64  # by the first word of their keys: some are a megabyte
Pool: TypeAlias = Literal["usual", "quick", "patient", "timing"]
_works: OrderedDict[tuple[Hashable, ...], Future[object]] = OrderedDict()
_lock = threading.Lock()


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)  # on a server there is always other work for the second core


_pools = {
    name: ThreadPoolExecutor(threads, thread_name_prefix=name, initializer=_one_thread)
    for name, threads in {"usual": 2, "quick": 2, "patient": 1, "timing": 1}.items()
}


def work(key: tuple[Hashable, ...], make: Callable[[], Made], pool: Pool = "usual") -> Future[Made]:
    """What is made under this key: there already, on its way, or begun now, also where it went wrong a while ago.

    Work waits only for what is in the same pool. "quick": well below a tenth of a second. "patient": many seconds, on
    something that nobody waits for with a hand on it. "timing": it times steps on this server; two at once would
    disturb each other.
    """
    with _lock:
        known = _works.get(key)
        if known is None or known.cancelled() or (known.done() and not _usable(known)):
            known = _pools[pool].submit(make)
            known.add_done_callback(_ended)
            _works[key] = known
        _works.move_to_end(key)
        _make_room(key[0])
        return known  # type: ignore[return-value]  # a key always stands for the same type


def _make_room(kind: Hashable) -> None:
    """Drop the results that nobody asked for longest: of one kind, and of all."""
    done = [key for key, future in _works.items() if future.done()]
    of_kind = [key for key in done if key[0] == kind]
    for key in {*of_kind[: max(0, len(of_kind) - _MOST_OF_A_KIND)], *done[: max(0, len(_works) - _MOST)]}:
        del _works[key]


def _usable(done: Future[object]) -> bool:
    """Whether work came to a result, or to a sentence that says why there is none; a bug is one for a while."""
    if isinstance(done.exception(), LineageError | None):
        return True
    now = time.monotonic()
    return now - getattr(done, "ended", now) < AGAIN  # who waits for it may be told before `_ended` is


def _ended(done: Future[object]) -> None:
    done.ended = time.monotonic()  # type: ignore[attr-defined]


def forget(part: Hashable) -> None:
    """Drop every result with this in its key."""
    with _lock:
        for key in [key for key in _works if part in key]:
            _works.pop(key).cancel()


def _there(future: Future[Made]) -> bool:
    """Whether there is something to draw. What `forget` cancelled is over without a result: it will be begun anew."""
    return future.done() and not future.cancelled()


def eventually(
    name: str,
    key: tuple[Hashable, ...],
    make: Callable[[], Made],
    draw: Callable[[Made], object],
    meanwhile: str,
    height: int,
    refused: Callable[[LineageError], object] = lambda error: problems([str(error)]),
    pool: Pool = "usual",
) -> None:
    """A part of the page that is drawn once its result is there; until then `meanwhile` says what is being done.
    `refused` shows why there will be none; `pool` as in `work`."""

    def show(futures: Sequence[Future[Made]]) -> None:
        try:
            made = futures[0].result()
        except LineageError as error:
            refused(error)
            return
        draw(made)

    _once_there(name, lambda: [work(key, make, pool)], show, meanwhile, height)


def each_eventually(
    name: str,
    wanted: Mapping[str, tuple[tuple[Hashable, ...], Callable[[], Made]]],
    draw: Callable[[Mapping[str, Made]], object],
    meanwhile: str,
    height: int,
    pool: Pool = "usual",
) -> None:
    """`eventually` for several results, each kept by itself: who trains one model anew waits for that alone."""

    def show(futures: Sequence[Future[Made]]) -> None:
        found: dict[str, Made] = {}
        said: list[str] = []
        for model, future in zip(wanted, futures, strict=True):
            try:
                found[model] = future.result()
            except LineageError as error:
                said.append(str(error))
        problems(dict.fromkeys(said))
        if found:
            draw(found)

    _once_there(name, lambda: [work(key, make, pool) for key, make in wanted.values()], show, meanwhile, height)


def _instead(name: str, wanted: Sequence[Future[Made]]) -> None:
    """What this window asked for here before, and nobody has begun, need not be begun: it wants something else now.
    Whoever else waits for it asks again."""
    before: Sequence[Future[object]] = st.session_state.get(f"lineage.asked.{name}", ())
    for future in before:
        if future not in wanted:
            future.cancel()
    st.session_state[f"lineage.asked.{name}"] = tuple(wanted)


def _once_there(
    name: str,
    ask: Callable[[], Sequence[Future[Made]]],
    draw: Callable[[Sequence[Future[Made]]], object],
    meanwhile: str,
    height: int,
) -> None:
    """A part of the page that looks again and again for what it asks for, until it can be drawn."""
    begun = ask()
    _instead(name, begun)
    wait(begun, PATIENCE)
    waiting = not all(map(_there, begun))

    @st.fragment(key=name, run_every=0.5 if waiting else None)
    def drawn() -> None:
        futures = ask()
        if all(map(_there, futures)) == waiting:
            st.rerun()  # the whole page once more: without the clock, or with one where a result was dropped since
        if waiting:
            empty_panel(meanwhile, height)
        else:
            draw(futures)

    drawn()


def latest(
    name: str,
    wanted: Callable[[], Mapping[str, tuple[tuple[Hashable, ...], Callable[[], Made]]]],
    draw: Callable[[Mapping[str, Made], frozenset[str]], object],
    meanwhile: str,
    height: int,
    pool: Pool = "usual",
) -> None:
    """`each_eventually` for what follows a gesture: until a result is there the last one of that name stays, so that
    nothing jumps. `wanted` is asked whenever this part is drawn, also alone; `draw` is told the names whose result is
    such an old one; `pool` as in `work`."""

    def ask(patience: float = PATIENCE) -> dict[str, Future[Made]]:
        begun = {each: work(key, make, pool) for each, (key, make) in wanted().items()}
        _instead(name, tuple(begun.values()))
        wait(begun.values(), patience)
        return begun

    waiting = not all(map(_there, ask().values()))

    @st.fragment(key=name, run_every=0.25 if waiting else None)
    def drawn() -> None:
        futures = ask(0.0 if waiting else PATIENCE)
        if all(map(_there, futures.values())) == waiting:
            st.rerun()
        last: dict[str, Made] = st.session_state.get(f"lineage.latest.{name}", {})
        found: dict[str, Made] = {}
        old, said = set(), []
        for each, future in futures.items():
            if not _there(future):
                if each in last:
                    found[each] = last[each]
                    old.add(each)
                continue
            try:
                found[each] = future.result()
            except LineageError as error:
                said.append(str(error))
        st.session_state[f"lineage.latest.{name}"] = found
        problems(dict.fromkeys(said))
        if found:
            draw(found, frozenset(old))
        elif waiting:
            empty_panel(meanwhile, height)

    drawn()


def there(name: str, key: tuple[Hashable, ...], make: Callable[[], Made], meanwhile: str, height: int) -> Made | None:
    """A result that the page itself needs: None until it is there, and the page is run again then.

    Raises LineageError where there will be none.
    """
    future = work(key, make)
    wait([future], PATIENCE)
    if _there(future):
        return future.result()

    @st.fragment(key=name, run_every=0.5)
    def waiting() -> None:
        if _there(work(key, make)):
            st.rerun()
        empty_panel(meanwhile, height)

    waiting()
    return None
