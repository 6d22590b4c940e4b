from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from explorer.experiments.recall import DEFAULT_VARIANTS, SWEEP_LENGTHS, VARIANTS
from explorer.run_store import store
from explorer.training.config import RunConfig
from tests.pages.screen import (
    assert_no_errors,
    blocks,
    component_data,
    page,
    page_text,
    plot_frame_figures,
    table,
    url_params,
    wait_until_ready,
    warnings_of,
    widget,
)

SMALL = {"who": "rnn-usual,gru-chrono", "length": "4", "steps": "20", "seeds": "2"}


def memory(address: Mapping[str, str] | None = None, unfold: str = "") -> AppTest:
    """Open the page; `unfold` names its unfolded sections."""
    return wait_until_ready(page("memory.py", {**(address or {}), **({"unfold": unfold} if unfold else {})}))


def words(text: str) -> list[str]:
    return [part for part in text.replace("\u00a0", "").split() if part != "×"]


def configs(**shared: object) -> list[RunConfig]:
    return [VARIANTS[n].config(length=4, iterations=20, replicas=2, **shared) for n in ("rnn-usual", "gru-chrono")]


def test_the_default_state_shows_results() -> None:
    at = memory()
    assert warnings_of(at) == [] and url_params(at) == {}
    assert [panel["title"] for panel in plot_frame_figures(at, "memory-lengths")] == [
        "RNN",
        "LSTM",
        "GRU",
        "Transformer",
    ]
    finding = next(heading.value for heading in at.subheader if "first of 50 symbols" in heading.value)
    assert len(finding.split()) <= 20 and "in every seed" in finding
    assert len(plot_frame_figures(at, "memory-gradients")) == 1
    rows = table(at, "memory-gradient-ratios")
    assert [row["name"]["text"] for row in rows] == [VARIANTS[name].title for name in DEFAULT_VARIANTS]
    assert rows[0]["factor"]["text"].startswith("radius ") and rows[2]["factor"]["text"].startswith("gate ")
    assert rows[-1]["factor"]["text"] == "–", "a Transformer passes no gradient from step to step"
    assert len(at.expander) <= 5 and component_data(at, "gate_viewer") == component_data(at, "generated_errors") == []
    assert not any("No finished run" in part.value for part in at.markdown)


def test_every_section_can_be_unfolded() -> None:
    at = memory(unfold="results,gates,exploding,small-data")
    rows = table(at, "memory-results")
    assert [row["name"]["text"] for row in rows] == [VARIANTS[name].title for name in DEFAULT_VARIANTS]
    for row, name in zip(rows, DEFAULT_VARIANTS, strict=True):
        card = store.find(f"recall-50-{name}").card
        assert row["solved"]["values"] == pytest.approx(card.metrics["accuracy"].values, abs=1e-4)
    assert len(component_data(at, "gate_viewer")) == len(component_data(at, "generated_errors")) == 1
    assert len(plot_frame_figures(at, "memory-gains")) == 1 and len(table(at, "memory-clipping-results")) == 3
    assert "Right on training and on new sequences" in page_text(at)
    assert [text for block in blocks(at, "finding") if len(words(text := block["text"])) > 20] == []
    tiles = plot_frame_figures(at, "memory-sweep")[0]["plot"]["data"][0]
    for name, row in zip(DEFAULT_VARIANTS, tiles["z"], strict=True):
        for length, share in zip(SWEEP_LENGTHS, row, strict=True):
            accuracy = store.find(f"recall-{length}-{name}").card.metrics["accuracy"].values
            assert share == pytest.approx(sum(v is not None and v >= 0.95 for v in accuracy) / 8), (name, length)


def test_the_gates_of_a_sequence_are_shown_and_other_letters_are_reported() -> None:
    assert component_data(memory({"say": "bab"}, "gates"), "gate_viewer")[0]["symbols"] == ["b", "a", "b"]
    at = memory({"say": "xyz", "who": "gru-chrono"}, "gates")
    assert any("no symbol of this task" in sentence for sentence in warnings_of(at))
    assert component_data(at, "gate_viewer") == []


def test_the_last_model_cannot_be_removed() -> None:
    at = memory({"who": "gru-chrono"})
    at = wait_until_ready(assert_no_errors(widget(at.pills, "memory.who-gru").set_value([]).run()))
    assert url_params(at) == {"who": "gru-chrono"}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"length": "10000"}, "10,000 symbols in a sequence"),
        ({"length": "10000"}, "this server allows 1,000 (LINEAGE_MOST_LENGTH)"),
        ({"length": "0"}, "Give a number from 1 to"),
        ({"who": "gru-chrono,perceptron"}, "There is no “perceptron”"),
        ({"who": "<b>"}, "There is no “<b>”"),
        ({"symbols": "27"}, "from 2 to 26"),
        ({"rate": "2"}, "from 0 to 1"),
        ({"nonsense": "1"}, "This page has no “nonsense”"),
    ],
)
def test_an_invalid_url_parameter_is_reported_and_the_rest_kept(bad: Mapping[str, str], words: str) -> None:
    at = memory(bad)
    assert sum(words in sentence for sentence in warnings_of(at)) == 1, warnings_of(at)
    assert plot_frame_figures(at, "memory-lengths")


@pytest.mark.parametrize(
    ("run", "words"),
    [("abcdefghijkl", "is not on this machine"), ("negation-single-rnn", "stands on another page: Negation")],
)
def test_a_run_of_another_page_is_reported(run: str, words: str) -> None:
    at = memory({"run": run})
    assert any(words in sentence for sentence in warnings_of(at)) and plot_frame_figures(at, "memory-lengths")
