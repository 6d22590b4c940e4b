"""The CSV file of a class: every cell is text that a spreadsheet does not run."""

from __future__ import annotations

import csv
import io

from explorer.lessons.lesson import Choice, Question, Scale
from explorer.web.classes.answers_csv import COLUMNS, format_answers
from explorer.web.classes.classroom import AnsweredQuestion, AnswerRecord


def read_rows(answered: list[AnsweredQuestion]) -> list[list[str]]:
    return list(csv.reader(io.StringIO(format_answers(answered).decode("utf-8-sig"), newline="")))


def test_one_row_for_each_student_and_question() -> None:
    choice = Question("Which, “a” or b?", (Choice("0", "RNN, or LSTM"), Choice("1", "GRU")))
    number = Question("How many?", scale=Scale(0.0, 100.0, 1.0, "%"))
    sentence = Question("Write one.", collects=True)
    rows = read_rows(
        [
            AnsweredQuestion(1, choice, (AnswerRecord(12_345, ("0", "1")), AnswerRecord(23_456, (None, "1")))),
            AnsweredQuestion(4, number, (AnswerRecord(12_345, (-2.5, None)), AnswerRecord(34_567, (70, 1 / 3)))),
            AnsweredQuestion(5, sentence, (AnswerRecord(12_345, ("=1, “b”", None)),)),
        ]
    )
    assert rows == [
        list(COLUMNS),
        ["1", "Which, “a” or b?", "12345", "RNN, or LSTM", "GRU"],
        ["1", "Which, “a” or b?", "23456", "", "GRU"],
        ["4", "How many? (%)", "12345", "-2.5", ""],
        ["4", "How many? (%)", "34567", "70", "0.333333333333"],
        ["5", "Write one.", "12345", "'=1, “b”", ""],
    ]
    assert read_rows([]) == [list(COLUMNS)]


def test_a_text_that_a_spreadsheet_would_run_or_cannot_be_encoded_is_marked_or_replaced() -> None:
    question = Question("=1+1", (Choice("0", "@SUM(A1)"), Choice("1", "half a pair \ud800")))
    answered = AnsweredQuestion(1, question, (AnswerRecord(10_000, ("0", "1")),))
    assert read_rows([answered])[1] == ["1", "'=1+1", "10000", "'@SUM(A1)", "half a pair ?"]
