"""What a late request of a browser carries changes nothing: neither its URL nor the values of its widgets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import pytest
import streamlit as st
from streamlit.errors import StreamlitAPIException
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.testing.v1 import AppTest

from explorer.errors import InvalidSetting
from explorer.jobs.service import service
from explorer.run_store import store
from explorer.training.config import key, with_settings
from explorer.training.recorder import record_run
from explorer.ui.state import fragments, widgets
from explorer.ui.state import session as sessions
from explorer.ui.state.fields import PageState, setting
from explorer.ui.state.run_lookup import find_config
from explorer.ui.state.session import PageSession, follow_url, record_page
from explorer.ui.state.widgets import bind_widget, original_key, reset_button
from tests.export.alike import short_config


@dataclass(frozen=True)
class TwoSettings(PageState):
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


class Streamlit:
    """A stand-in for Streamlit in one browser tab."""

    def __init__(self) -> None:
        self.query_params = Params()
        self.session_state: dict[str, Any] = {}
        self.opened: list[tuple[str, dict[str, str]]] = []

    def switch_page(self, file: str, query_params: dict[str, str]) -> None:
        self.opened.append((file, query_params))
        raise StopIteration  # Streamlit ends the run

    def rerun(self) -> None:
        """Streamlit runs the page after the callbacks of all widgets."""


@pytest.fixture
def tab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Streamlit]:
    streamlit = Streamlit()
    monkeypatch.setattr(sessions, "st", streamlit)
    monkeypatch.setattr(widgets, "st", streamlit)
    yield streamlit


Page = PageSession[TwoSettings]


def run(tab: Streamlit, session: Page, page: str = "memory", url: dict[str, str] | None = None) -> None:
    """Run a page for a request with this URL; by default with the one that the page has written."""
    if url is not None:
        tab.query_params.from_dict(url)
    record_page(page)
    follow_url(session)


def go_to_url(tab: Streamlit, session: Page, search: str, page: str = "memory") -> None:
    """Go back or forward to a state of the same page."""
    tab.session_state["address: visited"] = {"path": page, "search": search}
    run(tab, session)


def draw(session: Page, **more: Any) -> tuple[str, Any, str]:
    """Draw the widget of the first setting; return its key, its callback and the value that it shows at first."""
    drawn: dict[str, Any] = {}
    bind_widget(session, "left", lambda **arguments: drawn.update(arguments), key="memory.left", **more)
    return drawn["key"], drawn["on_change"], drawn["value"]


def test_a_page_reads_the_url_with_which_it_is_opened(tab: Streamlit) -> None:
    session = Page(TwoSettings())
    tab.query_params.from_dict({"left": "a", "lesson": "not"})
    record_page("memory")  # this run is interrupted before the page is drawn
    run(tab, session)
    assert session.state == TwoSettings("a")
    assert sessions.page_url_params() == {"left": "a"}
    assert sessions.shared_url_params() == {"lesson": "not"}


def test_the_url_of_a_late_request_changes_nothing(tab: Streamlit) -> None:
    session = Page(TwoSettings())
    run(tab, session, url={})
    session.change(lambda state: replace(state, left="a"))
    run(tab, session, url={})
    session.change(lambda state: replace(state, right="b"))
    run(tab, session, url={"left": "a"})
    run(tab, session, url={})
    assert session.state == TwoSettings("a", "b")
    assert sessions.page_url_params() == {"left": "a", "right": "b"}


def test_going_back_restores_the_state_and_writes_no_new_url(tab: Streamlit) -> None:
    session = Page(TwoSettings())
    run(tab, session, url={})
    for side in ("left", "right"):
        session.change(lambda state, side=side: replace(state, **{side: "a"}))
        run(tab, session)
    run(tab, session, url={"left": "a"})  # Streamlit's own request after the press of Back
    assert tab.query_params == {"left": "a"}
    go_to_url(tab, session, "?left=a")
    assert session.state == TwoSettings("a")
    assert sessions.followed_search() == "?left=a"  # the address component holds the URL against it
    go_to_url(tab, session, "")  # one more step back
    assert session.state == TwoSettings()
    go_to_url(tab, session, "?right=z", page="text")  # a report about another page
    assert session.state == TwoSettings()
    session.change(lambda state: replace(state, right="b"))
    run(tab, session)
    assert sessions.followed_search() is None
    go_to_url(tab, session, "")
    with pytest.raises(StopIteration):
        sessions.open_page("memory", {"right": "a"})  # as a teacher moves a class on, whose step is on the same page
    run(tab, session)
    assert (session.state.right, sessions.followed_search()) == ("a", None)


def test_a_late_request_of_the_page_that_was_left_opens_the_new_page_again(tab: Streamlit) -> None:
    session, target = Page(TwoSettings()), Page(TwoSettings())
    run(tab, session, url={})
    with pytest.raises(StopIteration):
        sessions.open_page("text", {"left": "b"})
    with pytest.raises(StopIteration):
        run(tab, session)
    assert tab.opened == [("text.py", {"left": "b"})] * 2
    run(tab, target, "text", url={"left": "late"})
    assert target.state == TwoSettings("b")
    run(tab, session, url={})  # now the visitor goes back to it
    assert len(tab.opened) == 2


def test_a_value_for_an_older_version_of_a_widget_changes_nothing(tab: Streamlit) -> None:
    session = Page(TwoSettings())
    key, apply_value, _ = draw(session)
    assert key == "memory.left"
    session.change(lambda state: replace(state, left="a"))  # by another widget
    new_key, apply_new_value, shown = draw(session)
    assert new_key != key
    assert original_key(new_key) == key
    assert shown == "a"
    tab.session_state[key] = "none"  # what the browser still shows
    apply_value()
    assert session.state == TwoSettings("a")
    tab.session_state[new_key] = "b"
    apply_new_value()
    assert session.state == TwoSettings("b")
    assert draw(session)[0] == new_key, "a widget keeps its version when it changes its own value"
    tab.session_state[new_key] = "impossible"
    draw(session, update=lambda state, new: state)[1]()
    again, _, shown = draw(session)
    assert (again != new_key, shown) == (True, "b"), "a value that the state does not take over is replaced"


@dataclass(frozen=True)
class Declared(PageState):
    """The state of a page whose fields are declared with everything that their widgets need."""

    size: int = setting(4, "Size", low=1, high=lambda state: 2 * state.most, step=2, help="In rows.")
    most: int = setting(8)
    kind: str = setting("a", "Kind", options={"a": "The first", "b": "The second"})
    kinds: tuple[str, ...] = setting(("a",), "Kinds", options=("a", "b"))
    text: str = setting("", "Text", longest=20)

    def with_field(self, name: str, value: Any) -> Declared:
        if value == "impossible":
            raise InvalidSetting("This is not possible.")
        return super().with_field(name, value)


DeclaredSession = PageSession[Declared]


class Screen:
    """Stand-ins for widgets of Streamlit, which have its parameters; `drawn` has the last arguments."""

    def __init__(self, tab: Streamlit) -> None:
        self.tab = tab
        self.drawn: dict[str, Any] = {}
        self.number_input, self.selectbox, self.pills, self.text_input, self.button = map(
            self._stand_in, (st.number_input, st.selectbox, st.pills, st.text_input, st.button)
        )

    def _stand_in(self, widget: Any) -> Any:
        return wraps(widget)(lambda *labels, **arguments: setattr(self, "drawn", arguments))

    def choose(self, value: Any) -> None:
        """Change the value of the widget that was drawn last."""
        self.tab.session_state[self.drawn["key"]] = value
        self.drawn["on_change"]()


@pytest.fixture
def screen(tab: Streamlit) -> Screen:
    return Screen(tab)


@pytest.fixture
def session(tab: Streamlit) -> DeclaredSession:
    return PageSession(Declared(), "page")


def test_a_widget_has_the_label_limits_and_help_of_its_field(session: DeclaredSession, screen: Screen) -> None:
    bind_widget(session, "size", screen.number_input)
    names = ("label", "min_value", "max_value", "step", "help", "key")
    assert [screen.drawn[name] for name in names] == ["Size", 1, 16, 2, "In rows.", "page.size"]
    screen.choose(6)
    assert session.state.size == 6
    bind_widget(session, "size", screen.number_input, label="Rows", high=5)
    assert (screen.drawn["label"], screen.drawn["max_value"]) == ("Rows", 5)
    bind_widget(session, "text", screen.text_input, width=100)
    assert (screen.drawn["width"], "required" in screen.drawn, "max_chars" in screen.drawn) == (100, False, False)


def test_a_widget_offers_the_options_of_its_field(session: DeclaredSession, screen: Screen) -> None:
    bind_widget(session, "kind", screen.selectbox)
    assert [screen.drawn["format_func"](option) for option in screen.drawn["options"]] == ["The first", "The second"]
    bind_widget(session, "kind", screen.pills)
    assert screen.drawn["required"]
    screen.choose(None)  # deselected
    assert session.state.kind == "a"
    screen.choose("b")
    assert session.state.kind == "b"
    bind_widget(session, "kinds", screen.pills, selection_mode="multi")
    assert screen.drawn["default"] == ["a"]
    assert "required" not in screen.drawn
    screen.choose(["b", "a"])
    assert session.state.kinds == ("b", "a")


def test_a_label_that_is_gone_and_an_invalid_value_change_nothing(session: DeclaredSession, screen: Screen) -> None:
    bind_widget(session, "kind", screen.selectbox)
    key = screen.drawn["key"]
    screen.choose("The first")
    bind_widget(session, "kinds", screen.pills, selection_mode="multi")
    screen.choose(["a", "Of before"])
    assert session.state == Declared()
    bind_widget(session, "kind", screen.selectbox, options={"a": "One", "b": "Two"})
    assert screen.drawn["key"] != key, "a widget with other labels is another widget"
    bind_widget(session, "text", screen.text_input, width=100)
    screen.choose("impossible")
    assert session.problems == ("This is not possible.",)
    assert session.state == Declared()


def test_the_defaults_are_restored_once(
    session: DeclaredSession, screen: Screen, tab: Streamlit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tab, "button", screen.button, raising=False)
    reset_button(session)
    assert not screen.drawn, "nothing is changed, so there is no button"
    session.change(lambda state: replace(state, size=2))
    reset_button(session)
    screen.drawn["on_click"]()
    assert session.state == Declared()


def _page_with_a_widget() -> None:
    from dataclasses import dataclass

    import streamlit as st

    from explorer.ui.state.fields import PageState, setting
    from explorer.ui.state.session import PageSession
    from explorer.ui.state.widgets import bind_widget

    @dataclass(frozen=True)
    class Sentence(PageState):
        say: str = setting("as in the URL", "Sentence", longest=20)

    if "page" not in st.session_state:
        st.session_state["page"] = PageSession(Sentence())
    bind_widget(st.session_state["page"], "say", st.text_area)


def test_what_a_browser_sends_to_a_server_that_does_not_know_the_page_changes_the_state() -> None:
    page = AppTest.from_function(_page_with_a_widget).run()
    assert page.session_state["page"].state.say == "as in the URL"
    continued = AppTest.from_function(_page_with_a_widget)
    continued.session_state["say"] = "typed meanwhile"
    continued.run()
    assert not continued.exception
    assert continued.session_state["page"].state.say == continued.text_area[0].value == "typed meanwhile"
    continued.text_area[0].set_value("typed later").run()
    assert continued.session_state["page"].state.say == "typed later"


@pytest.fixture(autouse=True)
def no_jobs_left(home: object) -> Iterator[None]:
    yield
    service.reset()


def test_stored_and_running_trainings_are_found_by_key() -> None:
    stored = short_config()
    store.save_run(record_run(stored), store.run_folder(stored))
    running = with_settings(stored, {"epochs": 2_000})
    service.submit(running, "ada")
    for config in (stored, running):
        assert find_config(key(config)) == config
    service.stop(key(running), "ada")


class Ended(Exception):
    """A run ended with a request for another one."""


@pytest.fixture
def reruns(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the arguments of st.rerun, on a page that has drawn the fragments `one` and `two`."""
    requested: list[Any] = []

    def rerun(*scope: Any) -> None:
        requested.append(scope)
        if scope and "interrupted" in scope[0]:
            raise StreamlitAPIException("no such fragment")
        raise Ended

    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "rerun", rerun)
    monkeypatch.setattr(st, "fragment", lambda draw, key: draw)
    fragments.forget_fragments()
    for name in ("one", "two", "interrupted"):
        fragments.draw_fragment(name, lambda: None)
    return requested


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["one", "two"], [(("one", "two"),)]),
        (["two", "absent"], [(("two",),)]),  # such as a section that is shown for trained models only
        (["absent"], [()]),
        ([], [()]),
        (["one", "interrupted"], [(("one", "interrupted"),), ()]),
    ],
)
def test_the_fragments_that_the_page_has_rerun_or_else_the_page(
    names: list[str], expected: list[Any], reruns: list[Any]
) -> None:
    with pytest.raises(Ended):
        fragments.rerun_fragments(names)
    assert reruns == expected


def test_a_run_of_the_page_begins_without_fragments(reruns: list[Any]) -> None:
    fragments.forget_fragments()
    with pytest.raises(Ended):
        fragments.rerun_fragments(["one"])
    assert reruns == [()]


def _page_with_two_fragments() -> None:
    import streamlit as st

    from explorer.ui.state.fragments import draw_fragment

    draw_fragment("one", lambda: st.text("1"))
    draw_fragment("two", lambda: st.text("2"))


def test_what_is_dropped_of_one_fragment_leaves_the_other_in_its_place() -> None:
    messages: list[ForwardMsg] = []
    ForwardMsgQueue.on_before_enqueue_msg(messages.append)
    try:
        AppTest.from_function(_page_with_two_fragments).run()
    finally:
        ForwardMsgQueue.on_before_enqueue_msg(None)
    deltas = [message for message in messages if message.HasField("delta")]
    one, _ = dict.fromkeys(each.delta.fragment_id for each in deltas if each.delta.fragment_id)
    children: dict[tuple[int, ...], int] = {}
    for *parent, index in (each.metadata.delta_path for each in deltas if each.delta.fragment_id != one):
        assert index == children.get(tuple(parent), 0), "the browser refuses an element without a place"
        children[tuple(parent)] = index + 1
