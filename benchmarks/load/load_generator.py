"""Visitors without a browser: they speak Streamlit's own protocol, each with a cookie of their own."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

_TIMEOUT = 20.0  # seconds to wait for the answer to a gesture before it is sent again
_TRIES = 6
_DONE = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


class Browser(Protocol):
    """What requests the addresses of a page, with the visitor's cookies: `httpx.AsyncClient` or `LightBrowser`."""

    @property
    def cookies(self) -> Any: ...  # a mapping of names to values

    async def get(self, path: str, /) -> Any: ...

    async def post(self, path: str, /, *, headers: dict[str, str], json: Any = None) -> Any: ...


@dataclass
class Visitor:
    """One open page. `listen` must be running, as it is inside `visiting`."""

    address: str  # http://HOST:PORT
    query: str
    socket: ClientConnection
    browser: Browser  # has the cookie
    page: str = "negation"  # its path
    listener: asyncio.Task[None] = field(init=False)
    widgets: dict[str, str] = field(default_factory=dict)  # ids of text inputs and buttons, by their keys
    messages: set[str] = field(default_factory=set)  # texts of captions and warnings since the last press of a button
    exceptions: list[str] = field(default_factory=list)
    is_running: bool = False  # whether a run of the page was requested that has not ended
    unanswered: list[str] = field(default_factory=list)  # what had to be sent again
    received: list[str] | None = None  # everything that the server sends, if it is set to a list
    downloads: dict[str, str] = field(default_factory=dict)  # ids of the files behind download buttons, by their keys
    _file_urls: list[Any] = field(default_factory=list)  # where the server takes an upload that was announced
    _session: str = ""  # the id of the session, which a download has to repeat
    _download_url: str = ""  # of the file that was asked for; a space if there is none
    polls: int = 0  # how often the live curves were asked for
    submitted_jobs: int = 0  # jobs that the server has taken on, as the page knows it
    classroom: dict[str, Any] | None = None  # the data of the page's component `classroom`, if a class is shown
    on_classroom: Callable[[dict[str, Any]], None] | None = None  # called when they change
    _classroom: str = ""  # its id
    _event_number: int = field(default_factory=lambda: int(1000 * time.time()))  # of the last event of a component
    _states: dict[str, WidgetState] = field(default_factory=dict)
    _cached: dict[str, ForwardMsg] = field(default_factory=dict)
    _page: str = ""  # the hash of the page, without which a rerun leads home
    _awaited_text: str | None = None  # the sentence whose answer is awaited
    _run_has_begun: bool = False  # whether a run that draws it has begun since
    _parts: dict[str, str] = field(default_factory=dict)  # the fragments that widgets stand in, by ids of widgets
    _answered: asyncio.Event = field(default_factory=asyncio.Event)
    _part_of_run: str = ""  # the fragment that was asked to run; empty: the page
    _sections: dict[str, Section] = field(default_factory=dict)  # by name

    async def type(self, text: str) -> float:
        """Seconds from a typed sentence until the page that answers it is whole."""
        name = self.widgets["say"]
        self._states[name] = WidgetState(id=name, string_value=text)
        self._awaited_text, self._run_has_begun = text, False
        start = time.perf_counter()
        await self._run(self._parts.get(name, ""))
        if "verdicts" in self._sections:  # they are not there while no model is trained
            await self._sections["verdicts"].fetched.wait()
        return time.perf_counter() - start

    async def set_text(self, name: str, text: str) -> None:
        """Type a text into an input of a form, which is sent with the next press of a button."""
        widget = self.widgets[name]
        self._states[widget] = WidgetState(id=widget, string_value=text)

    async def download(self, button: str) -> bytes:
        """Return the file behind a download button that makes it when it is pressed."""
        message = BackMsg()
        message.backend_operation_request.request_id = "download"
        message.backend_operation_request.session_id = self._session
        message.backend_operation_request.deferred_file.file_id = self.downloads[button]
        self._download_url = ""
        await self.socket.send(message.SerializeToString())
        await wait_until(lambda: bool(self._download_url))
        return (await self.browser.get(self._download_url)).content if self._download_url.strip() else b""

    async def upload(self, uploader: str, content: bytes) -> int:
        """Put a zip into a file uploader and return the status of the upload; a form sends it with the next press."""
        assert isinstance(self.browser, httpx.AsyncClient)
        await self.browser.get("/_stcore/health")  # sets the cookie that an upload has to repeat
        message = BackMsg()
        message.file_urls_request.request_id = "upload"
        message.file_urls_request.file_names.append("run.zip")
        self._file_urls.clear()
        await self.socket.send(message.SerializeToString())
        await wait_until(lambda: bool(self._file_urls))
        urls = self._file_urls[0]
        headers = {"X-Xsrftoken": self.browser.cookies.get("_streamlit_xsrf", "")}
        answer = await self.browser.put(
            urls.upload_url, headers=headers, files={"file": ("run.zip", content, "application/zip")}
        )
        widget = self.widgets[uploader]
        state = WidgetState(id=widget)
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = "run.zip", len(content), urls.file_id
        info.file_urls.CopyFrom(urls)
        self._states[widget] = state
        return answer.status_code

    async def press(self, button: str) -> float:
        """Seconds until the page has answered to a press of a button."""
        name = self.widgets[button]
        self.messages.clear()
        return await self._run(self._parts.get(name, ""), WidgetState(id=name, trigger_value=True))

    async def send_class_event(self, name: str, value: object) -> None:
        """Send an event of the component `classroom`: "moved", or of the teacher "next"; the page is run for it."""
        self._event_number += 1
        log = [[self._event_number, "", name, value]]
        self._states[self._classroom] = WidgetState(id=self._classroom, json_value=json.dumps({"events": log}))
        await self._send()

    async def jobs(self) -> list[dict[str, Any]]:
        """What the panel of trainings is told."""
        return list((await self.browser.get("/jobs")).json()["jobs"])

    async def stop_all(self) -> None:
        """Stop what this visitor is training, as the panel's button does."""
        for row in await self.jobs():
            if row["can_stop"]:
                await self.browser.post(f"/jobs/{row['key']}/stop", headers={"X-Lineage": "1"})

    async def open(self) -> float:
        """Seconds until the page is whole, without its sections."""
        return await self._run()

    async def fetch_sections(self, seconds: float) -> bool:
        """Return whether all sections of the page have been fetched within so many seconds."""
        waiting = [asyncio.create_task(section.fetched.wait()) for section in self._sections.values()]
        if not waiting:
            return True
        _, pending = await asyncio.wait(waiting, timeout=seconds)
        for task in pending:
            task.cancel()
        return not pending

    async def leave(self) -> None:
        """End what the page still waits for."""
        for section in self._sections.values():
            section.stop()
        self.listener.cancel()
        await asyncio.gather(self.listener, return_exceptions=True)

    async def _run(self, part: str = "", *triggers: WidgetState) -> float:
        self._answered.clear()
        self._part_of_run = part
        start = time.perf_counter()
        await self._send(part, triggers)
        answer = asyncio.create_task(self._answered.wait())
        for _ in range(_TRIES):
            await asyncio.wait((answer, self.listener), timeout=_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
            if answer.done() or self.listener.done():
                break
            self.unanswered.append(self._awaited_text or "(a press, or the opening)")
            await self._send(part)
        if not answer.done():
            answer.cancel()
            if self.listener.done():
                await self.listener  # what ended it is the cause
            raise TimeoutError(f"no answer to any of {_TRIES} messages within {_TIMEOUT:.0f} s each")
        return time.perf_counter() - start

    async def _send(self, fragment: str = "", triggers: tuple[WidgetState, ...] = ()) -> None:
        self.is_running = True
        message = BackMsg()
        rerun = message.rerun_script
        rerun.query_string, rerun.page_script_hash = self.query, self._page
        rerun.page_name = "" if self._page else self.page  # by its name only until the server has said its hash
        rerun.fragment_id = fragment
        rerun.widget_states.widgets.extend([*self._states.values(), *triggers])
        rerun.cached_message_hashes.extend(self._cached)
        rerun.context_info.url = f"{self.address}/{self.page}"
        await self.socket.send(message.SerializeToString())

    async def listen(self) -> None:
        """Take in what the server says, and do what a browser does about it."""
        async for data in self.socket:
            if self.received is not None:
                self.received.append(data.decode(errors="replace") if isinstance(data, bytes) else data)
            message = ForwardMsg.FromString(data)  # type: ignore[arg-type]  # the server sends bytes
            if message.ref_hash:
                message = self._cached.get(message.ref_hash, message)
            elif message.metadata.cacheable:
                self._cached[message.hash] = message
            match message.WhichOneof("type"):
                case "delta":
                    self._handle_element(message.delta.new_element, message.delta.fragment_id)
                case "page_info_changed":
                    self.query = message.page_info_changed.query_string
                case "file_urls_response":
                    self._file_urls += message.file_urls_response.file_urls
                case "backend_operation_response":
                    self._download_url = message.backend_operation_response.deferred_file.url or " "
                case "new_session":
                    self._session = message.new_session.initialize.session_id or self._session
                    parts = message.metadata.run.fragment_ids
                    self._run_has_begun = (
                        self._run_has_begun or not parts or self._parts.get(self.widgets.get("say", "")) in parts
                    )
                case "navigation":
                    self._page = message.navigation.page_script_hash
                case "script_finished" if message.script_finished in _DONE:
                    self.is_running = False
                    whole = message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
                    if self._run_has_begun if self._awaited_text is not None else whole or self._part_of_run:
                        self._awaited_text = None
                        self._answered.set()

    def _handle_element(self, element: Any, part: str) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.exceptions.append(f"{element.exception.type}: {element.exception.message}")
        elif kind in ("text_input", "text_area", "button", "file_uploader"):
            self._remember(getattr(element, kind).id, part)
        elif kind == "download_button":
            self.downloads[_key(element.download_button.id)] = element.download_button.deferred_file_id
        elif kind == "markdown":
            self.messages.add(element.markdown.body)
        elif kind == "alert":
            self.messages.add(element.alert.body)
        elif kind == "bidi_component":
            component = element.bidi_component
            name, data = component.component_name, json.loads(component.json)
            if name == "lineage_jobs_panel":
                self.submitted_jobs = data["news"]
            elif name == "lineage_classroom":
                self._classroom, self.classroom = component.id, data
                if self.on_classroom:
                    self.on_classroom(data)
            elif name == "lineage_section":
                self._update_section(_key(component.id).removeprefix("section."), data)

    def _update_section(self, name: str, data: dict[str, Any]) -> None:
        """Fetch a section if it is a new version, as its component in the browser does."""
        section = self._sections.setdefault(name, Section())
        if (data["address"], data["version"]) != section.shown:
            section.shown = data["address"], data["version"]
            section.stop()
            section.fetched.clear()
            section.task = asyncio.create_task(self._follow(section, data["address"]))

    def _remember(self, widget: str, part: str) -> None:
        self.widgets[_key(widget)] = widget
        self._parts[widget] = part

    async def _follow(self, section: Section, address: str) -> None:
        live = False
        while True:
            answer = await self.browser.get(address)
            if answer.status_code != 200:
                # The server holds a request for as long as it computes.
                await asyncio.sleep(0 if answer.status_code == 202 else 0.2)
                continue
            content = answer.json()
            if self.received is not None:
                self.received.append(answer.text)
            self.messages |= {block["text"] for block in content.get("blocks", ()) if "text" in block}
            self.exceptions += content.get("problems", ())  # a section says so if it fails
            section.fetched.set()
            if not content.get("again"):
                break
            live = True
            await asyncio.sleep(content["again"])
            self.polls += 1
        if live or content.get("ended"):
            await self._send()  # as the component does at the end of a training: the page is run once more


@dataclass
class Section:
    """A section of the page that is fetched by its address."""

    shown: tuple[str, int] = ("", -1)  # its address and version
    fetched: asyncio.Event = field(default_factory=asyncio.Event)  # this version has been answered
    task: asyncio.Task[None] | None = None

    def stop(self) -> None:
        if self.task:
            self.task.cancel()


async def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for a message of the server. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"no answer within {seconds:.0f} s")
        await asyncio.sleep(0.02)


def _key(widget: str) -> str:
    """The key that a page gave to a widget: $$ID-hash-key."""
    return widget.split("-", 2)[-1]


async def read_class_code(teacher: Visitor) -> str:
    """Return the code of the teacher's class, once the address has it. Raises TimeoutError."""
    await wait_until(lambda: "class=" in teacher.query)
    return re.findall("class=([A-Z]+)", teacher.query)[0]


@asynccontextmanager
async def open_negation_page(address: str, query: str = "") -> AsyncIterator[Visitor]:
    """Somebody new who has the negation page open in the language of six words, until they leave."""
    async with (
        httpx.AsyncClient(base_url=address, timeout=60, trust_env=False) as browser,
        open_page(browser, address, "negation", f"language=words&{query}".rstrip("&")) as visitor,
    ):
        yield visitor


async def connect_page(
    address: str, browser: Browser, session: str = "", context: ssl.SSLContext | None = None
) -> ClientConnection:
    """Open the WebSocket of a page; the browser takes the cookies that come with it.

    session: id of the session that is continued after a lost connection, if the server still has it.
    context: of TLS, for an address that begins with https.
    """
    cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items())}
    token = browser.cookies.get("_streamlit_xsrf") or "PLACEHOLDER_AUTH_TOKEN"
    socket = await connect(
        address.replace("http", "ws", 1) + "/_stcore/stream",
        additional_headers=cookies,
        subprotocols=[Subprotocol(each) for each in ("streamlit", token, session)] if session else None,
        ssl=context,
        max_size=None,
        ping_interval=None,
        proxy=None,
    )
    assert socket.response
    for header in socket.response.headers.get_all("Set-Cookie"):
        name, _, value = header.partition(";")[0].partition("=")
        browser.cookies[name] = value
    return socket


@asynccontextmanager
async def open_page(
    browser: Browser,
    address: str,
    page: str,
    query: str = "",
    is_new: bool = True,
    received: list[str] | None = None,
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[Visitor]:
    """Somebody who has a page open, until they leave.

    browser: has the visitor's cookies, or gets them.
    page, query: path and parameters of the page's address.
    is_new: request the page, as a browser does that has no cookie yet.
    received: a list to which everything that the server sends is added.
    context: of TLS, for an address that begins with https.
    """
    if is_new:
        await browser.get(f"/{page}", headers={"Accept": "text/html"})
    async with await connect_page(address, browser, context=context) as socket:
        visitor = Visitor(address, query, socket, browser, page)
        visitor.received = received
        visitor.listener = asyncio.create_task(visitor.listen())
        try:
            await visitor.open()
            yield visitor
        finally:
            await visitor.leave()
