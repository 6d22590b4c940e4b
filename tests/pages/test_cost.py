from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.catalogue import MODELS
from explorer.experiments.growth import SHARES, SIZES, growth_config, included_result
from explorer.inspection.transformer.cost_formulas import PARTS, LayerSize, MeasuredCosts
from explorer.labs.cost import sweeps
from explorer.labs.cost.state import SWEEPS
from explorer.labs.cost.sweeps import read_reference
from explorer.run_store import store
from explorer.training.recorder import record_run
from explorer.web import background
from tests.pages.screen import (
    assert_no_errors,
    headings,
    open_page,
    page_text,
    plot_frame_figures,
    table,
    url_params,
    wait_until_ready,
    warnings_of,
    widget,
)
from tests.words import assert_mentions


@pytest.fixture(autouse=True)
def measurements_without_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the measurements by numbers that do not depend on the clock."""

    def measured(part: str, sizes: tuple[LayerSize, ...], seconds: float) -> MeasuredCosts:
        x = np.array([size.length * size.width * size.layers for size in sizes], dtype=float)
        line = x * 1e-9 * (1 + PARTS.index(part))
        return MeasuredCosts(line, 2 * line, x * 100)

    monkeypatch.setattr("explorer.inspection.transformer.cost_measurement.measure_costs", measured)
    monkeypatch.setattr(sweeps, "_measured", {})
    monkeypatch.setattr(sweeps, "_requested", {})


def test_page_shows_results_without_interaction() -> None:
    background.reset()
    at = open_page("cost.py")
    assert warnings_of(at) == [] and url_params(at) == {}
    assert not any("cost.sweeps._measure" in str(key[0]) for key in background.results()), (
        "nothing is measured before it is requested"
    )
    assert any(heading.startswith("Attention takes longer than the feedforward part") for heading in headings(at))
    assert len(plot_frame_figures(at, "cost-length-figures")) == 2 and not at.latex
    assert "all steps of an LSTM in one call" in page_text(at)
    at = open_page("cost.py", {"unfold": "width,growth,parameters,formulas"})
    for sweep, sizes in SWEEPS.items():
        seconds, memory = plot_frame_figures(at, f"cost-{sweep}-figures")
        assert len(seconds["plot"]["data"]) == len(memory["plot"]["data"]) == 2 * len(PARTS)
        assert seconds["plot"]["data"][1]["x"] == list(sizes)
    assert len(table(at, "cost-length-fits")) == len(PARTS)
    assert any("205,504 parameters" in heading for heading in headings(at))
    assert f"Measured on {read_reference()[0]}" in page_text(at)


def seconds_drawn(at: AppTest) -> list[float]:
    return plot_frame_figures(at, "cost-length-figures")[0]["plot"]["data"][1]["y"]


def test_a_requested_measurement_replaces_the_reference_for_everybody() -> None:
    at = open_page("cost.py")
    reference = seconds_drawn(at)
    at = wait_until_ready(assert_no_errors(at.button(key="cost.measure").click().run()))
    measured = seconds_drawn(at)
    expected = [2e3 * size * 64 * 1e-9 for size in SWEEPS["length"]]  # of attention, in milliseconds
    assert measured == pytest.approx(expected, rel=1e-3) and measured != reference
    assert "Measured on this server" in page_text(at) and read_reference()[0] not in page_text(at)
    assert seconds_drawn(open_page("cost.py")) == measured
    at = open_page("cost.py", {"width": "128"})
    assert read_reference()[0] in page_text(at), "only these sizes were measured"


def test_selected_sizes_are_in_the_url_and_counted() -> None:
    unfold = {"unfold": "parameters,formulas"}
    at = open_page("cost.py", unfold)
    at = wait_until_ready(assert_no_errors(widget(at.number_input, "cost.layers").set_value(2).run()))
    assert url_params(at) == {"layers": "2", **unfold}
    assert any("106,944 parameters" in heading for heading in headings(at)), headings(at)
    at = wait_until_ready(assert_no_errors(widget(at.selectbox, "cost.who").set_value("text-gru").run()))
    assert url_params(at) == {"who": "text-gru", **unfold}
    assert any("201,001 parameters" in heading for heading in headings(at))
    at = wait_until_ready(assert_no_errors(at.run()))  # the whole page; the events before reran fragments only
    at = wait_until_ready(assert_no_errors(widget(at.selectbox, "cost.width").set_value(128).run()))
    assert url_params(at) == {"who": "text-gru", "width": "128", **unfold}
    assert any("T > 2d = 256" in formula.value for formula in at.latex)
    reset_key = next(b.key for b in at.button if b.label == "Back to the defaults")
    assert url_params(wait_until_ready(assert_no_errors(at.button(key=reset_key).click().run()))) == unfold


def growth_panels(at: AppTest) -> list[dict[str, Any]]:
    return plot_frame_figures(at, "growth-figures")


def test_growth_shows_all_architectures_from_the_included_results() -> None:
    at = open_page("cost.py", {"unfold": "growth"})
    by_size, by_text = growth_panels(at)
    names = [f"{MODELS[model].title}, mean" for model in SIZES]
    for panel in (by_size, by_text):
        assert [trace["name"] for trace in panel["plot"]["data"][2::3]] == names
    for i, model in enumerate(SIZES):
        results = [included_result(growth_config(model, size, 1.0)) for size in range(4)]
        drawn = by_size["plot"]["data"][3 * i + 2]
        assert drawn["x"] == [each.parameters for each in results if each]
        assert drawn["y"] == pytest.approx([np.mean(each.losses) for each in results if each], abs=1e-3)
    assert any("networks on the whole text" in heading for heading in headings(at))
    assert_mentions(page_text(at), "experiment, not a law")
    assert url_params(at) == {"unfold": "growth"}


@pytest.mark.usefixtures("no_loaded_text")
def test_growth_of_one_architecture_shows_each_share_and_each_size() -> None:
    at = open_page("cost.py", {"unfold": "growth", "architecture": "gru"})
    by_size, by_text = growth_panels(at)
    assert len(by_size["plot"]["data"]) == len(by_text["plot"]["data"]) == 4 * 3
    assert any(heading.startswith("GRU: the largest of four sizes") for heading in headings(at))
    assert "Download it (1.1 MB)" in [button.label for button in at.button], "without the text nothing can be trained"
    at = open_page("cost.py", {"unfold": "growth", "architecture": "gru", "corpus": "repeats"})
    assert at.button(key="growth.run").label.startswith("Train again")


def test_runs_that_were_trained_here_replace_the_included_results() -> None:
    """The n-gram of the made text has no included results, and is fitted within a second."""
    at = open_page("cost.py", {"unfold": "growth", "architecture": "ngram", "corpus": "repeats"})
    config = growth_config("ngram", 0, SHARES[0], "repeats")
    before = included_result(config)
    store.save_run(record_run(config), store.run_folder(config))
    at = wait_until_ready(assert_no_errors(at.run()))
    drawn = growth_panels(at)[0]["plot"]["data"]
    stored = store.find_by_config(config)
    assert stored and drawn[2]["y"][0] == pytest.approx(stored.card.metrics["val_loss"].mean, abs=1e-3)
    assert before is None or before.losses == pytest.approx(stored.card.metrics["val_loss"].values, abs=1e-3)
    assert "One of 16 runs" in page_text(at)
