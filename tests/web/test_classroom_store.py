"""A class: everybody counts once, nothing is lost, only the teacher steers, and nothing stays."""

from __future__ import annotations

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
from explorer.web import classroom_endpoints, classroom_store, lesson_results
from explorer.web.background import submit
from explorer.web.classroom_store import CODE_LENGTH, CODE_LETTERS, ClassroomQuestion, UnknownClassroom
from explorer.web.visitors import COOKIE, Visitor, visitor_from_cookies

with warnings.catch_warnings(action="ignore"):  # it would rather have another HTTP library
    from starlette.testclient import TestClient

ASKED = Question("Which?", (Choice("a", "A"), Choice("b", "B")))
NUMBER = Question("How many?", scale=Scale(0.0, 10.0, 1.0))
STAGE = ClassroomQuestion("memory", {"length": "10"}, ("memory-symbols",), ASKED)
OURS = {"X-Lineage": "1"}


@pytest.fixture(autouse=True)
def no_class() -> None:
    """Every class of another test is over."""
    classroom_store.reset()


def given(code: str, visitor: str = "teacher") -> list[object]:
    return list(classroom_store.classroom_state(classroom_store.find_classroom(code), Visitor(visitor))["given"])  # type: ignore[call-overload]


def test_each_counts_once_and_the_last_answer_before_the_reveal_holds() -> None:
    code = classroom_store.show_question("teacher", STAGE).code
    assert len(code) == CODE_LENGTH and set(code) <= set(CODE_LETTERS)
    for _ in range(3):
        classroom_store.record_answer(code, "ada", 1, "a")
    classroom_store.record_answer(code.lower(), "bob", 1, "a")
    classroom_store.record_answer(code, "ada", 1, "b")
    assert sorted(map(str, given(code))) == ["a", "b"]
    assert given(code, "bob") == [], "what others predict is the teacher's until the reveal"
    classroom_store.reveal_answer(code, Visitor("teacher"), 1)
    assert len(given(code, "bob")) == 2
    classroom_store.record_answer(code, "ada", 1, "b")  # a browser that had not heard of the first time
    with pytest.raises(NotAllowed, match="too late"):
        classroom_store.record_answer(code, "ada", 1, "a")
    with pytest.raises(NotAllowed, match="too late"):
        classroom_store.record_answer(code, "eve", 1, "a")
    assert len(given(code)) == 2


@pytest.mark.parametrize("bad", ["c", "", None, 3, ["a"], "A", True])
def test_what_is_no_choice_is_refused(bad: object) -> None:
    code = classroom_store.show_question("teacher", STAGE).code
    with pytest.raises(InvalidSetting, match="no answer"):
        classroom_store.record_answer(code, "ada", 1, bad)
    assert given(code) == []


@pytest.mark.parametrize("bad", [-1, 10.5, float("nan"), float("inf"), "5", True, None])
def test_what_is_no_number_in_the_range_is_refused(bad: object) -> None:
    code = classroom_store.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER)).code
    with pytest.raises(InvalidSetting, match="no answer"):
        classroom_store.record_answer(code, "ada", 1, bad)
    classroom_store.record_answer(code, "ada", 1, 10)
    assert given(code) == [10]


def test_a_class_goes_on_and_late_answers_belong_to_the_old_question() -> None:
    room = classroom_store.show_question("teacher", STAGE)
    classroom_store.record_answer(room.code, "ada", 1, "a")
    classroom_store.reveal_answer(room.code, Visitor("teacher"), 1)
    assert room.open
    again = classroom_store.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER))
    assert again is room and (room.number, room.revealed, room.open, given(room.code)) == (2, False, False, [])
    with pytest.raises(NotAllowed, match="gone on"):
        classroom_store.record_answer(room.code, "ada", 1, "a")
    classroom_store.reveal_answer(room.code, Visitor("teacher"), 1)  # pressed before the class had gone on
    assert not room.revealed
    classroom_store.show_question("teacher", ClassroomQuestion("memory", {}))
    assert room.open, "nothing is asked, so nothing is held back"
    with pytest.raises(NotAllowed, match="gone on"):
        classroom_store.record_answer(room.code, "ada", 3, "a")


def test_only_the_teacher_and_the_operator_steer() -> None:
    code = classroom_store.show_question("teacher", STAGE).code
    for visitor in (Visitor("ada"), Visitor("nobody"), Visitor("")):
        for wish in (
            partial(classroom_store.reveal_answer, code, visitor, 1),
            partial(classroom_store.end_classroom, code, visitor),
        ):
            with pytest.raises(NotAllowed, match="Only the browser that began"):
                wish()
    classroom_store.reveal_answer(code, Visitor("op", operator=True), 1)
    classroom_store.end_classroom(code, Visitor("teacher"))
    for gone in (code, "ABCDE", "", "<script>"):
        with pytest.raises(UnknownClassroom):
            classroom_store.find_classroom(gone)
    assert classroom_store.classroom_of_teacher("teacher") is None


def test_quiet_and_too_many_classes_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    old = classroom_store.show_question("one", STAGE)
    old.last_used = time.monotonic() - classroom_store.IDLE_SECONDS - 1
    with pytest.raises(UnknownClassroom):
        classroom_store.find_classroom(old.code)
    monkeypatch.setattr(classroom_store, "MAX_CLASSROOMS", 2)
    first, second = (classroom_store.show_question(name, STAGE) for name in ("one", "two"))
    classroom_store.record_presence(first, "ada")
    third = classroom_store.show_question("three", STAGE)
    assert [classroom_store.find_classroom(room.code) for room in (first, third)] == [first, third]
    with pytest.raises(classroom_store.UnknownClassroom):
        classroom_store.find_classroom(second.code)


def test_who_is_present_is_who_asked_lately_or_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    room = classroom_store.show_question("teacher", STAGE)
    for visitor in ("ada", "bob"):
        classroom_store.record_presence(room, visitor)
    classroom_store.record_answer(room.code, "ada", 1, "a")
    assert room.present == 2
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + classroom_store.PRESENCE_SECONDS + 1)
    assert room.present == 1, "who has answered counts on"
    monkeypatch.setattr(classroom_store, "MAX_VISITORS", 2)
    classroom_store.record_answer(room.code, "eve", 1, "b")
    with pytest.raises(NotAllowed, match="At most 2"):
        classroom_store.record_answer(room.code, "mallory", 1, "b")


# ---- as browsers speak with it


@pytest.fixture
def browsers() -> Iterator[list[TestClient]]:
    app = Starlette(routes=classroom_endpoints.ROUTES)
    yield [TestClient(app, cookies={COOKIE: f"abcdefghijklmnopqrs{i:03}"}) for i in range(4)]


def owner(browser: TestClient) -> str:
    return visitor_from_cookies(dict(browser.cookies)).id


def test_a_class_from_the_question_to_the_reveal(browsers: list[TestClient]) -> None:
    teacher, *students = browsers
    room = classroom_store.show_question(owner(teacher), ClassroomQuestion("negation", {}, (), *_of_lesson()))
    assert students[0].get(f"/class/{room.code}").json() == {
        "code": room.code,
        "number": 1,
        "teaches": False,
        "revealed": False,
        "open": False,
        "answered": 0,
        "present": 1,
        "mine": None,
        "given": [],
    }
    for student, said in zip(students, ("sustain", "collapse", "sustain"), strict=True):
        told = student.post(f"/class/{room.code}/answer", json={"number": 1, "given": said}, headers=OURS).json()
        assert (told["mine"], told["given"], "answer" in told) == (said, [], False)
    seen = teacher.get(f"/class/{room.code}").json()
    assert (seen["teaches"], seen["answered"], seen["present"], sorted(seen["given"])) == (
        True,
        3,
        3,
        ["collapse", "sustain", "sustain"],
    )
    submit(lesson_results.result_key("counting", 1), lambda: lesson_results.measure_step("counting", 1)).result()
    shown = teacher.post(f"/class/{room.code}/reveal", json={"number": 1}, headers=OURS).json()
    assert shown["answer"]["right"] == ["sustain"] and "guess" not in shown["answer"]["verdict"]
    told = students[1].get(f"/class/{room.code}").json()
    assert told["open"] and len(told["given"]) == 3 and "You said “It says collapse" in told["answer"]["verdict"]
    assert teacher.post(f"/class/{room.code}/end", json={"number": 1}, headers=OURS).json()["over"]
    over = students[1].get(f"/class/{room.code}")
    assert (
        over.status_code == 200 and over.json()["over"] and "It has ended" in over.json()["problem"].replace("it", "It")
    )


def _of_lesson() -> tuple[Question, str, int]:
    return lesson_results.find_step("counting", 1)[1].question, "counting", 1


def test_what_is_not_allowed_is_said_and_changes_nothing(browsers: list[TestClient]) -> None:
    teacher, student, *_ = browsers
    room = classroom_store.show_question(owner(teacher), STAGE)
    place = f"/class/{room.code}"
    good = {"number": 1, "given": "a"}
    refused = [
        (403, student.post(f"{place}/answer", json=good)),
        (403, student.post(f"{place}/reveal", json={"number": 1}, headers=OURS)),
        (403, student.post(f"{place}/end", json={"number": 1}, headers=OURS)),
        (404, student.post(f"{place}/shout", json={"number": 1}, headers=OURS)),
        (404, student.post("/class/ABCDE/answer", json=good, headers=OURS)),
        (422, student.post(f"{place}/answer", json={"number": 1, "given": "z"}, headers=OURS)),
        (422, student.post(f"{place}/answer", json={"given": "a"}, headers=OURS)),
        (422, student.post(f"{place}/answer", content=b"nonsense", headers=OURS)),
        (422, student.post(f"{place}/answer", content=b"[1]", headers=OURS)),
        (422, student.post(f"{place}/answer", content=json.dumps({"given": "x" * 3_000}), headers=OURS)),
        (403, student.post(f"{place}/answer", json={"number": 2, "given": "a"}, headers=OURS)),
    ]
    for status, answer in refused:
        assert answer.status_code == status and answer.json()["problem"].endswith("."), answer.text
    student.cookies.clear()
    nobody = student.post(f"{place}/answer", json=good, headers=OURS)
    assert nobody.status_code == 403 and "cookies" in nobody.json()["problem"]
    assert not room.answers and not room.revealed


def test_thirty_at_once_are_thirty(browsers: list[TestClient]) -> None:
    room = classroom_store.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER))

    def many(visitor: str) -> None:
        for said in (1, 2, 3):
            classroom_store.record_answer(room.code, visitor, 1, said)

    threads = [threading.Thread(target=many, args=(f"student {i}",)) for i in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert given(room.code) == [3] * 30


def test_a_qr_code_has_its_quiet_zone_and_only_dark_modules() -> None:
    code = classroom_card._qr_code("http://example.org/?class=ABCDE")
    size, path = code["size"], str(code["path"])
    places = [tuple(map(int, part.split("h")[0].split())) for part in path.split("M")[1:]]
    assert min(map(min, places)) == 4 and max(map(max, places)) == int(str(size)) - 5
    finder = {(x, y) for x, y in places if x < 11 and y < 11}
    assert {(4 + i, 4) for i in range(7)} <= finder and (5, 5) not in finder and (7, 7) in finder
