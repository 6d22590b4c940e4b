"""The card of a class above its page: for the teacher what everybody predicts, for the others the question."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

import segno
import streamlit as st

from explorer.catalogue import page_title
from explorer.ui import classes, lessons
from explorer.ui.classes import NoClass, Room, Stage
from explorer.ui.components import ears, heard, register
from explorer.ui.lesson_card import go, step_text
from explorer.ui.page import EXPLANATION, empty_panel, problems
from explorer.ui.session import around
from explorer.ui.visitors import visitor

_classroom = register("classroom")
_SHOWN = "lineage.class"  # the code of this window's class, and the stage that it was brought to
KEY = "class"


def give_lesson(name: str, place: int) -> None:
    """Show a step of a lesson to this visitor's class."""
    _, step = lessons.step_of(name, place)
    give(Stage(step.page, step.state, (), step.question, name, place))


def give(stage: Stage) -> None:
    """Show something to this visitor's class, which begins if there is none, and go there too."""
    _enter(classes.show(visitor().id, stage))


def _enter(room: Room) -> None:
    """To what the class looks at now."""
    stage = room.stage
    st.session_state[_SHOWN] = (room.code, room.number)
    kept = {name: text for name, text in around().items() if name == "screen"}
    locked = {"lock": ",".join(stage.locked)} if stage.locked and not room.steered_by(visitor()) else {}
    go(stage.page, {**stage.state, **locked, **kept, "class": room.code})


def enter(code: str) -> None:
    """Join a class. Raises NoClass."""
    _enter(classes.find(code))


def here(page: str) -> Room | None:
    """The class that the address names; its window is brought along to where the class is, and stays on its page."""
    code = around().get("class")
    if code is None:
        return None
    try:
        room = classes.find(code)
    except NoClass as error:
        if st.session_state.get(_SHOWN, ("", 0))[0] == code:
            problems(["The class has ended, and whatever was answered in it is gone. The page stays with you."])
        else:
            problems([str(error)])
        return None
    if st.session_state.get(_SHOWN) != (room.code, room.number) or page != room.stage.page:
        _enter(room)
    return room


def way_back() -> None:
    """For whoever wandered off: the class they were in."""
    if "class" in around():
        return  # it has ended, and that has been said
    code, _ = st.session_state.get(_SHOWN, ("", 0))
    if not code:
        return
    try:
        room = classes.find(code)
    except NoClass:
        del st.session_state[_SHOWN]
        return
    if st.button(f"Back to class {room.code}", icon=":material/groups:", key="class.back"):
        _enter(room)


def card(room: Room) -> bool:
    """Draw the card; whether the page may be shown below it."""
    stage, teaches = room.stage, room.steered_by(visitor())
    with st.container(border=True, key="class-card"):
        if stage.lesson:
            lesson, step = lessons.step_of(stage.lesson, stage.step)
            with st.container(width=EXPLANATION):
                st.markdown(f"{lesson.title} · step {stage.step} of {len(lesson.steps)}")
                step_text(step, alone=not room.open)
        elif not room.open:
            st.title(page_title(stage.page), anchor=False)
        _listen(room)
        _classroom(data=_data(room, teaches), key=KEY, **ears(KEY, "moved", "next"))
    if not room.open:
        empty_panel(f"{page_title(stage.page)} opens here with the answer.", 200)
    return room.open


def _listen(room: Room) -> None:
    """The teacher goes on to another step of the lesson; told once."""
    heard(KEY, "moved")  # the class has gone on: this run of the page is what that asks for
    asked = heard(KEY, "next")
    if asked in (-1, 1) and room.steered_by(visitor()) and room.stage.lesson:
        place = room.stage.step + asked
        if 1 <= place <= len(lessons.every()[room.stage.lesson].steps):
            give_lesson(room.stage.lesson, place)


def _data(room: Room, teaches: bool) -> dict[str, object]:
    stage = room.stage
    last = len(lessons.every()[stage.lesson].steps) if stage.lesson else 0
    address = _address(room.code)
    return {
        "code": room.code,
        "number": room.number,
        "open": room.open,
        "teaches": teaches,
        "question": lessons.asked(stage.question) if stage.question else None,
        "lesson": {"step": stage.step, "steps": last} if stage.lesson else None,
        "address": address if teaches else None,
        "qr": _qr(address) if teaches else None,
    }


def _address(code: str) -> str:
    """Where a class finds its page: short enough to be typed."""
    parts = urlsplit(st.context.url or "http://localhost")
    return f"{parts.scheme}://{parts.netloc}/?class={code}"


@lru_cache(maxsize=256)
def _qr(address: str) -> dict[str, object]:
    """The dark modules of a QR code as one path, a unit each, with the quiet zone of four that scanners need."""
    modules = segno.make(address, error="m", micro=False).matrix
    dark = [f"M{x + 4} {y + 4}h1v1h-1z" for y, row in enumerate(modules) for x, module in enumerate(row) if module]
    return {"size": len(modules) + 8, "path": "".join(dark)}
