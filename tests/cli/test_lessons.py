"""The command `lessons`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.terminal import RunCommand, parse_json_lines


def test_lessons_are_listed(ask: RunCommand) -> None:
    code, out, err = ask("lessons", "--json")
    lessons = parse_json_lines(out)
    assert (code, err) == (0, "") and len(lessons) >= 6
    assert [lesson["name"] for lesson in lessons[:2]] == ["counting", "word-vectors"]
    _, out, _ = ask("lessons")
    assert len(out.splitlines()) == len(lessons) and "5 steps" in out


def test_a_lesson_prints_measured_and_expected_answers(ask: RunCommand) -> None:
    code, out, _ = ask("lessons", "window", "--json")
    first = parse_json_lines(out)[0]
    assert code == 0 and first["agrees"] and 8 < first["right"] < 20 and len(first["measured"]) == 1
    _, out, _ = ask("lessons", "window")
    assert "1. One letter: " in out and "Measured: 12.4 letters" in out and "As the author expected." in out


def test_an_unknown_lesson_is_reported_with_the_existing_ones(ask: RunCommand) -> None:
    code, out, err = ask("lessons", "windows")
    assert code == 2 and not out and "There is no lesson “windows”. There is counting, " in err


def lesson_text(**changes: str) -> str:
    """Return a lesson of one step, with some lines replaced."""
    lines = {
        "title": "title: A new lesson",
        "about": "about: It has one step.",
        "minutes": "minutes: 3",
        "after": "after: [counting]",
        "state": "state: {models: bag_of_words}",
        "expects": "expects: sustain",
    }
    lines |= changes
    return f"""{lines["title"]}
{lines["about"]}
{lines["minutes"]}
{lines["after"]}
steps:
  - title: One word
    text: A bag of words reads a sentence.
    page: negation
    {lines["state"]}
    predict: {{question: "What does it answer?", choices: {{sustain: Sustain, collapse: Collapse}}}}
    measure: {{name: says, run: negation-single-bag_of_words, sentence: human not preserve nature}}
    {lines["expects"]}
    why: One weight for each word.
"""


def test_a_new_file_is_checked_and_measured(ask: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "40-new-words.yaml"
    file.write_text(lesson_text(), encoding="utf-8")
    code, out, err = ask("lessons", str(file))
    assert (code, err) == (0, "") and "1. One word: What does it answer?" in out and "As the author expected." in out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": "state: {modes: rnn}"}, "line 9: This page has no “modes”"),  # what only the user interface knows
        ({"state": "state: {p_not: 7}"}, "line 9: p_not = 7"),
        ({"after": "after: [countings]"}, "line 1: “after” names a lesson that does not exist"),
        ({"minutes": ""}, "line 1: “minutes” is missing."),
        ({"expects": "expects: maybe"}, "line 12: there is no choice “maybe”."),
    ],
)
def test_a_mistake_in_a_new_file_is_reported_with_its_line(
    changes: dict[str, str], message: str, ask: RunCommand, tmp_path: Path
) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(lesson_text(**changes), encoding="utf-8")
    code, out, err = ask("lessons", str(file))
    assert code == 2 and not out and f"{tmp_path.name}/new.yaml, {message}" in err


def test_a_file_that_is_missing_or_has_another_lessons_name_is_reported(ask: RunCommand, tmp_path: Path) -> None:
    file = tmp_path / "7-counting.yaml"
    file.write_text(lesson_text(after="after: []"), encoding="utf-8")
    assert "another lesson has the same name" in ask("lessons", str(file))[2]
    code, out, err = ask("lessons", str(tmp_path / "none.yaml"))
    assert code == 2 and not out and "Give the path of a .yaml file, or the name of a lesson." in err
