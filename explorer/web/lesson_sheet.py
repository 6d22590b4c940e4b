"""GET /lesson-sheet/NAME: a lesson as a page to print: questions, empty axes and room for notes.

With `?notes=1` it has the measured answers, the explanations and the notes for teachers.
"""

from __future__ import annotations

from concurrent.futures import TimeoutError as WaitTimeout
from functools import lru_cache
from html import escape
from urllib.parse import urlencode

from markdown_it import MarkdownIt
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from explorer.errors import LineageError
from explorer.lessons.grading import describe_measurement
from explorer.lessons.lesson import Lesson, Scale, Step
from explorer.web import lesson_results

WAIT = 20.0  # seconds for the measured answer of a step, which is usually there already
_markdown = MarkdownIt("commonmark", {"html": False})
_STYLE = """
body { max-width: 720px; margin: 24px auto; padding: 0 16px; color: #1d2327; background: #fff;
  font: 16px/1.45 "Source Sans", "Source Sans 3", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 28px; line-height: 1.2; } h2 { margin: 28px 0 4px; font-size: 20px; }
section { break-inside: avoid; } .box::before { content: "☐ "; } ul.choices { padding-left: 8px; list-style: none; }
.tokens span { display: inline-block; margin: 0 3px 3px 0; padding: 0 6px; border: 1px solid #9aa0a5; }
.tokens .marked { border: 2px solid #1d2327; font-weight: 600; } .small { color: #5b646a; font-size: 14px; }
.answer { padding: 6px 10px; border-left: 3px solid #1d2327; background: #f4f4f1; }
.lines { height: 72px; background: repeating-linear-gradient(#fff 0 23px, #c9c8c2 23px 24px); }
svg { display: block; width: 440px; max-width: 100%; } button { font: inherit; }
@media print { body { margin: 0; max-width: none; } .screen { display: none; } @page { margin: 18mm; } }
"""


def sheet_endpoint(request: Request) -> Response:
    """Return the sheet of a lesson, or a message if there is no such lesson."""
    try:
        lesson, _ = lesson_results.find_step(request.path_params["name"], 1)
    except LineageError as error:
        return HTMLResponse(_document("No such lesson", f"<p>{escape(str(error))}</p>"), 404)
    return HTMLResponse(lesson_sheet(lesson, for_teacher=request.query_params.get("notes") == "1"))


def lesson_sheet(lesson: Lesson, for_teacher: bool) -> str:
    """Return the sheet of a lesson as HTML; for a teacher with answers and notes."""
    parts = [_head(lesson, for_teacher)]
    parts += [_step(lesson, number, for_teacher) for number in range(1, len(lesson.steps) + 1)]
    parts.append(_closing(lesson, for_teacher))
    return _document(lesson.title, "".join(parts))


def _document(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>{body}</body></html>'
    )


@lru_cache(maxsize=512)
def _html(text: str) -> str:
    html: str = _markdown.render(text)
    return html


def _list(texts: tuple[str, ...], css_class: str = "") -> str:
    items = "".join(f'<li class="{css_class}">{escape(text)}</li>' for text in texts)
    return f'<ul class="{"choices" if css_class else "goals"}">{items}</ul>'


def _head(lesson: Lesson, for_teacher: bool) -> str:
    before = [lesson_results.all_lessons()[name].title for name in lesson.after]
    needs = f"Before it: {', '.join(before)}. " if before else ""
    other = f"{lesson.name}{'' if for_teacher else '?notes=1'}"
    link = "Sheet for students" if for_teacher else "Sheet with answers and notes for teachers"
    notes = f'<h2>Notes for teachers</h2><div class="answer">{_html(lesson.notes)}</div>' if for_teacher else ""
    name = "" if for_teacher else '<p class="small">Name: ______________________________  Date: ______________</p>'
    return (
        f'<p class="screen small">Print this page with your browser. <a href="{other}">{link}</a></p>'
        f"<h1>{escape(lesson.title)}</h1>{name}<p>{escape(lesson.about)}</p>"
        f'<p class="small">{escape(needs)}About {lesson.minutes} minutes. '
        f"{escape(lesson_results.describe_real_models(lesson))}</p><h2>Goals</h2>{_list(lesson.goals)}{notes}"
    )


def _step(lesson: Lesson, number: int, for_teacher: bool) -> str:
    step = lesson.steps[number - 1]
    question = step.question
    tokens = "".join(
        f'<span class="{"marked" if i in step.setup.marked else ""}">{escape(token)}</span>'
        for i, token in enumerate(step.setup.tokens)
    )
    shown = (step.setup.note, *lesson_results.describe_networks(step))
    parts = [
        f"<section><h2>{number}. {escape(step.title)}</h2>{_html(step.text)}",
        f'<p class="tokens">{tokens}</p>' if tokens else "",
        *(f'<p class="small">{escape(text)}</p>' for text in shown if text),
        f"<p><b>{escape(question.text)}</b></p>",
        _list(tuple(each.text for each in question.choices), "box") if question.choices else "",
        f"<p>Your prediction: ____________ {escape(question.scale.unit)}</p>" if question.scale else "",
        _axis(question.scale) if question.scale else "",
        _answer(lesson, number, step) if for_teacher else '<p class="small">Why?</p><div class="lines"></div>',
    ]
    return "".join(parts) + "</section>"


def _axis(scale: Scale) -> str:
    ends = "".join(
        f'<line x1="{x}" x2="{x}" y1="24" y2="36" stroke="#1d2327"/>'
        f'<text x="{x}" y="52" font-size="13" text-anchor="middle">{escape(scale.with_unit(f"{value:g}"))}</text>'
        for x, value in ((40, scale.low), (400, scale.high))
    )
    return (
        f'<svg viewBox="0 0 440 58" role="img" aria-label="From {scale.low:g} to {scale.high:g} '
        f'{escape(scale.unit)}"><line x1="40" x2="400" y1="30" y2="30" stroke="#1d2327"/>{ends}</svg>'
    )


def _answer(lesson: Lesson, number: int, step: Step) -> str:
    if missing := lesson_results.missing_model(step):
        return f'<div class="answer"><p>{escape(missing)}</p></div>'
    try:
        answer = lesson_results.submit_step(lesson.name, number).result(timeout=WAIT)
        measured = f"<p><b>{escape(describe_measurement(step, answer))}</b></p><p>{escape(answer.why)}</p>"
    except (LineageError, WaitTimeout):
        measured = "<p>The answer could not be measured in time. Load this page again in a moment.</p>"
    notes = f"<p><i>{escape(step.notes)}</i></p>" if step.notes else ""
    return f'<div class="answer">{measured}{notes}</div>'


def _closing(lesson: Lesson, for_teacher: bool) -> str:
    parts = []
    if lesson.reason:
        choices = tuple(each.text for each in lesson.reason.choices)
        parts.append(
            f"<section><h2>The reason</h2><p><b>{escape(lesson.reason.question)}</b></p>{_list(choices, 'box')}"
        )
        if for_teacher:
            because = "".join(f"<p>{escape(each.text)}: {escape(each.because)}</p>" for each in lesson.reason.choices)
            parts.append(f'<div class="answer">{because}</div>')
        parts.append("</section>")
    if lesson.task:
        parts.append(f"<section><h2>Now change this yourself</h2>{_html(lesson.task.text)}")
        solution = f"/{lesson.task.page}?{urlencode({**lesson.task.state, **lesson.task.solution})}"
        parts.append(
            f'<div class="answer"><p>A solution: <a href="..{escape(solution)}">{escape(solution)}</a></p>'
            f"<p>{escape(lesson.task.done)}</p></div>"
            if for_teacher
            else '<div class="lines"></div>'
        )
        parts.append("</section>")
    if for_teacher:
        parts.append(f"<section><h2>Recap</h2><p>{escape(lesson.recap)}</p></section>")
    return "".join(parts)


ROUTES = [Route("/lesson-sheet/{name:str}", sheet_endpoint)]
