from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import wait

import pytest
from streamlit.testing.v1 import AppTest

from explorer.training import store
from explorer.training.labelling_runs import CONTESTANTS, POSITIONS
from explorer.ui import slowly
from explorer.ui.positions import Positions
from tests.pages.screen import address, calm, drawn, frame, headings, over, page, said, settled, told


def positions(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("positions.py", address))


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = positions()
    assert told(at) == [] and address(at) == {}
    data = drawn(at, "positions")[0]
    assert data["count"] == 40 and data["learned"]["trained"] == 24
    assert any("an encoder without positions cannot tell" in heading for heading in headings(at))
    titles = [panel["title"] for panel in frame(at, "positions-lengths")]
    assert titles == [CONTESTANTS[name].title for name in POSITIONS]
    assert frame(at, "positions-race") and "No finished run" not in said(at)


def test_two_sentences_of_a_visitor_are_read() -> None:
    at = positions({"first": "dogs chase cats", "second": "cats chase mice"})
    assert any("have not the same words" in heading for heading in headings(at))
    at = calm(at.button(key="positions.turn").click().run())
    wait(list(slowly._works.values()))  # until then the last answer stays
    at = calm(at.run())
    assert address(at)["second"] == "cats chase dogs"
    assert any("cannot tell" in heading for heading in headings(at))
    at = settled(calm(at.text_input(key="positions.second").set_value("").run()))
    assert "A sentence is empty" in " ".join(told(at))


def test_whoever_takes_all_away_keeps_them() -> None:
    at = positions({"who": "rotary"})
    at = settled(calm(at.pills(key="positions.who").set_value([]).run()))
    assert address(at) == {"who": "rotary"}


def test_other_settings_were_never_trained_and_are_offered() -> None:
    at = positions({"longest": "5", "who": "rotary,none"})
    words = [CONTESTANTS[f"echo-{name}"].words for name in ("rotary", "none")]
    assert f"No finished run of {words[0]} and {words[1]}" in said(at)


def test_what_is_asked_for_is_trained_here() -> None:
    asked = {"who": "rotary", "longest": "2", "steps": "20", "seeds": "1"}
    at = positions(asked)
    at = calm(at.button(key="missing.run").click().run())
    over(list(Positions(who=("rotary",), longest=2, steps=20, seeds=1).configs.values()))
    at = settled(calm(at.run()))
    assert len(frame(at, "positions-lengths")) == 1 and address(at) == asked


def test_a_run_of_other_settings_stands_in_the_race() -> None:
    at = positions({"run": store.find("echo-scaled").key})
    assert told(at) == [] and "run" in address(at)
    (panel,) = frame(at, "positions-lengths")
    assert [line["title"] for line in panel["tracks"]] == ["this run"] and panel["title"].startswith("Run ")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"longest": "99"}, "Give a number from 1 to 24"),
        ({"base": "1"}, "Give a number from 10 to"),
        ({"after": "perhaps"}, "Give true or false"),
        ({"first": " ".join(["w"] * 30)}, "has 30 words; 20 are read"),
        ({"run": "noise-open"}, "stands on another page: Masks"),
        ({"nonsense": "1"}, "This page has no “nonsense”"),
    ],
)
def test_what_cannot_be_is_said_and_the_rest_kept(bad: Mapping[str, str], words: str) -> None:
    at = positions(bad)
    assert sum(words in sentence for sentence in told(at)) == 1, told(at)
    assert drawn(at, "positions")
