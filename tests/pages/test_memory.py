from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.experiments.recall import DEFAULT_VARIANTS, SWEEP_LENGTHS, VARIANTS
from explorer.jobs.scheduler import LocalScheduler
from explorer.jobs.service import service
from explorer.labs.memory import recall
from explorer.labs.memory.small_data import SEEDS, train_string
from explorer.labs.memory.state import MemoryState
from explorer.run_store import store
from explorer.tasks.string import find_errors, loss_floor
from explorer.training.config import key
from explorer.web.operations import warmup
from tests.pages import screen
from tests.words import assert_mentions


def memory(address: Mapping[str, str] | None = None, unfold: str = "") -> AppTest:
    """Open the page; `unfold` names its unfolded sections."""
    return screen.open_page("memory.py", {**(address or {}), **({"unfold": unfold} if unfold else {})})


def test_the_default_state_shows_results() -> None:
    at = memory()
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {}
    titles = [panel["title"] for panel in screen.plot_frame_figures(at, "memory-lengths")]
    assert titles == ["RNN", "LSTM", "GRU", "Transformer"]
    finding = next(heading.value for heading in at.subheader if "first of 50 symbols" in heading.value)
    assert len(finding.split()) <= 20 and "in every" in finding
    assert len(screen.plot_frame_figures(at, "memory-gradients")) == 1
    rows = screen.table(at, "memory-gradient-ratios")
    assert [row["name"]["text"] for row in rows] == [VARIANTS[name].title for name in DEFAULT_VARIANTS]
    assert rows[0]["factor"]["text"].startswith("radius ") and rows[2]["factor"]["text"].startswith("gate ")
    assert rows[-1]["factor"]["text"] == "–", "a Transformer passes no gradient from step to step"
    assert (
        len(at.expander) <= 5
        and screen.component_data(at, "gate_viewer") == screen.component_data(at, "generated_errors") == []
    )
    assert not any("No finished run" in part.value for part in at.markdown)


def test_the_models_name_the_first_letter_of_a_typed_row() -> None:
    at = screen.wait_until_ready(memory({"say": "abbbb", "who": "rnn-usual,gru-usual"}))
    run = store.find_by_config(MemoryState().configs["gru-usual"])
    assert run and recall.share_of_seeds(run, "abbbb") == 1
    assert_mentions(screen.page_text(at), "The row begins with a. Every seed of GRU (standard initialization) says so.")


def test_a_short_training_is_offered_where_the_results_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warmup, "is_ready", lambda: True)
    monkeypatch.setattr(LocalScheduler, "_schedule", lambda _: None)  # no training begins
    at = memory()
    (short,) = [button for button in at.button if button.label.startswith("Train")]
    assert short.label.startswith("Train 1 seed, ")
    at = screen.assert_no_errors(short.click().run())
    assert screen.url_params(at)["seeds"] == "1"
    submitted = {view.key for view in service.views(at.session_state["lineage.visitor"])}
    assert submitted == {key(config) for config in MemoryState().short.configs.values()}


def test_every_section_can_be_unfolded() -> None:
    at = memory(unfold="results,gates,exploding,small-data")
    rows = screen.table(at, "memory-results")
    assert [row["name"]["text"] for row in rows] == [VARIANTS[name].title for name in DEFAULT_VARIANTS]
    for row, name in zip(rows, DEFAULT_VARIANTS, strict=True):
        card = store.find(f"recall-50-{name}").card
        assert row["solved"]["values"] == pytest.approx(card.metrics["accuracy"].values, abs=1e-4)
    assert len(screen.component_data(at, "gate_viewer")) == len(screen.component_data(at, "generated_errors")) == 1
    assert (
        len(screen.plot_frame_figures(at, "memory-gains")) == 1
        and len(screen.table(at, "memory-clipping-results")) == 3
    )
    assert "Right on training and on new sequences" in screen.page_text(at)
    tiles = screen.plot_frame_figures(at, "memory-sweep")[0]["plot"]["data"][0]
    for name, row in zip(DEFAULT_VARIANTS, tiles["z"], strict=True):
        for length, share in zip(SWEEP_LENGTHS, row, strict=True):
            accuracy = store.find(f"recall-{length}-{name}").card.metrics["accuracy"].values
            assert share == pytest.approx(sum(v is not None and v >= 0.95 for v in accuracy) / 8), (name, length)


def test_the_gates_of_a_sequence_are_shown_and_other_letters_are_reported() -> None:
    assert screen.component_data(memory({"say": "bab"}, "gates"), "gate_viewer")[0]["symbols"] == ["b", "a", "b"]
    at = memory({"say": "xyz", "who": "gru-chrono"}, "gates")
    assert any("The models never saw" in sentence for sentence in screen.warnings_of(at))
    assert len(screen.component_data(at, "gate_viewer")[0]["symbols"]) > 1, "a random sequence"


def test_the_last_model_cannot_be_removed() -> None:
    at = memory({"who": "gru-chrono"})
    at = screen.wait_until_ready(screen.assert_no_errors(screen.widget(at.pills, "memory.who-gru").set_value([]).run()))
    assert screen.url_params(at) == {"who": "gru-chrono"}


def script() -> None:
    from explorer.labs.memory.small_data import string_section
    from explorer.labs.memory.state import MemoryState
    from explorer.ui.state.session import page_session, record_page, write_url

    record_page("memory")
    session = page_session("memory", MemoryState)
    string_section(session)
    write_url(session)


def open_section(**params: str) -> AppTest:
    at = AppTest.from_function(script, default_timeout=600)
    for name, value in params.items():
        at.query_params[name] = value
    return screen.assert_no_errors(at.run())


def test_all_numbers_follow_from_the_string_and_its_two_runs() -> None:
    text = "abca abca abca "
    at = open_section()
    assert screen.warnings_of(at) == []
    assert_mentions("\n".join(screen.texts(at)), "Memory saves 0.297 nats … “a”")
    found = train_string(text, "rnn")
    (panel,) = screen.plot_frame_figures(at, "memory-string")
    medians = [trace for trace in panel["plot"]["data"] if trace["name"].endswith("median")]
    for trace, curves in zip(medians, (found.with_state, found.without_state), strict=True):
        assert trace["y"] == pytest.approx(np.median(curves.metrics["loss"][1:], axis=1).tolist(), rel=1e-4)
    (mark,) = panel["plot"]["layout"]["shapes"]
    assert mark["y0"] == loss_floor(text)
    with_state, without_state = screen.component_data(at, "generated_errors")[0]["texts"]
    for shown_text, curves in ((with_state, found.with_state), (without_state, found.without_state)):
        written = curves.samples[-1][0]
        assert "".join(run["text"] for run in shown_text["runs"]) == written
        assert sum(run["why"] is not None for run in shown_text["runs"]) == len(find_errors(text, written))
    (row,) = screen.table(at, "memory-string-contexts")
    assert (row["name"]["text"], row["share"]["text"], row["part"]["text"]) == ("“a”", "6 / 14", "0.297")
    assert r"\tfrac{6}{14} \cdot 0.693" in screen.page_text(at)


def test_string_model_and_seed_are_in_the_url() -> None:
    at = open_section(text="aab", text_seed="7")
    assert screen.component_data(at, "generated_errors")[0]["texts"][0]["label"].startswith("Text of seed 7")
    at.text_input[0].set_value("a\u0308b<b>")  # a composed letter is one character
    screen.assert_no_errors(at.run())
    assert screen.url_params(at) == {"text": "äb<b>", "text_seed": "7"}
    at.selectbox[0].set_value(SEEDS - 2)
    screen.assert_no_errors(at.run())
    assert screen.url_params(at)["text_seed"] == "6"
    first = screen.component_data(at, "generated_errors")[0]["texts"][0]
    assert first["first"] == "ä"
    assert "<b>" not in screen.page_text(at).replace(r"\<b\>", "")


def test_an_invalid_string_is_reported_and_nothing_else_is_lost() -> None:
    at = open_section(text="a")
    (warning,) = screen.warnings_of(at)
    assert "is a single character" in warning
    assert screen.component_data(at, "plot_frame") == []
    at.text_input[0].set_value("ab")
    assert screen.warnings_of(screen.assert_no_errors(at.run())) == []
