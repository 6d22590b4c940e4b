"""Requests that wait for a change of a class: what ends the waiting, and what does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from explorer.lessons.lesson import Choice, Question
from explorer.web.classes import actions, endpoints, waiting
from explorer.web.classes.classroom import ClassroomQuestion
from explorer.web.visitors import COOKIE, Visitor, issue_cookie, visitor_from_cookies

TEACHER = Visitor("teacher")
SHOWN = ClassroomQuestion("memory", {}, (), Question("?", (Choice("a", "A"), Choice("b", "B"))))
LONG = 600.0  # seconds, for which no test waits


@asynccontextmanager
async def students(count: int) -> AsyncIterator[list[httpx.AsyncClient]]:
    transport = httpx.ASGITransport(Starlette(routes=endpoints.ROUTES))
    cookies = [{COOKIE: issue_cookie(f"abcdefghijklmnopqrs{i:03}")} for i in range(count)]
    yield [httpx.AsyncClient(transport=transport, base_url="http://test", cookies=each) for each in cookies]


async def ask(student: httpx.AsyncClient, code: str, mark: str = "") -> dict[str, Any]:
    answer = await student.get(f"/class/{code}", params={"mark": mark} if mark else {})
    data: dict[str, Any] = answer.json()
    return data


async def is_waiting(request: asyncio.Task[dict[str, Any]]) -> bool:
    await asyncio.wait((request,), timeout=0.5)
    return not request.done()


def test_a_request_waits_until_the_teacher_reveals_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "HOLD_SECONDS", LONG)
    code = actions.show_question("teacher", SHOWN).code

    async def scenario() -> None:
        async with students(2) as (one, other):
            mark = (await ask(one, code))["mark"]
            request = asyncio.create_task(ask(one, code, mark))
            assert await is_waiting(request)
            await asyncio.to_thread(actions.record_answer, code, visitor_id(other), 1, "a")
            assert await is_waiting(request)  # the answers of others are no change for a student
            await asyncio.to_thread(actions.reveal_answer, code, TEACHER, 1)
            revealed = await request
            assert (revealed["revealed"], revealed["votes"][0]["given"]) == (True, ["a"])
            assert revealed["mark"] != mark

    asyncio.run(scenario())
    assert not waiting._waiting


def test_another_question_and_the_end_of_the_class_end_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "HOLD_SECONDS", LONG)
    code = actions.show_question("teacher", SHOWN).code

    async def scenario() -> None:
        async with students(1) as (student,):
            request = asyncio.create_task(ask(student, code, (await ask(student, code))["mark"]))
            assert await is_waiting(request)
            await asyncio.to_thread(actions.show_question, "teacher", SHOWN)
            state = await request
            assert state["number"] == 2
            request = asyncio.create_task(ask(student, code, state["mark"]))
            assert await is_waiting(request)
            await asyncio.to_thread(actions.end_classroom, code, TEACHER)
            assert (await request)["over"]

    asyncio.run(scenario())


def test_without_a_change_the_same_state_is_answered_after_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "HOLD_SECONDS", 0.05)
    code = actions.show_question("teacher", SHOWN).code

    async def scenario() -> None:
        async with students(1) as (student,):
            mark = (await ask(student, code))["mark"]
            assert (await ask(student, code, mark))["mark"] == mark

    asyncio.run(scenario())


def test_a_request_with_an_older_mark_and_one_of_the_teacher_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "HOLD_SECONDS", LONG)

    async def scenario() -> None:
        async with students(2) as (student, teacher):
            code = (await asyncio.to_thread(actions.show_question, visitor_id(teacher), SHOWN)).code
            mark = (await ask(student, code))["mark"]
            await asyncio.to_thread(actions.record_answer, code, visitor_id(student), 1, "b")
            assert (await asyncio.wait_for(ask(student, code, mark), 60))["mine"] == "b"
            assert "mark" not in await ask(teacher, code)
            assert (await asyncio.wait_for(ask(teacher, code, mark), 60))["votes"][0]["answered"] == 1

    asyncio.run(scenario())


def visitor_id(browser: httpx.AsyncClient) -> str:
    return visitor_from_cookies({COOKIE: str(browser.cookies[COOKIE])}).id
