"""Results that the browser fetches by their address, without a run of the page.

    GET     /results/TOKEN   the answer that was registered under this token, or status 410 if there is none any more
    DELETE  /results/TOKEN   cancel what the answer waits for

There are three kinds of answers. A `Section` answers with JSON as soon as its results are computed, and with status 202
before. Arrays are safetensors (float32, int32, uint16 or uint8), which `static/shared/runtime/array_store.js` reads
without copying; their address names their content. A stream answers with server-sent events (see `token_streams`).

No page script runs for a request: a run costs many times more and may interrupt another interaction of the visitor.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from cachetools import LRUCache
from numpy import ndarray
from safetensors.numpy import save
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from explorer.tasks.text import corpora

log = logging.getLogger(__name__)
MAX_ANSWERS = 4_000  # sections and streams of open pages; the one used longest ago is dropped, and its page reruns
MAX_BYTES = 32_000_000  # bytes of all registered arrays together
HOLD_SECONDS = 1.0  # seconds for which a request waits for a result; a browser has only six connections to a server
_FAILED = "Something went wrong on the server. Reload the page to try again."

Content: TypeAlias = Mapping[str, object]
Sources: TypeAlias = tuple[Hashable, ...]


class Answer:
    """What answers the requests for one address."""

    async def respond(self, request: Request) -> Response:
        raise NotImplementedError

    def stop(self) -> None:
        """End what is being sent, because the data that it is computed from has been dropped."""


@dataclass(frozen=True, eq=False)
class Section(Answer):
    """What one section of a page shows, as JSON, once its results are computed.

    submit: returns the futures of the results, by name; called at every request, as a result may have been dropped.
    draw: returns the content, given the futures that have a result. It runs on a thread, outside a page script.
    partly: also answer while some of the results are computed; `pending` then counts them.
    """

    submit: Callable[[], Mapping[str, Future[Any]]]
    draw: Callable[[Mapping[str, Future[Any]]], Content]
    partly: bool = False

    async def respond(self, request: Request) -> Response:
        if request.method == "DELETE":
            for future in self.submit().values():
                future.cancel()
            return Response(status_code=204)
        shown = request.query_params.get("shown", "0")
        ready, pending = await self._wait(int(shown) if shown.isdecimal() and len(shown) < 4 else 0)
        if pending and not (self.partly and ready):
            return JSONResponse({"pending": pending}, status_code=202, headers=_NOT_STORED)
        draw = copy_context().run
        content = await asyncio.get_running_loop().run_in_executor(_drawing, draw, self._draw_content, ready)
        return JSONResponse({**content, "pending": pending, "ready": len(ready)}, headers=_NOT_STORED)

    async def _wait(self, shown: int) -> tuple[Mapping[str, Future[Any]], int]:
        """Wait a second at most for more results than are `shown`; return them and the number of the missing ones."""
        futures = self.submit()
        waiting = [_wait_for(future) for future in futures.values() if not future.done()]
        if waiting and (not self.partly or len(futures) - len(waiting) <= shown):
            when = asyncio.FIRST_COMPLETED if self.partly else asyncio.ALL_COMPLETED
            await asyncio.wait(waiting, timeout=HOLD_SECONDS, return_when=when)
        ready = {name: future for name, future in futures.items() if is_ready(future)}
        return ready, len(futures) - len(ready)

    def _draw_content(self, ready: Mapping[str, Future[Any]]) -> Content:
        try:
            return self.draw(ready)
        except Exception:  # an unexpected error ends this section only: log it and show a message
            log.exception("a section failed")
            return {"problems": [_FAILED]}


def _wait_for(future: Future[Any]) -> asyncio.Future[None]:
    """Return a future of the running loop that ends with this one, whatever its result is: `draw` reads that."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    future.add_done_callback(lambda _: loop.call_soon_threadsafe(_end, ended))
    return ended


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def is_ready(future: Future[Any]) -> bool:
    """Return whether a future has a result. A future cancelled by `drop_results` has none and is submitted again."""
    return future.done() and not future.cancelled()


@dataclass(frozen=True, eq=False)
class Arrays(Answer):
    """Packed arrays, which never change: their address names their content."""

    content: bytes

    async def respond(self, request: Request) -> Response:
        headers = {"Cache-Control": "private, immutable"}
        return Response(self.content, media_type="application/octet-stream", headers=headers)


@dataclass(frozen=True, eq=False)
class _Registered:
    answer: Answer
    sources: Sources = ()
    reader: str = ""  # the visitor for whose page it was registered, and for whom it may read texts


_NOT_STORED = {"Cache-Control": "no-store"}
_drawing = ThreadPoolExecutor(2, thread_name_prefix="drawing")
_answers: LRUCache[str, _Registered] = LRUCache(MAX_ANSWERS)
_arrays: LRUCache[str, _Registered] = LRUCache(MAX_BYTES, getsizeof=lambda one: len(one.answer.content))  # type: ignore[attr-defined]
_lock = threading.Lock()


def register(token: str, answer: Answer, sources: Sources = ()) -> str:
    """Register an answer under a secret token of a browser tab, and what it is computed from; return its address."""
    with _lock:
        _answers[token] = _Registered(answer, sources, corpora.reader.get())
    return f"results/{token}"


def pack(arrays: Mapping[str, ndarray]) -> bytes:
    """Return named arrays packed as one safetensors file."""
    return save({name: np.ascontiguousarray(array) for name, array in arrays.items()})


def register_arrays(content: bytes, sources: Sources = ()) -> str:
    """Register packed arrays and return their address; the least recently used are dropped above `MAX_BYTES`."""
    digest = hashlib.sha256(content).hexdigest()
    with _lock:
        if len(content) <= MAX_BYTES:
            _arrays[digest] = _Registered(Arrays(content), sources)
    return f"results/{digest}"


def drop(source: Hashable) -> None:
    """Drop every answer that is computed from this source, and end those that are being sent."""
    _drop(lambda registered: source in registered.sources)


def reset() -> None:
    """Drop every registered answer, and end those that are being sent."""
    _drop(lambda _: True)


def _drop(is_outdated: Callable[[_Registered], bool]) -> None:
    with _lock:
        for cache in (_answers, _arrays):
            for token in [token for token, registered in cache.items() if is_outdated(registered)]:
                cache.pop(token).answer.stop()


def find(token: str) -> Answer | None:
    """Return the answer that is registered under a token, and read texts for the visitor of its page from then on."""
    with _lock:
        registered = _answers.get(token) or _arrays.get(token)
    if registered is None:
        return None
    corpora.reader.set(registered.reader)
    return registered.answer


async def _respond(request: Request) -> Response:
    answer = find(request.path_params["token"])
    if answer is None:
        return Response(status_code=410, headers=_NOT_STORED)
    return await answer.respond(request)


ROUTES = [Route("/results/{token:str}", _respond, methods=["GET", "HEAD", "DELETE"])]
