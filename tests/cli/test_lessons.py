"""The command `lessons`."""

from __future__ import annotations

from pathlib import Path

from tests.terminal import RunCommand, parse_json_lines


def test_lessons_are_listed_and_measured(ask: RunCommand) -> None:
    code, out, err = ask("lessons", "--json")
    lessons = parse_json_lines(out)
    assert (code, err) == (0, "") and len(lessons) >= 6
    assert [lesson["name"] for lesson in lessons[:2]] == ["counting", "not-in-english"]
    _, out, _ = ask("lessons")
    assert len(out.splitlines()) == len(lessons) and "5 steps" in out
    code, out, _ = ask("lessons", "window", "--json")
    first = parse_json_lines(out)[0]
    assert code == 0 and first["agrees"] and first["right"] == ["some"] and len(first["measured"]) == 1
    _, out, _ = ask("lessons", "window")
    assert "1. One letter: " in out and "Measured: 6 to 30 (12.1 letters" in out and "As the author expected." in out


LESSON = """\
title: A new lesson
about: It has one step.
minutes: 3
after: [counting]
steps:
  - title: One word
    text: A bag of words reads a sentence.
    page: negation
    state: {models: bag_of_words}
    predict: {question: "What does it answer?", choices: {sustain: Sustain, collapse: Collapse}}
    measure: {name: says, run: negation-single-bag_of_words, sentence: human not preserve nature}
    expects: sustain
    why: One weight for each word.
"""


def test_a_new_file_is_checked_and_measured_and_its_mistakes_are_reported_with_their_lines(
    ask: RunCommand, tmp_path: Path
) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(LESSON, encoding="utf-8")
    code, out, err = ask("lessons", str(file))
    assert (code, err) == (0, "") and "1. One word: What does it answer?" in out and "As the author expected." in out
    for line, changed, message in (
        ("state: {models: bag_of_words}", "state: {modes: rnn}", "line 9: This page has no “modes”"),
        ("state: {models: bag_of_words}", "state: {p_not: 7}", "line 9: p_not = 7"),
        ("after: [counting]", "after: [countings]", "line 1: “after” names a lesson that does not exist"),
        ("minutes: 3", "", "line 1: “minutes” is missing."),
        ("expects: sustain", "expects: maybe", "line 12: there is no choice “maybe”."),
    ):
        file.write_text(LESSON.replace(line, changed), encoding="utf-8")
        code, out, err = ask("lessons", str(file))
        assert code == 2 and not out and f"{tmp_path.name}/new.yaml, {message}" in err
    file = tmp_path / "7-counting.yaml"
    file.write_text(LESSON.replace("after: [counting]", "after: []"), encoding="utf-8")
    assert "another lesson has the same name" in ask("lessons", str(file))[2]
