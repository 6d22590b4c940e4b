from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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
