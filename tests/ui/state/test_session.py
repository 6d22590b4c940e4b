"""Which addresses are a visitor's wish, and which are only late."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from explorer.ui.state import session as sessions
from explorer.ui.state.session import PageSession, bind_widget, follow_url, record_page_drawn


@dataclass(frozen=True)
class Desk:
    """A page with two things to choose."""

    left: str = "none"
    right: str = "none"


class Params(dict[str, str]):
    """Streamlit's query parameters, as far as they are used here."""

    def to_dict(self) -> dict[str, str]:
        return dict(self)

    def from_dict(self, new: dict[str, str]) -> None:
        self.clear()
        self.update(new)


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> Iterator[Params]:
    """The address bar of a visitor who stays on the page; time stands still unless a test moves it."""

    class Streamlit:
        query_params = Params()
        session_state: ClassVar[dict[str, Any]] = {"lineage.stayed": True}

    now = [100.0]
    monkeypatch.setattr(sessions, "st", Streamlit)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    Streamlit.query_params.now = now  # type: ignore[attr-defined]
    yield Streamlit.query_params


def opened() -> PageSession[Desk]:
    """The page as it is first seen."""
    session = PageSession(Desk())
    follow_url(session)
    return session


def gesture(session: PageSession[Desk], bar: Params, sent: dict[str, str], **change: str) -> None:
    """A widget's change, from a browser whose address is `sent`; then a run of the page to its end."""
    bar.from_dict(sent)
    session.change(lambda desk: replace(desk, **change))
    follow_url(session)
    record_page_drawn()


def test_two_quick_gestures_both_count_though_the_second_brings_the_address_from_before_the_first(bar: Params) -> None:
    session = opened()
    gesture(session, bar, {}, left="a")
    gesture(session, bar, {}, right="b")
    assert session.state == Desk("a", "b")
    assert bar == {"left": "a", "right": "b"}


def test_back_is_a_wish_once_the_browser_has_shown_the_new_address(bar: Params) -> None:
    session = opened()
    gesture(session, bar, {}, left="a")
    gesture(session, bar, {"left": "a"}, right="b")
    bar.now[0] += 5  # type: ignore[attr-defined]
    bar.from_dict({"left": "a"})
    follow_url(session)
    assert session.state == Desk("a")
    bar.from_dict({})  # and at once further back
    follow_url(session)
    assert session.state == Desk()


def test_an_address_that_this_page_never_had_is_always_a_wish(bar: Params) -> None:
    session = opened()
    gesture(session, bar, {}, left="a")
    bar.from_dict({"right": "z"})
    follow_url(session)
    assert session.state == Desk("none", "z")


def test_while_the_page_is_still_drawn_an_old_address_is_late_however_long_that_takes(bar: Params) -> None:
    session = opened()
    record_page_drawn()
    bar.now[0] += 60  # type: ignore[attr-defined]
    session.change(lambda desk: replace(desk, left="a"))
    follow_url(session)  # and the run is broken off by the next gesture
    bar.now[0] += 7  # type: ignore[attr-defined]
    gesture(session, bar, {}, right="b")
    assert session.state == Desk("a", "b")


def test_what_a_widget_held_before_is_an_echo_until_the_browser_was_shown_the_new_value(bar: Params) -> None:
    session = opened()

    def drawn() -> None:
        follow_url(session)
        bind_widget(session, "left", session.state.left, lambda desk, new: replace(desk, left=new))

    def sent(value: str) -> None:
        sessions.st.session_state["left"] = value
        bind_widget(session, "left", value, lambda desk, new: replace(desk, left=new))["on_change"]()

    drawn()
    record_page_drawn()
    session.change(lambda desk: replace(desk, left="a"))
    drawn()  # a run that takes long, and is broken off by the next gesture
    bar.now[0] += 60  # type: ignore[attr-defined]
    sent("none")
    assert session.state == Desk("a")
    drawn()
    record_page_drawn()
    record_page_drawn()  # a part of it once more: the moment began when the page was drawn first
    bar.now[0] += 0.5  # type: ignore[attr-defined]
    sent("none")
    assert session.state == Desk("a")
    drawn()
    record_page_drawn()
    bar.now[0] += 5  # type: ignore[attr-defined]
    sent("none")
    assert session.state == Desk("none")


def test_where_drawing_took_long_an_echo_may_come_later_whatever_part_is_drawn_meanwhile(bar: Params) -> None:
    session = opened()
    record_page_drawn()
    bind_widget(session, "left", "none", lambda desk, new: replace(desk, left=new))
    session.change(lambda desk: replace(desk, left="a"))
    sessions.record_page("desk")
    tie = bind_widget(session, "left", "a", lambda desk, new: replace(desk, left=new))["on_change"]
    bar.now[0] += 2  # type: ignore[attr-defined]
    record_page_drawn()
    bar.now[0] += 0.5  # type: ignore[attr-defined]
    record_page_drawn()  # a part alone
    for late, state in ((4.5, "a"), (2.0, "none")):
        bar.now[0] += late  # type: ignore[attr-defined]
        sessions.st.session_state["left"] = "none"
        tie()
        assert session.state == Desk(state)
