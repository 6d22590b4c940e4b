"""Visitors without a browser: they speak Streamlit's own protocol, each with a cookie of their own."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.request import Request, urlopen

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

_PATIENCE = 20.0  # seconds to wait for the answer to a gesture before it is sent again
_TRIES = 6
_DONE = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


@dataclass
class Visitor:
    """One open page. `listen` must be running, as it is inside `visiting`."""

    address: str  # http://HOST:PORT
    query: str
    cookie: str
    socket: ClientConnection
    ears: asyncio.Task[None] = field(init=False)
    widgets: dict[str, str] = field(default_factory=dict)  # ids of text inputs and buttons, by their keys
    shown: set[str] = field(default_factory=set)  # texts of captions and warnings since the last press of a button
    exceptions: list[str] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)  # what had to be sent again
    polls: int = 0  # how often the live fragment was run
    asked: int = 0  # jobs that the server has taken on, as the page knows it
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _cached: dict[str, ForwardMsg] = field(default_factory=dict)
    _page: str = ""  # the hash of the page, without which a rerun leads home
    _typed: str | None = None  # the sentence whose answer is awaited
    _seen: bool = False  # whether a run that draws it has begun since
    _parts: dict[str, str] = field(default_factory=dict)  # the fragments that widgets stand in, by ids of widgets
    _answered: asyncio.Event = field(default_factory=asyncio.Event)
    _timers: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def type(self, text: str) -> float:
        """Seconds from a typed sentence until the page that answers it is whole."""
        name = self.widgets["say"]
        self._states[name] = WidgetState(id=name, string_value=text)
        self._typed, self._seen = text, False
        return await self._run(self._parts.get(name, ""))

    async def press(self, button: str) -> float:
        """Seconds until the page has answered to a press of a button."""
        name = self.widgets[button]
        self.shown.clear()
        return await self._run(self._parts.get(name, ""), WidgetState(id=name, trigger_value=True))

    async def jobs(self) -> list[dict[str, Any]]:
        """What the panel of trainings is told."""
        return list(json.loads(await asyncio.to_thread(_get, self.address + "/jobs", self.cookie))["jobs"])

    async def stop_all(self) -> None:
        """Stop what this visitor is training, as the panel's button does."""
        for row in await self.jobs():
            if row["can_stop"]:
                await asyncio.to_thread(_post, f"{self.address}/jobs/{row['key']}/stop", self.cookie)

    async def _run(self, part: str = "", *triggers: WidgetState) -> float:
        self._answered.clear()
        start = time.perf_counter()
        await self._send(part, triggers)
        answer = asyncio.create_task(self._answered.wait())
        for _ in range(_TRIES):
            await asyncio.wait((answer, self.ears), timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if answer.done() or self.ears.done():
                break
            self.unanswered.append(self._typed or "(a press, or the opening)")
            await self._send(part)
        if not answer.done():
            answer.cancel()
            if self.ears.done():
                await self.ears  # what ended it is the cause
            raise TimeoutError(f"no answer to any of {_TRIES} messages within {_PATIENCE:.0f} s each")
        return time.perf_counter() - start

    async def _send(self, fragment: str = "", triggers: tuple[WidgetState, ...] = (), unasked: bool = False) -> None:
        message = BackMsg()
        rerun = message.rerun_script
        rerun.query_string, rerun.page_script_hash = self.query, self._page
        rerun.page_name = "" if self._page else "negation"  # by its name only until the server has said its hash
        rerun.fragment_id, rerun.is_auto_rerun = fragment, unasked
        rerun.widget_states.widgets.extend([*self._states.values(), *triggers])
        rerun.cached_message_hashes.extend(self._cached)
        rerun.context_info.url = f"{self.address}/negation"
        await self.socket.send(message.SerializeToString())

    async def listen(self) -> None:
        """Take in what the server says, and do what a browser does about it."""
        async for data in self.socket:
            message = ForwardMsg.FromString(data)  # type: ignore[arg-type]  # the server sends bytes
            if message.ref_hash:
                message = self._cached.get(message.ref_hash, message)
            elif message.metadata.cacheable:
                self._cached[message.hash] = message
            match message.WhichOneof("type"):
                case "delta":
                    self._look_at(message.delta.new_element, message.delta.fragment_id)
                case "page_info_changed":
                    self.query = message.page_info_changed.query_string
                case "new_session":
                    parts = message.metadata.run.fragment_ids
                    if not parts:
                        self._stop_timers()
                    self._seen = self._seen or not parts or self._parts.get(self.widgets.get("say", "")) in parts
                case "navigation":
                    self._page = message.navigation.page_script_hash
                case "auto_rerun":
                    name, interval = message.auto_rerun.fragment_id, message.auto_rerun.interval
                    if name not in self._timers:
                        self._timers[name] = asyncio.create_task(self._poll(name, interval))
                case "script_finished" if message.script_finished in _DONE:
                    whole = message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
                    if self._seen if self._typed is not None else whole:
                        self._typed = None
                        self._answered.set()

    def _look_at(self, element: Any, part: str) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.exceptions.append(f"{element.exception.type}: {element.exception.message}")
        elif kind == "text_input":
            self._remember(element.text_input.id, part)
        elif kind == "button":
            self._remember(element.button.id, part)
        elif kind == "markdown":
            self.shown.add(element.markdown.body)
        elif kind == "alert":
            self.shown.add(element.alert.body)
        elif kind == "bidi_component" and element.bidi_component.component_name == "lineage_jobs":
            self.asked = json.loads(element.bidi_component.json)["news"]

    def _remember(self, widget: str, part: str) -> None:
        self.widgets[_key(widget)] = widget
        self._parts[widget] = part

    async def _poll(self, fragment: str, interval: float) -> None:
        while True:
            await asyncio.sleep(interval)
            self.polls += 1
            await self._send(fragment, unasked=True)

    def _stop_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()


def _key(widget: str) -> str:
    """The key that a page gave to a widget: $$ID-hash-key."""
    return widget.split("-", 2)[-1]


def _get(url: str, cookie: str) -> bytes:
    with urlopen(Request(url, headers={"Cookie": cookie}), timeout=60) as answer:
        return bytes(answer.read())


def _post(url: str, cookie: str) -> None:
    with urlopen(Request(url, headers={"Cookie": cookie, "X-Lineage": "1"}, method="POST"), timeout=60):
        pass


def _new_cookie(address: str) -> str:
    with urlopen(Request(f"{address}/negation", headers={"Accept": "text/html"}), timeout=60) as answer:
        return str(answer.headers["set-cookie"]).partition(";")[0]


@asynccontextmanager
async def visiting(address: str, query: str = "") -> AsyncIterator[Visitor]:
    """Somebody new who has the negation page open, until they leave."""
    cookie = await asyncio.to_thread(_new_cookie, address)
    url = address.replace("http://", "ws://") + "/_stcore/stream"
    async with connect(
        url, additional_headers={"Cookie": cookie}, max_size=None, ping_interval=None, proxy=None
    ) as socket:
        visitor = Visitor(address, query, cookie, socket)
        visitor.ears = asyncio.create_task(visitor.listen())
        try:
            await visitor._run()
            yield visitor
        finally:
            visitor._stop_timers()
            visitor.ears.cancel()
            await asyncio.gather(visitor.ears, return_exceptions=True)
