"""Every sentence is held against the numbers it was made from; the sections are drawn with small runs."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.inspection.language.bracket_accuracy import BracketAccuracy
from explorer.inspection.language.context_cost import LENGTHS, ContextCosts, StepCost
from explorer.inspection.language.context_use import ContextUse
from explorer.labs.text.bracket_accuracy import bracket_finding, is_bracket_task
from explorer.labs.text.context_cost import context_cost_finding, cost_formulas
from explorer.labs.text.context_use import context_finding
from explorer.labs.text.line_charts import cache_key
from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run
from tests.pages import screen
from tests.pages.screen import component_data

LAST = np.array([1, 2, 4, 8, 16])


def said(at: AppTest) -> str:
    """All prose, as it is read."""
    return re.sub(r"\\([^a-zA-Z,;])", r"\1", screen.page_text(at))


def reach(enough: int, limit: int | None = None, bins: int = 5) -> ContextUse:
    """What a model that gains up to so many tokens would give."""
    last = LAST[:bins]
    gain = np.where(last < enough, 0.5, 0.0)
    losses = np.linspace(3, 2, bins)[None]
    return ContextUse(last, np.full(bins, 100), losses, np.full(bins, 0.01), gain, np.full(bins, 0.01), limit)


def test_who_stops_and_who_still_gains_is_said() -> None:
    found = {"n-gram": reach(8, limit=5), "Feedforward": reach(4, limit=8), "LSTM": reach(16), "Transformer": reach(16)}
    assert context_finding(found) == (
        "Feedforward gains nothing measurable beyond 4 tokens; n-gram beyond 5, as far as it sees. "
        "LSTM and Transformer still gain when they have read 16 tokens, all that a row gives."
    )
    assert context_finding({"RNN": reach(16)}) == ("RNN still gains when it has read 16 tokens, all that a row gives.")
    assert context_finding({"RNN": reach(1)}) == "RNN gains nothing measurable beyond 1 token."
    assert (
        context_finding({"n-gram": reach(1, limit=0)})
        == "n-gram gains nothing measurable beyond 1 token, as far as it sees."
    )
    worse = replace(reach(1), losses=np.array([[3, 2.1, 2.5, 2.5, 2.55]]), gain=np.array([0, -0.4, 0, 0, 0]))
    assert context_finding({"n-gram": worse, "RNN": reach(16)}) == (
        "n-gram even does worse with more: 2.10 nats after 2 tokens, 2.55 after 16. "
        "RNN still gains when it has read 16 tokens, all that a row gives."
    )
    together = {"n-gram": reach(4, limit=5), "RNN": reach(4), "Feedforward": reach(8, limit=8)}
    assert context_finding(together) == (
        "n-gram and RNN gain nothing measurable beyond 4 tokens; Feedforward beyond 8, as far as it sees."
    )
    assert "nobody can look further back" in context_finding({"RNN": reach(1, bins=1)})


def closings(near: float, far: float, asked: int = 400) -> BracketAccuracy:
    last = np.array([4, 16, 60])
    return BracketAccuracy(last, np.full(3, asked), np.array([[near, near, far]]), 0.27, ")", 64)


def test_who_knows_what_is_open_is_said() -> None:
    found = {"n-gram": closings(0.9, 0.28), "RNN": closings(1, 0.5), "Transformer": closings(1, 0.97)}
    assert bracket_finding(found) == (
        "From 17 characters on Transformer closes 0.97 and RNN 0.50 of the marks rightly; n-gram 0.28 is no better "
        "than one answer for all. Always answering “)” gets 0.27."
    )
    nobody = bracket_finding({"n-gram": closings(0.9, 0.28), "RNN": closings(0.9, 0.2)})
    assert nobody == (
        "From 17 characters on nobody knows what is open: n-gram 0.28 and RNN 0.20 of the marks are closed rightly. "
        "Always answering “)” gets 0.27."
    )
    assert "no better" not in bracket_finding({"RNN": closings(1, 0.5)})
    assert "nobody knows" in bracket_finding({"RNN": closings(1, 0.5, asked=5)}), "too few were asked"


def test_models_that_were_asked_at_different_places_are_compared_at_far_ones() -> None:
    """A model of one seed is asked at more places than one of five, and so at more distances."""
    many = BracketAccuracy(np.array([4, 16, 45, 60]), np.full(4, 400), np.array([[0.9, 0.9, 0.3, 0.25]]), 0.27, ")", 64)
    told = bracket_finding({"n-gram": many, "RNN": closings(1, 0.5)})
    assert told.startswith("From 17 characters on RNN closes 0.50 of the marks rightly; n-gram 0.28 is no better")
    assert bracket_finding({"RNN": closings(1, 0.5), "n-gram": many}) == told
    near = BracketAccuracy(np.array([4]), np.array([400]), np.array([[0.9]]), 0.27, ")", 64)
    assert bracket_finding({"RNN": closings(1, 0.5), "LSTM": near}).startswith("From 17 characters on RNN closes 0.50")
    assert "LSTM" not in bracket_finding({"RNN": closings(1, 0.5), "LSTM": near}), "it was asked nothing so far back"


def test_where_nothing_was_opened_far_back_all_distances_count() -> None:
    near = BracketAccuracy(np.array([2, 4]), np.array([30, 10]), np.array([[1.0, 0.5]]), 0.3, "]", 64)
    assert bracket_finding({"RNN": near}).startswith("At these distances RNN closes 0.88 of the marks rightly. Always")


N = np.array(LENGTHS, float)
LEVEL = np.full(len(LENGTHS), 0.1)


def price(model: str, seconds: np.ndarray, kept: np.ndarray, explicit: bool = False) -> StepCost:
    return StepCost(model, explicit, seconds, kept)


def test_what_long_rows_cost_is_said() -> None:
    found = ContextCosts(
        (
            price("feedforward", LEVEL, 1e7 * np.ones(7)),
            price("rnn", 0.1 * N**0.5, 1e7 * np.ones(7)),
            price("transformer", 0.1 * N**0.1, 1e7 * np.ones(7)),
            price("transformer", 0.001 * N, 1e5 * N, explicit=True),
        ),
        9.0,
    )
    assert context_cost_finding(found) == (
        "In rows of 1,024 instead of 128 tokens, the same number of tokens takes Transformer (explicit) 8.0 times as "
        "long and RNN 2.8; Feedforward and Transformer no longer. Memory grows 8.0 times for Transformer (explicit), "
        "for the others not."
    )
    level = ContextCosts((price("gru", LEVEL, LEVEL),), 1.0)
    assert context_cost_finding(level).endswith("takes nobody longer. Nobody needs more memory.")
    grows = ContextCosts((price("gru", N, N),), 1.0)
    assert context_cost_finding(grows).endswith("takes GRU 8.0 times as long. Memory grows 8.0 times for GRU.")
    nothing = ContextCosts((price("gru", LEVEL * math.nan, LEVEL * math.nan),), 1.0)
    assert "too large to be measured" in context_cost_finding(nothing)
    part = ContextCosts((price("gru", np.where(N > 256, np.nan, N), LEVEL),), 1.0)
    assert context_cost_finding(part).startswith(
        "In rows of 256 instead of 128 tokens, the same number of tokens takes GRU 2.0"
    )
    outlier = np.where(N == 1_024, 0.15, LEVEL)
    assert "takes GRU 1.4 times" in context_cost_finding(ContextCosts((price("gru", outlier, LEVEL),), 1.0)), (
        "all points count"
    )
    assert "Memory grows 1.5 times" in context_cost_finding(ContextCosts((price("gru", LEVEL, outlier),), 1.0)), (
        "bytes are exact"
    )


def test_the_formula_has_the_numbers_of_these_sizes_and_of_the_measurement() -> None:
    config = default_config("text", "transformer")
    extra = 65_536 * N
    found = ContextCosts(
        (price("transformer", LEVEL, LEVEL), price("transformer", LEVEL, LEVEL + extra, explicit=True)), 1.0
    )
    (said, memory), (_, products) = cost_formulas({"rnn": default_config("text", "rnn"), "transformer": config}, found)
    assert said.endswith(
        "L = 4 and h = 4 that is 67 MB in rows of n = 1,024; measured are 67 MB more than without them."
    )
    assert memory.endswith(r"4\;\text{bytes} = 0.0655\, n\;\text{MB}")
    assert products == (
        r"\underbrace{4 d^2 + 2 d m}_{49{,}152} = \underbrace{2\, n\, d}_{128\, n} \;\Rightarrow\; n = 2 d + m = 384"
    )
    assert cost_formulas({"rnn": default_config("text", "rnn")}, found) == []
    ((alone, _), _) = cost_formulas({"transformer": config}, ContextCosts((price("transformer", LEVEL, LEVEL),), 1.0))
    assert "measured" not in alone


def test_only_the_brackets_in_characters_with_an_end_held_out_can_be_asked() -> None:
    task: Any = with_settings(default_config("text", "rnn"), {"corpus": "brackets"}).task
    assert is_bracket_task(task)
    for change in (
        {"corpus": "toy"},
        {"tokenizer": "bpe"},
        {"split": "windows"},
        {"rows": "sentences", "split": "sentences"},
    ):
        assert not is_bracket_task(with_settings(default_config("text", "rnn"), {"corpus": "brackets", **change}).task)  # type: ignore[arg-type]


# The sections

SMALL: dict[str, dict[str, object]] = {
    "ngram": {"n": 4},
    "feedforward": {"width": 4, "hidden": 9, "window": 3},
    "gru": {"width": 4, "hidden": 9, "batches": "contiguous", "replicas": 2},
    "transformer": {"width": 8, "heads": 2, "layers": 1, "hidden": 12},
}


def small(model: str, **changes: Any) -> RunConfig:
    loop = {} if model == "ngram" else {"iterations": 3, "batch_size": 4, "evaluation_size": 100}
    text = {"corpus": "brackets", "size": 5_000, "context": 16}
    return with_settings(default_config("text", model), {**text, **SMALL[model], **loop, **changes})


def page(section: str) -> None:
    """What AppTest runs: a section with the lanes that a test laid down."""
    import streamlit as st

    from explorer.labs.text import bracket_accuracy, context_cost, context_use
    from tests.labs.text.test_sections import LANES

    if section == "closing":
        bracket_accuracy.bracket_section(LANES, lambda: st.session_state.update(chosen=True))
    elif section == "price":
        context_cost.context_cost_section(LANES)
    else:
        context_use.context_section(LANES)


LANES: dict[str, Any] = {}


@pytest.fixture
def lanes() -> Any:
    from explorer.ui.training.run_view import RunView

    def made(*models: str, train: bool = True, **changes: Any) -> None:
        LANES.clear()
        for model in models:
            config = small(model, **changes)
            stored = store.save_run(record_run(config), store.run_folder(config)) if train else None
            LANES[model] = RunView(config, stored, None)

    yield made
    LANES.clear()


def opened(section: str) -> AppTest:
    at = AppTest.from_function(page, args=(section,), default_timeout=600).run()
    return at


def until(at: AppTest, what: Callable[[AppTest], object]) -> AppTest:
    """The same page, looked at until it is there."""
    end = time.monotonic() + 60
    while not what(at.run()):
        assert [error.value for error in at.exception] == []
        assert time.monotonic() < end
        time.sleep(0.1)
    return at


def test_how_far_back_is_drawn_for_every_model_with_weights(lanes: Any) -> None:
    lanes(*SMALL)
    LANES["rnn"] = type(LANES["gru"])(with_settings(default_config("text", "rnn"), {"corpus": "brackets"}), None, None)
    at = until(opened("distance"), lambda at: component_data(at, "plot_frame"))
    (data,) = component_data(at, "plot_frame")
    (panel,) = data["figures"]
    assert [track["title"] for track in panel["tracks"]] == ["n-gram", "Feedforward", "GRU", "Transformer"]
    assert panel["plot"]["data"][2]["x"] == [1, 2, 3, 4, 6, 8, 12, 16]
    assert at.subheader[0].value.count("gain") >= 1
    assert "GRU learned with carried state" in said(at)
    assert "Without weights yet: RNN" in said(at)
    assert "500 held-out targets" in said(at)
    assert len(at.latex) == 1 and at.header[0].value == "How far back does it look?"


def test_before_anything_is_trained_there_is_a_sentence(lanes: Any) -> None:
    lanes("gru", "transformer", train=False)
    for section in ("distance", "closing"):
        at = opened(section)
        assert not component_data(at, "plot_frame") and "trained" in said(at)


def test_a_model_that_diverged_is_named_and_not_drawn(lanes: Any) -> None:
    lanes("ngram", "transformer")
    stored = LANES["transformer"].stored
    for file in (stored.folder / "snapshots").glob("*"):
        from safetensors.numpy import load_file, save_file

        save_file({name: np.full_like(value, math.nan) for name, value in load_file(file).items()}, file)
    for section in ("distance", "closing"):
        at = until(opened(section), lambda at: component_data(at, "plot_frame"))
        (panel,) = component_data(at, "plot_frame")[0]["figures"]
        assert [track["title"] for track in panel["tracks"]] == ["n-gram"]
        assert "diverged give no numbers and are left out: Transformer (one)" in said(at)


def test_damaged_weights_are_a_sentence_and_the_others_are_drawn(lanes: Any) -> None:
    lanes("ngram", "transformer")
    for file in (LANES["transformer"].stored.folder / "snapshots").glob("*"):
        file.write_bytes(b"nothing")
    at = until(opened("distance"), lambda at: component_data(at, "plot_frame"))
    assert "cannot be read" in said(at)
    assert len(component_data(at, "plot_frame")[0]["figures"][0]["tracks"]) == 1


def test_prices_are_measured_when_asked_for_and_the_sizes_are_those_of_the_lanes(
    lanes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def measured(configs: dict[str, RunConfig]) -> ContextCosts:
        asked.append(list(configs))
        values = 0.1 * N
        return ContextCosts((price("gru", values, values), price("transformer", values, values, explicit=True)), 3.21)

    monkeypatch.setattr("explorer.inspection.language.context_cost.measure_context_costs", measured)
    lanes("ngram", "gru", "transformer", train=False)
    at = opened("price")
    assert not asked and not component_data(at, "plot_frame")
    assert [button.label for button in at.button] == ["Measure on this server"]
    at.button[0].click()
    at = until(at, lambda at: component_data(at, "plot_frame"))
    assert asked == [["gru", "transformer"]]
    time_, memory = component_data(at, "plot_frame")[0]["figures"]
    assert [track["title"] for track in time_["tracks"]] == ["GRU", "Transformer, explicit"]
    assert memory["title"] == "Megabytes kept for the way back"
    assert "fitted from 128 tokens on: GRU 1.00 and Transformer (explicit) 1.00." in said(at)
    assert "What is missing" not in said(at)
    assert "measured in 3.2 s on this server" in said(at) and len(at.latex) == 2
    assert [button.label for button in at.button] == ["Measure again"]
    at.button[0].click()
    until(at, lambda at: len(asked) == 2)
    LANES.pop("transformer")
    assert [button.label for button in at.run().button] == ["Measure on this server"]
    LANES.pop("gru")
    assert "Counting takes no training steps" in said(at.run())


def test_every_press_measures_anew_and_a_visitor_sees_their_own_numbers(
    lanes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def measured(configs: dict[str, RunConfig]) -> ContextCosts:
        threads.append(threading.current_thread().name)
        return ContextCosts((price("gru", 0.1 * N, 0.1 * N),), float(len(threads)))

    monkeypatch.setattr("explorer.inspection.language.context_cost.measure_context_costs", measured)
    lanes("gru", train=False)
    visitors = [opened("price"), opened("price")]
    for turn in range(4):  # each of them twice: "Measure on this server", then "Measure again"
        at = visitors[turn % 2]
        at.button[0].click()
        until(at, lambda at, turn=turn: f"measured in {turn + 1}.0 s" in said(at))  # type: ignore[misc]
    assert "measured in 3.0 s" in said(visitors[0].run()), "what others measure since changes nothing"
    assert all(name.startswith("timing") for name in threads), "other work does not wait for it"


def test_closing_is_drawn_on_the_brackets_and_offered_elsewhere(lanes: Any) -> None:
    lanes("ngram", "gru")
    at = until(opened("closing"), lambda at: component_data(at, "plot_frame"))
    (panel,) = component_data(at, "plot_frame")[0]["figures"]
    assert [track["title"] for track in panel["tracks"]] == ["n-gram", "GRU"]
    assert "low" in panel["tracks"][1], "two seeds have a band"
    assert "Always answering" in at.subheader[0].value and "where a mark closes another" in said(at)
    json.dumps(panel)  # nothing in it that JSON does not know

    lanes("gru", train=False, corpus="toy")
    at = opened("closing")
    assert "nested brackets and quotes" in said(at)
    at.button[0].click().run()
    assert at.session_state["chosen"]


def test_the_key_of_a_result_holds_the_fingerprint_of_an_own_text() -> None:
    from explorer.tasks.text import corpora
    from explorer.ui.training.run_view import RunView

    sha = corpora.store_text("a text of twenty letters and more, said again and again " * 9)
    config = small("ngram", corpus="own", text=sha)
    stored = store.save_run(record_run(config), store.run_folder(config))
    assert sha in cache_key(RunView(config, stored, None))


def test_a_private_run_that_is_trained_again_has_another_key() -> None:
    """Whatever address its record has: that of one that is gone is taken again."""
    from explorer.jobs.job import Job
    from explorer.ui.training.run_view import RunView

    config = small("ngram")
    record = record_run(config)
    first, second = (RunView(config, None, Job(config, "ada").view(), private=record) for _ in range(2))
    assert first.cache_key == first.cache_key != second.cache_key
