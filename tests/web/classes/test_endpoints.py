"""Classes over HTTP: what a browser is answered, and what is refused."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette

from explorer.errors import NotAllowed
from explorer.lessons.lesson import Question
from explorer.web import lesson_results
from explorer.web.background import submit
from explorer.web.classes import actions, endpoints, store
from explorer.web.classes.classroom import ClassroomQuestion
from explorer.web.classes.store import find_classroom
from explorer.web.visitors import COOKIE, Visitor, issue_cookie, visitor_from_cookies
from tests.web.classes.questions import SHOWN_QUESTION

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient

pytestmark = pytest.mark.usefixtures("database")  # each test runs with each kind of database
OWN_HEADERS = {"X-Lineage": "1"}


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
