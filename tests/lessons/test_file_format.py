"""The format of lesson files: the reference is up to date, and every entry that the lessons use stands in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import explorer
from benchmarks import teachers
from benchmarks.lesson_format import FILE, reference
from explorer.lessons.file_format import LESSON, PARTS, STEP, TASK, Part
from explorer.lessons.measures import MEASURES
from explorer.lessons.parse import read_lessons
from explorer.lessons.plans import PERIODS, format_plan
from explorer.program_files import LESSONS

EXPLORER = Path(explorer.__file__).parent
SOURCES = (".py", ".js")


def test_the_reference_is_that_of_the_program() -> None:
    assert FILE.read_text(encoding="utf-8") == reference(), "write it again: python -m benchmarks.lesson_format"


def test_every_part_and_every_measure_is_described_and_linked() -> None:
    text = reference()
    headings = {line.lstrip("#").strip() for line in text.splitlines() if line.startswith("##")}
    assert {part.title for part in PARTS} | set(MEASURES) <= headings
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(#(.+?)\)", text)
    assert set(links) <= anchors
    assert {part.title.lower().replace(" ", "-") for part in PARTS[1:]} == set(links), "a part that nothing leads to"


def assert_is_described(found: dict[str, Any], part: Part) -> None:
    assert {entry.name for entry in part.entries if entry.required} <= set(found) <= set(part.names)


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_lesson_has_the_entries_of_the_reference(path: Any) -> None:
    lesson = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert_is_described(lesson, LESSON)
    for step in lesson["steps"]:
        assert_is_described(step, STEP)
    if "task" in lesson:
        assert_is_described(lesson["task"], TASK)


def test_the_page_for_teachers_has_every_lesson_and_plan_and_names_only_buttons_that_exist() -> None:
    text = teachers.FILE.read_text(encoding="utf-8")
    assert text == teachers.reference(), "write it again: python -m benchmarks.teachers"
    lessons = {lesson.name: lesson for lesson in read_lessons()}
    for lesson in lessons.values():
        assert f"| {lesson.minutes} min |" in next(line for line in text.splitlines() if f"| `{lesson.name}` |" in line)
    for minutes in PERIODS:
        taught: set[str] = set()
        for line in format_plan(lessons, minutes).splitlines()[2:]:
            planned = {each.title: each for each in lessons.values() if f"{each.title} ({each.minutes})" in line}
            total = int(line.split()[1])
            assert total == sum(each.minutes for each in planned.values()) < minutes
            needed = {lessons[name].title for each in planned.values() for name in each.after} - set(planned)
            assert needed <= taught and all(title in line.partition("Needed before")[2] for title in needed)
            taught |= set(planned)
        assert taught == {each.title for each in lessons.values() if not each.needs_real_model}
    folders = (EXPLORER / "ui", EXPLORER / "static" / "components")
    source = "".join(
        file.read_text("utf-8") for folder in folders for file in folder.rglob("*") if file.suffix in SOURCES
    )
    page = (EXPLORER.parent / "pages" / "lessons.py").read_text("utf-8")
    buttons = set(re.findall(r"(?<![*|])\*([A-Z][^*]+)\*(?!\*)", text.replace("\n", " "))) | {
        *re.findall(r"\*\*([A-Z][^*]+)\*\*", page)
    }
    assert len(buttons) > 9 and {each for each in buttons if f'"{each}"' not in source} == set()
