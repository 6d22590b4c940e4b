"""URLs and widget values of a request are either navigation by the visitor or stale, and stale ones are ignored."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from explorer.ui.state import session as sessions
from explorer.ui.state.session import PageSession, bind_widget, follow_url, record_page_drawn


@dataclass(frozen=True)
class TwoSettings:
    """The state of a page with two settings."""

    left: str = "none"
    right: str = "none"


class Params(dict[str, str]):
    """A stand-in for Streamlit's query parameters."""

    def to_dict(self) -> dict[str, str]:
        return dict(self)

    def from_dict(self, new: dict[str, str]) -> None:
        self.clear()
        self.update(new)


@pytest.fixture
def bar(monkeypatch: pytest.MonkeyPatch) -> Iterator[Params]:
    """Yield the URL parameters of a visitor who stays on the page; the clock moves only if a test moves `now`."""

    class Streamlit:
        query_params = Params()
        session_state: ClassVar[dict[str, Any]] = {"lineage.stayed": True}

    now = [100.0]
    monkeypatch.setattr(sessions, "st", Streamlit)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    Streamlit.query_params.now = now  # type: ignore[attr-defined]
    yield Streamlit.query_params


def open_page() -> PageSession[TwoSettings]:
    """Return the session after the first run of the page."""
    session = PageSession(TwoSettings())
    follow_url(session)
    return session


def change_setting(session: PageSession[TwoSettings], bar: Params, url: dict[str, str], **change: str) -> None:
    """Change settings by a widget in a browser that still sends `url`, then run the page to its end."""
    bar.from_dict(url)
    session.change(lambda state: replace(state, **change))
    follow_url(session)
    record_page_drawn()


def test_a_second_quick_change_with_a_stale_url_keeps_the_first_change(bar: Params) -> None:
    session = open_page()
    change_setting(session, bar, {}, left="a")
    change_setting(session, bar, {}, right="b")
    assert session.state == TwoSettings("a", "b")
    assert bar == {"left": "a", "right": "b"}


def test_an_earlier_url_is_navigation_once_it_can_no_longer_be_stale(bar: Params) -> None:
    session = open_page()
    change_setting(session, bar, {}, left="a")
    change_setting(session, bar, {"left": "a"}, right="b")
    bar.now[0] += 5  # type: ignore[attr-defined]
    bar.from_dict({"left": "a"})
    follow_url(session)
    assert session.state == TwoSettings("a")
    bar.from_dict({})  # and immediately one further step back
    follow_url(session)
    assert session.state == TwoSettings()


def test_a_url_that_the_page_never_wrote_is_always_navigation(bar: Params) -> None:
    session = open_page()
    change_setting(session, bar, {}, left="a")
    bar.from_dict({"right": "z"})
    follow_url(session)
    assert session.state == TwoSettings("none", "z")


def test_an_earlier_url_is_stale_until_the_page_is_fully_drawn(bar: Params) -> None:
    session = open_page()
    record_page_drawn()
    bar.now[0] += 60  # type: ignore[attr-defined]
    session.change(lambda state: replace(state, left="a"))
    follow_url(session)  # the next change interrupts this run
    bar.now[0] += 7  # type: ignore[attr-defined]
    change_setting(session, bar, {}, right="b")
    assert session.state == TwoSettings("a", "b")


def test_a_previous_widget_value_is_stale_until_the_page_is_fully_drawn(bar: Params) -> None:
    session = open_page()

    def draw() -> None:
        follow_url(session)
        bind_widget(session, "left", session.state.left, lambda state, new: replace(state, left=new))

    def send_value(value: str) -> None:
        sessions.st.session_state["left"] = value
        bind_widget(session, "left", value, lambda state, new: replace(state, left=new))["on_change"]()

    draw()
    record_page_drawn()
    session.change(lambda state: replace(state, left="a"))
    draw()  # a long run that the next change interrupts
    bar.now[0] += 60  # type: ignore[attr-defined]
    send_value("none")
    assert session.state == TwoSettings("a")
    draw()
    record_page_drawn()
    record_page_drawn()  # a fragment rerun does not restart the time limit
    bar.now[0] += 0.5  # type: ignore[attr-defined]
    send_value("none")
    assert session.state == TwoSettings("a")
    draw()
    record_page_drawn()
    bar.now[0] += 5  # type: ignore[attr-defined]
    send_value("none")
    assert session.state == TwoSettings("none")


def test_after_a_long_run_a_widget_value_is_stale_for_longer(bar: Params) -> None:
    session = open_page()
    record_page_drawn()
    bind_widget(session, "left", "none", lambda state, new: replace(state, left=new))
    session.change(lambda state: replace(state, left="a"))
    sessions.record_page("page")
    on_change = bind_widget(session, "left", "a", lambda state, new: replace(state, left=new))["on_change"]
    bar.now[0] += 2  # type: ignore[attr-defined]
    record_page_drawn()
    bar.now[0] += 0.5  # type: ignore[attr-defined]
    record_page_drawn()  # a fragment rerun
    for delay, expected in ((4.5, "a"), (2.0, "none")):
        bar.now[0] += delay  # type: ignore[attr-defined]
        sessions.st.session_state["left"] = "none"
        on_change()
        assert session.state == TwoSettings(expected)
