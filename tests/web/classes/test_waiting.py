"""Requests that wait for a change of a class: what ends the waiting, and what does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import update
from starlette.applications import Starlette

from explorer.database.engine import run_transaction
from explorer.web import transactions
from explorer.web.classes import actions, endpoints, store, waiting
from explorer.web.classes.tables import ClassRow
from explorer.web.visitors import COOKIE, issue_cookie, visitor_from_cookies
from tests.web.classes.questions import SHOWN_QUESTION, TEACHER

LONG = 600.0  # seconds, for which no test waits


def browsers(count: int) -> list[httpx.AsyncClient]:
    transport = httpx.ASGITransport(Starlette(routes=endpoints.ROUTES))
    cookies = [{COOKIE: issue_cookie(f"abcdefghijklmnopqrs{i:03}")} for i in range(count)]
    return [httpx.AsyncClient(transport=transport, base_url="http://test", cookies=each) for each in cookies]


async def ask(student: httpx.AsyncClient, code: str, mark: str = "") -> Any:
    return (await student.get(f"/class/{code}", params={"mark": mark} if mark else {})).json()


async def is_waiting(request: asyncio.Task[Any]) -> bool:
    await asyncio.wait((request,), timeout=0.1)
    return not request.done()


def visitor_id(browser: httpx.AsyncClient) -> str:
    return visitor_from_cookies({COOKIE: str(browser.cookies[COOKIE])}).id


def test_a_request_waits_until_something_changes_for_the_student(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "HOLD_SECONDS", LONG)
    code = actions.show_question("teacher", SHOWN_QUESTION).code

    async def scenario() -> None:
        one, other = browsers(2)
        marks = [(await ask(one, code))["mark"]]

        async def state_after(*changes: Callable[[], object]) -> Any:
            """Return the answer to a request that waits until the last change."""
            request = asyncio.create_task(ask(one, code.lower(), marks[-1]))
            for change in changes:
                assert await is_waiting(request)
                await asyncio.to_thread(change)
            state = await request
            marks.append(state.get("mark", ""))
            return state

        state = await state_after(  # the answers of others are no change
            lambda: actions.record_answer(code, visitor_id(other), 1, "a"),
            lambda: actions.reveal_answer(code, TEACHER, 1),
        )
        assert (state["revealed"], state["votes"][0]["given"]) == (True, ["a"])
        state = await state_after(lambda: actions.remove_answers(code, TEACHER, 1, [1]))
        assert state["votes"][0]["given"] == []
        assert (await state_after(lambda: actions.show_question("teacher", SHOWN_QUESTION)))["number"] == 2
        assert (await state_after(lambda: actions.end_classroom(code, TEACHER)))["over"]
        assert len(set(marks)) == 5

    asyncio.run(asyncio.wait_for(scenario(), 120))
    assert not waiting._waiting


def test_a_request_waits_for_a_change_at_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "HOLD_SECONDS", LONG)
    monkeypatch.setattr(store, "MAX_AGE", LONG)
    code = actions.show_question("teacher", SHOWN_QUESTION).code

    def change(**values: object) -> None:
        """Change the class as another server does, of which this process knows nothing."""
        changed = update(ClassRow).where(ClassRow.code == code).values(version=ClassRow.version + 1, **values)
        run_transaction(lambda session: session.execute(changed), write=True)
        store.read_changes()

    async def scenario() -> None:
        (student,) = browsers(1)
        request = asyncio.create_task(ask(student, code, (await ask(student, code))["mark"]))
        assert await is_waiting(request)
        await asyncio.to_thread(change, kept=1)
        assert await is_waiting(request), "more answers are no change for a student"
        monkeypatch.setattr(transactions, "_down_until", float("inf"))
        await asyncio.to_thread(change, revealed=True)
        assert await is_waiting(request), "the database does not answer"
        transactions.reset()
        await asyncio.to_thread(store.read_changes)
        assert (await request)["revealed"]

    asyncio.run(asyncio.wait_for(scenario(), 120))


def test_the_teacher_and_an_older_mark_do_not_wait_and_nobody_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "HOLD_SECONDS", LONG)

    async def scenario() -> None:
        student, teacher = browsers(2)
        code = (await asyncio.to_thread(actions.show_question, visitor_id(teacher), SHOWN_QUESTION)).code
        mark = (await ask(student, code))["mark"]
        await asyncio.to_thread(actions.record_answer, code, visitor_id(student), 1, "b")
        state = await asyncio.wait_for(ask(student, code, mark), 60)
        assert state["mine"] == "b"
        assert "mark" not in await ask(teacher, code)
        assert (await asyncio.wait_for(ask(teacher, code, mark), 60))["votes"][0]["answered"] == 1
        monkeypatch.setattr(endpoints, "HOLD_SECONDS", 0.01)
        assert (await asyncio.wait_for(ask(student, code, state["mark"]), 60))["mark"] == state["mark"]

    asyncio.run(asyncio.wait_for(scenario(), 120))
