"""A class whose members are at two servers of one database, and what happens when one of them fails."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from explorer.database import engine, servers
from explorer.database.engine import run_transaction
from explorer.errors import NotAllowed
from explorer.tasks.text import corpora
from explorer.web.classes import actions, store
from explorer.web.classes.store import find_classroom
from tests.web.classes.questions import SHOWN_QUESTION, TEACHER

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
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
def other(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OtherServer]:
    """Another server, while this process is a server, too; only notifications make the copies younger."""
    monkeypatch.setattr(store, "MAX_AGE", 1_000.0)
    servers.start("this:1", "1.0")
    process = OtherServer(tmp_path / "other", monkeypatch)
    yield process
    process.kill()
    servers.stop()


def wait_until(there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_class_at_two_servers_works_as_one(other: OtherServer) -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    sha = corpora.store_text(TEXT, "teacher")
    actions.share_text(code, TEACHER, sha)
    assert "NeedsText" in other.request("read", sha, "ada"), "who has not joined cannot read it"
    assert other.request("join", code, "ada") == "null"
    assert "To be, or not to be" in other.request("read", sha, "ada")
    assert "NeedsText" in other.request("read", sha, "eve")
    assert other.request("answer", code, 1, 0, 3) == "null"
    wait_until(lambda: len(find_classroom(code).answers) == 3)
    store.forget()  # members are read every two seconds, which this test has switched off
    assert find_classroom(code).present == 4
    for change, seen in (
        (lambda: actions.remove_answers(code, TEACHER, 1, [2]), '"answered": 2'),
        (lambda: actions.start_second_vote(code, TEACHER, 1), '"vote": 2'),
        (lambda: actions.reveal_answer(code, TEACHER, 1), '"revealed": true'),
        (lambda: actions.show_question("teacher", SHOWN_QUESTION), '"number": 2'),
        (lambda: actions.set_closed(code, TEACHER, True), '"closed": true'),
    ):
        change()
        wait_until(lambda seen=seen: seen in other.request("state", code, "teacher"))  # type: ignore[misc]
    with pytest.raises(NotAllowed, match="closed to newcomers"):
        actions.record_answer(code, "eve", 2, "a")
    assert actions.record_answer(code, "ada", 2, "a").answers == {"ada": "a"}, "who joined at the other server"
    actions.end_classroom(code, TEACHER)
    wait_until(lambda: "UnknownClassroom" in other.request("state", code, "ada"))
    wait_until(lambda: "NeedsText" in other.request("read", sha, "ada"))
    assert other.request("forget") == "true", "nor is it in the memory of the other server"
    assert run_transaction(lambda session: session.execute(text("SELECT count(*) FROM class_texts")).scalar()) == 0
    corpora.release_text(sha, "teacher")


def test_of_answers_at_two_servers_none_is_lost_or_counts_twice_when_one_is_killed(other: OtherServer) -> None:
    def answer(i: int) -> None:
        actions.record_answer(code, f"student {i}", 1, "ab"[i % 2])

    code = actions.show_question("teacher", SHOWN_QUESTION).code
    other.send("answer", code, 1, 0, 60)
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(answer, range(50, 90)))  # ten students answer at both
    wait_until(lambda: len(find_classroom(code).answers) > 45)
    other.kill()
    for i in range(60):  # the browsers of its students send again what was not confirmed, some of it twice
        answer(i)
    store.forget()
    classroom = find_classroom(code)
    assert classroom.answers == {f"student {i}": "ab"[i % 2] for i in range(90)}
    assert sorted(each.arrival for each in classroom.given.values()) == list(range(1, 91))
    (answered,), _ = store.answered_questions(code, TEACHER)
    assert len({record.student for record in answered.records}) == 90


def test_an_answer_waits_for_a_lock_that_is_held_for_long(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_LOCK_TIMEOUT", 0.05)
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    held, waited = threading.Event(), threading.Event()
    attempt = engine._attempt_transaction

    def attempt_and_count(*arguments: object) -> object:
        try:
            return attempt(*arguments)  # type: ignore[arg-type]
        except Exception:
            waited.set()
            raise

    def hold(session: object) -> None:
        held.set()
        waited.wait(60)

    thread = threading.Thread(target=run_transaction, args=(hold, True, f"class {code}"))
    thread.start()
    held.wait()
    monkeypatch.setattr(engine, "_attempt_transaction", attempt_and_count)
    assert actions.record_answer(code, "ada", 1, "a").answers == {"ada": "a"}
    thread.join()
    assert waited.is_set(), "the first attempt has failed"
