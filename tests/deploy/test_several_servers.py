"""Three app servers with one PostgreSQL behind nginx (`deploy/nginx-several.conf`), with students in real sessions."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from benchmarks.course import Board
from benchmarks.load.cluster import SERVERS, Cluster, running_cluster
from benchmarks.load.light_http import LightBrowser, Traffic, trusting_context
from benchmarks.load.load_generator import Visitor, connect_page, open_page, read_class_code
from benchmarks.load.students import Event, OpenPage, Plan, Student
from tests import needs

pytestmark = [needs.nginx, needs.postgresql]

CONTEXT = trusting_context()
STUDENTS = 6


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running
        assert "Traceback" not in running.logs()


@asynccontextmanager
async def visit(cluster: Cluster, page: str) -> AsyncIterator[Visitor]:
    browser = LightBrowser(cluster.url, CONTEXT)
    async with open_page(browser, cluster.url, page, context=CONTEXT) as visitor:
        yield visitor
    await browser.aclose()


async def server_after_reconnecting(cluster: Cluster, browser: LightBrowser) -> int:
    async with await connect_page(cluster.url, browser, context=CONTEXT):
        return cluster.server_of(browser.cookies)


async def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.05)


def test_new_visitors_are_spread_over_all_servers(cluster: Cluster) -> None:
    async def scenario() -> set[int]:
        found: set[int] = set()
        while len(found) < SERVERS:  # each is chosen at random
            browser = LightBrowser(cluster.url, CONTEXT)
            await browser.get("/", {"Accept": "text/html"})
            found.add(await server_after_reconnecting(cluster, browser))
            await browser.aclose()
        return found

    assert asyncio.run(scenario()) == set(range(SERVERS))


def test_a_class_over_three_servers_loses_no_answer_when_one_is_killed(cluster: Cluster) -> None:
    """Two questions of a lesson; a server is killed between them. Its students go on at another, and stay there."""

    async def scenario() -> tuple[list[Event], dict[int, list[object]]]:
        board = Board(OpenPage(cluster.url, "negation", "models=bag_of_words&lesson=counting&part=1", CONTEXT))
        given: dict[int, list[object]] = {}
        events: list[Event] = []
        visitor = await board.page.open()
        await visitor.press("lesson.class")
        board.code = await read_class_code(visitor)
        plan = Plan(cluster.url, board.code, 0, STUDENTS, STUDENTS, 0.0, 0.5)
        students = [Student(number, plan, events, Traffic(), CONTEXT) for number in range(STUDENTS)]
        tasks = [asyncio.create_task(work) for work in (board.poll(), *(each.attend() for each in students))]
        try:
            for question in (1, 2):
                await wait_for(lambda: bool(board.shown) and board.state["votes"][0]["answered"] == STUDENTS)
                assert board.state["number"] == question
                await board.command("reveal")
                await wait_for(lambda: bool(board.state["revealed"]))
                given[question] = board.state["votes"][0]["given"]
                await wait_for(lambda question=question: count(events, "revealed", question) == STUDENTS)  # type: ignore[misc]
                if question == 1:
                    await board.show_next()
                    of_board = cluster.server_of(board.page.browser.cookies)
                    first = [cluster.server_of(each.browser.cookies) for each in students]
                    killed = next(iter(set(first) - {of_board}))
                    cluster.kill(killed)
            for student, server in zip(students, first, strict=True):
                now = {await server_after_reconnecting(cluster, student.browser) for _ in range(3)}
                assert len(now) == 1 and killed not in now
                assert server == killed or now == {server}
            async with visit(cluster, "negation") as other:
                assert await other.fetch_sections(60)  # from the server of its session
                assert other.exceptions == []
            return events, given
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await board.page.close()

    events, given = asyncio.run(scenario())
    assert [each.value for each in events if each.kind in ("failed", "refused")] == []
    assert any(each.kind == "lost" for each in events), "the server that was killed had no students"
    for question in (1, 2):
        assert count(events, "drawn", question) == STUDENTS
        answers = [each.value for each in events if (each.kind, each.question) == ("sent", question)]
        assert Counter(given[question]) == Counter(answers)  # none is lost, and none counts twice


def count(events: list[Event], kind: str, question: int) -> int:
    return sum((each.kind, each.question) == (kind, question) for each in events)
