"""Which part of a page reruns after a change."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st
from streamlit.errors import StreamlitAPIException

from explorer.ui.state import fragments


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
