"""Classrooms: one answer per visitor, control by the teacher only, deletion at the end. Predictions and their limit."""

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
from explorer.web import class_store, classroom_endpoints, lesson_results
from explorer.web.background import submit
from explorer.web.class_store import CODE_LENGTH, CODE_LETTERS, ClassroomQuestion, UnknownClassroom
from explorer.web.visitors import COOKIE, Visitor, issue_cookie, visitor_from_cookies

with warnings.catch_warnings(action="ignore"):  # Starlette recommends another HTTP library
    from starlette.testclient import TestClient

CHOICE_QUESTION = Question("Which?", (Choice("a", "A"), Choice("b", "B")))
NUMBER_QUESTION = Question("How many?", scale=Scale(0.0, 10.0, 1.0))
SHOWN_QUESTION = ClassroomQuestion("memory", {"length": "10"}, ("memory-symbols",), CHOICE_QUESTION)
OWN_HEADERS = {"X-Lineage": "1"}


@pytest.fixture(autouse=True)
def empty_store() -> None:
    """Delete the classrooms and the predictions of other tests."""
    class_store.reset()


def visible_answers(code: str, visitor: str = "teacher") -> list[object]:
    """Return the answers that this visitor may see."""
    return list(class_store.classroom_state(class_store.find_classroom(code), Visitor(visitor))["given"])  # type: ignore[call-overload]


def test_each_visitor_has_one_answer_the_last_before_the_reveal() -> None:
    code = class_store.show_question("teacher", SHOWN_QUESTION).code
    assert len(code) == CODE_LENGTH and set(code) <= set(CODE_LETTERS)
    for _ in range(3):
        class_store.record_answer(code, "ada", 1, "a")
    class_store.record_answer(code.lower(), "bob", 1, "a")
    class_store.record_answer(code, "ada", 1, "b")
    assert sorted(map(str, visible_answers(code))) == ["a", "b"]
    assert visible_answers(code, "bob") == [], "only the teacher sees the predictions of others before the reveal"
    class_store.reveal_answer(code, Visitor("teacher"), 1)
    assert len(visible_answers(code, "bob")) == 2
    class_store.record_answer(code, "ada", 1, "b")  # the same answer again is no error
    with pytest.raises(NotAllowed, match="too late"):
        class_store.record_answer(code, "ada", 1, "a")
    with pytest.raises(NotAllowed, match="too late"):
        class_store.record_answer(code, "eve", 1, "a")
    assert len(visible_answers(code)) == 2


@pytest.mark.parametrize("bad", ["c", "", None, 3, ["a"], "A", True])
def test_an_answer_that_is_no_choice_is_refused(bad: object) -> None:
    code = class_store.show_question("teacher", SHOWN_QUESTION).code
    with pytest.raises(InvalidSetting, match="no answer"):
        class_store.record_answer(code, "ada", 1, bad)
    assert visible_answers(code) == []


@pytest.mark.parametrize("bad", [-1, 10.5, float("nan"), float("inf"), "5", True, None])
def test_an_answer_that_is_no_number_in_the_range_is_refused(bad: object) -> None:
    code = class_store.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER_QUESTION)).code
    with pytest.raises(InvalidSetting, match="no answer"):
        class_store.record_answer(code, "ada", 1, bad)
    class_store.record_answer(code, "ada", 1, 10)
    assert visible_answers(code) == [10]


def test_a_late_answer_to_the_previous_question_is_refused() -> None:
    classroom = class_store.show_question("teacher", SHOWN_QUESTION)
    class_store.record_answer(classroom.code, "ada", 1, "a")
    class_store.reveal_answer(classroom.code, Visitor("teacher"), 1)
    assert classroom.open
    same = class_store.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER_QUESTION))
    assert same is classroom and (
        classroom.number,
        classroom.revealed,
        classroom.open,
        visible_answers(classroom.code),
    ) == (2, False, False, [])
    with pytest.raises(NotAllowed, match="gone on"):
        class_store.record_answer(classroom.code, "ada", 1, "a")
    class_store.reveal_answer(classroom.code, Visitor("teacher"), 1)  # requested for the previous question
    assert not classroom.revealed
    class_store.show_question("teacher", ClassroomQuestion("memory", {}))
    assert classroom.open, "without a question there is no answer to hide"
    with pytest.raises(NotAllowed, match="gone on"):
        class_store.record_answer(classroom.code, "ada", 3, "a")


def test_only_the_teacher_and_the_operator_reveal_and_end() -> None:
    code = class_store.show_question("teacher", SHOWN_QUESTION).code
    for visitor in (Visitor("ada"), Visitor("nobody"), Visitor("")):
        for action in (
            partial(class_store.reveal_answer, code, visitor, 1),
            partial(class_store.end_classroom, code, visitor),
        ):
            with pytest.raises(NotAllowed, match="Only the browser that began"):
                action()
    class_store.reveal_answer(code, Visitor("op", operator=True), 1)
    class_store.end_classroom(code, Visitor("teacher"))
    for gone in (code, "ABCDE", "", "<script>"):
        with pytest.raises(UnknownClassroom):
            class_store.find_classroom(gone)
    assert class_store.classroom_of_teacher("teacher") is None


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time in seconds, as a list with one number that a test may change."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_classroom_is_deleted_after_four_idle_hours(clock: list[float]) -> None:
    idle, polled = (class_store.show_question(name, SHOWN_QUESTION) for name in ("one", "two"))
    clock[0] += 4 * 3600 - 1
    class_store.record_presence(polled, "ada")
    assert class_store.find_classroom(idle.code) is idle, "a look at a classroom is no use of it"
    clock[0] += 2
    with pytest.raises(UnknownClassroom):
        class_store.find_classroom(idle.code)
    class_store.record_presence(idle, "ada")  # a request that began before
    assert class_store.classroom_of_teacher("one") is None
    assert class_store.classroom_of_teacher("two") is class_store.find_classroom(polled.code) is polled


def test_above_the_limit_the_least_recently_used_classroom_is_deleted() -> None:
    classrooms = [class_store.show_question(f"teacher {i}", SHOWN_QUESTION) for i in range(200)]
    first, second, *_ = classrooms
    class_store.record_presence(first, "ada")
    class_store.find_classroom(second.code)  # a look at a classroom is no use of it
    classrooms.append(class_store.show_question("one more", SHOWN_QUESTION))
    with pytest.raises(UnknownClassroom):
        class_store.find_classroom(second.code)
    class_store.show_question("teacher 2", SHOWN_QUESTION)  # no new classroom
    left = [classroom for classroom in classrooms if classroom is not second]
    assert [class_store.find_classroom(classroom.code) for classroom in left] == left


def test_visitors_are_present_if_they_polled_lately_or_answered(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    classroom = class_store.show_question("teacher", SHOWN_QUESTION)
    for visitor in ("ada", "bob"):
        class_store.record_presence(classroom, visitor)
    class_store.record_answer(classroom.code, "ada", 1, "a")
    clock[0] += class_store.PRESENCE_SECONDS - 1
    class_store.record_presence(classroom, "bob")
    clock[0] += 2
    assert classroom.present == 2
    clock[0] += class_store.PRESENCE_SECONDS
    assert classroom.present == 1, "a visitor with an answer stays present"
    monkeypatch.setattr(class_store, "MAX_VISITORS", 2)
    class_store.record_answer(classroom.code, "eve", 1, "b")
    with pytest.raises(NotAllowed, match="At most 2"):
        class_store.record_answer(classroom.code, "mallory", 1, "b")


def test_at_most_a_thousand_visitors_of_a_class_are_counted() -> None:
    classroom = class_store.show_question("teacher", SHOWN_QUESTION)
    for i in range(1_001):
        class_store.record_presence(classroom, f"visitor {i}")
    assert classroom.present == 1_000


# ---- predictions in lessons


def test_predictions_are_stored_per_visitor_and_can_be_deleted() -> None:
    class_store.store_prediction("ada", "window", 1, 12)
    class_store.store_prediction("bob", "window", 1, class_store.NO_PREDICTION)
    assert class_store.find_prediction("ada", "window", 1) == 12
    assert class_store.find_prediction("bob", "window", 1) == class_store.NO_PREDICTION
    for other in (("eve", "window", 1), ("ada", "counting", 1), ("ada", "window", 2)):
        assert class_store.find_prediction(*other) is None
    class_store.delete_prediction("ada", "window", 1)
    class_store.delete_prediction("ada", "window", 1)  # twice is no mistake
    assert class_store.find_prediction("ada", "window", 1) is None
    class_store.reset()
    assert class_store.find_prediction("bob", "window", 1) is None


def test_the_prediction_stored_longest_ago_is_dropped_first() -> None:
    for i in range(50_000):
        class_store.store_prediction(f"visitor {i}", "window", 1, i)
    class_store.store_prediction("visitor 0", "window", 1, 7)
    assert class_store.find_prediction("visitor 1", "window", 1) == 1
    class_store.store_prediction("eve", "window", 1, 3)
    found = [class_store.find_prediction(visitor, "window", 1) for visitor in ("visitor 0", "visitor 1", "visitor 2")]
    assert found == [7, None, 2]


# ---- over HTTP


@pytest.fixture
def browsers() -> Iterator[list[TestClient]]:
    app = Starlette(routes=classroom_endpoints.ROUTES)
    yield [TestClient(app, cookies={COOKIE: issue_cookie(f"abcdefghijklmnopqrs{i:03}")}) for i in range(4)]


def visitor_id(browser: TestClient) -> str:
    return visitor_from_cookies(dict(browser.cookies)).id


def test_a_classroom_from_the_question_to_the_end(browsers: list[TestClient]) -> None:
    teacher, *students = browsers
    classroom = class_store.show_question(
        visitor_id(teacher), ClassroomQuestion("negation", {}, (), *_lesson_question())
    )
    assert students[0].get(f"/class/{classroom.code}").json() == {
        "code": classroom.code,
        "number": 1,
        "teaches": False,
        "revealed": False,
        "open": False,
        "answered": 0,
        "present": 1,
        "mine": None,
        "given": [],
    }
    for student, choice in zip(students, ("sustain", "collapse", "sustain"), strict=True):
        state = student.post(
            f"/class/{classroom.code}/answer", json={"number": 1, "given": choice}, headers=OWN_HEADERS
        ).json()
        assert (state["mine"], state["given"], "answer" in state) == (choice, [], False)
    state = teacher.get(f"/class/{classroom.code}").json()
    assert (state["teaches"], state["answered"], state["present"], sorted(state["given"])) == (
        True,
        3,
        3,
        ["collapse", "sustain", "sustain"],
    )
    submit(lesson_results.result_key("counting", 1), lambda: lesson_results.measure_step("counting", 1)).result()
    revealed = teacher.post(f"/class/{classroom.code}/reveal", json={"number": 1}, headers=OWN_HEADERS).json()
    assert revealed["answer"]["right"] == ["sustain"] and "guess" not in revealed["answer"]["verdict"]
    state = students[1].get(f"/class/{classroom.code}").json()
    assert state["open"] and len(state["given"]) == 3 and "You said “It says collapse" in state["answer"]["verdict"]
    assert teacher.post(f"/class/{classroom.code}/end", json={"number": 1}, headers=OWN_HEADERS).json()["over"]
    over = students[1].get(f"/class/{classroom.code}")
    assert (
        over.status_code == 200 and over.json()["over"] and "It has ended" in over.json()["problem"].replace("it", "It")
    )


def _lesson_question() -> tuple[Question, str, int]:
    return lesson_results.find_step("counting", 1)[1].question, "counting", 1


def test_a_refused_request_names_the_problem_and_changes_nothing(browsers: list[TestClient]) -> None:
    teacher, student, *_ = browsers
    classroom = class_store.show_question(visitor_id(teacher), SHOWN_QUESTION)
    url = f"/class/{classroom.code}"
    valid = {"number": 1, "given": "a"}
    refused = [
        (403, student.post(f"{url}/answer", json=valid)),
        (403, student.post(f"{url}/reveal", json={"number": 1}, headers=OWN_HEADERS)),
        (403, student.post(f"{url}/end", json={"number": 1}, headers=OWN_HEADERS)),
        (404, student.post(f"{url}/shout", json={"number": 1}, headers=OWN_HEADERS)),
        (404, student.post("/class/ABCDE/answer", json=valid, headers=OWN_HEADERS)),
        (422, student.post(f"{url}/answer", json={"number": 1, "given": "z"}, headers=OWN_HEADERS)),
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
    "no list": b'{"number": 1, "arrivals": 5}',
    "no object": b"null",
}


@pytest.mark.parametrize("body", HOSTILE_BODIES.values(), ids=HOSTILE_BODIES)
def test_a_hostile_body_is_refused_with_a_sentence(body: bytes, browsers: list[TestClient]) -> None:
    teacher, student, *_ = browsers
    classroom = class_store.show_question(visitor_id(teacher), SHOWN_QUESTION)
    for command in ("answer", "remove"):
        response = teacher.post(f"/class/{classroom.code}/{command}", content=body, headers=OWN_HEADERS)
        if command == "answer" or response.status_code != 200:
            assert response.status_code in (403, 422) and response.json()["problem"].endswith((".", "needed."))
    assert not classroom.answers
    for code in ("x" * 5_000, "%ff%fe", "%00", "%0d%0aX: 1", "%ED%A0%80"):
        assert student.get(f"/class/{code}").status_code in (200, 403)
        assert student.post(f"/class/{code}/answer", json={"number": 1}, headers=OWN_HEADERS).status_code == 404


def test_a_teacher_removes_answers_whose_visitors_cannot_answer_again(browsers: list[TestClient]) -> None:
    teacher, *students = browsers
    classroom = class_store.show_question(visitor_id(teacher), SHOWN_QUESTION)
    url = f"/class/{classroom.code}"
    for student in students:
        student.post(f"{url}/answer", json={"number": 1, "given": "a"}, headers=OWN_HEADERS)
    students[1].post(f"{url}/answer", json={"number": 1, "given": "b"}, headers=OWN_HEADERS)
    arrivals = teacher.get(url).json()["arrivals"]
    assert [(each["id"], each["given"]) for each in arrivals] == [(1, "a"), (2, "b"), (3, "a")]
    assert "arrivals" not in students[0].get(url).json()
    removal = {"number": 1, "arrivals": [2, 3]}
    assert students[0].post(f"{url}/remove", json=removal, headers=OWN_HEADERS).status_code == 403
    assert teacher.post(f"{url}/remove", json=removal, headers=OWN_HEADERS).json()["given"] == ["a"]
    again = students[1].post(f"{url}/answer", json={"number": 1, "given": "a"}, headers=OWN_HEADERS)
    assert again.status_code == 403 and "removed your answer" in again.json()["problem"]
    class_store.show_question(visitor_id(teacher), SHOWN_QUESTION)
    again = students[1].post(f"{url}/answer", json={"number": 2, "given": "a"}, headers=OWN_HEADERS)
    assert again.status_code == 200


def test_a_closed_door_keeps_newcomers_out_and_those_present_stay(browsers: list[TestClient]) -> None:
    teacher, present, newcomer, _ = browsers
    classroom = class_store.show_question(visitor_id(teacher), SHOWN_QUESTION)
    url, answer = f"/class/{classroom.code}", {"number": 1, "given": "a"}
    present.get(url)
    assert newcomer.post(f"{url}/close", json={"number": 1}, headers=OWN_HEADERS).status_code == 403
    assert teacher.post(f"{url}/close", json={"number": 1}, headers=OWN_HEADERS).json()["closed"]
    for response in (newcomer.get(url), newcomer.post(f"{url}/answer", json=answer, headers=OWN_HEADERS)):
        assert response.status_code == 403 and "closed to newcomers" in response.json()["problem"]
    with pytest.raises(NotAllowed, match="closed to newcomers"):
        class_store.find_classroom_for(classroom.code, Visitor(visitor_id(newcomer)))
    assert present.post(f"{url}/answer", json=answer, headers=OWN_HEADERS).status_code == 200
    assert not teacher.post(f"{url}/open", json={"number": 1}, headers=OWN_HEADERS).json()["closed"]
    assert newcomer.get(url).json()["present"] == 2


def test_answers_are_limited_for_each_visitor(browsers: list[TestClient]) -> None:
    teacher, student, other, _ = browsers
    code = class_store.show_question(visitor_id(teacher), SHOWN_QUESTION).code
    body = {"number": 1, "given": "a"}
    answers = [student.post(f"/class/{code}/answer", json=body, headers=OWN_HEADERS) for _ in range(61)]
    assert [answer.status_code for answer in answers] == [200] * 60 + [429]
    assert int(answers[-1].headers["retry-after"]) <= 60 and "at most 60 answers" in answers[-1].json()["problem"]
    assert other.post(f"/class/{code}/answer", json=body, headers=OWN_HEADERS).status_code == 200


def test_thirty_simultaneous_visitors_have_thirty_answers(browsers: list[TestClient]) -> None:
    classroom = class_store.show_question("teacher", ClassroomQuestion("memory", {}, (), NUMBER_QUESTION))

    def answer_repeatedly(visitor: str) -> None:
        for answer in (1, 2, 3):
            class_store.record_answer(classroom.code, visitor, 1, answer)

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
