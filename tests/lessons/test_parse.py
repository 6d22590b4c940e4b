"""A lesson is parsed completely, and an error in it is reported with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.lessons.parse import placeholder_names, read_lesson, read_lessons
from explorer.lessons.yaml_lines import LessonError

GOOD = """\
title: A lesson
about: What it is about.
minutes: 5
steps:
  - title: First
    text: Read this.
    page: negation
    state: {models: bag_of_words}
    predict:
      question: What does it say?
      choices:
        sustain: It sustains
        collapse: It collapses
    measure:
      name: says
      run: negation-single-bag_of_words
      sentence: human not preserve nature
    expects: sustain
    why: It says {most} in {share} of {seeds}.
  - title: Second
    text: And this.
    page: memory
    predict:
      question: How many?
      number: {low: 0, high: 8, step: 1, unit: seeds}
    measure:
      name: solved
      of:
        one: {title: RNN, run: recall-50-rnn-usual}
        other: {title: LSTM, run: recall-50-lstm-usual}
    expects: {from: 0, to: 3}
    why: The first has {one_value}, the other {other_value}.
"""


def write_lesson(folder: Path, text: str, name: str = "1-first.yaml") -> Path:
    (folder / "lessons").mkdir(exist_ok=True)
    path = folder / "lessons" / name
    path.write_text(text)
    return path


def test_all_fields_of_a_lesson_are_parsed(tmp_path: Path) -> None:
    checked: list[tuple[str, dict[str, str]]] = []
    lesson = read_lesson(write_lesson(tmp_path, GOOD), lambda page, state: checked.append((page, dict(state))) or ())
    assert (lesson.name, lesson.title, lesson.minutes, len(lesson.steps)) == ("first", "A lesson", 5, 2)
    first, second = lesson.steps
    assert checked[-1] == (first.page, first.state) == ("negation", {"models": "bag_of_words"})
    assert [(each.name, each.text) for each in first.question.choices] == [
        ("sustain", "It sustains"),
        ("collapse", "It collapses"),
    ]
    assert (first.expects, first.line, first.measurement.measure.name) == ("sustain", 5, "says")
    assert second.question.scale is not None and second.question.scale.format(3.0) == "3 seeds"
    assert [each.title for each in second.measurement.subjects] == ["RNN", "LSTM"]
    assert (second.expects, second.state) == ((0, 3), {})
    assert set(placeholder_names(second.measurement)) >= {"value", "low", "high", "seeds", "one_value", "other_seeds"}


INVALID = [
    ("page: negation", "page: negatoin"),
    ("    page: negation\n", ""),
    ("    expects: sustain\n", ""),
    ("    why: It says", "    because: It says"),
    ("title: A lesson\n", "title: A lesson\ntitle: Again\n"),
    ("title: A lesson\n", "title:\n"),
    ("minutes: 5", "minutes: five"),
    ("minutes: 5", "minutes: 500"),
    ("name: says", "name: shouts"),
    ("run: negation-single-bag_of_words", "run: negation-tripple-rnn"),
    ("run: negation-single-bag_of_words", "run: reverse-vector"),
    ("      sentence: human not preserve", "      sentence: human not protect nature"),
    ("      sentence: human", "      phrase: human"),
    ("      sentence: human not preserve nature\n", ""),
    ("        collapse: It collapses\n", ""),
    ("        collapse: It", "        Col lapse: It"),
    ("        collapse: It", "        breaks: It"),
    ("expects: sustain", "expects: both"),
    ("{share}", "{mean}"),
    ("{share}", "{share"),
    ("low: 0, high: 8", "low: 8, high: 8"),
    ("step: 1", "step: 0"),
    ("{from: 0, to: 3}", "{from: 9, to: 12}"),
    ("      number: {low", "      choice: {low"),
    ("      number: {low: 0, high: 8, step: 1, unit: seeds}\n", ""),
    ("run: recall-50-lstm-usual", "run: recall-50-lstm-usual, step: 3"),
    ("state: {models: bag_of_words}", "state: nothing"),
    ("state: {models: bag_of_words}", "state: {modls: x}"),
    ("steps:\n", "steps: [\n"),
    (GOOD, ""),
    (GOOD, "- a list\n"),
    (GOOD, GOOD[: GOOD.index("  - title: First")] + "  []\n"),
]


def test_an_invalid_lesson_is_reported_with_file_and_line(tmp_path: Path, snapshot: object) -> None:
    def check(page: str, state: object) -> tuple[str, ...]:
        return ("The page says no to modls.",) if "modls" in state else ()  # type: ignore[operator]

    messages = []
    for old, new in INVALID:
        assert old in GOOD
        with pytest.raises(LessonError) as error:
            read_lesson(write_lesson(tmp_path, GOOD.replace(old, new, 1)), check)
        messages.append(str(error.value))
    assert messages == snapshot


RANGES = """\
      question: How many?
      choices:
        few: {text: Few, below: 2}
        many: {text: Many, from: 2}
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("from: 2", "from: 3", "leave a gap or overlap"),
        (", from: 2", "", "give each choice “from”, “below” or both"),
        (", below: 2", ", from: 1, below: 2", "leave a gap or overlap"),
        ("below: 2", "from: 2, below: 2", "the range between 2 and 2 is empty"),
    ],
)
def test_ranges_contain_every_number_exactly_once(tmp_path: Path, old: str, new: str, words: str) -> None:
    start, _, rest = GOOD.partition("      question: How many?\n")
    _, _, end = rest.partition("    measure:")
    text = (start + RANGES + "    measure:" + end).replace("{from: 0, to: 3}", "few")
    assert read_lesson(write_lesson(tmp_path, text)).steps[1].expects == "few"
    with pytest.raises(LessonError, match=words):
        read_lesson(write_lesson(tmp_path, text.replace(old, new)))


def test_a_comparison_needs_one_choice_for_each_subject(tmp_path: Path) -> None:
    text = GOOD.replace("      name: solved\n", "      name: solved\n      which: highest\n")
    with pytest.raises(LessonError, match="“which” needs one choice for each"):
        read_lesson(write_lesson(tmp_path, text))
    with pytest.raises(LessonError, match="Give highest or lowest"):
        read_lesson(write_lesson(tmp_path, text.replace("highest", "best")))


def test_lessons_are_in_file_order_with_unique_names(tmp_path: Path) -> None:
    write_lesson(tmp_path, GOOD, "2-second.yaml")
    write_lesson(tmp_path, GOOD, "1-first.yaml")
    assert [each.name for each in read_lessons(tmp_path / "lessons")] == ["first", "second"]
    write_lesson(tmp_path, GOOD, "3-first.yaml")
    with pytest.raises(LessonError, match=r"3-first.yaml, line 1: another lesson"):
        read_lessons(tmp_path / "lessons")
    with pytest.raises(LessonError, match="small letters"):
        read_lesson(write_lesson(tmp_path, GOOD, "1 First.yaml"))
    with pytest.raises(LessonError, match="not UTF-8 text"):
        path = write_lesson(tmp_path, GOOD, "4-fourth.yaml")
        path.write_bytes(b"\xff\xfe\x00")
        read_lesson(path)


CLOSING = """\
goals: [Explain this.]
recap: That.
reason:
  question: Why?
  choices:
    a: {text: A, because: Right.}
    b: {text: B, because: No.}
  right: a
task:
  text: Do this.
  page: gates
  state: {f: "0.5"}
  measure: {name: left, gate: $f}
  goal: {from: 0.5}
  solution: {f: "0.99"}
  done: Well done.
"""


def test_the_end_of_a_lesson_is_parsed(tmp_path: Path) -> None:
    lesson = read_lesson(write_lesson(tmp_path, GOOD + CLOSING))
    assert lesson.reason is not None and lesson.task is not None and lesson.closing == 3
    assert [each.because for each in lesson.reason.choices] == ["Right.", "No."]
    assert (lesson.task.settings, lesson.task.goal.low) == ({"gate": "$f"}, 0.5)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("right: a", "right: c", "no choice “c”"),
        ("gate: $f", "gate: $g", "The page has no “g” yet"),
        ('f: "0.99"', 'f: "7"', "gate = 7 is not possible"),
        ("goal: {from: 0.5}", "goal: {}", "“from”, “below” or both"),
        ("page: gates", "page: gate", "there is no page “gate”"),
    ],
)
def test_an_invalid_end_is_reported(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in CLOSING
    with pytest.raises(LessonError, match=words):
        read_lesson(write_lesson(tmp_path, GOOD + CLOSING.replace(old, new)))


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ("{state: say}", "has no field “say”"),
        ("{tokens: a b, marked: 3}", "there is no token 3"),
        ("{words: a b}", "“words” is unknown here"),
    ],
)
def test_an_invalid_setup_is_reported(tmp_path: Path, setup: str, words: str) -> None:
    page = "    page: memory\n"
    with pytest.raises(LessonError, match=words):
        read_lesson(write_lesson(tmp_path, GOOD.replace(page, f"{page}    setup: {setup}\n")))
    good = GOOD.replace(page, f"{page}    setup: {{tokens: a b, marked: 2}}\n    section: one\n")
    step = read_lesson(write_lesson(tmp_path, good)).steps[1]
    assert (step.setup.tokens, step.setup.marked, step.section) == (("a", "b"), (1,), "one")


def test_a_lesson_stands_behind_those_that_it_needs(tmp_path: Path) -> None:
    write_lesson(tmp_path, GOOD + "after: [second, tenth]\n", "1-first.yaml")
    write_lesson(tmp_path, GOOD, "2-second.yaml")
    write_lesson(tmp_path, GOOD, "10-tenth.yaml")
    assert [each.name for each in read_lessons(tmp_path / "lessons")] == ["second", "tenth", "first"]
    write_lesson(tmp_path, GOOD + "after: [first]\n", "2-second.yaml")
    with pytest.raises(LessonError, match="“after” names a lesson that does not exist or that needs this one: "):
        read_lessons(tmp_path / "lessons")
