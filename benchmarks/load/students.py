"""Students of a class without browsers: each has a cookie, a Streamlit session, and the requests of the page.

A student does what a browser does: requests the page, opens its WebSocket and has the page run; asks for the state of
the class and for the list of trainings as often as the components `classroom` and `jobs_panel` do; has the page run
when the class has gone on; sends an answer until the server confirms it; and connects again when the connection is
lost, with the delays of Streamlit's own page. Scripts and style sheets are not requested: a browser keeps them.

`Course` has any number of students in processes of their own, and says how much processor time these take.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import random
import ssl
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any, Literal

import psutil
from websockets.exceptions import WebSocketException

from benchmarks.load.light_http import LightBrowser, Traffic, trusting_context
from benchmarks.load.load_generator import Visitor, connect_page

POLL_SECONDS = 1.0  # EVERY of the component `classroom`
RUN_TAKES = 5.0  # of the component `classroom`, as are the next two
EACH = {"open": 0.015, "next": 0.006}  # seconds
MOST = {"open": 5.0, "next": 2.0}
JOBS_SECONDS = 5.0  # of the component `jobs_panel`, while nothing trains
PING_SECONDS = 0.1, 4.0  # least and most between two pings of Streamlit's page without a connection
HEADERS = {"X-Lineage": "1"}
LOST = (OSError, WebSocketException, TimeoutError)

Kind = Literal[
    "arrived",  # the page of the class is whole
    "told",  # the class is at the question of this number, as the server has answered
    "drawn",  # the page has the question of this number
    "revealed",  # the student has the measured answer to the question
    "sent",  # the answer is sent for the first time; `value` is the answer
    "confirmed",  # the server has confirmed it; `value` is how often it was sent
    "refused",  # `value` is the reason
    "lost",  # the connection is lost
    "continued",  # it is there again
    "answered again",  # the first state of the class that a student gets after a lost connection
    "failed",  # the student gives up; `value` is the error
]


@dataclass(frozen=True)
class Event:
    """Something that happened to one student."""

    kind: Kind
    student: int
    when: float  # seconds, `time.monotonic()`, which all processes of a machine share
    question: int = 0  # the number of the question
    value: Any = None


@dataclass
class Plan:
    """What all students of a process do.

    address: http(s)://HOST:PORT, with a base path or without one.
    code: of the class.
    first, count: the numbers of the students are first, first + 1, …; of all there are `total`.
    arrival_seconds: they arrive evenly within so many seconds.
    answer_seconds: each answers at a random moment within so many seconds after the question; 0 never.
    polls: whether they ask for the state of the class and of the trainings; otherwise the sessions are idle.
    """

    address: str
    code: str
    first: int
    count: int
    total: int
    arrival_seconds: float = 10.0
    answer_seconds: float = 10.0
    polls: bool = True
    page: str = ""
    query: str = ""


class OpenPage:
    """A page in a browser without a screen, which connects again whenever its connection is lost.

    address: http(s)://HOST:PORT, with a base path or without one.
    page, query: path and parameters of the page's address.
    on_change: called with "lost", and with "continued" when the connection is there again.
    """

    def __init__(
        self,
        address: str,
        page: str = "",
        query: str = "",
        context: ssl.SSLContext | None = None,
        traffic: Traffic | None = None,
        on_change: Callable[[Literal["lost", "continued"]], None] = lambda _: None,
    ) -> None:
        self.address, self.page, self.query, self.context = address, page, query, context
        self.browser = LightBrowser(address, context, traffic=traffic)
        self.on_change = on_change
        self._keeper: asyncio.Task[None] | None = None

    async def open(self, on_classroom: Callable[[dict[str, Any]], None] | None = None) -> Visitor:
        """Request the page, connect and return the visitor when the page is whole. Raises ConnectionError."""
        path = f"/{self.page}" + (f"?{self.query}" if self.query else "")
        for tries in range(1, 60):
            with contextlib.suppress(*LOST):
                await self.browser.get(path, {"Accept": "text/html"})
                socket = await connect_page(self.address, self.browser, context=self.context)
                break
            await asyncio.sleep(min(4.0, 0.5 * tries))
        else:
            raise ConnectionError("the page cannot be opened")
        self.visitor = Visitor(self.address, self.query, socket, self.browser, self.page)
        self.visitor.on_classroom = on_classroom
        self.visitor.listener = asyncio.create_task(self.visitor.listen())
        opened = asyncio.create_task(self.visitor.open())
        await asyncio.wait((opened, self.visitor.listener), return_when=asyncio.FIRST_COMPLETED)
        self._keeper = asyncio.create_task(self._keep_connected())
        if opened.done():
            await opened
        else:  # the connection was lost during the first run, which is repeated after the next connection
            opened.cancel()
            await self.visitor._answered.wait()
        return self.visitor

    async def close(self) -> None:
        """Close the page and all its connections."""
        if self._keeper:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            for section in self.visitor._sections.values():
                section.stop()
            self.visitor.listener.cancel()
            await asyncio.gather(self.visitor.listener, return_exceptions=True)
            self.visitor.socket.transport.abort()
        await self.browser.aclose()

    async def _keep_connected(self) -> None:
        """Connect again, and have the page run, as Streamlit's page does."""
        while True:
            await asyncio.gather(self.visitor.listener, return_exceptions=True)
            self.on_change("lost")
            attempt, is_connected = 0, False
            while not is_connected:
                attempt += 1
                longest = min(4.0, 0.5 * 2 ** (attempt - 1))
                await asyncio.sleep(random.uniform(0.25 if attempt == 1 else longest / 2, longest))
                wait = PING_SECONDS[0]
                while not await self._ping():
                    await asyncio.sleep(wait)
                    wait = min(PING_SECONDS[1], 2 * wait)
                with contextlib.suppress(*LOST):
                    session = self.visitor._session
                    self.visitor.socket = await connect_page(self.address, self.browser, session, self.context)
                    is_connected = True
            self.visitor.listener = asyncio.create_task(self.visitor.listen())
            self.on_change("continued")
            with contextlib.suppress(*LOST):
                await self.visitor._send()

    async def _ping(self) -> bool:
        try:
            answers = [await self.browser.get(f"/_stcore/{name}") for name in ("health", "host-config")]
        except LOST:
            return False
        return all(answer.status_code == 200 for answer in answers)


@dataclass
class Student:
    """One student. `attend` runs until it is cancelled."""

    number: int
    plan: Plan
    events: list[Event]
    traffic: Traffic
    context: ssl.SSLContext | None
    _answered: set[int] = field(default_factory=set)  # numbers of questions
    _revealed: set[int] = field(default_factory=set)
    _told: set[int] = field(default_factory=set)
    _drawn: set[int] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _followed: tuple[object, float, float] = (None, 0.0, 0.0)  # what the page is run for, until when, and how long
    _was_lost: bool = False

    def __post_init__(self) -> None:
        plan = self.plan
        query = f"class={plan.code}" if plan.code else plan.query
        self.page = OpenPage(plan.address, plan.page, query, self.context, self.traffic, self._take_change)
        self.browser = self.page.browser
        self.chance = random.Random(self.number)

    def note(self, kind: Kind, question: int = 0, value: Any = None) -> None:
        self.events.append(Event(kind, self.number, time.monotonic(), question, value))

    async def attend(self) -> None:
        """Come to the class, and stay."""
        try:
            visitor = await self.page.open(self._take_page)
            self.note("arrived")
            if self.plan.polls:
                self._start(self._poll_jobs())
                await self._poll_class(visitor)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self.note("failed", value=repr(error))
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self.page.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _take_page(self, data: dict[str, Any]) -> None:
        if data["number"] not in self._drawn:
            self._drawn.add(data["number"])
            self.note("drawn", data["number"])

    def _take_change(self, change: Literal["lost", "continued"]) -> None:
        self._was_lost = self._was_lost or change == "lost"
        self.note(change)

    async def _poll_class(self, visitor: Visitor) -> None:
        failures, mark = 0, ""
        while True:
            begun = time.monotonic()
            try:
                answer = await self.browser.get(f"/class/{self.plan.code}" + (f"?mark={mark}" if mark else ""))
                state = answer.json()
                failures = 0
            except (*LOST, ValueError):
                failures += 1
                state = None
            if state is not None:
                mark = state.get("mark", "")
                await self._take_state(visitor, state)
            wait = max(0.0, begun + POLL_SECONDS - time.monotonic()) if mark else POLL_SECONDS
            await asyncio.sleep(min(8.0, 0.5 * 2 ** (failures - 1)) if failures else wait)

    async def _take_state(self, visitor: Visitor, state: dict[str, Any]) -> None:
        if "number" not in state:
            return
        if self._was_lost:
            self._was_lost = False
            self.note("answered again")
        number, page = state["number"], visitor.classroom
        if number not in self._told:
            self._told.add(number)
            self.note("told", number)
        if page is None:
            return
        if (number, state["open"]) != (page["number"], page["open"]):
            why = "open" if number == page["number"] else "next"
            delay = self.chance.uniform(0, min(MOST[why], EACH[why] * state["present"]))
            await self._run_page(visitor, (number, state["open"]), delay)
        if "answer" in state and number not in self._revealed:
            self._revealed.add(number)
            self.note("revealed", number)
        question = page["question"]
        asked = question and number == page["number"] and not state["revealed"] and state["mine"] is None
        if asked and self.plan.answer_seconds and number not in self._answered:
            self._answered.add(number)
            self._start(self._answer(number, choose_answer(question, self.number, self.plan.total)))

    async def _run_page(self, visitor: Visitor, state: object, delay: float = 0.0) -> None:
        """Have the page run, so that it follows the class, as `runPage` of the component does."""
        now = time.monotonic()
        if state != self._followed[0]:
            self._followed = state, now + delay, RUN_TAKES / 2
            if delay:
                self._start(self._run_page_later(visitor, state, delay))
        _, until, wait = self._followed
        if now >= until:
            self._followed = state, now + 2 * wait, 2 * wait
            self._start(self._send_when_idle(visitor, state))

    async def _send_when_idle(self, visitor: Visitor, state: object) -> None:
        while visitor.is_running:
            await asyncio.sleep(0.05)
        page = visitor.classroom
        if page and state == self._followed[0] != (page["number"], page["open"]):
            with contextlib.suppress(*LOST):
                await visitor.send_class_event("moved", time.time())

    async def _run_page_later(self, visitor: Visitor, state: object, delay: float) -> None:
        await asyncio.sleep(delay)
        if state == self._followed[0]:
            await self._run_page(visitor, state)

    async def _answer(self, number: int, given: object) -> None:
        """Answer at a random moment, and send the answer until the server confirms it."""
        await asyncio.sleep(self.chance.uniform(0, self.plan.answer_seconds))
        self.note("sent", number, given)
        tries = 0
        while True:
            tries += 1
            with contextlib.suppress(*LOST, ValueError):
                answer = await self.browser.post(
                    f"/class/{self.plan.code}/answer", HEADERS, {"number": number, "vote": 1, "given": given}
                )
                if answer.status_code < 500:
                    problem = answer.json().get("problem")
                    self.note("refused" if problem else "confirmed", number, problem or tries)
                    return
            await asyncio.sleep(min(8.0, 0.5 * 2 ** (tries - 1)))

    async def _poll_jobs(self) -> None:
        while True:
            with contextlib.suppress(*LOST):
                await self.browser.get("/jobs")
            await asyncio.sleep(JOBS_SECONDS)


def choose_answer(question: dict[str, Any], student: int, total: int) -> object:
    """Return the answer of a student: on a scale a number that no other student gives, otherwise one of the choices."""
    if scale := question.get("scale"):
        return round(scale["low"] + (scale["high"] - scale["low"]) * (student + 0.5) / total, 6)
    choices = question["choices"]
    return choices[student % len(choices)]["name"]


async def _attend_all(plan: Plan, control: Connection) -> tuple[list[Event], Traffic]:
    events: list[Event] = []
    traffic, context = Traffic(), trusting_context() if plan.address.startswith("https") else None
    tasks = []
    every = plan.arrival_seconds / plan.count
    for number in range(plan.first, plan.first + plan.count):
        tasks.append(asyncio.create_task(Student(number, plan, events, traffic, context).attend()))
        await asyncio.sleep(every)
    while not control.poll():
        await asyncio.sleep(0.1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return events, traffic


def _run_process(plan: Plan, control: Connection) -> None:
    before = psutil.Process().cpu_times()
    begun = time.monotonic()
    events, traffic = asyncio.run(_attend_all(plan, control))
    after = psutil.Process().cpu_times()
    seconds = after.user + after.system - before.user - before.system
    control.recv()
    control.send((events, traffic, seconds, time.monotonic() - begun))


@dataclass
class Attendance:
    """What happened to all students of a course, and what they cost."""

    events: list[Event]
    traffic: Traffic
    processor_seconds: float  # of all processes of the students
    seconds: float  # that they were there

    @property
    def cores(self) -> float:
        """Return how many cores the students themselves kept busy on average."""
        return self.processor_seconds / self.seconds

    def select(self, kind: Kind, question: int | None = None) -> list[Event]:
        """Return the events of one kind, of one question if it is given."""
        return [each for each in self.events if each.kind == kind and question in (None, each.question)]


class Course:
    """Students in processes of their own, who stay from `start` to `stop`.

    plan: of all students together; `first` and `count` are those of all.
    """

    def __init__(self, plan: Plan, processes: int = 2) -> None:
        self._plans = list(_split(plan, processes))
        self._running: list[tuple[Any, Connection]] = []

    def start(self) -> None:
        """Start the processes. They import and then arrive; `stop` says what happened."""
        spawn = multiprocessing.get_context("spawn")
        for plan in self._plans:
            control, other = spawn.Pipe()
            process = spawn.Process(target=_run_process, args=(plan, other), daemon=True)
            process.start()
            self._running.append((process, control))

    def stop(self) -> Attendance:
        """Let all students leave, and return what happened to them."""
        attendance = Attendance([], Traffic(), 0.0, 0.0)
        for _, control in self._running:
            control.send("stop")
        for process, control in self._running:
            events, traffic, processor, seconds = control.recv()
            process.join()
            attendance.events += events
            attendance.traffic.requests += traffic.requests
            attendance.processor_seconds += processor
            attendance.seconds = max(attendance.seconds, seconds)
        self._running.clear()
        attendance.events.sort(key=lambda event: event.when)
        return attendance

    def kill(self) -> None:
        """End the processes without their results."""
        for process, _ in self._running:
            process.kill()
            process.join()
        self._running.clear()


def _split(plan: Plan, processes: int) -> Iterator[Plan]:
    """Yield the plan of each process."""
    for index in range(processes):
        first = plan.count * index // processes
        last = plan.count * (index + 1) // processes
        if last > first:
            yield replace(plan, first=plan.first + first, count=last - first)
