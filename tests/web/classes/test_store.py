"""Who takes part in a class, how it is found again, and when it is deleted."""

from __future__ import annotations

import pytest

from explorer.errors import NotAllowed
from explorer.web.classes import actions, store
from explorer.web.classes.classroom import PRESENCE_SECONDS, UnknownClassroom
from explorer.web.classes.store import find_classroom
from explorer.web.visitors import Visitor
from tests.web.classes.questions import SHOWN_QUESTION, TEACHER

pytestmark = pytest.mark.usefixtures("database")  # each test runs with each kind of database


def code_of(visitor: str) -> str | None:
    classroom = store.classroom_of_visitor(Visitor(visitor))
    return classroom and classroom.code


def test_the_class_of_a_visitor_is_remembered() -> None:
    classroom = actions.show_question("teacher", SHOWN_QUESTION)
    for visitor in ("teacher", "ada", "nobody", ""):
        found = store.classroom_of_visitor(Visitor(visitor))
        assert (found == classroom) == (visitor == "teacher")
    store.record_presence(classroom, "ada")
    other = actions.show_question("other", SHOWN_QUESTION)
    actions.record_answer(other.code, "bob", 1, "a")
    assert code_of("ada") == classroom.code and code_of("bob") == other.code
    actions.set_closed(classroom.code, TEACHER, True)
    store.write_presence()
    for _ in range(2):
        assert code_of("ada") == classroom.code and code_of("bob") == other.code, "those who have joined find back"
        store.forget()  # as after a restart
    actions.end_classroom(classroom.code, TEACHER)
    for visitor in ("teacher", "ada"):
        assert store.classroom_of_visitor(Visitor(visitor)) is None


def test_a_classroom_is_deleted_after_four_idle_hours(clock: list[float]) -> None:
    idle, polled = (actions.show_question(name, SHOWN_QUESTION) for name in ("one", "two"))
    clock[0] += 4 * 3600 - 1
    store.record_presence(polled, "ada")
    store.write_presence()
    assert find_classroom(idle.code).code == idle.code, "a look at a classroom is no use of it"
    clock[0] += store.MAX_AGE
    with pytest.raises(UnknownClassroom):
        find_classroom(idle.code)
    store.record_presence(idle, "ada")  # a request that began before
    store.write_presence()
    assert store.classroom_of_teacher("one") is None
    assert store.classroom_of_teacher("two") == find_classroom(polled.code)
    store.tidy()
    clock[0] = 0.0  # as if no time had passed
    assert store.classroom_of_teacher("one") is None, "the leader has deleted it"
    assert store.classroom_of_teacher("two")


def test_above_the_limit_the_least_recently_used_classroom_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_CLASSROOMS", 20)
    codes = [actions.show_question(f"teacher {i}", SHOWN_QUESTION).code for i in range(20)]
    first, second, *_ = codes
    store.record_presence(find_classroom(first), "ada")
    store.write_presence()
    find_classroom(second)  # a look at a classroom is no use of it
    codes.append(actions.show_question("one more", SHOWN_QUESTION).code)
    with pytest.raises(UnknownClassroom):
        find_classroom(second)
    actions.show_question("teacher 2", SHOWN_QUESTION)  # no new classroom
    assert [find_classroom(code).code for code in codes if code != second] == [c for c in codes if c != second]


def test_visitors_are_present_if_they_polled_lately_or_answered(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    classroom = actions.show_question("teacher", SHOWN_QUESTION)
    for visitor in ("ada", "bob"):
        store.record_presence(classroom, visitor)
    actions.record_answer(classroom.code, "ada", 1, "a")
    clock[0] += PRESENCE_SECONDS - 1
    store.record_presence(classroom, "bob")
    clock[0] += 2
    assert find_classroom(classroom.code).present == 2
    clock[0] += PRESENCE_SECONDS
    assert find_classroom(classroom.code).present == 1, "a visitor with an answer stays present"
    monkeypatch.setattr(actions, "MAX_VISITORS", 2)
    actions.record_answer(classroom.code, "eve", 1, "b")
    with pytest.raises(NotAllowed, match="At most 2"):
        actions.record_answer(classroom.code, "mallory", 1, "b")


def test_at_most_a_thousand_visitors_of_a_class_are_counted() -> None:
    classroom = actions.show_question("teacher", SHOWN_QUESTION)
    for i in range(1_001):
        store.record_presence(classroom, f"visitor {i}")
    assert classroom.present == 1_000


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_more_members_are_written_than_one_statement_takes(database: str) -> None:
    classroom = actions.show_question("teacher", SHOWN_QUESTION)
    for i in range(22_000):
        store.record_presence(classroom, f"visitor {i}")
    store.write_presence()
    assert [each.joined for each in store.list_classes()] == [22_000]
