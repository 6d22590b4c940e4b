"""Plans for teachers: which lessons fill a period at school, made from the lesson files."""

from __future__ import annotations

from collections.abc import Mapping

from explorer.lessons.lesson import Lesson

PERIODS = (45, 90)  # minutes


def format_plan(lessons: Mapping[str, Lesson], minutes: int) -> str:
    """Return all lessons, in their order, as a Markdown list of periods of so many minutes.

    A ninth of a period is left for joining the class. Lessons that only measure real models are left out.
    """
    periods: list[list[Lesson]] = [[]]
    for lesson in lessons.values():
        if not lesson.needs_real_model:
            if lesson.minutes + sum(each.minutes for each in periods[-1]) > minutes * 8 // 9:
                periods.append([])
            periods[-1].append(lesson)
    lines = [f"Periods of {minutes} minutes:\n"]
    for number, period in enumerate(periods, start=1):
        before = dict.fromkeys(name for each in period for name in each.after if lessons[name] not in period)
        needs = f" Needed before: {'; '.join(lessons[name].title for name in before)}." if before else ""
        titles = "; ".join(f"{each.title} ({each.minutes})" for each in period)
        lines.append(f"{number}. {sum(each.minutes for each in period)} minutes: {titles}.{needs}")
    return "\n".join(lines)
