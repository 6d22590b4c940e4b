"""The command `lessons`."""

from __future__ import annotations

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
