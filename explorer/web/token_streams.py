"""Generated texts as streams: the server sends each token as soon as it is generated.

A browser connects with an EventSource (server-sent events, https://html.spec.whatwg.org/#server-sent-events). It gets

    data: {"ids": [...], "pieces": [...], "surprise": [...]}     text and surprisal (nats) of the next tokens
    event: end      data: {"tokens": n, "seconds": s, "stopped": false}    stopped: it was started again elsewhere
    event: problem  data: {"sentence": "..."}                    the stream has failed

Generation runs in slices of a few hundredths of a second on two threads, round-robin over visitors, one slice ahead of
what is sent. The server stays responsive, and after a disconnect at most two slices have been generated in vain.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from explorer import cores
from explorer.errors import LineageError
from explorer.generation import streaming
from explorer.lazy_libraries import torch
from explorer.web.results import Answer
from explorer.web.visitors import visitor_from_cookies

log = logging.getLogger(__name__)
_THREADS = 2
_FAILED_MESSAGE = "Something went wrong on the server while this text was generated. Press Generate to begin again."
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy must not buffer the events


class StreamAnswer(Answer):
    """A stream at one address (see `results`); only its last request is answered, an earlier one ends.

    `make` is called on another thread at every request; it may raise LineageError, also during the generation.
    """

    def __init__(self, make: Callable[[], Iterator[streaming.Chunk]]) -> None:
        self._make = make
        self.running: TokenStream | None = None

    async def respond(self, request: Request) -> Response:
        """Stream the text as it is generated."""
        if "last-event-id" in request.headers or request.method != "GET":
            return Response(status_code=204, headers=_HEADERS)  # status 204 stops an EventSource from reconnecting
        self.stop()
        stream = self.running = TokenStream(self._make)
        visitor = (await run_in_threadpool(visitor_from_cookies, request.cookies)).id
        owner = id(self) if visitor == "nobody" else visitor
        return StreamingResponse(self._events(stream, owner), media_type="text/event-stream", headers=_HEADERS)

    def stop(self) -> None:
        """End the text that is being generated."""
        if self.running:
            self.running.stopped = True

    async def _events(self, stream: TokenStream, owner: Hashable) -> AsyncIterator[bytes]:
        """Yield all events of a stream. Closing the generator, as on a disconnect, ends the generation."""
        try:
            advance = partial(copy_context().run, stream.advance)  # in the context of its request
            next_event = _pool.submit(owner, advance)
            while not stream.stopped:
                event, finished = await asyncio.wrap_future(next_event), stream.finished
                if finished:
                    yield event
                    return
                next_event = _pool.submit(owner, advance)  # generate the next slice while this one is sent
                yield event
            yield stream.end_event(stopped=True)
        finally:
            if self.running is stream:
                self.running = None


class TokenStream:
    """One text that is generated for one browser. Only one thread at a time may advance it."""

    def __init__(self, make: Callable[[], Iterator[streaming.Chunk]]) -> None:
        self.finished = False  # the last event has been produced
        self.stopped = False  # end it early: it was dropped, or started again
        self._make = make
        self._chunks: Iterator[streaming.Chunk] | None = None
        self._tokens = 0
        self._begun = time.perf_counter()

    def advance(self) -> bytes:
        """Generate and return the next event; set `finished` with the last one."""
        try:
            if self._chunks is None:
                self._chunks = self._make()
            chunk = next(self._chunks, None)
        except Exception as error:  # an unexpected error ends this stream only: log it and send a message
            self.finished = True
            if not isinstance(error, LineageError):
                log.exception("a text failed")
            return sse_event(
                {"sentence": str(error) if isinstance(error, LineageError) else _FAILED_MESSAGE}, "problem"
            )
        if chunk is None:
            self.finished = True
            return self.end_event(stopped=False)
        self._tokens += len(chunk.ids)
        surprisal = [round(nats, 4) for nats in chunk.surprisal]
        return sse_event({"ids": chunk.ids, "pieces": chunk.pieces, "surprise": surprisal}, event_id=self._tokens)

    def end_event(self, stopped: bool) -> bytes:
        seconds = round(time.perf_counter() - self._begun, 4)
        return sse_event({"tokens": self._tokens, "seconds": seconds, "stopped": stopped}, "end")


def sse_event(data: object, kind: str = "", event_id: int | None = None) -> bytes:
    """Return one encoded server-sent event. A reconnecting browser sends the last `event_id` that it received."""
    lines = [f"event: {kind}"] * bool(kind) + [f"id: {event_id}"] * (event_id is not None)
    return "\n".join([*lines, f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}", "", ""]).encode()


class FairThreadPool:
    """A thread pool that serves its owners round-robin, however many slices of work each of them submits."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="writing", initializer=_use_one_torch_thread)
        self._waiting: OrderedDict[Hashable, deque[tuple[Callable[[], bytes], Future[bytes]]]] = OrderedDict()
        self._lock = threading.Lock()

    def submit(self, owner: Hashable, work: Callable[[], bytes]) -> Future[bytes]:
        future: Future[bytes] = Future()
        with self._lock:
            self._waiting.setdefault(owner, deque()).append((work, future))
        self._pool.submit(self._serve)
        return future

    def _serve(self) -> None:
        """Run the first slice of the owner that was served longest ago; each call has one slice to run."""
        with self._lock:
            owner, slices = self._waiting.popitem(last=False)
            work, future = slices.popleft()
            if slices:
                self._waiting[owner] = slices
        if future.set_running_or_notify_cancel():
            try:
                with cores.keep_core_free():
                    result = work()
                future.set_result(result)
            except BaseException as error:  # the waiting caller must receive it
                future.set_exception(error)


def _use_one_torch_thread() -> None:
    torch.set_num_threads(1)  # one token is too little work for two cores


_pool = FairThreadPool(_THREADS)
