"""Who takes part in a class, how it is found again, and when it is deleted."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from explorer.database import engine
from explorer.database.engine import close_database
from explorer.errors import NotAllowed, StoreError
from explorer.lessons.lesson import Question
from explorer.web import transactions
from explorer.web.classes import actions, store, tables
from explorer.web.classes.classroom import PRESENCE_SECONDS, UnknownClassroom
from explorer.web.classes.store import CODE_LENGTH, CODE_LETTERS, find_classroom
from explorer.web.visitors import Visitor
from tests.web.classes.questions import NUMBER_QUESTION, SENTENCE_QUESTION, SHOWN_QUESTION, SHOWN_SENTENCES, TEACHER


def code_of(visitor: str) -> str | None:
    found = store.classroom_of_visitor(Visitor(visitor))
    return found and found.code


@pytest.mark.usefixtures("database")
def test_the_class_of_a_visitor_is_remembered() -> None:
    classroom = actions.show_question("teacher", SHOWN_QUESTION)
    assert [code_of(visitor) for visitor in ("teacher", "ada", "nobody", "")] == [classroom.code, None, None, None]
    store.record_presence(classroom, "ada")
    other = actions.show_question("other", SHOWN_QUESTION)
    actions.record_answer(other.code, "bob", 1, "a")
    assert code_of("ada") == classroom.code and code_of("bob") == other.code
    actions.set_as_teacher(classroom.code, TEACHER, closed=True)
    store.write_presence()
    for _ in range(2):
        assert code_of("ada") == classroom.code and code_of("bob") == other.code, "those who have joined find back"
        store.forget()  # as after a restart
    actions.end_classroom(classroom.code, TEACHER)
    assert code_of("teacher") is code_of("ada") is None
    actions.record_answer(other.code, "ada", 1, "a")
    store.write_presence()
    store.remember_class("ada", classroom.code)  # as at another server, where ada has not been since
    assert [code_of("ada") for _ in range(2)] == [None, other.code], "the class that has ended is looked up once more"


def test_a_code_that_somebody_has_guessed_may_be_that_of_the_next_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions.secrets, "choice", lambda letters: letters[0])
    code = CODE_LENGTH * CODE_LETTERS[0]
    with pytest.raises(UnknownClassroom):
        find_classroom(code)
    assert actions.show_question("teacher", SHOWN_QUESTION).code == code


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
    assert store.classroom_of_teacher("one") is None, "it is deleted"
    assert store.classroom_of_teacher("two")


def test_above_the_limit_the_least_recently_used_classroom_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_CLASSROOMS", 3)
    first, second, third = (actions.show_question(f"teacher {i}", SHOWN_QUESTION).code for i in range(3))
    store.record_presence(find_classroom(first), "ada")
    store.write_presence()
    find_classroom(second)  # a look at a classroom is no use of it
    last = actions.show_question("one more", SHOWN_QUESTION).code
    store.read_changes()
    with pytest.raises(UnknownClassroom):
        find_classroom(second)
    actions.show_question("teacher 2", SHOWN_QUESTION)  # no new classroom
    assert [find_classroom(code).code for code in (first, third, last)] == [first, third, last]


def test_visitors_are_present_if_they_polled_or_answered(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.usefixtures("database")
def test_members_are_counted_written_in_parts_and_limited(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_ROWS_AT_ONCE", 400)
    shown = actions.show_question("teacher", SHOWN_QUESTION)
    for i in range(1_001):
        store.record_presence(shown, f"visitor {i}")
    store.write_presence()
    assert shown.present == 1_000, "no more are counted"
    assert [(each.joined, each.present) for each in store.list_classes()] == [(1_001, 1_001)]
    monkeypatch.setattr(store, "MAX_MEMBERS", 1_000)
    clock[0] += 6  # seconds after which those who are still there are written again
    for i in range(3):
        store.record_presence(shown, f"visitor {i}")
    store.write_presence()
    store.tidy()
    assert [each.joined for each in store.list_classes()] == [3], "those seen longest ago were written together"


@pytest.mark.usefixtures("database")
def test_a_class_survives_a_restart() -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    actions.record_answer(code, "ada", 1, "a")
    actions.show_question("teacher", SHOWN_SENTENCES)
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


def test_a_stored_question_is_read_also_without_the_fields_that_are_newer() -> None:
    read = tables._adapter(Question).validate_python
    assert read(tables.to_json(SENTENCE_QUESTION)) == SENTENCE_QUESTION
    old = tables.to_json(NUMBER_QUESTION)
    del old["collects"]
    assert read(old) == NUMBER_QUESTION


def test_only_classes_that_somebody_uses_are_read(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Mock(side_effect=transactions.transaction)
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    monkeypatch.setattr(store, "transaction", asked)
    for seconds, count in ((0.0, 1), (PRESENCE_SECONDS - 1, 2), (2.0, 2)):
        clock[0] += seconds
        store.read_changes()
        assert asked.call_count == count
    find_classroom(code)
    asked.reset_mock()
    store.read_changes()
    assert asked.call_count == 1


def test_without_a_database_the_last_state_is_shown_and_changes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_AGE", -1.0)
    code = actions.show_question("teacher", SHOWN_QUESTION).code

    with monkeypatch.context() as patch:
        patch.setattr(transactions, "run_transaction", Mock(side_effect=StoreError("no")))
        assert find_classroom(code).number == 1
        for attempt in (
            lambda: actions.record_answer(code, "ada", 1, "a"),
            lambda: actions.reveal_answer(code, TEACHER, 1),
            lambda: find_classroom("ABCDE"),  # it is not known whether there is such a class
        ):
            with pytest.raises(StoreError, match="does not answer"):
                attempt()
    transactions.reset()
    assert actions.record_answer(code, "ada", 1, "a").answers == {"ada": "a"}
    with pytest.raises(UnknownClassroom):
        find_classroom("ABCDE")
