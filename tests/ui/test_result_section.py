"""Sections of a page: folded ones compute nothing, and results are fetched by the browser."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.ui.document import Document
from explorer.web import background, results
from tests.pages.screen import (
    assert_no_errors,
    blocks,
    component_data,
    findings,
    page,
    section_answers,
    visit_url,
    warnings_of,
)

TIMEOUT = 20  # seconds after which a waiting test fails


@pytest.fixture(autouse=True)
def no_results() -> None:
    """Remove the results of other tests."""
    background.reset()
    results.reset()


def run_script(script: Callable[[], None], release: threading.Event | None = None) -> AppTest:
    """Run a script, which finds `release` in its session state."""
    at = AppTest.from_function(script, default_timeout=TIMEOUT)
    at.session_state["release"] = release
    return assert_no_errors(at.run())


def sections(at: AppTest) -> list[dict[str, Any]]:
    """Return the data of each section component."""
    return [json.loads(element.proto.json) for element in at.get("bidi_component")]


def test_a_page_run_does_not_wait_for_a_result() -> None:
    def page() -> None:
        import streamlit as st

        from explorer.ui.result_section import show
        from explorer.web.call import KeyedCall

        release = st.session_state["release"]
        call = KeyedCall(("slow",), lambda: release.wait(20))
        show("slow", call, lambda document, _: document.finding("done"), waiting="Computing …", height=300)

    release = threading.Event()
    at = run_script(page, release)
    (data,) = sections(at)
    assert (data["placeholder"], data["height"]) == ("Computing …", 300)
    section = results.find(data["address"].rpartition("/")[2])
    assert isinstance(section, results.Section)
    assert not section.submit()[""].done()
    release.set()
    assert findings(at) == ["done"]


def test_results_are_drawn_and_errors_are_shown_as_warnings() -> None:
    def page() -> None:
        from explorer.errors import DamagedRun
        from explorer.ui.result_section import show, show_each
        from explorer.web.call import KeyedCall

        def fail() -> int:
            raise DamagedRun("The run is gone. Choose another.")

        calls = {
            "one": KeyedCall(("one",), lambda: 1),
            "two": KeyedCall(("two",), fail),
            "three": KeyedCall(("three",), fail),
        }
        show_each("parts", calls, lambda document, found: document.text(str(dict(found))), waiting="…", height=100)

        def draw(document: object, found: object) -> None:
            raise DamagedRun("Its weights cannot be read.")

        show("broken", KeyedCall(("broken",), lambda: 1), draw, waiting="…", height=100)

    at = run_script(page)
    assert warnings_of(at) == ["The run is gone. Choose another.", "Its weights cannot be read."]
    assert blocks(at, "text") == [{"kind": "text", "text": "{'one': 1}"}]


def test_the_browser_asks_again_only_if_what_is_drawn_has_changed() -> None:
    def page() -> None:
        import streamlit as st

        from explorer.ui.result_section import show
        from explorer.web.call import KeyedCall

        def draw(document: object, found: object, state: str) -> None: ...

        st.session_state.setdefault("draw", draw)  # a function of a script is a new one in every run
        state = st.session_state.get("state", "a")
        show("same", KeyedCall(("same",), lambda: 1), st.session_state["draw"], state, waiting="…", height=100)
        show("other", KeyedCall(("other",), lambda: 1), lambda document, found: None, waiting="…", height=100)

    at = run_script(page)
    first, address = [data["version"] for data in sections(at)], sections(at)[0]["address"]
    assert sections(at.run())[0]["address"] == address != sections(run_script(page))[0]["address"], "one for each tab"
    same, other = (data["version"] for data in sections(at))
    assert (same, other) == (first[0], first[1] + 1)
    at.session_state["state"] = "b"
    at.run()
    assert sections(at)[0]["version"] > same


def test_a_request_that_the_tab_no_longer_needs_is_cancelled_if_it_has_not_begun() -> None:
    def page() -> None:
        import streamlit as st

        from explorer.ui.result_section import show
        from explorer.web.call import KeyedCall

        release, wanted = st.session_state["release"], st.session_state.get("wanted", "first")
        call = KeyedCall((wanted,), lambda: release.wait(20))
        show("one", call, lambda document, found: None, waiting="…", height=9, pool="timing")

    release = threading.Event()
    blocker = background.submit(("blocker",), lambda: release.wait(TIMEOUT), "timing")
    at = run_script(page, release)
    first = background.results()[("first",)]
    at.session_state["wanted"] = "second"
    at.run()
    assert first.cancelled()
    assert not background.results()[("second",)].done()
    release.set()
    blocker.result(TIMEOUT)


def test_a_live_section_says_when_to_ask_again_and_the_page_reruns_at_the_end() -> None:
    def page() -> None:
        import streamlit as st

        from explorer.ui.result_section import live_section

        st.session_state["runs"] = st.session_state.get("runs", 0) + 1

        def draw(document: object) -> float | None:
            return 0.5

        live_section("training", draw, 100)

    at = run_script(page)
    assert section_answers(at) == [{"again": 0.5, "blocks": [], "ended": False}]
    at.session_state["section.training: over"] = "trained"
    assert_no_errors(at.run())
    assert at.session_state["runs"] == 3


def test_elements_of_streamlit_are_drawn_once_the_result_is_there() -> None:
    def page() -> None:
        import streamlit as st

        from explorer.ui.result_section import show_when_ready

        release = st.session_state["release"]
        show_when_ready("formula", ("formula",), lambda: release.wait(20), lambda found: st.latex("x"), "Wait …", 80)

    release = threading.Event()
    at = run_script(page, release)
    assert not at.latex and sections(at)[0]["placeholder"] == "Wait …"
    release.set()
    assert section_answers(at) == [{"rerun": True}]
    assert [one.value for one in at.run().latex] == ["$$\nx\n$$"]
    assert not sections(at)


def test_markup_in_a_text_stays_text() -> None:
    document = Document()
    document.text("<b>**bold**</b>")
    document.markdown("**bold** <script>alert(1)</script> [x](javascript:alert(1))")
    assert document.blocks[0] == {"kind": "text", "text": "<b>**bold**</b>"}
    html = str(document.blocks[1]["html"])
    assert "<strong>bold</strong>" in html
    assert "<script" not in html and "href" not in html


def make_page() -> None:
    import streamlit as st

    from explorer.ui.sections import draw_contents, folded_section, forget_sections, page_section

    forget_sections()
    with page_section("first", "The first section"):
        st.write("open")
    for name in ("one", "two", "three")[: st.session_state.get("folds", 3)]:
        former = ("former",) if name == "two" else ()
        draw = lambda name=name: st.write(f"computed {name}")  # noqa: E731
        folded_section(name, f"Is this fold {name}?", draw, former_names=former)
    draw_contents()


def texts_of(at: AppTest) -> list[str]:
    return [text.value for text in at.markdown]


def test_a_folded_section_computes_nothing_until_it_is_unfolded() -> None:
    at = AppTest.from_function(make_page).run()
    assert texts_of(at) == ["open"]
    at.session_state["lineage.shared"] = {"unfold": "two,unknown,,three"}
    assert texts_of(at.run()) == ["open", "computed two", "computed three"]
    assert [fold.proto.expanded for fold in at.expander] == [False, True, True]
    at.session_state["lineage.shared"] = {"unfold": "former"}
    assert texts_of(at.run()) == ["open", "computed two"], "the section that took the place of the former one"


def test_more_than_three_sections_are_listed_by_name_and_title() -> None:
    at = AppTest.from_function(make_page).run()
    sections = component_data(at, "contents")[0]["sections"]
    assert sections[:2] == [
        {"name": "first", "title": "The first section"},
        {"name": "one", "title": "Is this fold one?"},
    ]
    assert len(sections) == 4
    at.session_state["folds"] = 2
    assert component_data(at.run(), "contents")[0]["sections"] == []


def test_back_folds_what_the_url_of_then_does_not_unfold() -> None:
    at = page("masks.py", {"unfold": "code"})
    assert at.get("code")
    assert not visit_url(at, "masks", {}).get("code")
    assert visit_url(at, "masks", {"unfold": "code"}).get("code")
