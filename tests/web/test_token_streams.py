"""Generated text that is streamed to the browser as server-sent events."""

from __future__ import annotations

import asyncio
import json
import threading
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
from tests.web.client import TestClient

Event = tuple[str, Any]
TIMEOUT = 60  # seconds after which a waiting test fails
MIDDLEWARE = [Middleware(VisitorMiddleware), Middleware(GZipMiddleware, minimum_size=1)]  # as in app.py
app = Starlette(routes=results.ROUTES, middleware=MIDDLEWARE)


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


def request_events(make: Callable[[], Iterator[Chunk]]) -> list[Event]:
    """Request a stream and return all of its events."""
    answer = TestClient(app).get(register_stream("text", make))
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert {"cache-control": "no-store", "x-accel-buffering": "no"}.items() <= answer.headers.items()
    assert "content-encoding" not in answer.headers
    return parse_events(answer.text)


class Browser:
    """A request whose events are read one by one and which can be closed early."""

    def __init__(self, address: str, visitor: str = "") -> None:
        self.disconnected = asyncio.Event()
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        cookie = f"{COOKIE}={issue_cookie(f'{visitor:_<22}')}" if visitor else ""
        headers = [(b"accept", b"text/event-stream"), (b"accept-encoding", b"gzip"), (b"cookie", cookie.encode())]
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


def test_a_text_is_sent_in_message_events_and_one_end_event_at_every_request() -> None:
    pieces = ("\r\n\n", "data: x\n\nevent: end", "é😀\u2028", '"\\', "\0")
    for _ in range(2):
        *events, (kind, end) = request_events(lambda: iter([chunk(0), Chunk((3,) * 5, pieces, (0.0,) * 5)]))
        assert events == [
            ("message", {"ids": [0, 1], "pieces": ["a", "\n"], "surprise": [0.5, 1.2346]}),
            ("message", {"ids": [3] * 5, "pieces": list(pieces), "surprise": [0.0] * 5}),
        ]
        assert (kind, end["tokens"], end["stopped"]) == ("end", 7, False)
        assert 0 < end["seconds"] < TIMEOUT
        assert not is_running("/results/text")
    browser = TestClient(app)
    assert browser.get("/results/text", headers={"Last-Event-ID": "7"}).status_code == 204, "it does not reconnect"
    assert browser.head("/results/text").status_code == 204
    assert b"id: 4\n" in sse_event({}, event_id=4)


@pytest.mark.parametrize("chunks", [0, 1])
def test_a_failure_is_reported(chunks: int, caplog: pytest.LogCaptureFixture) -> None:
    for error, sentence in (
        (DamagedRun("The run is gone. Choose another."), "The run is gone. Choose another."),
        (ZeroDivisionError("secret"), token_streams._FAILED_MESSAGE),
    ):

        def make(error: Exception = error) -> Iterator[Chunk]:
            yield from map(chunk, range(chunks))
            raise error

        assert request_events(make)[chunks:] == [("problem", {"sentence": sentence})]
        assert ("secret" in caplog.text) == (str(error) == "secret")


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
        browser.disconnected.set()
        await asyncio.wait_for(browser.task, TIMEOUT)
        disconnected.set()
        while is_running(address):
            await asyncio.sleep(0.005)

    asyncio.run(visit())
    token_streams._pool.submit("after the last slice", bytes).result(TIMEOUT)
    assert len(generated) <= 4


def test_a_second_request_or_the_end_of_its_data_stops_a_text_which_reports_it() -> None:
    def make() -> Iterator[Chunk]:
        while not done.is_set():
            yield chunk(1)

    done = threading.Event()

    async def visit() -> None:
        address = register_stream("text", make, ("sha", "x"))
        first = Browser(address)
        await first.next()
        second = Browser(address)
        *_, (kind, end) = await first.rest()
        assert (kind, end["stopped"]) == ("end", True)
        assert is_running(address)
        await second.next()
        results.drop("sha")
        *_, (kind, end) = await second.rest()
        assert (kind, end["stopped"]) == ("end", True)
        assert TestClient(app).get(address).status_code == 410

    kept = register_stream("kept", lambda: iter([chunk(1)]), ("run",))
    asyncio.run(visit())
    done.set()
    assert [kind for kind, _ in parse_events(TestClient(app).get(kept).text)] == ["message", "end"]


def test_the_pool_serves_visitors_in_turn_and_cancelled_work_not_at_all() -> None:
    pool, start = FairThreadPool(1), threading.Event()
    served: list[str] = []

    def submit(name: str) -> Any:
        return pool.submit(name, lambda: bytes(served.append(name) or 1))

    blocked = pool.submit("nobody", lambda: b"" if start.wait(TIMEOUT) else b"late")
    waiting = [submit("one") for _ in range(5)] + [submit(name) for name in ("two", "three", "two")]
    cancelled = pool.submit("one", lambda: pytest.fail("it was cancelled"))
    failing = pool.submit("four", lambda: bytes(-1))
    assert cancelled.cancel()
    start.set()
    assert blocked.result(TIMEOUT) == b""
    assert [future.result(TIMEOUT) for future in waiting] == [b"\0"] * 8
    assert served == ["one", "two", "three", "one", "two", "one", "one", "one"]
    with pytest.raises(ValueError, match="negative count"):
        failing.result(TIMEOUT)


def test_turns_are_shared_by_the_visitors_and_not_by_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    owners: list[object] = []
    submit = token_streams._pool.submit
    monkeypatch.setattr(token_streams._pool, "submit", lambda owner, work: owners.append(owner) or submit(owner, work))

    async def visit() -> None:
        addresses = [register_stream(f"a{i}", lambda: iter([chunk(0)])) for i in range(4)]
        for address, visitor in zip(addresses, ("many", "many", "single", ""), strict=True):
            await Browser(address, visitor).rest()

    asyncio.run(visit())
    many, same, single, nobody = (set(owners[i : i + 2]) for i in range(0, 8, 2))
    assert many == same and len(many | single | nobody) == 3
