"""A class whose members are at two servers of one database, and what happens when a server or the database fails."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from starlette.applications import Starlette

from explorer.database import engine, servers
from explorer.database.engine import close_database, run_transaction
from explorer.errors import LineageError, NotAllowed, StoreError
from explorer.lessons.lesson import Choice, Question
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.web.classes import actions, endpoints, store
from explorer.web.classes.classroom import Classroom, ClassroomQuestion, UnknownClassroom
from explorer.web.classes.store import find_classroom
from explorer.web.visitors import COOKIE, Visitor, issue_cookie

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient

SHOWN = ClassroomQuestion("memory", {}, (), Question("Which?", (Choice("a", "A"), Choice("b", "B"))))
TEACHER = Visitor("teacher")
TEXT = "To be, or not to be, that is the question.\n" * 9
OTHER = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from explorer.database import servers
from explorer.errors import LineageError
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.web.classes import actions, store
from explorer.web.visitors import Visitor
servers.start("other:1", "1.0")
store.MAX_AGE = 1_000.0  # only notifications make a copy younger
def obey(words):
    match words:
        case ["state", code, visitor]:
            return store.find_classroom(code).state_for(Visitor(visitor))
        case ["join", code, visitor]:
            store.record_presence(store.find_classroom(code), visitor)
            store.write_presence()
        case ["answer", code, number, first, last]:
            def answer(i):
                actions.record_answer(code, f"student {i}", int(number), "ab"[i % 2])
            with ThreadPoolExecutor(20) as pool:
                list(pool.map(answer, range(int(first), int(last))))
        case ["read", sha, visitor]:
            with corpora.read_as(visitor):
                return corpora.load_text(TextConfig(corpus="own", text=sha))
        case ["forget"]:
            store.forget_texts()
            return corpora.texts_of("a class") == set()
print("ready", flush=True)
for line in sys.stdin:
    try:
        print(json.dumps(obey(line.split())), flush=True)
    except LineageError as error:
        print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
servers.stop()
"""


class OtherServer:
    """A second process with a home of its own, which does what it is asked for, one line after the other."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setenv("LINEAGE_HOME", str(home))
            self.process = subprocess.Popen(
                [sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self.receive() == "ready"

    def receive(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the other server has ended"
        return line.strip()

    def send(self, *words: object) -> None:
        assert self.process.stdin
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def request(self, *words: object) -> str:
        """Return the answer to a command as JSON."""
        self.send(*words)
        return self.receive()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OtherServer]:
    """Another server, while this process is a server, too; only notifications make the copies younger."""
    monkeypatch.setattr(store, "MAX_AGE", 1_000.0)
    servers.start("this:1", "1.0")
    process = OtherServer(tmp_path / "other", monkeypatch)
    yield process
    process.kill()
    servers.stop()


two_servers = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


def wait_until(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def arrivals(classroom: Classroom) -> list[int]:
    return sorted(each.arrival for each in classroom.given.values())


@two_servers
def test_of_300_answers_at_two_servers_none_is_lost_and_none_counts_twice(database: str, other: OtherServer) -> None:
    code = actions.show_question("teacher", SHOWN).code
    other.send("answer", code, 1, 0, 200)  # a hundred students answer at both
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda i: actions.record_answer(code, f"student {i}", 1, "ab"[i % 2]), range(100, 300)))
    assert other.receive() == "null"
    store.forget()
    classroom = find_classroom(code)
    assert classroom.answers == {f"student {i}": "ab"[i % 2] for i in range(300)}
    assert arrivals(classroom) == list(range(1, 301))
    (answered,), _ = store.answered_questions(code, TEACHER)
    assert len({record.student for record in answered.records}) == 300


@two_servers
def test_a_class_at_two_servers_works_as_one(database: str, other: OtherServer) -> None:
    code = actions.show_question("teacher", SHOWN).code
    assert other.request("join", code, "ada") == "null"
    assert other.request("answer", code, 1, 0, 3) == "null"
    wait_until(lambda: len(find_classroom(code).answers) == 3)
    store.forget()  # members are read every two seconds, which this test has switched off
    assert find_classroom(code).present == 4
    for change, seen in (
        (lambda: actions.remove_answers(code, TEACHER, 1, [2]), '"answered": 2'),
        (lambda: actions.start_second_vote(code, TEACHER, 1), '"vote": 2'),
        (lambda: actions.reveal_answer(code, TEACHER, 1), '"revealed": true'),
        (lambda: actions.show_question("teacher", SHOWN), '"number": 2'),
        (lambda: actions.set_closed(code, TEACHER, True), '"closed": true'),
    ):
        change()
        wait_until(lambda seen=seen: seen in other.request("state", code, "teacher"))  # type: ignore[misc]
    with pytest.raises(NotAllowed, match="closed to newcomers"):
        actions.record_answer(code, "eve", 2, "a")
    assert actions.record_answer(code, "ada", 2, "a").answers == {"ada": "a"}, "who joined at the other server"
    actions.end_classroom(code, TEACHER)
    wait_until(lambda: "UnknownClassroom" in other.request("state", code, "ada"))


@two_servers
def test_a_server_that_is_killed_loses_no_answer(database: str, other: OtherServer) -> None:
    code = actions.show_question("teacher", SHOWN).code
    other.request("answer", code, 1, 0, 30)
    other.send("answer", code, 1, 30, 60)
    wait_until(lambda: len(find_classroom(code).answers) > 32)
    other.kill()
    for i in range(60):  # the browsers of its students send again what was not confirmed, some of it twice
        actions.record_answer(code, f"student {i}", 1, "ab"[i % 2])
    assert arrivals(find_classroom(code)) == list(range(1, 61))


@two_servers
def test_a_shared_text_can_be_read_at_the_other_server_until_the_class_ends(database: str, other: OtherServer) -> None:
    sha = corpora.store_text(TEXT, "teacher")
    code = actions.show_question("teacher", SHOWN).code
    actions.share_text(code, TEACHER, sha)
    assert "NeedsText" in other.request("read", sha, "ada"), "who has not joined cannot read it"
    other.request("join", code, "ada")
    assert "To be, or not to be" in other.request("read", sha, "ada")
    assert "NeedsText" in other.request("read", sha, "eve")
    actions.end_classroom(code, TEACHER)
    wait_until(lambda: "NeedsText" in other.request("read", sha, "ada"))
    assert other.request("forget") == "true", "nor is it in the memory of the other server"
    assert run_transaction(lambda session: session.execute(text("SELECT count(*) FROM class_texts")).scalar()) == 0
    corpora.release_text(sha, "teacher")


def test_a_class_that_ends_while_it_is_read_is_gone_at_once(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = actions.show_question("teacher", SHOWN).code
    read = store._read_with_members

    def read_and_end(*arguments: Any, **more: Any) -> Classroom | None:
        classroom = read(*arguments, **more)
        monkeypatch.setattr(store, "_read_with_members", read)
        ending = threading.Thread(target=actions.end_classroom, args=(code, TEACHER))
        ending.start()
        ending.join()
        return classroom

    monkeypatch.setattr(store, "_read_with_members", read_and_end)
    store.copy_of_class(code).due = 0.0
    with contextlib.suppress(UnknownClassroom):
        find_classroom(code)  # the reading began before the end
    with pytest.raises(UnknownClassroom):
        find_classroom(code)


def test_only_the_teacher_can_lock_a_class(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = actions.show_question("teacher", SHOWN).code
    monkeypatch.setattr(store, "run_transaction", lambda *_: pytest.fail("a transaction has begun"))
    for act in (
        lambda: actions.reveal_answer(code, Visitor("eve"), 1),
        lambda: actions.end_classroom(code, Visitor("eve")),
    ):
        with pytest.raises(NotAllowed):
            act()


def test_a_class_survives_a_restart(database: str) -> None:
    code = actions.show_question("teacher", SHOWN).code
    actions.record_answer(code, "ada", 1, "a")
    actions.show_question("teacher", SHOWN)
    actions.record_answer(code, "bob", 2, "b")
    store.record_presence(find_classroom(code), "eve")
    store.write_presence()
    before = find_classroom(code)
    store.forget()
    close_database()
    after = find_classroom(code)
    assert after == before and "eve" in after.members
    answered, _ = store.answered_questions(code, TEACHER)
    assert [[record.votes for record in each.records] for each in answered] == [[("a", None)], [("b", None)]]
    assert store.classroom_of_teacher("teacher") == after


@two_servers
def test_an_answer_waits_for_a_lock_that_is_held_for_long(database: str) -> None:
    code = actions.show_question("teacher", SHOWN).code
    held, answered = threading.Event(), threading.Event()

    def hold(session: object) -> None:
        held.set()
        answered.wait(engine._LOCK_TIMEOUT + 0.5)

    thread = threading.Thread(target=run_transaction, args=(hold, True, f"class {code}"))
    thread.start()
    held.wait()
    assert actions.record_answer(code, "ada", 1, "a").answers == {"ada": "a"}
    thread.join()


def test_without_a_database_the_last_state_is_shown_and_an_answer_is_refused_for_now(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Starlette(routes=endpoints.ROUTES)
    student = TestClient(app, cookies={COOKIE: issue_cookie("abcdefghijklmnopqrstuv")})
    code = actions.show_question("teacher", SHOWN).code
    url, own = f"/class/{code}", {"X-Lineage": "1"}
    assert student.get(url).json()["number"] == 1

    def fail(*_: object, **__: object) -> None:
        raise StoreError("no")

    with monkeypatch.context() as patch:
        patch.setattr(store, "run_transaction", fail)
        patch.setattr(store, "MAX_AGE", -1.0)
        assert student.get(url).json()["number"] == 1
        response = student.post(f"{url}/answer", json={"number": 1, "given": "a"}, headers=own)
        assert response.status_code == 503 and "does not answer" in response.json()["problem"]
        assert student.get("/class/ABCDE").status_code == 503, "it is not known whether there is such a class"
        with pytest.raises(LineageError, match="does not answer"):
            actions.reveal_answer(code, TEACHER, 1)
    monkeypatch.setattr(store, "_down_until", 0.0)
    response = student.post(f"{url}/answer", json={"number": 1, "given": "a"}, headers=own)
    assert response.status_code == 200 and response.json()["mine"] == "a"
    with pytest.raises(UnknownClassroom):
        find_classroom("ABCDE")


def test_a_text_config_names_no_text_of_a_class(database: str) -> None:
    """A text that nobody shares is not there, also not in the database."""
    with pytest.raises(LineageError, match="needs your text"), corpora.read_as("ada"):
        corpora.load_text(TextConfig(corpus="own", text="0" * 64))
