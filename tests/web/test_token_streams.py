"""Generated text that is streamed to the browser as server-sent events."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from explorer.errors import DamagedRun
from explorer.generation.streaming import Chunk
from explorer.web import results, token_streams
from explorer.web.token_streams import FairThreadPool, StreamAnswer, sse_event
from explorer.web.visitors import COOKIE, VisitorMiddleware, issue_cookie

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient

Event = tuple[str, Any]
TIMEOUT = 20  # seconds after which a waiting test fails
app = Starlette(
    routes=results.ROUTES,
    middleware=[
        Middleware(VisitorMiddleware),
        Middleware(GZipMiddleware, minimum_size=1),
    ],  # as in app.py, except for the minimum size
)


@pytest.fixture(autouse=True)
def no_streams() -> None:
    """Remove the streams of other tests."""
    results.reset()


def register_stream(name: str, make: Callable[[], Iterator[Chunk]], sources: tuple[str, ...] = ()) -> str:
    """Register a stream under a token and return its path."""
    return "/" + results.register(name, StreamAnswer(make), sources)


def is_running(address: str) -> bool:
    """Return whether the text of an address is being generated."""
    answer = results.find(address.rpartition("/")[2])
    assert isinstance(answer, StreamAnswer)
    return answer.running is not None


def chunk(id: int) -> Chunk:
    return Chunk((id, id + 1), (chr(97 + id), "\n"), (0.5, 1.23456))


def parse_events(text: str) -> list[Event]:
    """Return the events in the body of a response."""
    events = []
    for part in text.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in part.split("\n"))
        events.append((fields.get("event", "message"), json.loads(fields["data"])))
    return events


def request_events(address: str, **headers: str) -> list[Event]:
    """Request a stream and return all of its events."""
    answer = TestClient(app).get(address, headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert "content-encoding" not in answer.headers
    return parse_events(answer.text)


class Browser:
    """A request whose events are read one by one and which can be closed early."""

    def __init__(self, address: str, visitor: str = "") -> None:
        self.disconnected = asyncio.Event()
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        headers = [(b"accept", b"text/event-stream"), (b"accept-encoding", b"gzip")]
        if visitor:
            headers.append((b"cookie", f"{COOKIE}={issue_cookie(f'{visitor:_<22}')}".encode()))
        scope = {"type": "http", "method": "GET", "path": address, "headers": headers, "query_string": b""}
        self.task = asyncio.create_task(app(scope, self._receive, self._send))  # type: ignore[arg-type]

    async def _receive(self) -> dict[str, object]:
        await self.disconnected.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        for event in parse_events(message.get("body", b"").decode()):
            await self.events.put(event)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            await self.events.put(None)

    async def next(self) -> Event | None:
        return await asyncio.wait_for(self.events.get(), TIMEOUT)

    async def rest(self) -> list[Event]:
        events = []
        while (event := await self.next()) is not None:
            events.append(event)
        return events

    async def close(self) -> None:
        self.disconnected.set()
        await asyncio.wait_for(self.task, TIMEOUT)


def test_a_text_is_sent_in_message_events_and_one_end_event() -> None:
    *events, (kind, end) = request_events(register_stream("text", lambda: map(chunk, (0, 3))))
    assert events == [
        ("message", {"ids": [0, 1], "pieces": ["a", "\n"], "surprise": [0.5, 1.2346]}),
        ("message", {"ids": [3, 4], "pieces": ["d", "\n"], "surprise": [0.5, 1.2346]}),
    ]
    assert kind == "end"
    assert (end["tokens"], end["stopped"]) == (4, False)
    assert end["seconds"] > 0


def test_every_request_generates_the_text_again() -> None:
    address = register_stream("text", lambda: map(chunk, (0,)))
    assert [len(request_events(address)) for _ in range(2)] == [2, 2]
    assert not is_running(address)


def test_special_characters_do_not_break_an_event() -> None:
    pieces = ("\r\n\n", "data: x\n\nevent: end", "é😀\u2028", '"\\', "\0")
    ((_, data), _) = request_events(register_stream("text", lambda: iter([Chunk((1,) * 5, pieces, (0.0,) * 5)])))
    assert tuple(data["pieces"]) == pieces


def _fail_at_once() -> Iterator[Chunk]:
    raise DamagedRun("The run is gone. Choose another.")


def _fail_after_one_chunk() -> Iterator[Chunk]:
    yield chunk(0)
    raise DamagedRun("The run is gone. Choose another.")


@pytest.mark.parametrize(("make", "chunks_before"), [(_fail_at_once, 0), (_fail_after_one_chunk, 1)])
def test_a_damaged_run_is_reported_in_one_sentence(make: Callable[[], Iterator[Chunk]], chunks_before: int) -> None:
    events = request_events(register_stream("text", make))
    assert events[chunks_before:] == [("problem", {"sentence": "The run is gone. Choose another."})]


def test_an_unexpected_error_is_logged_and_reported_in_one_sentence(caplog: pytest.LogCaptureFixture) -> None:
    def make() -> Iterator[Chunk]:
        yield chunk(0)
        raise ZeroDivisionError("secret")

    with caplog.at_level(logging.ERROR):
        _, (kind, data) = request_events(register_stream("text", make))
    assert kind == "problem"
    assert "Press Generate to begin again." in data["sentence"]
    assert "secret" not in data["sentence"]
    assert "secret" in caplog.text


def test_a_browser_that_reconnects_gets_no_second_text() -> None:
    address = register_stream("text", lambda: iter(()))
    browser = TestClient(app)
    assert browser.get(address, headers={"Last-Event-ID": "4"}).status_code == 204  # EventSource stops reconnecting
    assert browser.head(address).status_code == 204
    assert b"id: 4\n" in sse_event({}, event_id=4)


def test_an_event_is_sent_before_the_next_chunk_is_generated() -> None:
    """No middleware buffers events, and the event loop is free while a thread generates."""
    first_was_read = threading.Event()
    waited: list[bool] = []

    def make() -> Iterator[Chunk]:
        yield chunk(0)
        waited.append(first_was_read.wait(TIMEOUT))
        yield chunk(2)

    async def visit() -> None:
        browser = Browser(register_stream("text", make))
        first = await browser.next()
        assert first and first[1]["ids"] == [0, 1]
        await asyncio.sleep(0.01)  # the thread waits before the second chunk
        first_was_read.set()
        assert [kind for kind, _ in await browser.rest()] == ["message", "end"]

    asyncio.run(visit())
    assert waited == [True]


def test_generation_stops_at_most_one_slice_after_the_browser_disconnects() -> None:
    generated: list[int] = []
    disconnected = threading.Event()

    def make() -> Iterator[Chunk]:
        for id in range(1_000_000):
            if id == 3:
                disconnected.wait(TIMEOUT)  # in the middle of a slice
            generated.append(id)
            yield chunk(id % 20)

    async def visit() -> None:
        address = register_stream("text", make)
        browser = Browser(address)
        for _ in range(3):
            await browser.next()
        assert is_running(address)
        await browser.close()
        disconnected.set()
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert not is_running(address)

    asyncio.run(visit())
    assert len(generated) <= 4


def test_a_second_request_stops_the_first_which_reports_it() -> None:
    def make() -> Iterator[Chunk]:
        yield chunk(0)
        while not done.is_set():
            yield chunk(1)

    done = threading.Event()

    async def visit() -> None:
        address = register_stream("text", make)
        first = Browser(address)
        await first.next()
        second = Browser(address)
        *_, (kind, end) = await first.rest()
        assert (kind, end["stopped"]) == ("end", True)
        assert is_running(address)
        await second.next()
        done.set()
        *_, (kind, end) = await second.rest()
        assert (kind, end["stopped"]) == ("end", False)

    asyncio.run(visit())


def test_the_pool_serves_visitors_in_turn() -> None:
    """With one thread and five waiting slices of one visitor, another visitor's only slice is served second."""
    pool, start = FairThreadPool(1), threading.Event()
    served: list[str] = []

    def work(name: str) -> Callable[[], bytes]:
        def slice() -> bytes:
            served.append(name)
            return b""

        return slice

    blocked = pool.submit("nobody", lambda: b"" if start.wait(TIMEOUT) else b"late")
    waiting = [pool.submit("one", work("one")) for _ in range(5)]
    waiting += [pool.submit(name, work(name)) for name in ("two", "three", "two")]
    start.set()
    assert blocked.result(TIMEOUT) == b""
    for future in waiting:
        future.result(TIMEOUT)
    assert served == ["one", "two", "three", "one", "two", "one", "one", "one"]


def test_cancelled_work_is_not_done_and_a_failure_is_raised_from_the_future() -> None:
    pool, start = FairThreadPool(1), threading.Event()
    pool.submit("nobody", lambda: b"" if start.wait(TIMEOUT) else b"late")
    cancelled = pool.submit("one", lambda: pytest.fail("it was cancelled"))
    failing = pool.submit("two", lambda: bytes(-1))
    assert cancelled.cancel()
    start.set()
    with pytest.raises(ValueError, match="negative count"):
        failing.result(TIMEOUT)


def test_many_texts_of_one_visitor_do_not_delay_another_visitor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns are shared per visitor (cookie): four texts of one get as many as the single text of another."""
    monkeypatch.setattr(token_streams, "_pool", FairThreadPool(1))
    order: list[str] = []
    start = threading.Event()

    def make(name: str) -> Callable[[], Iterator[Chunk]]:
        def text() -> Iterator[Chunk]:
            start.wait(TIMEOUT)
            for _ in range(12):
                order.append(name)
                time.sleep(0.003)  # longer than the request for the next slice takes
                yield chunk(0)

        return text

    async def visit() -> None:
        browsers = [Browser(register_stream(f"a{i}", make("many")), "many") for i in range(4)]
        browsers.append(Browser(register_stream("b", make("single")), "single"))
        for _ in range(5):
            await asyncio.sleep(0.01)
        start.set()
        for browser in browsers:
            await browser.rest()

    asyncio.run(visit())
    last = max(position for position, name in enumerate(order) if name == "single")
    assert order[: last + 1].count("many") < 36  # 12 if visitors alternate, 44 if texts did


def test_a_dropped_stream_ends_and_is_no_longer_served() -> None:
    def make() -> Iterator[Chunk]:
        while True:
            yield chunk(1)

    async def visit() -> None:
        browser = Browser(dropped)
        await browser.next()
        results.drop("sha")
        *_, (kind, end) = await browser.rest()
        assert (kind, end["stopped"]) == ("end", True)

    remaining = register_stream("kept", lambda: iter([chunk(1)]), ("run",))
    dropped = register_stream("gone", make, ("sha", "x"))
    asyncio.run(visit())
    assert [kind for kind, _ in request_events(remaining)] == ["message", "end"]
    assert TestClient(app).get(dropped).status_code == 410
