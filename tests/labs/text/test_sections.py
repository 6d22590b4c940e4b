"""Findings follow their numbers; the sections are drawn with small runs."""

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
from explorer.labs.context.context_cost import context_cost_finding, cost_formulas
from explorer.labs.context.context_use import context_finding
from explorer.labs.text.bracket_accuracy import bracket_finding, is_bracket_task
from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run
from explorer.ui.language_lines import cache_key
from tests.pages import screen
from tests.pages.screen import component_data, findings
from tests.words import assert_mentions, assert_states

CONTEXTS = np.array([1, 2, 4, 8, 16])


def page_prose(at: AppTest) -> str:
    """Return all text of the page without Markdown escapes."""
    return re.sub(r"\\([^a-zA-Z,;])", r"\1", screen.page_text(at))


def make_context_use(enough: int, limit: int | None = None, count: int = 5) -> ContextUse:
    """Return the result of a model that gains from up to `enough` tokens of context."""
    contexts = CONTEXTS[:count]
    gain = np.where(contexts < enough, 0.5, 0.0)
    losses = np.linspace(3, 2, count)[None]
    return ContextUse(contexts, 100, losses, np.full(count, 0.01), gain, np.full(count, 0.01), limit)


def test_the_finding_names_the_context_that_each_model_uses() -> None:
    found = {
        "n-gram": make_context_use(8, limit=5),
        "Feedforward": make_context_use(4, limit=8),
        "LSTM": make_context_use(16),
        "Transformer": make_context_use(16),
    }
    assert context_finding(found) == "The LSTM and Transformer use all 16 tokens; the n-gram 5; the Feedforward 4."
    assert context_finding({"RNN": make_context_use(1)}) == "The RNN uses 1 token."
    worse = replace(make_context_use(1), losses=np.array([[3, 2.1, 2.5, 2.5, 2.55]]), gain=np.array([0, -0.4, 0, 0, 0]))
    assert_states(
        context_finding({"n-gram": worse, "RNN": make_context_use(16)}),
        "RNN uses all 16 tokens; the loss of the n-gram rises after 2 tokens, from 2.10 to 2.55 nats",
    )
    assert "no model has more context" in context_finding({"RNN": make_context_use(1, count=1)})


def make_bracket_accuracy(near: float, far: float, requested: int = 400) -> BracketAccuracy:
    last = np.array([4, 16, 60])
    return BracketAccuracy(last, np.full(3, requested), np.array([[near, near, far]]), 0.27, ")", 64)


def test_the_finding_names_models_that_close_distant_brackets() -> None:
    found = {
        "n-gram": make_bracket_accuracy(0.9, 0.28),
        "RNN": make_bracket_accuracy(1, 0.5),
        "Transformer": make_bracket_accuracy(1, 0.97),
    }
    assert_states(
        " ".join(bracket_finding(found)),
        "From 17 characters … only Transformer and RNN know … 0.97 … RNN 0.50 … n-gram 0.28 … no better … “)” … 0.27",
    )
    none_better = bracket_finding({"n-gram": make_bracket_accuracy(0.9, 0.28), "RNN": make_bracket_accuracy(0.9, 0.2)})
    assert_states(" ".join(none_better), "From 17 characters … no model … n-gram 0.28 … RNN 0.20 … “)” … 0.27")
    assert "no better" not in bracket_finding({"RNN": make_bracket_accuracy(1, 0.5)})[1]
    assert "no model knows" in bracket_finding({"RNN": make_bracket_accuracy(1, 0.5, requested=5)})[0], "few positions"


def test_models_evaluated_at_different_distances_are_compared_at_large_ones() -> None:
    """A model of one seed is evaluated at more positions than one of five, and so at more distances."""
    many = BracketAccuracy(np.array([4, 16, 45, 60]), np.full(4, 400), np.array([[0.9, 0.9, 0.3, 0.25]]), 0.27, ")", 64)
    sentence = bracket_finding({"n-gram": many, "RNN": make_bracket_accuracy(1, 0.5)})
    assert_mentions(" ".join(sentence), "From 17 characters … RNN … 0.50 … n-gram 0.28 … no better")
    assert bracket_finding({"RNN": make_bracket_accuracy(1, 0.5), "n-gram": many}) == sentence
    near = BracketAccuracy(np.array([4]), np.array([400]), np.array([[0.9]]), 0.27, ")", 64)
    headline, rest = bracket_finding({"RNN": make_bracket_accuracy(1, 0.5), "LSTM": near})
    assert headline == "From 17 characters on, RNN knows which mark is open." and "RNN 0.50" in rest
    assert "LSTM" not in rest, "it has no position at this distance"


def test_without_distant_brackets_all_distances_count() -> None:
    near = BracketAccuracy(np.array([2, 4]), np.array([30, 10]), np.array([[1.0, 0.5]]), 0.3, "]", 64)
    assert_mentions(" ".join(bracket_finding({"RNN": near})), "these distances … RNN … 0.88")


N = np.array(LENGTHS, float)
LEVEL = np.full(len(LENGTHS), 0.1)


def make_step_cost(model: str, seconds: np.ndarray, memory: np.ndarray, explicit: bool = False) -> StepCost:
    return StepCost(model, explicit, seconds, memory)


def test_the_finding_states_the_cost_of_long_rows() -> None:
    found = ContextCosts(
        (
            make_step_cost("feedforward", LEVEL, 1e7 * np.ones(7)),
            make_step_cost("rnn", 0.1 * N**0.5, 1e7 * np.ones(7)),
            make_step_cost("transformer", 0.1 * N**0.1, 1e7 * np.ones(7)),
            make_step_cost("transformer", 0.001 * N, 1e5 * N, explicit=True),
        ),
        9.0,
    )
    assert_states(
        context_cost_finding(found),
        "1,024 instead of 128 tokens … Transformer (explicit) 8.0 times … "
        "RNN 2.8 … Feedforward and Transformer no longer … "
        "Memory … 8.0 times … Transformer (explicit) … not",
    )
    level = ContextCosts((make_step_cost("gru", LEVEL, LEVEL),), 1.0)
    assert context_cost_finding(level).endswith("takes nobody longer. Nobody needs more memory.")
    grows = ContextCosts((make_step_cost("gru", N, N),), 1.0)
    assert_mentions(context_cost_finding(grows), "GRU 8.0 times … Memory … 8.0 times … GRU")
    nothing = ContextCosts((make_step_cost("gru", LEVEL * math.nan, LEVEL * math.nan),), 1.0)
    assert "too large to be measured" in context_cost_finding(nothing)
    part = ContextCosts((make_step_cost("gru", np.where(N > 256, np.nan, N), LEVEL),), 1.0)
    assert_mentions(context_cost_finding(part), "256 instead of 128 tokens … GRU 2.0")
    outlier = np.where(N == 1_024, 0.15, LEVEL)
    assert "takes GRU 1.4 times" in context_cost_finding(ContextCosts((make_step_cost("gru", outlier, LEVEL),), 1.0)), (
        "all points count"
    )
    assert "Memory grows 1.5 times" in context_cost_finding(
        ContextCosts((make_step_cost("gru", LEVEL, outlier),), 1.0)
    ), "bytes are exact"


def test_the_formula_has_the_numbers_of_these_sizes_and_of_the_measurement() -> None:
    config = default_config("text", "transformer")
    extra = 65_536 * N
    found = ContextCosts(
        (
            make_step_cost("transformer", LEVEL, LEVEL),
            make_step_cost("transformer", LEVEL, LEVEL + extra, explicit=True),
        ),
        1.0,
    )
    (description, memory), (_, products) = cost_formulas(
        {"rnn": default_config("text", "rnn"), "transformer": config}, found
    )
    assert_mentions(description, "L = 4 … h = 4 … 67 MB … n = 1,024 … 67 MB more than without")
    assert memory.endswith(r"4\;\text{bytes} = 0.0655\, n\;\text{MB}")
    assert products == (
        r"\underbrace{4 d^2 + 2 d m}_{49{,}152} = \underbrace{2\, n\, d}_{128\, n} \;\Rightarrow\; n = 2 d + m = 384"
    )
    assert cost_formulas({"rnn": default_config("text", "rnn")}, found) == []
    ((alone, _), _) = cost_formulas(
        {"transformer": config}, ContextCosts((make_step_cost("transformer", LEVEL, LEVEL),), 1.0)
    )
    assert "measured" not in alone


def test_bracket_accuracy_needs_the_brackets_in_characters_with_a_held_out_end() -> None:
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
    """Draw a section with the run views of the test; AppTest runs this function."""
    from explorer.labs.context import context_cost, context_use
    from explorer.labs.text import bracket_accuracy
    from tests.labs.text.test_sections import RUN_VIEWS

    if section == "closing":
        bracket_accuracy.bracket_section(RUN_VIEWS)
    elif section == "price":
        context_cost.context_cost_section(RUN_VIEWS)
    else:
        context_use.context_section(RUN_VIEWS)


RUN_VIEWS: dict[str, Any] = {}


@pytest.fixture
def make_run_views() -> Any:
    from explorer.ui.training.run_view import RunView

    def make(*models: str, train: bool = True, **changes: Any) -> None:
        RUN_VIEWS.clear()
        for model in models:
            config = small(model, **changes)
            stored = store.save_run(record_run(config), store.run_folder(config)) if train else None
            RUN_VIEWS[model] = RunView(config, stored, None)

    yield make
    RUN_VIEWS.clear()


def open_section(section: str) -> AppTest:
    at = AppTest.from_function(page, args=(section,), default_timeout=600).run()
    return at


def run_until(at: AppTest, what: Callable[[AppTest], object]) -> AppTest:
    """Rerun the page until the condition holds."""
    end = time.monotonic() + 60
    while not what(at.run()):
        assert [error.value for error in at.exception] == []
        assert time.monotonic() < end
        time.sleep(0.1)
    return at


def test_context_use_is_drawn_for_every_model_with_weights(make_run_views: Any) -> None:
    make_run_views(*SMALL)
    RUN_VIEWS["rnn"] = type(RUN_VIEWS["gru"])(
        with_settings(default_config("text", "rnn"), {"corpus": "brackets"}), None, None
    )
    at = run_until(open_section("distance"), lambda at: component_data(at, "plot_frame"))
    (data,) = component_data(at, "plot_frame")
    (panel,) = data["figures"]
    assert [track["title"] for track in panel["tracks"]] == ["n-gram", "Feedforward", "Transformer"]
    assert panel["plot"]["data"][2]["x"] == [1, 2, 4, 8, 16]
    assert_mentions(page_prose(at), "Left out: GRU, which was trained with the state carried")
    assert "Without a finished run: RNN" in page_prose(at)


def test_without_trained_models_there_is_a_message(make_run_views: Any) -> None:
    make_run_views("gru", "transformer", train=False)
    for section in ("distance", "closing"):
        at = open_section(section)
        assert not component_data(at, "plot_frame") and "trained" in page_prose(at)


def test_a_model_that_diverged_is_named_and_not_drawn(make_run_views: Any) -> None:
    make_run_views("ngram", "transformer")
    stored = RUN_VIEWS["transformer"].stored
    for file in (stored.folder / "snapshots").glob("*"):
        from safetensors.numpy import load_file, save_file

        save_file({name: np.full_like(value, math.nan) for name, value in load_file(file).items()}, file)
    for section in ("distance", "closing"):
        at = run_until(open_section(section), lambda at: component_data(at, "plot_frame"))
        (panel,) = component_data(at, "plot_frame")[0]["figures"]
        assert [track["title"] for track in panel["tracks"]] == ["n-gram"]
        assert_mentions(page_prose(at), "diverged … no numbers … left out … Transformer (one)")


def test_damaged_weights_are_reported_and_the_other_models_are_drawn(make_run_views: Any) -> None:
    make_run_views("ngram", "transformer")
    for file in (RUN_VIEWS["transformer"].stored.folder / "snapshots").glob("*"):
        file.write_bytes(b"nothing")
    at = run_until(open_section("distance"), lambda at: component_data(at, "plot_frame"))
    assert "cannot be read" in page_prose(at)
    assert len(component_data(at, "plot_frame")[0]["figures"][0]["tracks"]) == 1


def test_costs_are_measured_on_request_with_the_sizes_of_the_selected_models(
    make_run_views: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[list[str]] = []

    def measured(configs: dict[str, RunConfig]) -> ContextCosts:
        requested.append(list(configs))
        values = 0.1 * N
        return ContextCosts(
            (make_step_cost("gru", values, values), make_step_cost("transformer", values, values, explicit=True)), 3.21
        )

    monkeypatch.setattr("explorer.inspection.language.context_cost.measure_context_costs", measured)
    make_run_views("ngram", "gru", "transformer", train=False)
    at = open_section("price")
    assert not requested and not component_data(at, "plot_frame")
    assert [button.label for button in at.button] == ["Measure on this server"]
    at.button[0].click()
    at = run_until(at, lambda at: component_data(at, "plot_frame"))
    assert requested == [["gru", "transformer"]]
    time_, memory = component_data(at, "plot_frame")[0]["figures"]
    assert [track["title"] for track in time_["tracks"]] == ["GRU", "Transformer, explicit"]
    assert memory["title"] == "Memory kept for the backward pass, MB"
    assert_mentions(page_prose(at), "from 128 tokens … GRU 1.00 … Transformer (explicit) 1.00")
    assert "What is missing" not in page_prose(at)
    assert "measured in 3.2 s on this server" in page_prose(at) and len(at.latex) == 2
    assert [button.label for button in at.button] == ["Measure again"]
    at.button[0].click()
    run_until(at, lambda at: len(requested) == 2)
    RUN_VIEWS.pop("transformer")
    assert [button.label for button in at.run().button] == ["Measure on this server"]
    RUN_VIEWS.pop("gru")
    assert "An n-gram takes no training steps" in page_prose(at.run())


def test_every_request_measures_again_and_visitors_see_their_own_numbers(
    make_run_views: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def measured(configs: dict[str, RunConfig]) -> ContextCosts:
        threads.append(threading.current_thread().name)
        return ContextCosts((make_step_cost("gru", 0.1 * N, 0.1 * N),), float(len(threads)))

    monkeypatch.setattr("explorer.inspection.language.context_cost.measure_context_costs", measured)
    make_run_views("gru", train=False)
    visitors = [open_section("price"), open_section("price")]
    for turn in range(4):  # each of them twice: "Measure on this server", then "Measure again"
        at = visitors[turn % 2]
        at.button[0].click()
        run_until(at, lambda at, turn=turn: f"measured in {turn + 1}.0 s" in page_prose(at))  # type: ignore[misc]
    assert "measured in 3.0 s" in page_prose(visitors[0].run()), "later measurements of others change nothing"
    assert all(name.startswith("timing") for name in threads), "timings run on threads of their own"


def test_bracket_accuracy_is_drawn_for_brackets_and_offered_for_other_texts(make_run_views: Any) -> None:
    make_run_views("ngram", "gru")
    at = run_until(open_section("closing"), lambda at: component_data(at, "plot_frame"))
    (panel,) = component_data(at, "plot_frame")[0]["figures"]
    assert [track["title"] for track in panel["tracks"]] == ["n-gram", "GRU"]
    assert "low" in panel["tracks"][1], "two seeds have a band"
    assert (
        "mark is open" in findings(at)[0]
        and "Always answering" in page_prose(at)
        and "at which a mark closes another" in page_prose(at)
    )
    json.dumps(panel)  # nothing in it that JSON does not know


def test_the_cache_key_contains_the_hash_of_a_private_text() -> None:
    from explorer.tasks.text import corpora
    from explorer.ui.training.run_view import RunView

    sha = corpora.store_text("a text of twenty letters and more, said again and again " * 9)
    config = small("ngram", corpus="own", text=sha)
    stored = store.save_run(record_run(config), store.run_folder(config))
    assert sha in cache_key(RunView(config, stored, None))


def test_a_private_run_that_is_trained_again_has_another_cache_key() -> None:
    """The key does not depend on the memory address of the record, which may be reused."""
    from explorer.jobs.job import Job
    from explorer.ui.training.run_view import RunView

    config = small("ngram")
    record = record_run(config)
    first, second = (RunView(config, None, Job(config, "ada").view(), private=record) for _ in range(2))
    assert first.cache_key == first.cache_key != second.cache_key
