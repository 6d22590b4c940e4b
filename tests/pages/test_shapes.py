from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from explorer.ui.shapes import Shapes
from tests.pages.screen import address, calm, frame, headings, page, said, settled, told


def shapes(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("shapes.py", address))


def test_every_claim_has_its_verdict_before_anybody_touches_it() -> None:
    at = shapes()
    assert told(at) == [] and address(at) == {}
    verdicts = " ".join(headings(at))
    assert "Before training, the last two of 50 steps" in verdicts
    assert verdicts.count("False") == 3, "what the runs that ship say; other runs may say otherwise"
    assert [panel["name"] for panel in frame(at, "shapes-sum")] == ["shares", "sizes"]
    assert len(frame(at, "shapes-place")) == 2
    assert "by at most" in said(at)


def test_the_sum_is_looked_at_after_training_too_and_the_pronoun() -> None:
    at = settled(calm(shapes({"trained": "true", "agreeing": "pronoun"})))
    verdicts = " ".join(headings(at))
    assert "After training, the last two of 50 steps" in verdicts and "costs the pronoun" in verdicts
    assert address(at) == {"trained": "true", "agreeing": "pronoun"}


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"agreeing": "noun"}, "agreeing = noun is not possible. Give one of verb, pronoun."),
        ({"who": "me"}, "This page has no “who”; that part of the address was left out."),
    ],
)
def test_a_bad_address_is_said(part: dict[str, str], sentence: str) -> None:
    at = shapes(part)
    assert any(sentence in each.replace("\\", "") for each in told(at)) and address(at) == {}
    assert Shapes().agreeing == "verb"


def test_the_unrolled_net_goes_back_to_how_a_newcomer_finds_it() -> None:
    at = shapes({"shape": "from-one", "first": "h", "replica": "1", "agreeing": "pronoun"})
    at = settled(calm(at.button(key="shapes.fresh").click().run()))
    assert address(at) == {"agreeing": "pronoun"}, "what other sections show stays"
    assert at.button(key="shapes.fresh").disabled
