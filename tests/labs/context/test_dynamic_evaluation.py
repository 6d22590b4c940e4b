from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from streamlit.testing.v1 import AppTest
from syrupy.assertion import SnapshotAssertion

from explorer.catalogue import MODELS
from explorer.inspection.language.dynamic_evaluation import DynamicEvaluation, NgramEvaluation, RunningLoss
from explorer.labs.context import dynamic_evaluation
from explorer.labs.context.dynamic_evaluation import (
    DEFAULT_RATE,
    FinalBits,
    Reading,
    dynamic_evaluation_finding,
    method_caption,
    ngram_cache_finding,
    reading_chart,
    shared_span,
    steps_sentence,
)
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run
from explorer.ui.training.run_view import RunView
from explorer.web import background
from tests.charts.figures import figure_of
from tests.labs.text.small_runs import open_section
from tests.pages.screen import assert_no_errors, component_data, findings, page_text

TASK = {"corpus": "repeats", "size": 3_000, "context": 16}
SMALL = {"width": 4, "hidden": 9, "iterations": 5, "batch_size": 2}


def make_view(model: str, folder: Path, **changes: Any) -> RunView:
    """Return the view of a stored run."""
    own = {"n": 3} if model == "ngram" else SMALL
    config = with_settings(default_config("text", model), {**TASK, **own, "replicas": 1, **changes})
    return RunView(config, store.save_run(record_run(config), folder / model), None)


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunView]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        "ngram": make_view("ngram", folder),
        "rnn": make_view("rnn", folder, batches="contiguous"),
        "gru": make_view("gru", folder, iterations=60, learning_rate=0.03),
    }


@pytest.fixture(autouse=True)
def reset_background(monkeypatch: pytest.MonkeyPatch) -> None:
    background.reset()


def section(views: Mapping[str, RunView]) -> AppTest:
    return assert_no_errors(open_section("explorer.labs.context.dynamic_evaluation:dynamic_evaluation_section", views))


def figures(at: AppTest) -> list[dict[str, Any]]:
    return [figure for data in component_data(at, "plot_frame") for figure in data["figures"]]


def test_without_a_trained_model_the_section_asks_to_train_one(views: dict[str, RunView]) -> None:
    at = section({"ngram": views["ngram"], "gru": replace(views["gru"], stored=None)})
    assert "Train one above" in page_text(at) and not at.button and not figures(at)


def test_evaluation_starts_with_the_button_and_with_the_best_model(views: dict[str, RunView]) -> None:
    at = section(views)
    assert not background.results() and not figures(at)
    assert at.button_group[0].value == ["gru"]
    at = assert_no_errors(at.button(key="online.start").click().run())
    (figure,) = figures(at)
    assert figure["title"] == "GRU" and figure["value"].endswith("bits per character")
    traces = figure["plot"]["data"]
    titles = ["dynamic evaluation", "fixed weights", "n-gram without a cache", "n-gram with a cache"]
    assert [track["title"] for track in figure["tracks"]] == titles
    learning, still, _, cached = (trace["y"][-1] for trace in traces)
    end = FinalBits("GRU", still, learning, "blocks of 16", cached)
    expected = dynamic_evaluation_finding([end]), ngram_cache_finding([end])
    assert findings(at) == [" ".join(expected)]
    assert at.button(key="online.start").disabled
    assert {key[1][1] for key in background.results() if key[0].endswith("evaluate_run_dynamically")} == {DEFAULT_RATE}
    assert f"steps of η = {DEFAULT_RATE:g}, each" in page_text(at)


def test_another_rate_needs_another_start_and_two_models_share_an_axis(views: dict[str, RunView]) -> None:
    at = assert_no_errors(section(views).button(key="online.start").click().run())
    at.select_slider(key="online.rate").set_value(0.3)
    assert_no_errors(at.button_group[0].set_value(["gru", "rnn"]).run())
    assert not figures(at) and not at.button(key="online.start").disabled
    at = assert_no_errors(at.button(key="online.start").click().run())
    rnn, gru = figures(at)
    assert (rnn["title"], gru["title"]) == ("RNN", "GRU")
    assert rnn["plot"]["layout"]["yaxis"]["range"] == gru["plot"]["layout"]["yaxis"]["range"]
    assert findings(at)[0]


def with_huge_weights(view: RunView, folder: Path) -> RunView:
    """Return the same run with finite weights that are so large that its losses are not."""
    assert view.stored
    copied = folder / "huge"
    shutil.copytree(view.stored.folder, copied)
    for file in (copied / "snapshots").glob("*"):
        save_file({name: np.full_like(value, 3e38) for name, value in load_file(file).items()}, file)
    return replace(view, stored=replace(view.stored, folder=copied))


def test_a_model_without_a_finite_loss_is_named_and_not_drawn(views: dict[str, RunView], tmp_path: Path) -> None:
    both = {"rnn": with_huge_weights(views["rnn"], tmp_path), "gru": views["gru"]}
    at = section(both)
    assert_no_errors(at.button_group[0].set_value(["rnn", "gru"]).run())
    at = assert_no_errors(at.button(key="online.start").click().run())
    assert [figure["title"] for figure in figures(at)] == ["GRU"]
    assert "The losses of the RNN are not finite" in findings(at)[0] and "the GRU" in findings(at)[0]
    at = section({"rnn": both["rnn"]})
    assert_no_errors(at.button(key="online.start").click().run())
    assert "The losses of the RNN are not finite" in findings(at)[0] and not figures(at)


def test_results_on_a_private_text_are_deleted_with_the_text(
    views: dict[str, RunView], monkeypatch: pytest.MonkeyPatch
) -> None:
    from explorer.tasks.text import corpora

    monkeypatch.setattr(corpora, "shared_by", [lambda sha, visitor: True])  # the visitor of the page owns it as well
    sha = corpora.store_text("How much wood would a woodchuck chuck? " * 60)
    config = with_settings(
        default_config("text", "gru"), {**SMALL, "corpus": "own", "text": sha, "context": 16, "replicas": 1}
    )
    private_view = RunView(config, None, None, private=record_run(config))
    at = assert_no_errors(section({"gru": private_view}).button(key="online.start").click().run())
    assert figures(at) and background.results()
    background.drop_results(sha)
    assert not background.results()


def test_sentences(snapshot: SnapshotAssertion) -> None:
    gru, rnn, lstm = (
        FinalBits(title, 2.5, bits, context, cached)
        for title, bits, context, cached in (
            ("GRU", 2.13, "reading on", 1.97),
            ("RNN", 1.9, "blocks of 64", 2.05),
            ("LSTM", 1.971, "reading on", 1.97),
        )
    )
    progress = RunningLoss(np.array([64, 128]), np.array([1.5, 1.4]))
    found = DynamicEvaluation(0.1, progress, progress, np.array([0.5, 2.0]), 0.0123, 198273, True, 111540, 1.0, 3.21)
    weights = {"GRU": 0.1, "LSTM": 0.1, "RNN": 0.2}
    cold = replace(found, carries_state=False)
    short = replace(cold, static=RunningLoss(np.array([64]), np.array([1.5])))
    assert [
        *(
            dynamic_evaluation_finding([FinalBits(*end) for end in ends])
            for ends in [
                [("GRU", 2.31, 2.27)],
                [("RNN", 2.31, 2.4)],
                [("Feedforward", 2.31, 2.309)],
                [("RNN", 2.31, math.nan)],
                [("RNN", 2.5, 2.4), ("GRU", 2.3, 2.1), ("LSTM", 2.3, 2.4), ("Transformer", 2.2, 2.2)],
                [("RNN", math.nan, math.nan)],
                [("RNN", math.inf, math.nan), ("GRU", 2.3, 2.1)],
                [("RNN", 2.5, 2.6), ("GRU", 2.3, 2.3)],
            ]
        ),
        *(ngram_cache_finding(each) for each in ([gru, rnn, lstm], [replace(gru, dynamic=math.nan)], [])),
        method_caption({"GRU": found}, TextConfig(batches="contiguous"), "characters", 3, {"GRU": 0.1}),
        method_caption({"GRU": found}, TextConfig(), "characters", 3, weights),
        method_caption({"RNN": cold}, TextConfig(), "tokens", 1, {}),
        method_caption({"GRU": found, "RNN": cold, "LSTM": short}, TextConfig(), "tokens", 1, {}),
        steps_sentence("GRU", found, "characters"),
    ] == snapshot


READ = np.arange(64, 20_033, 64)


def course(values: np.ndarray | float) -> RunningLoss:
    """Return losses that are given in bits."""
    losses = values * np.ones(len(READ)) if isinstance(values, float) else values
    return RunningLoss(READ, losses * math.log(2))


def reading(dynamic: np.ndarray, static: float, *ngram: float) -> Reading:
    """Return a reading by its bits per character; those of the n-gram are without and with a cache."""
    found = DynamicEvaluation(0.1, course(static), course(dynamic), np.ones(1), 0.1, 10, False, 20_032, 1.0, 1.0)
    beside = NgramEvaluation(*map(course, ngram), 0.1) if ngram else None
    return Reading(MODELS["gru"], default_config("text", "gru"), found, beside)


def test_the_axis_contains_settled_values_and_no_distant_ngram() -> None:
    low, high = shared_span([reading(np.where(READ < 1_000, 9.0, 2.5), 2.31)])
    assert low < 2.31 and 2.5 < high < 3
    learned = 2.3 - 0.05 * READ / READ[-1]
    alone = shared_span([reading(learned, 2.31)])
    assert shared_span([reading(learned, 2.31, 2.22, 2.22)])[0] < 2.22 < alone[0]
    far = reading(learned, 2.31, 2.28, 1.2)
    assert shared_span([far]) == alone
    chart = reading_chart(far, alone, "characters")
    assert figure_of(chart).layout.annotations[-1].text == "<b>↓ cache</b>"
    assert all(len(trace["x"]) <= 200 for trace in chart.traces())
    assert [readout["title"] for readout in chart.readouts][2:] == ["n-gram without a cache", "n-gram with a cache"]


def test_only_models_with_the_same_held_out_tokens_are_compared() -> None:
    same = dynamic_evaluation._same_held_out_text
    assert same(TextConfig(), TextConfig(batches="contiguous", context=32))
    assert not same(TextConfig(), TextConfig(tokenizer="bpe"))
    assert not same(TextConfig(), TextConfig(held_out=0.2))
    assert not same(TextConfig(split="windows"), TextConfig(split="windows", context=32))
