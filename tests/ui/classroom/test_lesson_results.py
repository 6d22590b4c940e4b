"""Lessons use valid page states, predictions are stored per visitor, and a URL may hide controls."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from types import SimpleNamespace

import pytest

from explorer.catalogue import PAGES, page_file
from explorer.errors import InvalidSetting
from explorer.lessons.parse import FOLDER, read_lesson, read_lessons
from explorer.lessons.yaml_lines import LessonError
from explorer.ui.classroom import share_form
from explorer.ui.state import page_states
from explorer.web import lesson_results
from explorer.web.classes.endpoints import qr_code


def test_every_lesson_uses_valid_page_states() -> None:
    lessons = read_lessons(check_state=page_states.url_problems)
    assert len(lessons) == 16 and all(3 <= len(lesson.steps) <= 7 for lesson in lessons)
    for lesson in lessons:
        assert lesson.goals and lesson.recap and lesson.reason and lesson.notes and lesson.task, lesson.name
    names = [lesson.name for lesson in lessons]
    assert names[0] == "counting"
    numbered = ("counting", "window", "gradients", "look-back", "attention", "temperature", "induction", "word-vectors")
    assert set(numbered) <= set(names), "a released name stays in links"


def test_every_step_leads_to_a_section_or_figure_of_its_page() -> None:
    root = FOLDER.parent
    for lesson in read_lessons():
        for part in filter(None, (*lesson.steps, lesson.task)):
            assert part.section, f"{lesson.name}: a step without a section"
            file = root / "pages" / page_file(part.page)
            sources = [file, *(root / "explorer" / "labs" / file.stem).glob("*.py")]
            text = "".join(each.read_text("utf-8") for each in sources)
            computed = re.findall(r'f"([a-z]+-(?:[a-z]+-)?)\{', text)  # names with a part that is filled in
            is_found = f'"{part.section}"' in text or any(map(part.section.startswith, computed))
            assert is_found, f"{lesson.name}: the page {part.page} has no section or figure “{part.section}”"


def test_sentences_are_collected_for_tasks_about_a_text_of_their_page() -> None:
    tasks = {lesson.name: lesson.task for lesson in read_lessons() if lesson.task and "say" in lesson.task.state}
    assert {"counting", "look-back", "pieces"} <= set(tasks)
    for name, task in tasks.items():
        assert page_states.reads_sentence(task.page) and not re.search(r"[*_`]", task.text.replace("**", "")), name
    assert not page_states.reads_sentence("masks") and not page_states.reads_sentence("runs")


def test_an_invalid_page_state_is_reported() -> None:
    for page, state, words in (
        ("memory", {"who": "gru-cronho"}, "There is no “gru-cronho”"),
        ("memory", {"lenght": "10"}, "This page has no “lenght”"),
        ("negation", {"models": "perceptron"}, "perceptron"),
        ("studio", {"t": "7"}, "Give a number from 0 to 2"),
        ("attention", {"off": "zero"}, "names no heads"),
        ("runs", {"order": "size"}, "it has no row in page_states.py"),
    ):
        (message,) = page_states.url_problems(page, state)
        assert words in message and page_states.url_problems(page, {}) == ()
    assert set(page_states.STATES) <= {row.address for row in PAGES}


def test_an_invalid_page_state_in_a_lesson_is_reported_with_its_line(tmp_path: object) -> None:
    text = (FOLDER / "3-gradients.yaml").read_text()
    path = tmp_path / "3-gradients.yaml"  # type: ignore[operator]
    path.write_text(text.replace("who: lstm-usual,lstm-chrono", "who: lstm-usual,lstm-cronho"))
    line = text[: text.index("who: lstm-usual,lstm-chrono")].count("\n") + 1
    with pytest.raises(LessonError, match=f"3-gradients.yaml, line {line}: There is no “lstm-cronho” on this page"):
        read_lesson(path, page_states.url_problems)


def test_a_missing_lesson_or_step_is_reported() -> None:
    for name, number, words in (("windows", 1, "no lesson “windows”"), ("window", 9, "has no step 9. It has 1 to 5")):
        with pytest.raises(InvalidSetting, match=words):
            lesson_results.find_step(name, number)


def test_hidden_controls_have_the_names_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"lock": "memory-length,nonsense,a b,<b>,memory-symbols"}
    messages: list[str] = []
    styles: list[str] = []
    state = {"memory.length": 1, "memory.symbols--v2": 2, "lineage.page": ""}
    stand_in = SimpleNamespace(session_state=state, container=lambda key: contextlib.nullcontext(), html=styles.append)
    monkeypatch.setattr(share_form, "st", stand_in)
    monkeypatch.setattr(share_form, "shared_url_params", lambda: params)
    monkeypatch.setattr(share_form, "show_problems", messages.extend)
    hidden = share_form.hidden_control_names()
    assert hidden == ("memory-length", "nonsense", "memory-symbols")
    share_form.show_unknown_controls(hidden)
    assert len(messages) == 3 and all(f"“{name}”" in " ".join(messages) for name in ("nonsense", "a b", "<b>"))
    styles.clear()
    share_form.hide_controls(hidden)
    share_form.hide_controls(())
    (style,) = styles
    for name in ("memory-length", "nonsense", "memory-symbols"):
        assert f'.st-key-{name}, [class*="st-key-{name}--v"]' in style, "every version of the widget"
    assert style.endswith("{ display: none !important; }</style>")


def test_an_invalid_lesson_stops_the_server_at_startup(monkeypatch: pytest.MonkeyPatch) -> None:
    import app

    def fail(**_: object) -> None:
        raise LessonError("lessons/1-counting.yaml, line 7: there is no page “negatoin”.")

    async def start() -> None:
        async with app.lifespan(app.app):
            raise AssertionError("it started")

    monkeypatch.setattr(app, "read_lessons", fail)
    monkeypatch.setattr(app.service, "restore", lambda: pytest.fail("it went on"))
    monkeypatch.setattr(sys, "tracebacklimit", 1_000, raising=False)  # the server sets it, and later tests need it
    with pytest.raises(LessonError, match="line 7"):
        asyncio.run(start())


def test_a_qr_code_has_its_quiet_zone_and_only_dark_modules() -> None:
    code = qr_code("http://example.org/?class=ABCDE")
    size, path = code["size"], str(code["path"])
    modules = [tuple(map(int, part.split("h")[0].split())) for part in path.split("M")[1:]]
    assert min(map(min, modules)) == 4 and max(map(max, modules)) == int(str(size)) - 5
    finder = {(x, y) for x, y in modules if x < 11 and y < 11}
    assert {(4 + i, 4) for i in range(7)} <= finder and (5, 5) not in finder and (7, 7) in finder
