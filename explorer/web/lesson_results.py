"""The lessons of this server, and the measured result of a lesson step as the data that the browser shows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from concurrent.futures import Future
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any

from explorer.byte_cache import cached
from explorer.catalogue import model_row, task_row
from explorer.errors import InvalidSetting, shorten
from explorer.hub.suitable import Need, how_to_get, suitable_models
from explorer.lessons import grading, measures, parse
from explorer.lessons.grading import Answer
from explorer.lessons.lesson import MAX_SENTENCE, Lesson, Question, Step, Task
from explorer.run_store import store
from explorer.web import predictions
from explorer.web.background import Pool, submit


@cached()
def all_lessons() -> dict[str, Lesson]:
    """Return every lesson by its name; the server checks their addresses at its start. Raises LessonError."""
    return {lesson.name: lesson for lesson in parse.read_lessons()}


def find_step(name: str, number: int) -> tuple[Lesson, Step]:
    """Return a lesson and its step of this number, counted from 1. Raises InvalidSetting."""
    lesson = all_lessons().get(name)
    if lesson is None:
        raise InvalidSetting(f"There is no lesson “{shorten(name)}”. There is {', '.join(all_lessons())}.")
    if not 1 <= number <= len(lesson.steps):
        raise InvalidSetting(f"“{lesson.title}” has no step {number:,}. It has 1 to {len(lesson.steps)}.")
    return lesson, lesson.steps[number - 1]


def find_part(name: str, number: int) -> Step | Task:
    """Return a step of a lesson; after the last one its task, if it has one. Raises InvalidSetting."""
    lesson = all_lessons().get(name)
    if lesson and number == lesson.closing:
        return lesson.task or lesson.steps[-1]
    return find_step(name, number)[1]


def find_prediction(visitor: str, name: str, number: int) -> object | None:
    """Return a visitor's prediction at a step, or None; one of an earlier question of the step counts as none made."""
    found = predictions.find_prediction(visitor, name, number)
    is_possible = found is None or find_step(name, number)[1].question.accepts(found)
    return found if is_possible else predictions.NO_PREDICTION


def next_lesson(name: str) -> Lesson | None:
    """Return the lesson that follows this one, or None after the last."""
    lessons = list(all_lessons().values())
    return next((later for one, later in pairwise(lessons) if one.name == name), None)


def result_key(name: str, number: int) -> tuple[Hashable, ...]:
    """Return the key of a step's result for `background.submit`; it contains the real model that is measured."""
    need = find_step(name, number)[1].real_model
    card = next(iter(suitable_models(need)), None) if need else None
    return ("lesson", name, number, *((card.name, card.fingerprint) if card else ()))


def result_pool(name: str, number: int) -> Pool:
    """Return the threads for a step's result: a real model takes many seconds."""
    return "patient" if find_step(name, number)[1].real_model else "quick"


def submit_step(name: str, number: int) -> Future[Answer]:
    """Return the future of the measured answer of a step; measure it unless that is done or under way."""
    make = partial(measure_step, name, number)
    return submit(result_key(name, number), make, result_pool(name, number))


def task_key(task: Task, name: str, settings: Mapping[str, str]) -> tuple[Hashable, ...]:
    """Return the key of the result of a lesson's task; it contains the real models that may be measured."""
    need = task.measure.real_model
    models = [(card.name, card.fingerprint) for card in suitable_models(need)] if need else []
    return ("lesson task", name, *sorted(settings.items()), *models)


def task_pool(task: Task) -> Pool:
    """Return the threads for the result of a task; see `result_pool`."""
    return "patient" if task.measure.real_model else "quick"


def missing_model(step: Step) -> str:
    """Return how to get the real model that a step measures; "" if one is open, or if it measures none."""
    return how_to_get(step.real_model) if step.real_model and not suitable_models(step.real_model) else ""


def describe_real_models(lesson: Lesson) -> str:
    """Return which steps of a lesson measure a real model, and how to get a missing one; "" without such steps."""
    sentences = []
    needs: tuple[Need, ...] = ("language model", "encoder")
    for need in needs:
        numbers = [number for number, step in enumerate(lesson.steps, start=1) if step.real_model == need]
        if not numbers:
            continue
        which = "This lesson measures"
        if len(numbers) == 1:
            which = f"Step {numbers[0]} measures"
        elif len(numbers) < len(lesson.steps):
            which = f"Steps {' and '.join(map(str, numbers))} measure"
        cards = suitable_models(need)
        found = f": {cards[0].name}." if cards else f". {how_to_get(need)}"
        sentences.append(f"{which} a real {need}{found}")
    return " ".join(sentences)


def measure_step(name: str, number: int) -> Answer:
    """Measure and return the answer of a step; slow, so call it through `background.submit`. Raises LineageError."""
    return grading.grade_step(find_step(name, number)[1], measures.measure)


def measure_task(name: str, state: Mapping[str, str]) -> grading.TaskResult:
    """Measure the task of a lesson with the state of its page; slow, as `measure_step` is. Raises LineageError."""
    task = all_lessons()[name].task
    assert task is not None, "only a lesson with a task has the part that measures it"
    return grading.check_task(task, state, measures.measure)


def question_data(question: Question) -> dict[str, object]:
    """Return a question as the data that the browser shows."""
    return {
        "text": question.text,
        "choices": [{"name": each.name, "text": each.text} for each in question.choices],
        "scale": asdict(question.scale) if question.scale else None,
        "collects": MAX_SENTENCE if question.collects else 0,
    }


def result_data(
    step: Step, answer: Answer, prediction: object | None, with_prediction: bool = True
) -> dict[str, object]:
    """Return a measured answer as the browser shows it, compared with a prediction unless it is for a teacher."""
    verdict = grading.describe_measurement(step, answer)
    if with_prediction:
        verdict = grading.describe_result(step, answer, prediction)
    return {
        "verdict": verdict,
        "opinion": grading.describe_unexpected_answer(step, answer),
        "why": answer.why,
        "right": list(answer.right),
        "value": answer.value,
        "over": step.measurement.measure.over,
        "axis": asdict(answer.axis),
        "rows": [_row_data(row, answer.style) for row in answer.rows],
        "runs": list(answer.runs),
    }


def _row_data(row: grading.Row, style: grading.NumberStyle) -> dict[str, object]:
    return {
        "title": row.title,
        "values": list(row.values),
        "texts": [style.format(value) for value in row.values],
        "median": style.with_unit(row.median) if row.values else "",
        "labels": list(row.labels),
    }


def setup_data(step: Step) -> dict[str, Any]:
    """Return what a step shows before the prediction: tokens, the networks, and the line of a number."""
    return {
        "tokens": list(step.setup.tokens),
        "marked": list(step.setup.marked),
        "note": step.setup.note,
        "networks": describe_networks(step),
        "scale": asdict(step.question.scale) | {"text": step.question.text} if step.question.scale else None,
    }


def describe_networks(step: Step) -> list[str]:
    """Return a line for each network that the question is about."""
    subjects = step.measurement.subjects if step.measurement.which else step.measurement.subjects[:1]
    if step.real_model:
        return [f"{card.name}, a real {step.real_model}" for card in suitable_models(step.real_model)[:1]]
    names = [str(each.settings["run"]) for each in subjects if "run" in each.settings]
    return list(dict.fromkeys(map(_describe_network, names)))


@cached()
def _describe_network(name: str) -> str:
    run = store.find(name)
    if run.config.model_name == "ngram":
        return f"{model_row(run.config.model).title}, counted on “{task_row(run.config.task).title}”"
    seeds = run.config.replicas
    return (
        f"{model_row(run.config.model).title} with {run.card.parameters:,} parameters, trained on "
        f"“{task_row(run.config.task).title}” with {f'{seeds} seeds' if seeds > 1 else 'one seed'}"
    )
