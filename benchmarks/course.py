"""A course at several servers: PostgreSQL, three app servers, nginx with TLS, and students in real Streamlit sessions.

    python -m benchmarks.course [--part class|idle|trainings] [--students 300]

class: all students are in one class. They answer six questions of a lesson, and see the answer and the next step. A
    server is killed while they answer the second question, all servers are restarted one after the other during the
    fourth, and the database is away for 20 s during the sixth.
idle: memory of sessions that do nothing.
trainings: 100 runs of a sweep in a Ray cluster of a head and two nodes. Every ten seconds a worker, a node or a server
    is killed. Every run is compared with one that was trained undisturbed, bit for bit.

All parts share the machine with the students, whose own use of the processor is printed.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.load.cluster import SERVERS, Cluster, Cost, running_cluster
from benchmarks.load.cluster_kills import make_runs, print_outcome, ray_nodes, run_disturbed, train_undisturbed
from benchmarks.load.light_http import trusting_context
from benchmarks.load.load_generator import read_class_code
from benchmarks.load.students import HEADERS, LOST, Attendance, Course, OpenPage, Plan
from benchmarks.machine import describe_machine

LESSON, STEPS = "counting", 6
SOON = 3.0  # seconds within which the class should have what its teacher does
KILLED_AT, RESTARTED_AT = 2, 4  # the questions during which a server is killed, and all are restarted in turn
AWAY_AT, AWAY_SECONDS = 6, 20.0  # the question during which the database is stopped, and for how long
ANSWER_SECONDS = 10.0
DISCUSSION = 10.0  # seconds from an answer to the next step
MOST_WAIT = 60.0  # seconds
WARM_SESSIONS = 30
WARM_SECONDS = 120.0  # the servers release some 220 MB each in the second minute after their start
ARRIVAL_EVERY = 0.3  # seconds between two sessions that shall do nothing
SETTLE_SECONDS = 20.0  # after which their pages are whole
JOBS_AT_ONCE = 12  # trainings that the cluster carries out at once


class Part(StrEnum):
    classroom = "class"
    idle = "idle"
    trainings = "trainings"


@dataclass
class Board:
    """The teacher's screen: a page that leads the class, and what its polls have shown."""

    page: OpenPage
    code: str = ""
    shown: list[tuple[float, dict[str, Any]]] = field(default_factory=list)  # when, and the state of the class

    @property
    def state(self) -> dict[str, Any]:
        return self.shown[-1][1]

    async def poll(self) -> None:
        """Ask each second, as the browser does."""
        while True:
            with contextlib.suppress(*LOST, ValueError):
                state = (await self.page.browser.get(f"/class/{self.code}")).json()
                if "number" in state:
                    self.shown.append((time.monotonic(), state))
            await asyncio.sleep(1.0)

    async def command(self, name: str) -> float:
        """Send a command for the question that is shown until it succeeds; return when it was first sent."""
        begun, number = time.monotonic(), self.state["number"]
        while True:
            with contextlib.suppress(*LOST):
                answer = await self.page.browser.post(f"/class/{self.code}/{name}", HEADERS, {"number": number})
                if answer.status_code < 500 or time.monotonic() > begun + MOST_WAIT:
                    return begun
            await asyncio.sleep(0.5)

    async def show_next(self) -> float:
        """Show the next step, again until the class has it; return when that was first wished."""
        begun, number = time.monotonic(), self.state["number"]
        while self.state["number"] == number and time.monotonic() < begun + MOST_WAIT:
            with contextlib.suppress(*LOST):
                await self.page.visitor.send_class_event("next", 1)
            end = time.monotonic() + 20  # a second event would lead to the step after the next
            while self.state["number"] == number and time.monotonic() < end:
                await asyncio.sleep(0.1)
        return begun


@dataclass
class Measurements:
    """When the teacher did what, and what it cost."""

    next_step: dict[int, float] = field(default_factory=dict)  # by question
    reveal: dict[int, float] = field(default_factory=dict)
    given: dict[int, list[Any]] = field(default_factory=dict)  # the answers at the end of each question
    killed: float = 0.0
    phases: dict[str, tuple[float, Cost]] = field(default_factory=dict)  # seconds and cost, by name


async def lead_class(cluster: Cluster, students: int, arrival_seconds: float, steps: int = STEPS) -> None:
    """Lead a class through a lesson, and print what its students have seen."""
    page = OpenPage(cluster.url, "negation", f"models=bag_of_words&lesson={LESSON}&part=1", trusting_context())
    board, measured = Board(page), Measurements()
    course = None
    try:
        visitor = await page.open()
        await visitor.press("lesson.class")
        board.code = await read_class_code(visitor)
        polling = asyncio.create_task(board.poll())
        course = Course(Plan(cluster.url, board.code, 0, students, students, arrival_seconds, ANSWER_SECONDS))
        async with _measure(cluster, measured, "arrival"):
            course.start()
            await _wait_until(
                lambda: bool(board.shown) and board.state["present"] >= students, MOST_WAIT + arrival_seconds
            )
        for question in range(1, steps + 1):
            await _ask(cluster, board, measured, question)
            if question == 1:
                async with _measure(cluster, measured, "waiting"):
                    await asyncio.sleep(15)
            if question < steps:
                async with _measure(cluster, measured, f"next step {question + 1}"):
                    measured.next_step[question + 1] = await board.show_next()
                    await asyncio.sleep(SOON + 2)
        polling.cancel()
        attendance = course.stop()
    finally:
        if course:
            course.kill()
        await page.close()
    print_class(attendance, board, measured, students)


async def _ask(cluster: Cluster, board: Board, measured: Measurements, question: int) -> None:
    """Wait for the answers to a question, while servers are killed or restarted, and reveal it."""
    await board.command("show")
    trouble = None
    if question == KILLED_AT:
        await asyncio.sleep(ANSWER_SECONDS / 3)
        measured.killed = time.monotonic()
        await asyncio.to_thread(cluster.kill, 0)
    if question == RESTARTED_AT:
        trouble = asyncio.create_task(_restart_in_turn(cluster))
    if question == AWAY_AT:
        trouble = asyncio.create_task(_stop_database(cluster))
    await _wait_until(
        lambda: board.state["votes"][0]["answered"] >= board.state["votes"][0]["size"], 3 * ANSWER_SECONDS
    )
    if trouble:
        await trouble
    if question == KILLED_AT:
        await asyncio.to_thread(cluster.restart, 0)
    measured.given[question] = board.state["votes"][0]["given"]
    async with _measure(cluster, measured, f"reveal {question}"):
        measured.reveal[question] = await board.command("reveal")
        await asyncio.sleep(DISCUSSION)


async def _restart_in_turn(cluster: Cluster) -> None:
    """Restart all app servers one after the other, each when the one before is ready."""
    for number in range(SERVERS):
        await asyncio.to_thread(cluster.servers[number].stop)
        await asyncio.to_thread(cluster.restart, number)


async def _stop_database(cluster: Cluster) -> None:
    """Stop the database as after a loss of power, and start it again after a while."""
    await asyncio.to_thread(cluster.database.stop)
    await asyncio.sleep(AWAY_SECONDS)
    await asyncio.to_thread(cluster.database.start)


@contextlib.asynccontextmanager
async def _measure(cluster: Cluster, measured: Measurements, name: str) -> Any:
    begun, before = time.monotonic(), await asyncio.to_thread(cluster.cost)
    yield
    measured.phases[name] = (time.monotonic() - begun, await asyncio.to_thread(cluster.cost) - before)


async def _wait_until(condition: Any, seconds: float) -> None:
    """Wait until something is so, or for so many seconds."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        await asyncio.sleep(0.2)


# ---- what is printed ----


def print_class(attendance: Attendance, board: Board, measured: Measurements, students: int) -> None:
    """Print what the students have seen, and when."""
    print(f"{students} students in one class over {SERVERS} servers")
    print(
        f"  arrived, gave up                  {len(attendance.select('arrived'))}, {len(attendance.select('failed'))}"
    )
    for kind in ("failed", "refused"):
        for text, count in Counter(str(each.value) for each in attendance.select(kind)).most_common(3):
            print(f"    {kind} {count} times: {text}")
    print(f"  processor of the students         {attendance.cores:.2f} cores")
    print("  seconds until the class has it            within 3 s    p50    p95    max")
    for question, begun in measured.next_step.items():
        _print_delays(
            f"next step {question}", [each.when - begun for each in attendance.select("drawn", question)], students
        )
    for question, begun in measured.reveal.items():
        delays = [each.when - begun for each in attendance.select("revealed", question)]
        _print_delays(f"reveal {question}", delays, students)
    print("  answers on the teacher's screen           within 3 s    p50    p95    max    lost  twice")
    for question in measured.reveal:
        _print_answers(attendance, board, measured, question)
    lost = [each for each in attendance.select("lost") if measured.killed <= each.when < measured.killed + 20]
    print(f"  a server is killed: {len(lost)} students lose their connection; seconds until")
    again = [each for each in attendance.select("continued") if each.when > measured.killed]
    delays = [next((e.when for e in again if e.student == each.student), math.inf) - each.when for each in lost]
    _print_delays("they are connected again", delays, len(lost))
    victims = {each.student for each in lost}
    sent = [each for each in attendance.select("sent", KILLED_AT) if each.student in victims]
    confirmed = {each.student: each.when for each in attendance.select("confirmed", KILLED_AT)}
    after = [confirmed.get(each.student, math.inf) - each.when for each in sent if each.when > measured.killed]
    _print_delays("an answer that they send is confirmed", after, len(after))
    print("  cost                 seconds   cores: app  proxy  database   transactions/s   kB/s of the database's log")
    for name, (seconds, cost) in measured.phases.items():
        parts = f"{cost.app / seconds:8.2f} {cost.proxy / seconds:6.2f} {cost.database / seconds:9.2f}"
        rates = f"{cost.transactions / seconds:16.0f} {cost.log_bytes / 1e3 / seconds:12.0f}"
        print(f"    {name:18} {seconds:7.1f}     {parts} {rates}")
    print(
        f"  requests by HTTP: {attendance.traffic.requests / attendance.seconds / students:.2f} of a student and second"
    )


def _print_answers(attendance: Attendance, board: Board, measured: Measurements, question: int) -> None:
    """Print how soon answers stood on the teacher's screen; which answer is whose is known for numbers only."""
    sent = attendance.select("sent", question)
    values, given = [each.value for each in sent], Counter(measured.given[question])
    polls = [(when, state["votes"][0]) for when, state in board.shown if state["number"] == question]
    if len(set(values)) == len(values):
        seen: dict[object, float] = {}
        for when, vote in polls:
            for value in vote["given"]:
                seen.setdefault(value, when)
        delays = [seen.get(each.value, math.inf) - each.when for each in sent]
    else:  # the n-th answer is there when n are counted
        delays = [
            next((when for when, vote in polls if vote["answered"] > i), math.inf) - each.when
            for i, each in enumerate(sent)
        ]
    expected = Counter(values)
    _print_delays(
        f"question {question}", delays, len(sent), f"{(expected - given).total():8} {(given - expected).total():6}"
    )


def _print_delays(name: str, delays: Iterable[float], count: int, more: str = "") -> None:
    """Print a row of delays; of `count` those that are missing never came."""
    delays = sorted(delays)
    delays += [math.inf] * (count - len(delays))
    if not delays:
        print(f"    {name:38} none")
        return
    share = sum(each <= SOON for each in delays) / len(delays)
    numbers = [_quantile(delays, 0.5), _quantile(delays, 0.95), delays[-1]]
    print(f"    {name:38} {share:9.1%}" + "".join(f"{each:7.2f}" for each in numbers) + more)


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


# ---- memory ----


async def measure_memory(cluster: Cluster, sessions: int) -> None:
    """Print the memory of sessions that have the page of the negation task open and do nothing.

    The servers are warm before: `WARM_SESSIONS` further sessions have the page open from before the first measurement
    to the end. The others come in three groups, so that one sees whether the memory grows evenly. Copies of files do
    not count: pages of libraries are shared with other programs, so their share changes when one of these ends.
    """
    groups = [WARM_SESSIONS, *(sessions * (i + 1) // 3 - sessions * i // 3 for i in range(3))]
    courses: list[Course] = []
    measured: list[float] = []
    try:
        for count in groups:
            arrival = count * ARRIVAL_EVERY
            courses.append(Course(Plan(cluster.url, "", 0, count, count, arrival, 0.0, False, "negation"), 1))
            courses[-1].start()
            await asyncio.sleep(arrival + SETTLE_SECONDS + (0 if measured else WARM_SECONDS))
            measured.append(cluster.megabytes())
        attendances = [course.stop() for course in courses]
    finally:
        for course in courses:
            course.kill()
    arrived = [len(attendance.select("arrived")) for attendance in attendances]
    print(f"memory of {SERVERS} servers with {arrived[0]} sessions: {measured[0]:.0f} MB")
    print("  further idle sessions        MB   MB for each of the last third")
    for group in range(1, len(groups)):
        more = (measured[group] - measured[group - 1]) / max(arrived[group], 1)
        print(f"    {sum(arrived[1 : group + 1]):18} {measured[group]:11.0f} {more:14.2f}")
    for text, count in Counter(str(e.value) for each in attendances for e in each.select("failed")).most_common(3):
        print(f"    failed {count} times: {text}")


# ---- trainings ----


def measure_trainings(runs: int, epochs: int) -> None:
    """Train undisturbed, then in a cluster whose parts are killed, and print what is different."""
    sweep = make_runs(runs, epochs)
    with tempfile.TemporaryDirectory(prefix="lineage-undisturbed-") as home, ray_nodes(JOBS_AT_ONCE) as nodes:
        undisturbed = train_undisturbed(sweep, Path(home), JOBS_AT_ONCE)
        settings = {"LINEAGE_EXECUTOR": nodes.address, "LINEAGE_JOBS_AT_ONCE": str(JOBS_AT_ONCE)}
        with running_cluster(**settings) as cluster:
            print_outcome(run_disturbed(cluster, nodes, sweep, Path(home)), sweep, undisturbed)
            _print_tracebacks(cluster)


def _print_tracebacks(cluster: Cluster) -> None:
    if count := cluster.logs().count("Traceback"):
        print(f"  tracebacks in the logs            {count}")


def main(
    part: Annotated[Part | None, typer.Option(help="Only this one.")] = None,
    students: Annotated[int, typer.Option(help="How many are in the class.")] = 300,
    questions: Annotated[int, typer.Option(help="How many questions the class answers.", min=1, max=STEPS)] = STEPS,
    arrival: Annotated[float, typer.Option(help="Seconds within which they arrive.")] = 30,
    runs: Annotated[int, typer.Option(help="How many trainings there are: a multiple of 10.")] = 100,
    epochs: Annotated[int, typer.Option(help="Epochs of each training.")] = 60,
) -> None:
    """Measure a course at several servers."""
    print(describe_machine())
    for each in (part,) if part else Part:
        print(flush=True)
        if each is Part.trainings:
            measure_trainings(runs, epochs)
            continue
        with running_cluster() as cluster:
            if each is Part.classroom:
                asyncio.run(lead_class(cluster, students, arrival, questions))
            else:
                asyncio.run(measure_memory(cluster, students))
            _print_tracebacks(cluster)
    print(f"load {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    typer.run(main)
