"""Sections of a page: what is folded computes nothing, the URL says what is unfolded, and many sections are listed."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.pages.screen import component_data, page, visit_url


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
