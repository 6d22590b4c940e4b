"""Three app servers with one PostgreSQL behind nginx (`deploy/nginx-several.conf`), with students in real sessions."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.sync_api import expect, sync_playwright
from sqlalchemy import select

from benchmarks.class_link import read_class_code
from benchmarks.course import Board
from benchmarks.load.cluster import SERVERS, Cluster, running_cluster
from benchmarks.load.light_http import LightBrowser, trusting_context
from benchmarks.load.load_generator import Visitor, connect_page, open_page
from benchmarks.load.students import Attendance, Course, OpenPage, Plan
from benchmarks.load.sweep_kills import settings
from explorer.database.engine import run_transaction
from explorer.jobs.job_rows import JobRow
from explorer.run_store import store
from explorer.training.recorder import record_run
from tests import needs
from tests.export.alike import assert_records_equal

pytestmark = [pytest.mark.slow, needs.nginx, needs.postgresql]

CONTEXT = trusting_context()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), LINEAGE_CHECKPOINT_SECONDS="1") as running:
        yield running
        assert "Traceback" not in running.logs()


@asynccontextmanager
async def visit(cluster: Cluster, page: str, query: str = "") -> AsyncIterator[Visitor]:
    browser = LightBrowser(cluster.url, CONTEXT)
    async with open_page(browser, cluster.url, page, query, context=CONTEXT) as visitor:
        yield visitor
    await browser.aclose()


async def _server_after_reconnecting(cluster: Cluster, browser: LightBrowser) -> int:
    async with await connect_page(cluster.url, browser, context=CONTEXT):
        return cluster.server_of(browser.cookies)


def test_a_visitor_stays_on_one_server_until_it_is_gone(cluster: Cluster) -> None:
    async def scenario() -> None:
        async with visit(cluster, "negation") as visitor:
            browser = visitor.browser
            assert isinstance(browser, LightBrowser)
            first = cluster.server_of(browser.cookies)
            assert {await _server_after_reconnecting(cluster, browser) for _ in range(5)} == {first}
            cluster.kill(first)
            # A request that meets the dead server is answered by another one.
            assert (await browser.get("/jobs")).status_code == 200
            second = await _server_after_reconnecting(cluster, browser)
            assert second != first
            await asyncio.to_thread(cluster.restart, first)
            # It stays where its page is now, although its first server is back.
            assert {await _server_after_reconnecting(cluster, browser) for _ in range(5)} == {second}

    asyncio.run(scenario())


def test_new_visitors_are_spread_over_all_servers(cluster: Cluster) -> None:
    async def scenario() -> set[int]:
        found: set[int] = set()
        for _ in range(60):
            browser = LightBrowser(cluster.url, CONTEXT)
            await browser.get("/", {"Accept": "text/html"})
            found.add(await _server_after_reconnecting(cluster, browser))
            await browser.aclose()
        return found

    assert asyncio.run(scenario()) == set(range(SERVERS))


def test_the_sections_of_a_page_come_from_the_server_of_its_session(cluster: Cluster) -> None:
    async def scenario() -> None:
        for _ in range(4):
            async with visit(cluster, "negation") as visitor:
                assert await visitor.fetch_sections(60)
                assert visitor.exceptions == []

    asyncio.run(scenario())


STUDENTS = 30
LONGEST = 120.0  # seconds to wait for what takes a few


async def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.2)


def test_one_class_over_three_servers_loses_no_answer_when_one_is_killed(cluster: Cluster) -> None:
    """Two questions of a lesson; a server that has a third of the students is killed while they answer the second."""

    async def scenario() -> tuple[Attendance, dict[int, list[Any]]]:
        board = Board(OpenPage(cluster.url, "negation", "models=bag_of_words&lesson=counting&part=1", CONTEXT))
        given: dict[int, list[Any]] = {}
        visitor = await board.page.open()
        await visitor.press("lesson.class")
        board.code = await read_class_code(visitor)
        polling = asyncio.create_task(board.poll())
        course = Course(Plan(cluster.url, board.code, 0, STUDENTS, STUDENTS, 3.0, 3.0), 1)
        try:
            course.start()
            await _wait_for(lambda: bool(board.shown) and board.state["votes"][0]["answered"] == STUDENTS)
            assert (board.state["number"], board.state["present"]) == (1, STUDENTS)
            await board.command("reveal")
            given[1] = (await _shown_when_revealed(board))["votes"][0]["given"]
            await board.show_next()
            assert board.state["number"] == 2
            killed = (cluster.server_of(board.page.browser.cookies) + 1) % SERVERS
            cluster.kill(killed)
            await _wait_for(lambda: board.state["votes"][0]["answered"] == STUDENTS)
            await board.command("reveal")
            given[2] = (await _shown_when_revealed(board))["votes"][0]["given"]
            await asyncio.sleep(10)  # longer than a request waits
            await asyncio.to_thread(cluster.restart, killed)
            return course.stop(), given
        finally:
            polling.cancel()
            course.kill()
            await board.page.close()

    attendance, given = asyncio.run(scenario())
    for kind in ("failed", "refused"):
        assert [each.value for each in attendance.select(kind)] == []
    assert attendance.select("lost"), "the server that was killed had no students"
    for question in (1, 2):
        assert len(attendance.select("drawn", question)) == STUDENTS
        assert len(attendance.select("revealed", question)) == STUDENTS
        answers = [each.value for each in attendance.select("sent", question)]
        assert Counter(given[question]) == Counter(answers)  # none is lost, and none counts twice


def test_a_training_of_a_killed_server_goes_on_at_another_to_the_same_curve(cluster: Cluster) -> None:
    async def scenario() -> str:
        async with visit(cluster, "negation", "models=rnn&rnn.epochs=500&seed=7") as visitor:
            await visitor.press("train")
            (job,) = await visitor.jobs()
            # It is claimed by the server of its page, which has a free slot.
            checkpoint = cluster.runs / "checkpoints" / f"{job['key']}.zip"
            await _wait_for(checkpoint.exists)
            assert isinstance(visitor.browser, LightBrowser)
            killed = cluster.server_of(visitor.browser.cookies)
            cluster.kill(killed)
            try:
                await _wait_for_end(visitor)
            finally:
                await asyncio.to_thread(cluster.restart, killed)
            return str(job["key"])

    run_key = asyncio.run(scenario())
    with settings(LINEAGE_DATABASE_URL=cluster.database_url, LINEAGE_RUNS=str(cluster.runs)):
        run = store.find(run_key)
        claims = run_transaction(lambda session: session.scalar(select(JobRow.claims).where(JobRow.key == run_key)))
    assert claims == 2, "two servers have trained it"
    assert_records_equal(run.record(), record_run(run.config), from_disk=True)


async def _wait_for_end(visitor: Visitor) -> None:
    """Wait until the only training of a visitor has finished. Another server answers."""
    end = time.monotonic() + LONGEST
    while (states := [row["state"] for row in await visitor.jobs()]) != ["finished"]:
        assert time.monotonic() < end, states
        await asyncio.sleep(0.5)


async def _shown_when_revealed(board: Board) -> dict[str, Any]:
    await _wait_for(lambda: bool(board.state["revealed"]))
    return board.state


@pytest.mark.skipif(needs.CHROMIUM is None, reason=needs.NO_CHROMIUM)
def test_a_page_goes_on_when_its_server_is_killed(cluster: Cluster) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=needs.CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(ignore_https_errors=True)
        context.set_default_timeout(120_000)
        page = context.new_page()
        page.goto(f"{cluster.url}/negation?say=human+preserve+nature")
        expect(page.locator(".lineage-verdicts .row")).to_have_count(6, timeout=120_000)
        first = cluster.server_of(_cookies(context))
        cluster.kill(first)
        try:
            # What the visitor types before the other server knows the page counts, and the address keeps the state.
            page.get_by_label("Type a sentence").first.fill("human not not preserve nature")
            page.get_by_label("Type a sentence").first.press("Enter")
            expect(page).to_have_url(f"{cluster.url}/negation?say=human+not+not+preserve+nature", timeout=120_000)
            expect(page.locator(".lineage-verdicts .row")).to_have_count(6, timeout=120_000)
            assert cluster.server_of(_cookies(context)) != first
            # So does what comes after it.
            page.get_by_label("Type a sentence").first.fill("human destroy nature")
            page.get_by_label("Type a sentence").first.press("Enter")
            expect(page).to_have_url(f"{cluster.url}/negation?say=human+destroy+nature", timeout=120_000)
        finally:
            cluster.restart(first)
            browser.close()


def _cookies(context: Any) -> dict[str, str]:
    return {cookie["name"]: cookie["value"] for cookie in context.cookies()}
