"""Plans for teachers: which lessons fill a period at school, made from the lesson files."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.lessons.lesson import Lesson

PERIODS = (45, 90)  # minutes


def format_plan(lessons: Mapping[str, Lesson], minutes: int) -> str:
    """Return all lessons, in their order, as a Markdown table of periods of so many minutes.

    A ninth of a period is left for joining the class. Lessons that only measure real models are left out.
    """
    periods: list[list[Lesson]] = [[]]
    for lesson in lessons.values():
        if not lesson.needs_real_model:
            if lesson.minutes + sum(each.minutes for each in periods[-1]) > minutes * 8 // 9:
                periods.append([])
            periods[-1].append(lesson)
    rows = [f"| period of {minutes} min | lessons | minutes | lessons needed before |", "| --- | --- | --- | --- |"]
    for number, period in enumerate(periods, start=1):
        before = dict.fromkeys(name for each in period for name in each.after if lessons[name] not in period)
        needs = "; ".join(lessons[name].title for name in before) or "none"
        titles = "; ".join(f"{each.title} ({each.minutes})" for each in period)
        rows.append(f"| {number} | {titles} | {sum(each.minutes for each in period)} | {needs} |")
    return "\n".join(rows)
