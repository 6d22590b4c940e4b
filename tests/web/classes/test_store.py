"""Classrooms: one answer per visitor, control by the teacher only, deletion at the end."""

from __future__ import annotations

import datetime
import json
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial

import pytest
from starlette.applications import Starlette

from explorer.errors import InvalidSetting, NotAllowed
from explorer.lessons.lesson import Choice, Question, Scale
from explorer.ui.classroom import classroom_card
from explorer.web import lesson_results
from explorer.web.background import submit
from explorer.web.classes import actions, endpoints, store, tables
from explorer.web.classes.classroom import PRESENCE_SECONDS, ClassroomQuestion, UnknownClassroom
from explorer.web.classes.store import CODE_LENGTH, CODE_LETTERS, find_classroom
from explorer.web.visitors import COOKIE, Visitor, issue_cookie, visitor_from_cookies

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient

CHOICE_QUESTION = Question("Which?", (Choice("a", "A"), Choice("b", "B")))
NUMBER_QUESTION = Question("How many?", scale=Scale(0.0, 10.0, 1.0))
SHOWN_QUESTION = ClassroomQuestion("memory", {"length": "10"}, ("memory-symbols",), CHOICE_QUESTION)
OWN_HEADERS = {"X-Lineage": "1"}


pytestmark = pytest.mark.usefixtures("database")  # each test runs with each kind of database


TEACHER = Visitor("teacher")


def class_votes(code: str, visitor: str = "teacher") -> list[list[object]]:
    """Return the answers of each vote that this visitor may see."""
    state = find_classroom(code).state_for(Visitor(visitor))
    return [vote["given"] for vote in state["votes"]]  # type: ignore[attr-defined]


def visible_answers(code: str) -> list[object]:
    """Return the answers of the current vote."""
    return list(find_classroom(code).answers.values())


def test_the_first_vote_is_final_and_seen_by_the_teacher_on_request_only() -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    assert len(code) == CODE_LENGTH and set(code) <= set(CODE_LETTERS)
    for _ in range(3):
        actions.record_answer(code, "ada", 1, "a")
    actions.record_answer(code.lower(), "bob", 1, "b")
    with pytest.raises(NotAllowed, match="answered already"):
        actions.record_answer(code, "ada", 1, "b")
    assert class_votes(code) == [[]], "the votes are hidden until the reveal"
    actions.show_votes(code, TEACHER, 1, True)
    assert (class_votes(code), class_votes(code, "bob")) == ([["a", "b"]], [[]])
    actions.show_votes(code, TEACHER, 1, False)
    actions.show_votes(code, TEACHER, 7, True)  # requested for another question
    assert class_votes(code) == [[]]
    actions.reveal_answer(code, TEACHER, 1)
    assert class_votes(code) == class_votes(code, "bob") == [["a", "b"]]
    actions.record_answer(code, "ada", 1, "a")  # the same answer again is no error
    for visitor in ("ada", "eve"):
        with pytest.raises(NotAllowed, match="too late"):
            actions.record_answer(code, visitor, 1, "b")
    assert class_votes(code) == [["a", "b"]]


def test_the_class_votes_a_second_time_and_both_votes_are_shown() -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    with pytest.raises(NotAllowed, match="after the first answers"):
        actions.start_second_vote(code, TEACHER, 1)
    for visitor in ("ada", "bob"):
        actions.record_answer(code, visitor, 1, "a")
    actions.show_votes(code, TEACHER, 1, True)
    actions.start_second_vote(code, TEACHER, 7)  # requested for another question
    assert len(find_classroom(code).votes) == 1
    for _ in range(2):
        actions.start_second_vote(code, TEACHER, 1)
    assert class_votes(code) == [[], []], "the votes are hidden again"
    actions.record_answer(code, "ada", 1, "a")  # a repeated request of the first vote counts for no other vote
    with pytest.raises(NotAllowed, match="The first vote is over"):
        actions.record_answer(code, "eve", 1, "a")
    for answer in ("b", "a", "b"):
        actions.record_answer(code, "ada", 1, answer, vote=2)
    actions.record_answer(code, "eve", 1, "b", vote=2)
    for vote in (0, 3, -1):
        with pytest.raises(NotAllowed):
            actions.record_answer(code, "ada", 1, "a", vote)
    state = find_classroom(code).state_for(Visitor("ada"))
    assert (state["vote"], state["first"], state["mine"]) == (2, "a", "b")
    assert [(vote["answered"], vote["size"]) for vote in state["votes"]] == [(2, 2), (2, 3)]  # type: ignore[attr-defined]
    actions.reveal_answer(code, TEACHER, 1)
    assert class_votes(code) == class_votes(code, "bob") == [["a", "a"], ["b", "b"]]
    with pytest.raises(NotAllowed, match="before the reveal"):
        actions.show_question("teacher", SHOWN_QUESTION)
        actions.record_answer(code, "ada", 2, "a")
        actions.reveal_answer(code, TEACHER, 2)
        actions.start_second_vote(code, TEACHER, 2)


def test_shares_refer_to_the_class_as_it_was_when_the_vote_ended(clock: list[float]) -> None:
    classroom = actions.show_question("teacher", SHOWN_QUESTION)
    for visitor in ("ada", "bob", "eve"):
        store.record_presence(classroom, visitor)
    actions.record_answer(classroom.code, "ada", 1, "a")
    actions.start_second_vote(classroom.code, TEACHER, 1)
    clock[0] += PRESENCE_SECONDS + 1
    assert find_classroom(classroom.code).vote_sizes == [3, 1]
    store.record_presence(classroom, "bob")
    actions.reveal_answer(classroom.code, TEACHER, 1)
    actions.reveal_answer(classroom.code, TEACHER, 1)
    clock[0] += PRESENCE_SECONDS + 1
    assert find_classroom(classroom.code).vote_sizes == [3, 2]


# ---- answers to take away


def test_the_answers_to_all_questions_are_kept_until_the_class_ends() -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    actions.show_question("teacher", SHOWN_QUESTION)  # nobody has answered the first one
    for visitor in ("ada", "bob"):
        actions.record_answer(code, visitor, 2, "a")
    actions.start_second_vote(code, TEACHER, 2)
    actions.record_answer(code, "ada", 2, "b", vote=2)
    actions.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER_QUESTION))
    actions.record_answer(code, "ada", 3, 7)
    answered, dropped = store.answered_questions(code, TEACHER)
    assert dropped == 0 and [each.number for each in answered] == [2, 3]
    assert sorted((each.votes for each in answered[0].records), key=str) == [("a", "b"), ("a", None)]
    ada = next(each.student for each in answered[0].records if each.votes == ("a", "b"))
    assert [(each.student, each.votes) for each in answered[1].records] == [(ada, (7, None))]
    assert 10_000 <= ada <= 99_999
    with pytest.raises(NotAllowed, match="Only the browser that started"):
        store.answered_questions(code, Visitor("ada"))
    actions.end_classroom(code, TEACHER)
    with pytest.raises(UnknownClassroom):
        store.answered_questions(code, TEACHER)


def test_kept_answers_are_limited_for_each_class_and_for_all_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actions, "MAX_CLASS_RECORDS", 4)
    monkeypatch.setattr(actions, "MAX_RECORDS", 5)

    def ask(owner: str, number: int) -> str:
        code = actions.show_question(owner, SHOWN_QUESTION).code
        for visitor in ("ada", "bob"):
            actions.record_answer(code, visitor, number, "a")
        return code

    code = ask("teacher", 1)
    for number in (2, 3, 4):
        ask("teacher", number)
    answered, dropped = store.answered_questions(code, TEACHER)
    assert ([each.number for each in answered], dropped) == ([2, 3, 4], 1)
    for number in (1, 2):
        ask("other", number)
    answered, dropped = store.answered_questions(code, TEACHER)
    assert ([each.number for each in answered], dropped) == ([3, 4], 2), "the class used longest ago drops first"


# ---- the way back


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


@pytest.mark.parametrize("bad", ["c", "", None, 3, ["a"], "A", True])
def test_an_answer_that_is_no_choice_is_refused(bad: object) -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    with pytest.raises(InvalidSetting, match="no answer"):
        actions.record_answer(code, "ada", 1, bad)
    assert visible_answers(code) == []


@pytest.mark.parametrize("bad", [-1, 10.5, float("nan"), float("inf"), "5", True, None])
def test_an_answer_that_is_no_number_in_the_range_is_refused(bad: object) -> None:
    code = actions.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER_QUESTION)).code
    with pytest.raises(InvalidSetting, match="no answer"):
        actions.record_answer(code, "ada", 1, bad)
    actions.record_answer(code, "ada", 1, 10)
    assert visible_answers(code) == [10]


def test_a_late_answer_to_the_previous_question_is_refused() -> None:
    classroom = actions.show_question("teacher", SHOWN_QUESTION)
    actions.record_answer(classroom.code, "ada", 1, "a")
    assert actions.reveal_answer(classroom.code, Visitor("teacher"), 1).open
    same = actions.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER_QUESTION))
    assert (same.code, same.number, same.revealed, same.open, same.answers) == (classroom.code, 2, False, False, {})
    with pytest.raises(NotAllowed, match="gone on"):
        actions.record_answer(classroom.code, "ada", 1, "a")
    actions.reveal_answer(classroom.code, Visitor("teacher"), 1)  # requested for the previous question
    assert not find_classroom(classroom.code).revealed
    assert actions.show_question("teacher", ClassroomQuestion("memory", {})).open, (
        "without a question there is no answer to hide"
    )
    with pytest.raises(NotAllowed, match="gone on"):
        actions.record_answer(classroom.code, "ada", 3, "a")


def test_only_the_teacher_and_the_operator_reveal_and_end() -> None:
    code = actions.show_question("teacher", SHOWN_QUESTION).code
    for visitor in (Visitor("ada"), Visitor("nobody"), Visitor("")):
        for action in (
            partial(actions.reveal_answer, code, visitor, 1),
            partial(actions.end_classroom, code, visitor),
        ):
            with pytest.raises(NotAllowed, match="Only the browser that started"):
                action()
    actions.reveal_answer(code, Visitor("op", operator=True), 1)
    actions.end_classroom(code, Visitor("teacher"))
    for gone in (code, "ABCDE", "", "<script>"):
        with pytest.raises(UnknownClassroom):
            find_classroom(gone)
    assert store.classroom_of_teacher("teacher") is None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time in seconds, as a list with one number that a test may change."""
    now = [time.monotonic()]
    begin, begin_in_database = now[0], datetime.datetime.now(datetime.UTC)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    for module in (actions, store, tables):
        monkeypatch.setattr(
            module, "read_clock", lambda session: begin_in_database + datetime.timedelta(seconds=now[0] - begin)
        )
    return now


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


# ---- over HTTP


@pytest.fixture
def browsers() -> Iterator[list[TestClient]]:
    app = Starlette(routes=endpoints.ROUTES)
    yield [TestClient(app, cookies={COOKIE: issue_cookie(f"abcdefghijklmnopqrs{i:03}")}) for i in range(4)]


def visitor_id(browser: TestClient) -> str:
    return visitor_from_cookies(dict(browser.cookies)).id


def test_a_classroom_from_the_question_to_the_end(browsers: list[TestClient]) -> None:
    teacher, *students = browsers
    classroom = actions.show_question(visitor_id(teacher), ClassroomQuestion("negation", {}, (), *_lesson_question()))
    state = students[0].get(f"/class/{classroom.code}").json()
    assert state.pop("mark")
    assert state == {
        "code": classroom.code,
        "number": 1,
        "teaches": False,
        "revealed": False,
        "open": False,
        "present": 1,
        "vote": 1,
        "mine": None,
        "first": None,
        "visible": False,
        "votes": [{"answered": 0, "size": 1, "given": []}],
    }
    for student, choice in zip(students, ("sustain", "collapse", "sustain"), strict=True):
        state = student.post(
            f"/class/{classroom.code}/answer", json={"number": 1, "given": choice}, headers=OWN_HEADERS
        ).json()
        assert (state["mine"], state["votes"][0]["given"], "answer" in state) == (choice, [], False)
    state = teacher.get(f"/class/{classroom.code}").json()
    assert state["teaches"] and state["votes"] == [{"answered": 3, "size": 3, "given": []}]
    state = teacher.post(f"/class/{classroom.code}/show", json={"number": 1}, headers=OWN_HEADERS).json()
    assert sorted(state["votes"][0]["given"]) == ["collapse", "sustain", "sustain"]
    submit(lesson_results.result_key("counting", 1), lambda: lesson_results.measure_step("counting", 1)).result()
    revealed = teacher.post(f"/class/{classroom.code}/reveal", json={"number": 1}, headers=OWN_HEADERS).json()
    assert revealed["answer"]["right"] == ["sustain"] and "guess" not in revealed["answer"]["verdict"]
    state = students[1].get(f"/class/{classroom.code}").json()
    assert state["open"] and len(state["votes"][0]["given"]) == 3
    assert "You said: collapse." in state["answer"]["verdict"]
    assert teacher.post(f"/class/{classroom.code}/end", json={"number": 1}, headers=OWN_HEADERS).json()["over"]
    over = students[1].get(f"/class/{classroom.code}")
    assert (
        over.status_code == 200 and over.json()["over"] and "It has ended" in over.json()["problem"].replace("it", "It")
    )


def _lesson_question() -> tuple[Question, str, int]:
    return lesson_results.find_step("counting", 1)[1].question, "counting", 1


def test_a_refused_request_names_the_problem_and_changes_nothing(browsers: list[TestClient]) -> None:
    teacher, student, *_ = browsers
    classroom = actions.show_question(visitor_id(teacher), SHOWN_QUESTION)
    url = f"/class/{classroom.code}"
    valid = {"number": 1, "given": "a"}
    refused = [
        (403, student.post(f"{url}/answer", json=valid)),
        (403, student.post(f"{url}/reveal", json={"number": 1}, headers=OWN_HEADERS)),
        (403, student.post(f"{url}/end", json={"number": 1}, headers=OWN_HEADERS)),
        (404, student.post(f"{url}/shout", json={"number": 1}, headers=OWN_HEADERS)),
        (404, student.post("/class/ABCDE/answer", json=valid, headers=OWN_HEADERS)),
        (422, student.post(f"{url}/answer", json={"number": 1, "given": "z"}, headers=OWN_HEADERS)),
        (403, student.post(f"{url}/show", json={"number": 1}, headers=OWN_HEADERS)),
        (403, student.post(f"{url}/again", json={"number": 1}, headers=OWN_HEADERS)),
        (403, student.get(f"{url}/answers.csv")),
        (404, student.get("/class/ABCDE/answers.csv")),
        (403, student.post(f"{url}/answer", json={**valid, "vote": 2}, headers=OWN_HEADERS)),
        (422, student.post(f"{url}/answer", json={**valid, "vote": "2"}, headers=OWN_HEADERS)),
        (422, student.post(f"{url}/answer", json={**valid, "vote": True}, headers=OWN_HEADERS)),
        (422, student.post(f"{url}/answer", json={"given": "a"}, headers=OWN_HEADERS)),
        (422, student.post(f"{url}/answer", content=b"nonsense", headers=OWN_HEADERS)),
        (422, student.post(f"{url}/answer", content=b"[1]", headers=OWN_HEADERS)),
        (422, student.post(f"{url}/answer", content=json.dumps({"given": "x" * 3_000}), headers=OWN_HEADERS)),
        (403, student.post(f"{url}/answer", json={"number": 2, "given": "a"}, headers=OWN_HEADERS)),
    ]
    for status, response in refused:
        assert response.status_code == status and response.json()["problem"].endswith("."), response.text
    student.cookies.clear()
    response = student.post(f"{url}/answer", json=valid, headers=OWN_HEADERS)
    assert response.status_code == 403 and "cookies" in response.json()["problem"]
    classroom = find_classroom(classroom.code)
    assert not classroom.answers and not classroom.revealed


HOSTILE_BODIES = {
    "brackets": b"[" * 1_900,
    "nested answer": b'{"number": 1, "given": ' + b"[" * 900 + b"]" * 900 + b"}",
    "boolean number": b'{"number": true, "given": "a"}',
    "infinite number": b'{"number": 1e400, "given": "a"}',
    "huge number": b'{"number": 1' + b"0" * 1_800 + b', "given": "a"}',
    "huge answer": b'{"number": 1, "given": 1' + b"0" * 1_800 + b"}",
    "half a pair": b'{"number": 1, "given": "\\ud800"}',
    "no UTF-8": b'{"number": 1, "given": "\xff"}',
    "a header": b'{"number": 1, "given": "\\r\\nSet-Cookie: x=1"}',
    "huge vote": b'{"number": 1, "given": "a", "vote": 1' + b"0" * 1_800 + b"}",
    "no list": b'{"number": 1, "arrivals": 5}',
    "no object": b"null",
}


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES)
def test_a_hostile_body_is_refused_with_a_sentence(body: bytes, browsers: list[TestClient]) -> None:
    teacher, student, *_ = browsers
    classroom = actions.show_question(visitor_id(teacher), SHOWN_QUESTION)
    for command in ("answer", "remove"):
        response = teacher.post(f"/class/{classroom.code}/{command}", content=body, headers=OWN_HEADERS)
        if command == "answer" or response.status_code != 200:
            assert response.status_code in (403, 422) and response.json()["problem"].endswith((".", "needed."))
    assert not find_classroom(classroom.code).answers
    for code in ("x" * 5_000, "%ff%fe", "%00", "%0d%0aX: 1", "%ED%A0%80"):
        assert student.get(f"/class/{code}").status_code in (200, 403)
        assert student.post(f"/class/{code}/answer", json={"number": 1}, headers=OWN_HEADERS).status_code == 404


def test_a_teacher_removes_answers_whose_visitors_cannot_answer_again(browsers: list[TestClient]) -> None:
    teacher, *students = browsers
    classroom = actions.show_question(visitor_id(teacher), SHOWN_QUESTION)
    url = f"/class/{classroom.code}"
    for student in students:
        student.post(f"{url}/answer", json={"number": 1, "given": "a"}, headers=OWN_HEADERS)
    assert [each["given"] for each in teacher.get(url).json()["arrivals"]] == [[], [], []], "the votes are hidden"
    teacher.post(f"{url}/again", json={"number": 1}, headers=OWN_HEADERS)
    students[1].post(f"{url}/answer", json={"number": 1, "vote": 2, "given": "b"}, headers=OWN_HEADERS)
    teacher.post(f"{url}/show", json={"number": 1}, headers=OWN_HEADERS)
    arrivals = teacher.get(url).json()["arrivals"]
    assert [(each["id"], each["given"]) for each in arrivals] == [
        (1, ["a", None]),
        (2, ["a", "b"]),
        (3, ["a", None]),
    ]
    assert "arrivals" not in students[0].get(url).json()
    removal = {"number": 1, "arrivals": [2, 3]}
    assert students[0].post(f"{url}/remove", json=removal, headers=OWN_HEADERS).status_code == 403
    assert teacher.post(f"{url}/remove", json=removal, headers=OWN_HEADERS).json()["votes"] == [
        {"answered": 1, "size": 3, "given": ["a"]},
        {"answered": 0, "size": 3, "given": []},
    ]
    again = students[1].post(f"{url}/answer", json={"number": 1, "vote": 2, "given": "a"}, headers=OWN_HEADERS)
    assert again.status_code == 403 and "removed your answer" in again.json()["problem"]
    actions.show_question(visitor_id(teacher), SHOWN_QUESTION)
    again = students[1].post(f"{url}/answer", json={"number": 2, "given": "a"}, headers=OWN_HEADERS)
    assert again.status_code == 200


def test_a_closed_door_keeps_newcomers_out_and_those_present_stay(browsers: list[TestClient]) -> None:
    teacher, present, newcomer, _ = browsers
    classroom = actions.show_question(visitor_id(teacher), SHOWN_QUESTION)
    url, answer = f"/class/{classroom.code}", {"number": 1, "given": "a"}
    present.get(url)
    assert newcomer.post(f"{url}/close", json={"number": 1}, headers=OWN_HEADERS).status_code == 403
    assert teacher.post(f"{url}/close", json={"number": 1}, headers=OWN_HEADERS).json()["closed"]
    for response in (newcomer.get(url), newcomer.post(f"{url}/answer", json=answer, headers=OWN_HEADERS)):
        assert response.status_code == 403 and "closed to newcomers" in response.json()["problem"]
    with pytest.raises(NotAllowed, match="closed to newcomers"):
        store.find_classroom_for(classroom.code, Visitor(visitor_id(newcomer)))
    assert present.post(f"{url}/answer", json=answer, headers=OWN_HEADERS).status_code == 200
    assert not teacher.post(f"{url}/open", json={"number": 1}, headers=OWN_HEADERS).json()["closed"]
    assert newcomer.get(url).json()["present"] == 2


def test_answers_are_limited_for_each_visitor(browsers: list[TestClient]) -> None:
    teacher, student, other, _ = browsers
    code = actions.show_question(visitor_id(teacher), SHOWN_QUESTION).code
    body = {"number": 1, "given": "a"}
    answers = [student.post(f"/class/{code}/answer", json=body, headers=OWN_HEADERS) for _ in range(61)]
    assert [answer.status_code for answer in answers] == [200] * 60 + [429]
    assert int(answers[-1].headers["retry-after"]) <= 60 and "at most 60 answers" in answers[-1].json()["problem"]
    assert other.post(f"/class/{code}/answer", json=body, headers=OWN_HEADERS).status_code == 200


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_more_members_are_written_than_one_statement_takes(database: str) -> None:
    classroom = actions.show_question("teacher", SHOWN_QUESTION)
    for i in range(22_000):
        store.record_presence(classroom, f"visitor {i}")
    store.write_presence()
    assert [each.joined for each in store.list_classes()] == [22_000]


def test_thirty_simultaneous_visitors_have_thirty_answers(browsers: list[TestClient]) -> None:
    classroom = actions.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER_QUESTION))

    actions.record_answer(classroom.code, "first", 1, 0)
    actions.start_second_vote(classroom.code, TEACHER, 1)

    def answer_repeatedly(visitor: str) -> None:
        for answer in (1, 2, 3):
            actions.record_answer(classroom.code, visitor, 1, answer, vote=2)

    threads = [threading.Thread(target=answer_repeatedly, args=(f"student {i}",)) for i in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert visible_answers(classroom.code) == [3] * 30


def test_a_qr_code_has_its_quiet_zone_and_only_dark_modules() -> None:
    code = classroom_card._qr_code("http://example.org/?class=ABCDE")
    size, path = code["size"], str(code["path"])
    modules = [tuple(map(int, part.split("h")[0].split())) for part in path.split("M")[1:]]
    assert min(map(min, modules)) == 4 and max(map(max, modules)) == int(str(size)) - 5
    finder = {(x, y) for x, y in modules if x < 11 and y < 11}
    assert {(4 + i, 4) for i in range(7)} <= finder and (5, 5) not in finder and (7, 7) in finder


def test_the_teacher_downloads_the_answers(browsers: list[TestClient]) -> None:
    teacher, student, *_ = browsers
    code = actions.show_question(visitor_id(teacher), SHOWN_QUESTION).code
    student.post(f"/class/{code}/answer", json={"number": 1, "given": "a"}, headers=OWN_HEADERS)
    response = teacher.get(f"/class/{code.lower()}/answers.csv")
    assert response.headers["content-disposition"] == f'attachment; filename="class-{code}.csv"'
    assert response.headers["cache-control"] == "no-store"
    head, row = response.content.decode("utf-8-sig").splitlines()
    assert head == "question number,question,student,vote 1,vote 2" and row.startswith("1,Which?,")
    assert row.endswith(",A,")
    statuses = [teacher.get(f"/class/{code}/answers.csv").status_code for _ in range(30)]
    assert statuses == [200] * 29 + [429]
