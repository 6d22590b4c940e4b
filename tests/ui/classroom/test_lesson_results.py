"""Every lesson names states that its pages take; predictions are a visitor's own; an address may hide controls."""

from __future__ import annotations

import asyncio

import pytest

from explorer.catalogue import PAGES
from explorer.errors import InvalidSetting
from explorer.lessons.parse import FOLDER, read_lesson, read_lessons
from explorer.lessons.yaml_lines import LessonError
from explorer.ui.classroom import hidden_controls, lesson_card
from explorer.ui.state import page_states
from explorer.web import lesson_results, prediction_store


def test_every_lesson_stands_on_pages_as_they_are() -> None:
    found = read_lessons(check_state=page_states.url_problems)
    assert len(found) >= 6 and all(4 <= len(each.steps) <= 6 for each in found)
    titles = [each.title for each in found]
    assert titles[:6] == [
        "What counting cannot know",
        "A window is not a memory",
        "Why gradients vanish, and what an open gate does",
        "The bottleneck and the look back",
        "Attention from the inside",
        "Temperature and taste",
    ]


@pytest.mark.parametrize(
    ("page", "state", "words"),
    [
        ("memory", {"who": "gru-cronho"}, "There is no “gru-cronho”"),
        ("memory", {"lenght": "10"}, "This page has no “lenght”"),
        ("negation", {"models": "perceptron"}, "perceptron"),
        ("studio", {"t": "7"}, "Give a number from 0 to 2"),
        ("attention", {"off": "zero"}, "names no heads"),
        ("runs", {"order": "size"}, "it has no row in page_states.py"),
    ],
)
def test_a_state_that_a_page_does_not_take_is_said(page: str, state: dict[str, str], words: str) -> None:
    (said,) = page_states.url_problems(page, state)
    assert words in said
    assert page_states.url_problems(page, {}) == ()


def test_a_bad_state_in_a_lesson_has_its_line(tmp_path: object) -> None:
    text = (FOLDER / "3-gradients.yaml").read_text()
    path = tmp_path / "3-gradients.yaml"  # type: ignore[operator]
    path.write_text(text.replace("who: lstm-usual,lstm-chrono", "who: lstm-usual,lstm-cronho"))
    line = text[: text.index("who: lstm-usual,lstm-chrono")].count("\n") + 1
    with pytest.raises(LessonError, match=f"3-gradients.yaml, line {line}: There is no “lstm-cronho” on this page"):
        read_lesson(path, page_states.url_problems)


def test_every_page_with_a_row_is_one() -> None:
    assert set(page_states.STATES) <= {row.address for row in PAGES}


def test_a_step_that_is_not_there_is_said() -> None:
    for name, place, words in (("windows", 1, "no lesson “windows”"), ("window", 9, "has no step 9. It has 1 to 5")):
        with pytest.raises(InvalidSetting, match=words):
            lesson_results.find_step(name, place)


def test_what_still_asks_for_a_step_that_was_left_does_not_lead_back_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[str] = []
    state: dict[str, object] = {}
    monkeypatch.setattr(lesson_card.st, "session_state", state)
    monkeypatch.setattr(lesson_card.st, "switch_page", lambda file, **given: gone.append(file))
    monkeypatch.setattr(lesson_card, "open_step", lambda name, number: gone.append(f"{name} {number}"))
    monkeypatch.setattr(lesson_card, "shared_url_params", lambda: {"lesson": "window", "part": "5"})
    lesson_card._leave_lesson()
    monkeypatch.setattr(lesson_card, "shared_url_params", dict)
    lesson_card._ignore_stale_step(("window", "4"))
    assert gone == ["lessons.py"]
    monkeypatch.setattr(lesson_card.time, "monotonic", lambda: 100.0)
    lesson_card._ignore_stale_step((None, None))
    lesson_card._ignore_stale_step(("window", "5"))
    assert gone == ["lessons.py"] * 2, "an echo"
    monkeypatch.setattr(lesson_card.time, "monotonic", lambda: 102.0)
    lesson_card._ignore_stale_step(("window", "5"))
    assert gone == ["lessons.py"] * 2, "somebody went back"


def test_predictions_are_a_visitors_own_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    prediction_store.reset()
    monkeypatch.setattr(prediction_store, "_MAX_PREDICTIONS", 2)
    prediction_store.store_prediction("ada", "window", 1, 12)
    prediction_store.store_prediction("bob", "window", 1, prediction_store.NO_PREDICTION)
    assert (
        prediction_store.find_prediction("ada", "window", 1) == 12
        and prediction_store.find_prediction("eve", "window", 1) is None
    )
    prediction_store.store_prediction("eve", "window", 1, 3)
    assert prediction_store.find_prediction("ada", "window", 1) is None, "the oldest makes room"
    prediction_store.delete_prediction("eve", "window", 1)
    prediction_store.delete_prediction("eve", "window", 1)
    assert prediction_store.find_prediction("eve", "window", 1) is None


def test_hidden_controls_are_named_as_the_page_does(monkeypatch: pytest.MonkeyPatch) -> None:
    address = {"lock": "memory-length,nonsense,a b,<b>,memory-symbols"}
    monkeypatch.setattr(hidden_controls, "shared_url_params", lambda: address)
    monkeypatch.setattr(
        hidden_controls.st, "session_state", {"memory.length": 1, "memory.symbols": 2, "lineage.page": ""}
    )
    locked = hidden_controls.hidden_control_names()
    assert locked == ("memory-length", "nonsense", "memory-symbols")
    said = hidden_controls.unknown_control_messages(locked)
    assert len(said) == 3 and all(f"“{name}”" in " ".join(said) for name in ("nonsense", "a b", "<b>"))
    shown: list[str] = []
    monkeypatch.setattr(hidden_controls.st, "html", shown.append)
    hidden_controls.hide_controls(locked)
    hidden_controls.hide_controls(())
    assert shown == [
        "<style>.st-key-memory-length, .st-key-nonsense, .st-key-memory-symbols { display: none !important; }</style>"
    ]


def test_a_bad_lesson_stops_the_start_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import app

    def bad(**_: object) -> None:
        raise LessonError("lessons/1-counting.yaml, line 7: there is no page “negatoin”.")

    async def start() -> None:
        async with app.lifespan(app.app):
            raise AssertionError("it started")

    monkeypatch.setattr(app, "read_lessons", bad)
    monkeypatch.setattr(app.service, "restore", lambda: pytest.fail("it went on"))
    with pytest.raises(LessonError, match="line 7"):
        asyncio.run(start())
