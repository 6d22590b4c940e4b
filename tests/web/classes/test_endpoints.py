"""Classes over HTTP: what a browser is answered, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from starlette.applications import Starlette
from syrupy.assertion import SnapshotAssertion

from explorer.errors import NotAllowed, TooManyRequests
from explorer.web import lesson_results, transactions
from explorer.web.background import submit
from explorer.web.classes import actions, endpoints, store
from explorer.web.classes.classroom import ClassroomQuestion
from explorer.web.classes.store import find_classroom
from explorer.web.client_address import UNKNOWN
from explorer.web.visitors import COOKIE, Visitor, issue_cookie, visitor_from_cookies
from tests.web.classes.questions import SHOWN_QUESTION
from tests.web.client import COMMAND, TestClient


class Browser:
    """A browser that has opened the page of a class."""

    def __init__(self, number: int) -> None:
        cookies = {COOKIE: issue_cookie(f"abcdefghijklmnopqrs{number:03}")}
        self.client = TestClient(Starlette(routes=endpoints.ROUTES), cookies=cookies)
        self.id = visitor_from_cookies(cookies).id
        self.code = ""

    def get(self, path: str = "") -> Any:
        return self.client.get(f"/class/{self.code}{path}")

    def post(self, command: str, number: int = 1, **body: object) -> Any:
        return self.client.post(f"/class/{self.code}/{command}", json={"number": number, **body}, headers=COMMAND)


@pytest.fixture
def browsers() -> list[Browser]:
    """Return the teacher, who has shown a question, and three students."""
    found = [Browser(i) for i in range(4)]
    show(found, SHOWN_QUESTION)
    return found


def show(browsers: list[Browser], shown: ClassroomQuestion) -> None:
    code = actions.show_question(browsers[0].id, shown).code
    for each in browsers:
        each.code = code


def test_a_classroom_from_the_question_to_the_end(browsers: list[Browser], snapshot: SnapshotAssertion) -> None:
    teacher, *students = browsers
    teacher.post("end")
    question = lesson_results.find_step("counting", 1)[1].question
    show(browsers, ClassroomQuestion("negation", {}, (), question, "counting", 1))
    state = students[0].get().json()
    assert state.pop("mark") and state.pop("code") == teacher.code
    assert state == snapshot
    for student, choice in zip(students, ("sustain", "collapse", "sustain"), strict=True):
        state = student.post("answer", given=choice).json()
        assert (state["mine"], state["votes"][0]["given"], "answer" in state) == (choice, [], False)
    state = teacher.get().json()
    assert state["teaches"] and state["votes"] == [{"answered": 3, "size": 3, "given": []}]
    state = teacher.post("show").json()
    assert sorted(state["votes"][0]["given"]) == ["collapse", "sustain", "sustain"]
    assert teacher.post("hide").json()["votes"][0]["given"] == []
    submit(lesson_results.result_key("counting", 1), lambda: lesson_results.measure_step("counting", 1)).result()
    revealed = teacher.post("reveal").json()
    assert revealed["answer"]["right"] == ["sustain"] and "guess" not in revealed["answer"]["verdict"]
    state = students[1].get().json()
    assert state["open"] and len(state["votes"][0]["given"]) == 3
    assert "You said: collapse." in state["answer"]["verdict"]
    assert teacher.post("end").json()["over"]
    over = students[1].get()
    assert over.status_code == 200 and over.json()["over"] and "It has ended" in over.json()["problem"]


def test_a_refused_request_names_the_problem(browsers: list[Browser], monkeypatch: pytest.MonkeyPatch) -> None:
    teacher, student, stranger, _ = browsers
    stranger.code = "ABCDE"
    refused = [
        (403, student.client.post(f"/class/{student.code}/answer", json={"number": 1, "given": "a"})),
        *((403, student.post(command)) for command in ("reveal", "end", "show", "again", "close")),
        (403, student.post("remove", arrivals=[1])),
        (404, student.post("shout")),
        (404, stranger.post("answer", given="a")),
        (403, student.get("/answers.csv")),
        (404, stranger.get("/answers.csv")),
        (422, student.post("answer", given="z")),
        (403, student.post("answer", given="a", vote=2)),
        (422, student.post("answer", given="a", vote="2")),
        (422, student.post("answer", given="a", vote=True)),
        (403, student.post("answer", given="a", number=2)),
    ]
    student.client.cookies.clear()
    without_cookie = student.post("answer", given="a")
    assert "cookies" in without_cookie.json()["problem"]
    monkeypatch.setattr(transactions, "_down_until", float("inf"))  # the database does not answer
    stranger.code = "FGHJK"
    for status, response in [*refused, (403, without_cookie), (503, teacher.post("show")), (503, stranger.get())]:
        assert response.status_code == status and response.json()["problem"].endswith("."), response.text
    assert teacher.get().json()["number"] == 1, "the last state"
    classroom = find_classroom(teacher.code)
    assert not classroom.answers and not classroom.revealed and not classroom.closed


ZEROS = b"0" * 1_800
HOSTILE_BODIES = [
    *(b"nonsense", b"[1]", b"[" * 1_900, b'{"given": "a"}'),
    *(b'{"number": true, "given": "a"}', b'{"number": 1e400, "given": "a"}', b'{"number": 1, "given": "\xff"}'),
    *(b'{"number": 1, "given": "' + b"x" * 3_000 + b'"}', b'{"number": 1, "given": "\\ud800"}'),
    *(b'{"number": 1, "given": 1' + ZEROS + b"}", b'{"number": 1, "given": "a", "vote": 1' + ZEROS + b"}"),
    *(b'{"number": 1, "arrivals": 5}', b'{"number": 1, "arrivals": ["1"]}'),
]


def test_a_hostile_request_is_refused_with_a_sentence(browsers: list[Browser]) -> None:
    teacher, student, *_ = browsers
    for body in HOSTILE_BODIES:
        command = "remove" if b"arrivals" in body else "answer"
        response = teacher.client.post(f"/class/{teacher.code}/{command}", content=body, headers=COMMAND)
        assert response.status_code in (403, 422), body
        assert response.json()["problem"].endswith((".", "needed.")), body
    assert not find_classroom(teacher.code).answers
    for student.code in ("x" * 5_000, "%ff%fe", "%00", "%0d%0aX: 1", "%ED%A0%80"):
        assert student.get().json()["over"]
        assert student.post("answer").status_code == 404


def test_a_teacher_removes_answers_whose_visitors_cannot_answer_again(browsers: list[Browser]) -> None:
    teacher, *students = browsers
    for student in students:
        student.post("answer", given="a")
    state = teacher.get().json()
    assert [each["given"] for each in state["arrivals"]] == [[], [], []], "the votes are hidden"
    assert (state["kept"], state["arrivals"][0]["seconds"] >= 0) == (3, True)
    teacher.post("again")
    students[1].post("answer", vote=2, given="b")
    teacher.post("show")
    arrivals = teacher.get().json()["arrivals"]
    expected = [(1, ["a", None]), (2, ["a", "b"]), (3, ["a", None])]
    assert [(each["id"], each["given"]) for each in arrivals] == expected
    assert "arrivals" not in students[0].get().json()
    assert teacher.post("remove", arrivals=[2, 3]).json()["votes"] == [
        {"answered": 1, "size": 3, "given": ["a"]},
        {"answered": 0, "size": 3, "given": []},
    ]
    again = students[1].post("answer", vote=2, given="a")
    assert again.status_code == 403 and "removed your answer" in again.json()["problem"]
    show(browsers, SHOWN_QUESTION)
    assert students[1].post("answer", number=2, given="a").status_code == 200
    assert teacher.get().json()["kept"] == 2


def test_a_closed_class_keeps_newcomers_out_and_those_present_stay(browsers: list[Browser]) -> None:
    teacher, present, newcomer, _ = browsers
    present.get()
    assert teacher.post("close").json()["closed"]
    for response in (newcomer.get(), newcomer.post("answer", given="a")):
        assert response.status_code == 403 and "closed to newcomers" in response.json()["problem"]
    with pytest.raises(NotAllowed, match="closed to newcomers"):
        store.find_classroom_for(teacher.code, Visitor(newcomer.id))
    assert present.post("answer", given="a").status_code == 200
    assert not teacher.post("open").json()["closed"]
    assert newcomer.get().json()["present"] == 2


def test_answers_are_limited_for_each_visitor(browsers: list[Browser]) -> None:
    _, student, other, _ = browsers
    answers = [student.post("answer", given="a") for _ in range(61)]
    assert [answer.status_code for answer in answers] == [200] * 60 + [429]
    assert int(answers[-1].headers["retry-after"]) <= 60 and "at most 60 answers" in answers[-1].json()["problem"]
    assert other.post("answer", given="a").status_code == 200


def test_codes_of_classes_cannot_be_guessed_and_those_in_the_class_do_not_wait(browsers: list[Browser]) -> None:
    teacher, student, stranger, newcomer = browsers
    student.get()
    code = student.code
    codes = ["".join(letters) for letters in itertools.islice(itertools.permutations("ABCDE"), 61)]
    for stranger.code in [*codes[:60], *codes[:60]]:  # a browser asks again and again whether its class has ended
        assert stranger.get().json()["over"]
    for stranger.code in (codes[60], code):
        refused = stranger.get()
        assert refused.status_code == 429 and "60 unknown class codes from one address" in refused.json()["problem"]
    assert stranger.post("answer", given="a").status_code == newcomer.get("/answers.csv").status_code == 429
    with pytest.raises(TooManyRequests):
        actions.take_control("ABCDEFGHJK", Visitor("phone"), UNKNOWN)
    assert student.post("answer", given="a").json()["mine"] == "a" and teacher.get().json()["teaches"]


def test_only_the_teacher_gets_a_code_that_gives_control(browsers: list[Browser]) -> None:
    teacher, student, phone, _ = browsers
    assert student.post("control", lasts=True).status_code == 403
    given = teacher.post("control").json()
    assert given["address"].endswith(f"/lessons?join={given['control']}") and given["qr"]["size"] > 20
    assert given["control"] not in student.get().text + teacher.get().text
    actions.take_control(given["control"], Visitor(phone.id))
    assert phone.post("why").json()["explained"] and not phone.post("votes").json()["explained"]
    assert phone.get().json()["teaches"] and teacher.get().json()["browsers"] == 2
    assert teacher.post("alone").json()["browsers"] == 1 and phone.post("reveal").status_code == 403


def test_the_teacher_downloads_the_answers(browsers: list[Browser]) -> None:
    teacher, student, *_ = browsers
    student.post("answer", given="a")
    teacher.code = teacher.code.lower()
    response = teacher.get("/answers.csv")
    assert response.headers["content-disposition"] == f'attachment; filename="class-{student.code}.csv"'
    assert response.headers["cache-control"] == "no-store"
    head, row = response.content.decode("utf-8-sig").splitlines()
    assert head == "question number,question,student,vote 1,vote 2" and row.startswith("1,Which?,")
    assert row.endswith(",A,")
    statuses = [teacher.get("/answers.csv").status_code for _ in range(30)]
    assert statuses == [200] * 29 + [429]
