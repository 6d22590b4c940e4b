"""The answers of a class as a CSV file: one row for each student and question."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

from explorer.lessons.lesson import Question
from explorer.web.class_store import AnsweredQuestion

COLUMNS = ("question number", "question", "student", "vote 1", "vote 2")
_FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@＝＋－＠]|[\t\r\n]")  # a spreadsheet would run such a text (OWASP)


def format_answers(answered: Iterable[AnsweredQuestion]) -> bytes:
    """Return the answers as UTF-8 with the byte order mark that spreadsheets need to recognise it."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(COLUMNS)
    for each in answered:
        text = _format_question(each.question)
        for record in each.records:
            votes = [_format_vote(each.question, vote) for vote in record.votes]
            writer.writerow([each.number, escape_formula(text), record.student, *votes])
    return file.getvalue().encode("utf-8-sig", "replace")


def escape_formula(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def _format_question(question: Question) -> str:
    unit = question.scale.unit if question.scale else ""
    return f"{question.text} ({unit})" if unit else question.text


def _format_vote(question: Question, vote: object | None) -> str:
    """Return an answer: the text of a choice, a number without its unit, or nothing."""
    if vote is None:
        return ""
    if question.scale is None:
        return escape_formula(question.find_choice(str(vote)).text)
    return f"{vote:.12g}"
