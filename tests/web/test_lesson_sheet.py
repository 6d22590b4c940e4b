"""The printable sheet of a lesson."""

from __future__ import annotations

from starlette.applications import Starlette

from explorer.web import lesson_results, lesson_sheet
from tests.web.client import TestClient

CLIENT = TestClient(Starlette(routes=lesson_sheet.ROUTES))


def test_a_sheet_for_students_asks_and_does_not_answer() -> None:
    for name, lesson in lesson_results.all_lessons().items():
        answer = CLIENT.get(f"/lesson-sheet/{name}")
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/html")
        assert answer.text.count("<section>") == len(lesson.steps) + 1 + bool(lesson.task)
        assert "Name: ___" in answer.text
        assert not any(answering in answer.text for answering in ("Measured:", "Notes for teachers</h2>", "Right."))


def test_a_sheet_for_teachers_has_answers_and_notes() -> None:
    answer = CLIENT.get("/lesson-sheet/pieces?notes=1").text
    assert "Measured: 22 tokens." in answer and "Notes for teachers</h2>" in answer and "vocabulary=2000" in answer


def test_an_unknown_lesson_is_reported_without_markup_of_the_visitor() -> None:
    answer = CLIENT.get("/lesson-sheet/%3Cb%3E")
    assert answer.status_code == 404 and "<b>" not in answer.text and "There is no lesson" in answer.text
