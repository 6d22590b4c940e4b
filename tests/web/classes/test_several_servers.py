"""A class whose members are at two servers of one database, which read each other's changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from cachetools import LRUCache, TTLCache

from explorer.database import engine
from explorer.database.engine import run_transaction
from explorer.errors import LineageError, NotAllowed
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.web.classes import actions, store
from explorer.web.classes.classroom import UnknownClassroom
from explorer.web.classes.store import find_classroom
from tests.web.classes.questions import SHOWN_QUESTION, TEACHER

TEXT = "To be, or not to be, that is the question.\n" * 9


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """Return a context in which this process is another server with copies of its own, read by `read_changes` only.

    `tests/deploy/test_several_servers.py` has real servers.
    """
    monkeypatch.setattr(store, "MAX_AGE", 1_000.0)
    memory: dict[str, Any] = {"_copies": LRUCache(9), "_in_use": set(), "_codes": TTLCache(9, 60.0)}
    memory |= {"_unwritten": set(), "_written": TTLCache(9, 5.0)}

    def change_server() -> None:
        for name, value in memory.items():
            memory[name] = getattr(store, name)
            setattr(store, name, value)
        store.read_changes()

    @contextmanager
    def be_other() -> Iterator[None]:
        change_server()
        try:
            yield
        finally:
            change_server()

    return be_other


def test_a_class_at_two_servers_works_as_one(other: Callable[[], AbstractContextManager[None]]) -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    with other():
        store.record_presence(find_classroom(code), "ada")
        for visitor in ("bob", "eve", "joe"):
            actions.record_answer(code, visitor, 1, "a")
        store.write_presence()
    assert len(find_classroom(code).answers) == 3
    assert find_classroom(code).present == 4
    for change, name, value in (
        (lambda: actions.remove_answers(code, TEACHER, 1, [2]), "votes", [{"answered": 2, "size": 4, "given": []}]),
        (lambda: actions.start_second_vote(code, TEACHER, 1), "vote", 2),
        (lambda: actions.reveal_answer(code, TEACHER, 1), "revealed", True),
        (lambda: actions.show_question("teacher", SHOWN_QUESTION), "number", 2),
        (lambda: actions.set_as_teacher(code, TEACHER, closed=True), "closed", True),
    ):
        change()
        with other():
            assert find_classroom(code).state_for(TEACHER)[name] == value
    with pytest.raises(NotAllowed, match="closed to newcomers"):
        actions.record_answer(code, "mallory", 2, "a")
    assert actions.record_answer(code, "ada", 2, "a").answers == {"ada": "a"}, "who joined at the other server"
    actions.end_classroom(code, TEACHER)
    with other(), pytest.raises(UnknownClassroom):
        find_classroom(code)


def test_a_shared_text_can_be_read_at_the_other_server(other: Callable[[], AbstractContextManager[None]]) -> None:
    sha = corpora.store_text(TEXT, "teacher")
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    actions.share_text(code, TEACHER, sha)
    corpora.release_text(sha, "teacher")  # the other server does not have it

    def read(visitor: str) -> str:
        with corpora.read_as(visitor):
            return corpora.load_text(TextConfig(corpus="own", text=sha))

    def refuse(*visitors: str) -> None:
        for visitor in visitors:
            with pytest.raises(LineageError, match="needs your text"):
                read(visitor)

    with other():
        refuse("ada", "eve", "")
        store.record_presence(find_classroom(code), "ada")
        assert read("ada") == TEXT
        refuse("eve")
    with pytest.raises(NotAllowed, match="entered yourself"):
        actions.share_text(code, TEACHER, "0" * 64)
    actions.end_classroom(code, TEACHER)
    with other():
        refuse("ada")
        store.forget_texts()
        assert corpora.texts_of("a class") == set()
    assert store._read_shared_text(sha) is None


@pytest.mark.usefixtures("database")
def test_an_answer_waits_for_a_lock_that_is_held_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_LOCK_TIMEOUT", 0.5)
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    held, refused = threading.Event(), threading.Event()
    is_busy = engine.is_busy
    monkeypatch.setattr(engine, "is_busy", lambda error: refused.set() or is_busy(error))

    def hold(session: object) -> None:
        held.set()
        refused.wait(60)

    thread = threading.Thread(target=run_transaction, args=(hold, True, f"class {code}"))
    thread.start()
    held.wait()
    assert actions.record_answer(code, "ada", 1, "a").answers == {"ada": "a"}
    assert refused.is_set(), "the first attempt has failed"
    thread.join()
