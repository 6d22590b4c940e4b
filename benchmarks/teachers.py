"""Writes the tables of docs/teachers.md from the lesson files: the lessons, and the plans for teachers.

python -m benchmarks.teachers
"""

from __future__ import annotations

import re
from pathlib import Path

from explorer.catalogue import page_title
from explorer.lessons.lesson import Lesson
from explorer.lessons.parse import read_lessons
from explorer.lessons.plans import PERIODS, format_plan

FILE = Path(__file__).parents[1] / "docs" / "teachers.md"


def _row(lesson: Lesson) -> str:
    pages = ", ".join(page_title(page) for page in dict.fromkeys(step.page for step in lesson.steps))
    needs = ", ".join(f"`{name}`" for name in lesson.after)
    title = lesson.title + " (a real model)" * lesson.needs_real_model
    return f"| {title} | {pages} | {len(lesson.steps)} | {lesson.minutes} min | {needs} | `{lesson.name}` |"


def reference() -> str:
    """Return the content of docs/teachers.md with its tables written anew."""
    lessons = {lesson.name: lesson for lesson in read_lessons()}
    head = "| lesson | page | steps | time | after | name |\n| --- | --- | --- | --- | --- | --- |"
    tables = {
        "lessons": "\n".join([head, *map(_row, lessons.values())]),
        "plans": "\n\n".join(format_plan(lessons, minutes) for minutes in PERIODS),
    }
    return re.sub(
        r"(<!-- (lessons|plans)[^>]*-->\n).*?(?=\n<!-- end -->)",
        lambda found: found[1] + tables[found[2]],
        FILE.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    FILE.write_text(reference(), encoding="utf-8")
