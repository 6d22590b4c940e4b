"""Texts that are written while they are read: the server sends each token as soon as there is one.

A browser asks with an EventSource (server-sent events, https://html.spec.whatwg.org/#server-sent-events). It gets

    data: {"ids": [...], "pieces": [...], "surprise": [...]}     the next tokens: what each adds to the text, nats
    event: end      data: {"tokens": n, "seconds": s, "stopped": false}    true: the same text was begun anew elsewhere
    event: problem  data: {"sentence": "..."}                    nothing more will come

Writing is done in slices of a few hundredths of a second on two threads, the visitors in turns, one slice ahead of what
is sent. So the server answers others meanwhile, and who goes away has at most two slices written in vain.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from explorer.errors import LineageError
from explorer.ui.visitors import who

if TYPE_CHECKING:
    from explorer.generation.chunks import Chunk

log = logging.getLogger("lineage")
_MOST = 2_000  # offers; a later one takes the place of the one whose page was drawn longest ago
_THREADS = 2
_FORGOTTEN = (
    "The server was started anew and no longer knows of this text. Press Write again in a moment, or reload the page."
)
_FAILED = "Something went wrong on the server while this text was written. Press Write to begin again."
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # no proxy shall wait for more
_offers: OrderedDict[str, tuple[Callable[[], Iterator[Chunk]], tuple[Hashable, ...]]] = OrderedDict()
_running: dict[str, Stream] = {}


def offer(name: str, make: Callable[[], Iterator[Chunk]], of: tuple[Hashable, ...] = ()) -> str:
    """Where this window finds a text of this name from now on. `of` is what it is made of, see `forget`.

    `make` is called on another thread, outside of any page, each time somebody asks; it may raise LineageError, also
    while the text is written.
    """
    token: str = st.session_state.setdefault(f"lineage.write.{name}", secrets.token_urlsafe(16))
    _offers.pop(token, None)  # to the end, also if another thread has just made room
    _offers[token] = make, of
    while len(_offers) > _MOST:
        _offers.popitem(last=False)
    return f"/write/{token}"


def forget(part: Hashable) -> None:
    """Offer nothing any more that is made of this; what is being written of it ends."""
    for token, (_, of) in list(_offers.items()):
        if part in of:
            _offers.pop(token, None)
            if stream := _running.get(token):
                stream.stopped = True


class Stream:
    """One text on its way to one browser. Only one thread at a time may advance it."""

    def __init__(self, make: Callable[[], Iterator[Chunk]]) -> None:
        self.over = False  # the last event is there
        self.stopped = False  # somebody else wants none of it any more
        self._make = make
        self._chunks: Iterator[Chunk] | None = None
        self._tokens = 0
        self._begun = time.perf_counter()

    def advance(self) -> bytes:
        """The next event. After the last one `over` is true."""
        try:
            if self._chunks is None:
                self._chunks = self._make()
            chunk = next(self._chunks, None)
        except LineageError as error:
            return self._problem(str(error))
        except Exception:  # the outermost edge of the writing: log it, tell the visitor, serve the next
            log.exception("a text failed")
            return self._problem(_FAILED)
        if chunk is None:
            self.over = True
            return self.end(stopped=False)
        self._tokens += len(chunk.ids)
        surprise = [round(nats, 4) for nats in chunk.surprise]
        return event({"ids": chunk.ids, "pieces": chunk.pieces, "surprise": surprise}, place=self._tokens)

    def end(self, stopped: bool) -> bytes:
        seconds = round(time.perf_counter() - self._begun, 4)
        return event({"tokens": self._tokens, "seconds": seconds, "stopped": stopped}, "end")

    def _problem(self, sentence: str) -> bytes:
        self.over = True
        return event({"sentence": sentence}, "problem")


def event(data: object, kind: str = "", place: int | None = None) -> bytes:
    """One server-sent event. `place`: what the browser says it got last, should it lose the connection."""
    lines = [f"event: {kind}"] * bool(kind) + [f"id: {place}"] * (place is not None)
    return "\n".join([*lines, f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}", "", ""]).encode()


class Turns:
    """Slices of work on a few threads. Whoever waits is served in turns, however many slices somebody else asks for."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="writing", initializer=_one_thread)
        self._waiting: OrderedDict[Hashable, deque[tuple[Callable[[], bytes], Future[bytes]]]] = OrderedDict()
        self._lock = threading.Lock()

    def submit(self, owner: Hashable, work: Callable[[], bytes]) -> Future[bytes]:
        future: Future[bytes] = Future()
        with self._lock:
            self._waiting.setdefault(owner, deque()).append((work, future))
        self._pool.submit(self._serve)
        return future

    def _serve(self) -> None:
        """The first slice of whoever was served longest ago: there is one for each call."""
        with self._lock:
            owner, theirs = self._waiting.popitem(last=False)
            work, future = theirs.popleft()
            if theirs:
                self._waiting[owner] = theirs
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except BaseException as error:  # whoever waits for it must know
                future.set_exception(error)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)  # one token is too little work for two cores, and there are other visitors


_turns = Turns(_THREADS)


async def _events(token: str, stream: Stream, owner: Hashable) -> AsyncIterator[bytes]:
    """All events of a text. Whoever closes this, as it happens when the browser goes away, ends the writing."""
    try:
        ahead = _turns.submit(owner, stream.advance)
        while not stream.stopped:
            told, last = await asyncio.wrap_future(ahead), stream.over
            if last:
                yield told
                return
            ahead = _turns.submit(owner, stream.advance)  # while this slice travels the next one is written
            yield told
        yield stream.end(stopped=True)
    finally:
        if _running.get(token) is stream:
            del _running[token]


async def write(request: Request) -> Response:
    """GET /write/TOKEN: the text as it is written. If it is being written already, that ends."""
    if "last-event-id" in request.headers or request.method == "HEAD":
        return Response(status_code=204, headers=_HEADERS)  # lost on the way: a browser told this does not try again
    token: str = request.path_params["token"]
    offered = _offers.get(token)
    if offered is None:
        return Response(event({"sentence": _FORGOTTEN}, "problem"), media_type="text/event-stream", headers=_HEADERS)
    if token in _running:
        _running[token].stopped = True
    stream = _running[token] = Stream(offered[0])
    visitor = who(request.cookies).id
    owner = token if visitor == "nobody" else visitor
    return StreamingResponse(_events(token, stream, owner), media_type="text/event-stream", headers=_HEADERS)


ROUTES = [Route("/write/{token:str}", write)]
