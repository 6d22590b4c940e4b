from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.inspection.cost import PARTS, Measured, Size
from explorer.ui.cost import SWEEPS
from tests.pages.screen import address, calm, frame, headings, page, said, settled, table, told


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers as if they were measured: what the clock says here is no matter of a test."""

    def measured(part: str, sizes: tuple[Size, ...], seconds: float) -> Measured:
        x = np.array([size.length * size.width * size.layers for size in sizes], dtype=float)
        line = x * 1e-9 * (1 + PARTS.index(part))
        return Measured(line, 2 * line, x * 100)

    monkeypatch.setattr("explorer.inspection.cost_measuring.measured", measured)


def cost(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("cost.py", address))


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = cost()
    assert told(at) == [] and address(at) == {}
    assert {"Longer sequences", "Wider vectors", "More layers", "Parameters, part by part"} <= set(headings(at))
    for sweep, sizes in SWEEPS.items():
        seconds, memory = frame(at, f"cost-{sweep}-figures")
        assert len(seconds["plot"]["data"]) == len(memory["plot"]["data"]) == 2 * len(PARTS)
        assert seconds["plot"]["data"][1]["x"] == list(sizes)
    assert len(table(at, "cost-length-fits")) == len(PARTS)
    assert any("205,504 parameters" in heading for heading in headings(at))
    assert "machine at this hour" in said(at)


def test_forward_alone_is_other_numbers_at_the_same_measuring() -> None:
    both, alone = (
        frame(cost(way), "cost-length-figures")[0]["plot"]["data"][1]["y"] for way in ({}, {"way": "forward"})
    )
    assert np.array(both) == pytest.approx(2 * np.array(alone), rel=1e-4)


def test_sizes_by_hand_stand_in_the_address_and_are_counted() -> None:
    at = cost()
    at = settled(calm(at.number_input(key="cost.layers").set_value(2).run()))
    assert address(at) == {"layers": "2"}
    assert any("106,944 parameters" in heading for heading in headings(at)), headings(at)
    at = settled(calm(at.selectbox(key="cost.who").set_value("text-gru").run()))
    assert address(at) == {"who": "text-gru"}
    assert any("201,001 parameters" in heading for heading in headings(at))
    at = settled(calm(at.run()))  # the whole page, of which the gestures before drew a part
    at = settled(calm(at.selectbox(key="cost.width").set_value(128).run()))
    assert address(at) == {"who": "text-gru", "width": "128"}
    assert any("T > 2d = 256" in formula.value for formula in at.latex)
    back = next(b.key for b in at.button if b.label == "Back to the defaults")
    assert address(settled(calm(at.button(key=back).click().run()))) == {}


def test_sizes_that_do_not_go_together_are_said() -> None:
    at = cost({"d": "63"})
    assert any("63" in sentence for sentence in told(at)), told(at)
    assert frame(at, "cost-length-figures")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"width": "63"}, "63 is not measured here. Give one of 16, 32"),
        ({"length": "1e9"}, "is not possible"),
        ({"heads": "3"}, "3 is not measured here"),
        ({"way": "back"}, "one of both, forward"),
        ({"who": "text-ngram"}, "There is no “text-ngram” to count"),
        ({"who": "<b>"}, "There is no “<b>” to count"),
        ({"layers": "25"}, "from 0 to 24"),
        ({"flops": "1"}, "This page has no “flops”"),
    ],
)
def test_a_bad_address_is_said_and_the_rest_kept(bad: Mapping[str, str], words: str) -> None:
    at = cost({"vocabulary": "100", **bad})
    assert sum(words in sentence for sentence in told(at)) == 1, told(at)
    assert "V = 100" in said(at).replace("\\", "")
