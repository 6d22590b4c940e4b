"""The format of lesson files: the reference is up to date, and every entry that the lessons use stands in it."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from benchmarks.lesson_format import FILE, reference
from explorer.lessons.file_format import LESSON, PARTS, STEP, TASK, Part
from explorer.lessons.measures import MEASURES
from explorer.program_files import LESSONS


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
