from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from explorer.experiments.recall import SOLVED
from explorer.labs.gates.state import PRESETS, GatesState
from explorer.run_store import store
from tests.pages.screen import assert_no_errors, component_data, headings, page, table, url_params, warnings_of


def open_page(address: Mapping[str, str] | None = None) -> AppTest:
    return page("gates.py", address)


def diagram_data(at: AppTest) -> dict[str, Any]:
    return component_data(at, "gates_by_hand")[0]


def test_page_shows_results_without_interaction() -> None:
    at = open_page()
    assert warnings_of(at) == [] and url_params(at) == {}
    data = diagram_data(at)
    assert data["lanes"] == GatesState().traces and [p["name"] for p in data["presets"]] == [p.name for p in PRESETS]
    assert {"What to notice", "Code and papers"} <= set(headings(at))
    assert len(at.latex) == 0 and len(at.expander) <= 5


def test_component_settings_are_written_to_the_url() -> None:
    at = open_page({"at": "7"})
    lanes = diagram_data(at)["lanes"] | {"f": "0.99", "g": "0x4,-1,0"}
    at.session_state["cell: set"] = json.dumps({"lanes": lanes, "u": 0.5, "w": 1, "at": 12, "show": "lstm"})
    at = assert_no_errors(at.run())
    assert url_params(at) == {"f": "0.99", "g": "0x4,-1,0", "u": "0.5", "at": "12"}
    assert diagram_data(at)["lanes"]["f"] == "0.99" and diagram_data(at)["at"] == 12


def test_results_of_trained_networks_are_reported() -> None:
    lstm, gru = table(open_page({"unfold": "trained"}), "gates-trained")
    for row, bias, name in ((lstm, "3", "lstm-forget-3"), (gru, "0", "gru-usual")):
        accuracy = store.find(f"recall-50-{name}").card.metrics["accuracy"].values
        solved = sum(v is not None and v >= SOLVED for v in accuracy)
        assert row[bias]["text"] == f"{solved} of {len(accuracy)}"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"f": "2"}, "A gate is between 0 (closed) and 1 (open); 2 is not."),
        ({"g": "-1.5"}, "between -1 and 1; -1.5 is not"),
        ({"i": "open"}, "“open” is not a valid part of a gate’s values"),
        ({"o": "1x99"}, "has 50 steps; this one has 99"),
        ({"z": ""}, "is not a valid part of a gate’s values"),
        ({"u": "3"}, "from -2 to 2"),
        ({"at": "51"}, "from 1 to 50"),
        ({"show": "rnn"}, "one of lstm, gru"),
        ({"c": "1"}, "This page has no “c”"),
    ],
)
def test_invalid_url_parameters_are_reported_and_the_rest_is_used(bad: Mapping[str, str], words: str) -> None:
    at = open_page({"r": "0.5", **bad})
    assert sum(words in sentence for sentence in warnings_of(at)) == 1, warnings_of(at)
    assert diagram_data(at)["lanes"]["r"] == "0.5"
