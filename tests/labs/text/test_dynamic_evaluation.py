from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from streamlit.testing.v1 import AppTest

from explorer.inspection.language.dynamic_evaluation import DynamicEvaluation, RunningLoss
from explorer.labs.text import dynamic_evaluation
from explorer.labs.text.dynamic_evaluation import (
    DEFAULT_RATE,
    FinalBits,
    dynamic_evaluation_finding,
    method_caption,
    steps_sentence,
)
from explorer.run_store import store
from explorer.tasks.text.config import TextConfig
from explorer.training.config import default_config, with_settings
from explorer.training.recorder import record_run
from explorer.ui.training.run_view import RunView
from explorer.web import background

TASK = {"corpus": "repeats", "size": 3_000, "context": 16}
SMALL = {"width": 4, "hidden": 9, "iterations": 5, "batch_size": 2}
BUTTON = "Read on and learn"


def lane(model: str, folder: Path, **changes: Any) -> RunView:
    """A run that is kept."""
    own = {"n": 3} if model == "ngram" else SMALL
    config = with_settings(default_config("text", model), {**TASK, **own, "replicas": 1, **changes})
    return RunView(config, store.save_run(record_run(config), folder / model), None)


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunView]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        "ngram": lane("ngram", folder),
        "rnn": lane("rnn", folder, batches="contiguous"),
        "gru": lane("gru", folder, iterations=60, learning_rate=0.03),
    }


@pytest.fixture(autouse=True)
def nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    background.reset()


def app(lanes: dict[str, object]) -> None:
    from explorer.labs.text.dynamic_evaluation import dynamic_evaluation_section

    dynamic_evaluation_section(lanes)


def section(lanes: Mapping[str, RunView]) -> AppTest:
    return calm(AppTest.from_function(app, args=(lanes,), default_timeout=600).run())


def calm(at: AppTest) -> AppTest:
    assert [error.value for error in at.exception] == []
    return at


def read(at: AppTest) -> AppTest:
    """Until everything that was asked for is drawn."""
    end = time.monotonic() + 60
    while not figures(at) and time.monotonic() < end:
        time.sleep(0.1)
        calm(at.run())
    return at


def figures(at: AppTest) -> list[dict[str, Any]]:
    found = [json.loads(element.proto.json) for element in at.get("bidi_component")]
    return [figure for data in found for figure in data["figures"]]


def said(at: AppTest) -> str:
    return " ".join(element.value for element in (*at.markdown, *at.caption, *at.subheader))


def test_without_a_trained_model_it_says_what_to_do(lanes: dict[str, RunView]) -> None:
    at = section({"ngram": lanes["ngram"], "gru": replace(lanes["gru"], stored=None)})
    assert "Train one above" in said(at) and not at.button and not figures(at)


def test_nothing_is_read_before_the_button_and_then_by_the_best(lanes: dict[str, RunView]) -> None:
    at = section(lanes)
    assert not background.results() and not figures(at)
    assert at.button_group[0].value == ["gru"]
    at = read(calm(at.button(key="online.start").click().run()))
    (figure,) = figures(at)
    assert figure["title"] == "GRU" and figure["value"].endswith("bits a character")
    names = [trace["name"] for trace in figure["plot"]["data"]]
    assert names == ["learning on", "standing still", "n-gram"]
    assert at.button(key="online.start").disabled
    assert {key[-1] for key in background.results() if key[0] == "online"} == {DEFAULT_RATE}
    assert f"steps of η = {DEFAULT_RATE:g}, each".replace(".", "\\.") in said(at)


def test_another_rate_is_another_press_and_two_models_share_an_axis(lanes: dict[str, RunView]) -> None:
    at = read(calm(section(lanes).button(key="online.start").click().run()))
    at.select_slider(key="online.rate").set_value(0.3)
    calm(at.button_group[0].set_value(["gru", "rnn"]).run())
    assert not figures(at) and not at.button(key="online.start").disabled
    at = read(calm(at.button(key="online.start").click().run()))
    rnn, gru = figures(at)
    assert (rnn["title"], gru["title"]) == ("RNN", "GRU")
    assert rnn["plot"]["layout"]["yaxis"]["range"] == gru["plot"]["layout"]["yaxis"]["range"]
    assert "\\(" not in at.subheader[0].value and at.subheader[0].value


def test_the_panel_shows_the_numbers_of_the_sentence(lanes: dict[str, RunView]) -> None:
    at = read(calm(section(lanes).button(key="online.start").click().run()))
    (figure,) = figures(at)
    learning, still, _ = (trace["y"][-1] for trace in figure["plot"]["data"])
    wanted = dynamic_evaluation_finding([FinalBits("GRU", still, learning)])
    assert at.subheader[0].value.replace("\\", "") == wanted


def huge(lane: RunView, folder: Path) -> RunView:
    """The same run with weights that are numbers, but whose losses are none."""
    assert lane.stored
    copied = folder / "huge"
    shutil.copytree(lane.stored.folder, copied)
    for file in (copied / "snapshots").glob("*"):
        save_file({name: np.full_like(value, 3e38) for name, value in load_file(file).items()}, file)
    return replace(lane, stored=replace(lane.stored, folder=copied))


def test_a_model_whose_first_loss_is_no_number_is_named_and_not_drawn(
    lanes: dict[str, RunView], tmp_path: Path
) -> None:
    both = {"rnn": huge(lanes["rnn"], tmp_path), "gru": lanes["gru"]}
    at = section(both)
    calm(at.button_group[0].set_value(["rnn", "gru"]).run())
    at = read(calm(at.button(key="online.start").click().run()))
    assert [figure["title"] for figure in figures(at)] == ["GRU"]
    assert "The losses of the RNN are no numbers" in at.subheader[0].value and "the GRU" in at.subheader[0].value
    at = section({"rnn": both["rnn"]})
    calm(at.button(key="online.start").click().run())
    until = time.monotonic() + 60
    while not at.subheader and time.monotonic() < until:
        time.sleep(0.1)
        calm(at.run())
    assert "The losses of the RNN are no numbers" in at.subheader[0].value and not figures(at)


def test_the_results_of_an_own_text_are_forgotten_with_it(lanes: dict[str, RunView], tmp_path: Path) -> None:
    from explorer.tasks.text import corpora

    sha = corpora.store_text("How much wood would a woodchuck chuck? " * 60)
    config = with_settings(
        default_config("text", "gru"), {**SMALL, "corpus": "own", "text": sha, "context": 16, "replicas": 1}
    )
    mine = RunView(config, None, None, private=record_run(config))
    at = read(calm(section({"gru": mine}).button(key="online.start").click().run()))
    assert figures(at) and background.results()
    background.drop_results(sha)
    assert not background.results()


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [
        ([("GRU", 2.31, 2.27)], "Learning on, the GRU needs 2.27 bits a character instead of 2.31."),
        ([("RNN", 2.31, 2.40)], "Learning on does the RNN harm: 2.40 bits a character instead of 2.31."),
        (
            [("Feedforward", 2.31, 2.309)],
            "Learning on changes next to nothing for the feedforward net: 2.31 bits a character.",
        ),
        ([("RNN", 2.31, math.nan)], "At this rate the losses of the RNN are soon no numbers."),
        (
            [("RNN", 2.5, 2.4), ("GRU", 2.3, 2.1), ("LSTM", 2.3, 2.4), ("Transformer", 2.2, 2.2)],
            "Learning on saves the GRU 0.20 and the RNN 0.10 bits a character. It costs the LSTM 0.10. "
            "It changes next to nothing for the Transformer.",
        ),
        ([("RNN", math.nan, math.nan)], "The losses of the RNN are no numbers, even standing still."),
        (
            [("RNN", math.inf, math.nan), ("GRU", 2.3, 2.1)],
            "Learning on saves the GRU 0.20 bits a character. "
            "The losses of the RNN are no numbers, even standing still.",
        ),
        (
            [("RNN", 2.5, 2.6), ("GRU", 2.3, 2.3)],
            "Learning on costs the RNN 0.10 bits a character. It changes next to nothing for the GRU.",
        ),
    ],
)
def test_the_finding_says_what_came_out(ends: list[tuple[str, float, float]], sentence: str) -> None:
    assert dynamic_evaluation_finding([FinalBits(*end) for end in ends]) == sentence


def test_it_is_told_how_it_was_measured_and_what_the_steps_were() -> None:
    progress = RunningLoss(np.array([64, 128]), np.array([1.5, 1.4]))
    found = DynamicEvaluation(0.1, progress, progress, np.array([0.5, 2.0]), 0.0123, 198_273, True, 111_540, 1.0, 3.21)
    told = method_caption({"GRU": found}, TextConfig(batches="contiguous"), "characters", 3, True)
    assert "over the first 128 of 111,540 held-out characters" in told and "pieces of 64" in told
    assert "carried on" in told and "first of 3 seeds" in told and "in 3.2 s" in told and "n-gram" in told
    cold = replace(found, carries_state=False)
    told = method_caption({"RNN": cold}, TextConfig(), "tokens", 1, False)
    assert "each from a cold start" in told and "seeds" not in told and "n-gram" not in told
    short = replace(cold, static=RunningLoss(np.array([64]), np.array([1.5])))
    told = method_caption({"GRU": found, "RNN": cold, "LSTM": short}, TextConfig(), "tokens", 1, False)
    assert "at most the first 128" in told and "in 9.6 s" in told
    assert "by the GRU with the state carried on, otherwise each from a cold start" in told
    sentence = steps_sentence("GRU", found, "characters")
    assert "The GRU took 2 steps of η = 0.1, each on n = 64 characters" in sentence
    assert "before 1 of them" in sentence and "198,273 weights by 1.2% of their length" in sentence


def test_only_a_text_that_is_the_same_to_the_token_is_compared() -> None:
    same = dynamic_evaluation._same_held_out_text
    assert same(TextConfig(), TextConfig(batches="contiguous", context=32))
    assert not same(TextConfig(), TextConfig(tokenizer="bpe"))
    assert not same(TextConfig(), TextConfig(held_out=0.2))
    assert not same(TextConfig(split="windows"), TextConfig(split="windows", context=32))
