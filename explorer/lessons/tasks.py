"""Check the task of a lesson: measure it with the settings that a visitor has made on the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median, mode

from explorer.lessons.grading import MeasureFunction, number_style
from explorer.lessons.lesson import Axis, Task
from explorer.lessons.parse import fill_settings


@dataclass(frozen=True)
class TaskResult:
    """What a task measured, and whether its goal is reached."""

    is_done: bool
    text: str


def check_task(task: Task, state: Mapping[str, str], measure_function: MeasureFunction) -> TaskResult:
    """Measure a task with the state of its page (texts by field). Raises LineageError."""
    settings = task.measure.parse_settings(fill_settings(task.settings, state))
    values = measure_function(task.measure.name, settings)
    if task.measure.labels:
        label = mode(map(str, values))
        return TaskResult(task.goal.is_reached(label), f"With your settings the answer is “{label}”.")
    value = task.times * median(map(float, values))
    edges = [edge for edge in (task.goal.low, task.goal.high) if edge is not None]
    style = number_style([value, *edges], Axis(unit=task.unit))
    over = f" (the median over {len(values)} {task.measure.over})" if len(values) > 1 else ""
    measured = f"With your settings it is {style.with_unit(value)}{over}."
    if task.goal.is_reached(value):
        return TaskResult(True, measured)
    if task.goal.low is not None and value < task.goal.low:
        return TaskResult(False, f"{measured} The goal is at least {style.with_unit(task.goal.low)}.")
    assert task.goal.high is not None
    return TaskResult(False, f"{measured} The goal is less than {style.with_unit(task.goal.high)}.")
