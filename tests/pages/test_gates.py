from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.training import store
from explorer.training.recall_runs import SOLVED
from explorer.ui.cell import PRESETS, Cell
from tests.pages.screen import address, calm, drawn, headings, page, said, told


def gates(address: Mapping[str, str] | None = None) -> AppTest:
    return page("gates.py", address)


def instrument(at: AppTest) -> dict[str, Any]:
    return drawn(at, "cell")[0]


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = gates()
    assert told(at) == [] and address(at) == {}
    data = instrument(at)
    assert data["lanes"] == Cell().lanes and [p["name"] for p in data["presets"]] == [p.name for p in PRESETS]
    assert {"Why", "The code", "The papers"} <= set(headings(at))
    assert any("0.9^{49} = 5.7" in formula.value for formula in at.latex)


def test_the_formula_has_the_numbers_of_the_lanes() -> None:
    at = gates({"f": "1x24,0.5,1", "i": "0x4,1,0"})
    assert any(r"\partial c_{5}" in f.value and r"1^{44} \cdot 0.5 = 0.5" in f.value for f in at.latex)


def test_what_is_set_in_the_instrument_stands_in_the_address() -> None:
    at = gates({"at": "7"})
    lanes = instrument(at)["lanes"] | {"f": "0.99", "g": "0x4,-1,0"}
    at.session_state["cell: set"] = json.dumps({"lanes": lanes, "u": 0.5, "w": 1, "at": 12, "show": "lstm"})
    at = calm(at.run())
    assert address(at) == {"f": "0.99", "g": "0x4,-1,0", "u": "0.5", "at": "12"}
    assert instrument(at)["lanes"]["f"] == "0.99" and instrument(at)["at"] == 12


def test_trained_nets_are_told_as_they_came_out() -> None:
    at = gates()
    for name in ("lstm-forget-3", "gru-usual"):
        accuracy = store.find(f"recall-50-{name}").card.metrics["accuracy"].values
        solved = sum(v is not None and v >= SOLVED for v in accuracy)
        assert f"{solved} of {len(accuracy)}" in said(at)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"f": "2"}, "A gate lies between 0, closed, and 1, open; 2 does not."),
        ({"g": "-1.5"}, "between -1 and 1; -1.5 is not"),
        ({"i": "open"}, "“open” is no part of a lane"),
        ({"o": "1x99"}, "has 50 steps, and this one has 99"),
        ({"z": ""}, "is no part of a lane"),
        ({"u": "3"}, "from -2 to 2"),
        ({"at": "51"}, "from 1 to 50"),
        ({"show": "rnn"}, "one of lstm, gru"),
        ({"c": "1"}, "This page has no “c”"),
    ],
)
def test_a_bad_address_is_said_and_the_rest_kept(bad: Mapping[str, str], words: str) -> None:
    at = gates({"r": "0.5", **bad})
    assert sum(words in sentence for sentence in told(at)) == 1, told(at)
    assert instrument(at)["lanes"]["r"] == "0.5"
