"""Texts that a browser reads while they are written."""

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
import streamlit as st
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from explorer.errors import DamagedRun
from explorer.generation.streaming import Chunk
from explorer.web import token_streams
from explorer.web.token_streams import FairThreadPool, register_stream, sse_event
from explorer.web.visitors import COOKIE, VisitorMiddleware

with warnings.catch_warnings(action="ignore"):  # it would rather have another HTTP library
    from starlette.testclient import TestClient

Event = tuple[str, Any]
LONG = 20  # seconds after which a test fails that waits for what will not come
app = Starlette(
    routes=token_streams.ROUTES,
    middleware=[
        Middleware(VisitorMiddleware),
        Middleware(GZipMiddleware, minimum_size=1),
    ],  # as in app.py, but for the size
)


@pytest.fixture(autouse=True)
def window(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What one window remembers."""
    state: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", state)
    token_streams.reset()
    return state


def chunk(id: int) -> Chunk:
    return Chunk((id, id + 1), (chr(97 + id), "\n"), (0.5, 1.23456))


def parsed(text: str) -> list[Event]:
    """The events of an answer."""
    found = []
    for part in text.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in part.split("\n"))
        found.append((fields.get("event", "message"), json.loads(fields["data"])))
    return found


def asked(address: str, **headers: str) -> list[Event]:
    answer = TestClient(app).get(address, headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert "content-encoding" not in answer.headers
    return parsed(answer.text)


class Browser:
    """One request to the server, whose events are read one by one, and that may be given up."""

    def __init__(self, address: str, visitor: str = "") -> None:
        self.left = asyncio.Event()
        self.events: asyncio.Queue[Event | None] = asyncio.Queue()
        headers = [(b"accept", b"text/event-stream"), (b"accept-encoding", b"gzip")]
        if visitor:
            headers.append((b"cookie", f"{COOKIE}={visitor:_<22}".encode()))
        scope = {"type": "http", "method": "GET", "path": address, "headers": headers, "query_string": b""}
        self.task = asyncio.create_task(app(scope, self._receive, self._send))  # type: ignore[arg-type]

    async def _receive(self) -> dict[str, object]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        for found in parsed(message.get("body", b"").decode()):
            await self.events.put(found)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            await self.events.put(None)

    async def next(self) -> Event | None:
        return await asyncio.wait_for(self.events.get(), LONG)

    async def rest(self) -> list[Event]:
        found = []
        while (one := await self.next()) is not None:
            found.append(one)
        return found

    async def leave(self) -> None:
        self.left.set()
        await asyncio.wait_for(self.task, LONG)


def test_a_text_arrives_in_events_and_then_its_end() -> None:
    *said, (kind, end) = asked(register_stream("text", lambda: map(chunk, (0, 3))))
    assert said == [
        ("message", {"ids": [0, 1], "pieces": ["a", "\n"], "surprise": [0.5, 1.2346]}),
        ("message", {"ids": [3, 4], "pieces": ["d", "\n"], "surprise": [0.5, 1.2346]}),
    ]
    assert kind == "end"
    assert (end["tokens"], end["stopped"]) == (4, False)
    assert end["seconds"] > 0


def test_each_time_it_is_asked_for_it_is_written_anew() -> None:
    address = register_stream("text", lambda: map(chunk, (0,)))
    assert [len(asked(address)) for _ in range(2)] == [2, 2]
    assert token_streams.running() == {}


def test_whatever_is_in_a_text_stays_in_its_event() -> None:
    pieces = ("\r\n\n", "data: x\n\nevent: end", "é😀\u2028", '"\\', "\0")
    ((_, said), _) = asked(register_stream("text", lambda: iter([Chunk((1,) * 5, pieces, (0.0,) * 5)])))
    assert tuple(said["pieces"]) == pieces


def _damaged_at_once() -> Iterator[Chunk]:
    raise DamagedRun("The run is gone. Choose another.")


def _damaged_later() -> Iterator[Chunk]:
    yield chunk(0)
    raise DamagedRun("The run is gone. Choose another.")


@pytest.mark.parametrize(("make", "before"), [(_damaged_at_once, 0), (_damaged_later, 1)])
def test_why_there_is_no_text_is_one_sentence(make: Callable[[], Iterator[Chunk]], before: int) -> None:
    said = asked(register_stream("text", make))
    assert said[before:] == [("problem", {"sentence": "The run is gone. Choose another."})]


def test_of_a_bug_the_log_has_the_trace_and_the_visitor_a_sentence(caplog: pytest.LogCaptureFixture) -> None:
    def make() -> Iterator[Chunk]:
        yield chunk(0)
        raise ZeroDivisionError("secret")

    with caplog.at_level(logging.ERROR, "lineage"):
        _, (kind, said) = asked(register_stream("text", make))
    assert kind == "problem"
    assert "Press Write to begin again." in said["sentence"]
    assert "secret" not in said["sentence"]
    assert "secret" in caplog.text


def test_what_nobody_knows_of_any_more_is_said_and_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_streams, "_MAX_STREAMS", 2)
    addresses = [register_stream(name, lambda: map(chunk, (0,))) for name in "abc"]
    ((kind, said),) = asked(addresses[0])
    assert kind == "problem"
    assert said["sentence"].endswith("or reload the page.")
    assert [len(asked(address)) for address in addresses[1:]] == [2, 2]


def test_a_window_keeps_its_address_and_another_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    first = register_stream("text", lambda: map(chunk, (0,)))
    assert register_stream("text", lambda: map(chunk, (5,))) == first
    assert register_stream("other", lambda: map(chunk, (0,))) != first
    monkeypatch.setattr(st, "session_state", {})
    assert register_stream("text", lambda: map(chunk, (0,))) != first
    assert asked(first)[0][1]["ids"] == [5, 6]


def test_a_browser_that_lost_the_connection_does_not_begin_anew_by_itself() -> None:
    made: list[int] = []
    address = register_stream("text", lambda: iter(made))  # type: ignore[arg-type]
    browser = TestClient(app)
    assert browser.get(address, headers={"Last-Event-ID": "4"}).status_code == 204  # EventSource gives up then
    assert browser.head(address).status_code == 204
    assert b"id: 4\n" in sse_event({}, event_id=4)


def test_an_event_is_sent_before_the_next_one_is_written_and_the_server_answers_meanwhile() -> None:
    """Nothing on the way waits for more, and the loop is free while a thread writes."""
    read = threading.Event()
    waited: list[bool] = []

    def make() -> Iterator[Chunk]:
        yield chunk(0)
        waited.append(read.wait(LONG))
        yield chunk(2)

    async def visit() -> None:
        browser = Browser(register_stream("text", make))
        first = await browser.next()
        assert first and first[1]["ids"] == [0, 1]
        await asyncio.sleep(0.01)  # the thread is at the second one
        read.set()
        assert [kind for kind, _ in await browser.rest()] == ["message", "end"]

    asyncio.run(visit())
    assert waited == [True]


def test_who_goes_away_has_at_most_one_slice_written_in_vain() -> None:
    written: list[int] = []
    gone = threading.Event()

    def make() -> Iterator[Chunk]:
        for id in range(1_000_000):
            if id == 3:
                gone.wait(LONG)  # in the middle of a slice
            written.append(id)
            yield chunk(id % 20)

    async def visit() -> None:
        browser = Browser(register_stream("text", make))
        for _ in range(3):
            await browser.next()
        await browser.leave()
        gone.set()
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert token_streams.running() == {}

    asyncio.run(visit())
    assert len(written) <= 4


def test_whoever_asks_again_ends_the_first_and_says_so() -> None:
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
        assert len(token_streams.running()) == 1
        await second.next()
        done.set()
        *_, (kind, end) = await second.rest()
        assert (kind, end["stopped"]) == ("end", False)

    asyncio.run(visit())


def test_visitors_are_served_in_turns() -> None:
    """With one thread, and five slices of one visitor waiting, the only one of another is the second to be served."""
    turns, begin = FairThreadPool(1), threading.Event()
    served: list[str] = []

    def work(name: str) -> Callable[[], bytes]:
        def slice() -> bytes:
            served.append(name)
            return b""

        return slice

    blocked = turns.submit("nobody", lambda: b"" if begin.wait(LONG) else b"late")
    waiting = [turns.submit("one", work("one")) for _ in range(5)]
    waiting += [turns.submit(name, work(name)) for name in ("two", "three", "two")]
    begin.set()
    assert blocked.result(LONG) == b""
    for future in waiting:
        future.result(LONG)
    assert served == ["one", "two", "three", "one", "two", "one", "one", "one"]


def test_what_is_cancelled_is_not_done_and_a_failure_reaches_who_waits() -> None:
    turns, begin = FairThreadPool(1), threading.Event()
    turns.submit("nobody", lambda: b"" if begin.wait(LONG) else b"late")
    cancelled = turns.submit("one", lambda: pytest.fail("it was cancelled"))
    failing = turns.submit("two", lambda: bytes(-1))
    assert cancelled.cancel()
    begin.set()
    with pytest.raises(ValueError, match="negative count"):
        failing.result(LONG)


def test_many_texts_of_one_visitor_do_not_hold_back_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cookie says who it is: one with four texts has as many turns as one with a single text."""
    monkeypatch.setattr(token_streams, "_pool", FairThreadPool(1))
    order: list[str] = []
    start = threading.Event()

    def make(name: str) -> Callable[[], Iterator[Chunk]]:
        def text() -> Iterator[Chunk]:
            start.wait(LONG)
            for _ in range(12):
                order.append(name)
                time.sleep(0.003)  # longer than it takes to ask for the next slice
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
    last = max(place for place, name in enumerate(order) if name == "single")
    assert order[: last + 1].count("many") < 36  # one for one it is 12; if every text had its turn, 44


def test_what_is_forgotten_is_offered_no_more() -> None:
    kept, gone = (
        register_stream("kept", lambda: iter([chunk(1)]), ("run",)),
        register_stream("gone", lambda: iter([chunk(1)]), ("sha", "x")),
    )
    token_streams.drop_streams("sha")
    assert [kind for kind, _ in asked(kept)] == ["message", "end"]
    [(kind, problem)] = asked(gone)
    assert kind == "problem" and "no longer knows" in problem["sentence"]
