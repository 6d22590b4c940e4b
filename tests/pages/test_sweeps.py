"""The search for good settings on the page Compare, and the filter of the page Runs."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from explorer.jobs.scheduler import service
from explorer.sweeps import stored
from explorer.sweeps.driver import carry_out, sweep_driver
from explorer.sweeps.space import make_sweep
from explorer.training.config import default_config, with_settings
from tests.pages.screen import (
    assert_no_errors,
    blocks,
    page,
    page_text,
    plot_frame_figures,
    table,
    url_params,
    warnings_of,
    widget,
)

SPACE = "learning_rate=0.0001,0.01;hidden=4,8"
FORM = {"unfold": "sweeps", "sweep_models": "rnn", "sweep_space": SPACE, "sweep_seeds": "2"}
SWEEP = make_sweep(
    with_settings(default_config("negation", "rnn"), {"epochs": 3}), {"learning_rate": [1e-4, 1e-2], "hidden": [4, 8]}
)


@pytest.fixture(autouse=True)
def end_of_driver() -> Iterator[None]:
    yield
    sweep_driver.close()
    service.reset()


def sweep_page(**params: str) -> AppTest:
    return page("compare.py", {**FORM, **params}, "ada")


def test_the_form_proposes_a_search_and_estimates_its_time() -> None:
    at = page("compare.py", {"unfold": "sweeps"}, "ada")
    assert warnings_of(at) == []
    assert widget(at.multiselect, "compare.sweep_models").value == ["rnn", "transformer"]
    assert widget(at.multiselect, "compare.sweep_settings").value == ["learning_rate", "width"]
    assert widget(at.text_input, "compare.sweep_values.width").value == "8,16,32"
    text = " ".join(str(block["text"]) for block in blocks(at, "caption"))
    assert "RNN: 14 runs, about " in text and "Transformer: 14 runs, about " in text
    assert "eight new seeds" in text or "8 new seeds" in text


def test_another_task_brings_its_own_models_and_settings() -> None:
    at = page("compare.py", {"unfold": "sweeps"}, "ada")
    at = assert_no_errors(widget(at.selectbox, "compare.sweep_task").set_value("text").run())
    models = widget(at.multiselect, "compare.sweep_models")
    assert "RNN" in models.options and "Kneser–Ney" not in " ".join(models.options)
    assert widget(at.multiselect, "compare.sweep_settings").value[0] == "learning_rate"
    assert url_params(at)["sweep_task"] == "text"
    at = assert_no_errors(
        widget(at.multiselect, "compare.sweep_settings").set_value(["learning_rate", "batch_size"]).run()
    )
    assert widget(at.text_input, "compare.sweep_values.batch_size").value.count(",") >= 1


def test_a_search_trains_and_shows_its_result() -> None:
    at = sweep_page(sweep_halving="false")
    at = assert_no_errors(widget(at.button, "sweep.start").click().run())
    keys = url_params(at)["sweeps"].split(",")
    assert len(keys) == 1 and warnings_of(at) == []
    end = time.monotonic() + 120
    while stored.find(keys[0]).state == "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    assert stored.find(keys[0]).owner == "ada"
    at = sweep_page(sweeps=keys[0])
    found = [str(block["text"]) for block in blocks(at, "finding")]
    assert any(sentence.startswith(("Best: ", "Cannot tell which is best: ")) for sentence in found)
    assert "sweep.stop" not in [button.key for button in at.button]
    rows = table(at, f"sweep-trials.{keys[0]}")
    assert len(rows) == 4 and rows[0]["trial"]["text"].startswith("learning rate 0.01, hidden")
    figure = plot_frame_figures(at, "sweep-figure")[0]
    assert figure["plot"]["data"][0]["type"] == "heatmap" and figure["pickable"]


def test_a_stored_search_is_shown_and_its_trials_open() -> None:
    plan = carry_out(SWEEP)
    at = page("compare.py", {"unfold": "sweeps", "sweeps": SWEEP.key}, "ada")
    best = next(status for status in plan.trials if status.state == "finished")
    at.session_state[f"sweep-trials.{SWEEP.key}: open"] = best.trial.key
    at = assert_no_errors(at.run())
    assert url_params(at) == {"run": best.trial.key}


def test_a_stopped_search_says_so_and_continues() -> None:
    stored.start(SWEEP, "ada")
    stored.stop(SWEEP.key, "ada")
    at = page("compare.py", {"unfold": "sweeps", "sweeps": SWEEP.key}, "bob")
    assert "4 waiting. It was stopped; “Continue” trains the rest." in page_text(at)
    assert "sweep.stop" not in [button.key for button in at.button]
    at = assert_no_errors(widget(at.button, "sweep.continue").click().run())
    assert stored.find(SWEEP.key).owner == "bob"
    assert stored.find(SWEEP.key).state != "stopped" and warnings_of(at) == []


def test_unknown_searches_and_impossible_values_are_named() -> None:
    at = sweep_page(sweeps="aaaaaaaaaaaa")
    assert any("There is no sweep" in text for text in warnings_of(at))
    assert "No run matches" in page_text(page("runs.py", {"sweep": "aaaaaaaaaaaa"}, "ada"))
    at = sweep_page(sweep_space="learning_rate=0.1,high")
    assert any("learning_rate = high is not possible" in str(block["text"]) for block in blocks(at, "problem"))
    at = assert_no_errors(widget(at.button, "sweep.start").click().run())
    assert any("RNN: learning_rate = high" in text for text in warnings_of(at))
    assert stored.newest() == []
