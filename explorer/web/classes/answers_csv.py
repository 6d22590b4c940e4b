"""The answers of a class as a CSV file: one row for each student and question."""

from __future__ import annotations

from collections.abc import Iterable

from explorer.csv_files import to_csv_file
from explorer.lazy_libraries import pd
from explorer.lessons.lesson import Question
from explorer.web.classes.classroom import AnsweredQuestion

COLUMNS = ("question number", "question", "student", "vote 1", "vote 2")


def format_answers(answered: Iterable[AnsweredQuestion]) -> bytes:
    """Return the answers as UTF-8 with the byte order mark that spreadsheets need to recognise it."""
    rows = [
        (each.number, _format_question(each.question), record.student, *(_cell(each.question, v) for v in record.votes))
        for each in answered
        for record in each.records
    ]
    return to_csv_file(pd.DataFrame(rows, columns=COLUMNS, dtype=object))


def _format_question(question: Question) -> str:
    unit = question.scale.unit if question.scale else ""
    return f"{question.text} ({unit})" if unit else question.text


def _cell(question: Question, vote: object | None) -> str | float | None:
    """Return an answer: a text, a number of at most twelve digits without its unit, or nothing."""
    if vote is None:
        return None
    if question.collects:
        return str(vote)
    if question.scale is None:
        return question.find_choice(str(vote)).text
    number = float(f"{vote:.12g}")
    return int(number) if number.is_integer() else number
