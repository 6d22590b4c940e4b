from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.load_model import LoadedModel
from explorer.inspection.recurrent.gates import (
    half_lives,
    has_keep_gate,
    mean_keep_rates,
    parse_symbols,
    random_sequence,
    read_gates,
)
from explorer.tasks.recall import RecallConfig
from explorer.training.config import default_config, with_settings
from explorer.training.model_factory import build_model

IDS = (0, 1, 1, 0)


def build_untrained(model: str, **settings: object) -> LoadedModel:
    config = with_settings(default_config("recall", model), {"length": 6, "replicas": 2, **settings})
    return LoadedModel(config, build_model(config).requires_grad_(False), None)


def test_half_lives_by_hand() -> None:
    shares = np.array([0.5, 0.9, 0.99])
    computed = half_lives(np.log(shares))
    assert shares**computed == pytest.approx([0.5] * 3)
    assert computed[0] == pytest.approx(1.0)
    assert half_lives(np.array([0.0])).tolist() == [math.inf]


@pytest.mark.parametrize(
    ("model", "titles"),
    [
        ("lstm", ["forget gate", "input gate", "output gate", "candidate", "cell", "hidden state"]),
        ("gru", ["update gate", "reset gate", "candidate", "hidden state"]),
        ("rnn", ["hidden state"]),
    ],
)
def test_traces_satisfy_the_equations_of_the_cell(model: str, titles: list[str]) -> None:
    loaded = build_untrained(model)
    reading = read_gates(loaded, IDS, 1)
    assert [part.title for part in reading.traces] == titles
    traces = {part.title: part.values for part in reading.traces}
    assert all(values.shape == (16, 4) for values in traces.values())
    before = np.pad(traces["hidden state"], ((0, 0), (1, 0)))[:, :-1]
    if model == "lstm":
        cell = np.pad(traces["cell"], ((0, 0), (1, 0)))[:, :-1]
        assert traces["cell"] == pytest.approx(
            traces["forget gate"] * cell + traces["input gate"] * traces["candidate"], abs=1e-6
        )
        assert traces["hidden state"] == pytest.approx(traces["output gate"] * np.tanh(traces["cell"]), abs=1e-6)
    if model == "gru":
        z = traces["update gate"]
        assert traces["hidden state"] == pytest.approx(z * before + (1 - z) * traces["candidate"], abs=1e-6)
    assert has_keep_gate(loaded) == (model != "rnn")
    assert (reading.half_lives is None) == (model == "rnn")
    probabilities = loaded.stack(torch.tensor([[IDS], [IDS]])).softmax(dim=-1)[1, 0]
    assert reading.answers[-1] == pytest.approx(probabilities.numpy(), abs=1e-6)
    assert reading.answers.shape == (4, 2)


def test_keep_rates_of_open_gates_follow_from_the_bias() -> None:
    loaded = build_untrained("lstm", start="forget-3")
    shares = mean_keep_rates(loaded)
    assert shares.shape == (2, 16)
    assert shares.mean() == pytest.approx(1 / (1 + math.exp(-3)), abs=0.02)
    assert mean_keep_rates(build_untrained("lstm")).mean() == pytest.approx(0.5, abs=0.05)
    one = read_gates(loaded, IDS, 0)
    forget = one.traces[0].values.astype(float)
    assert one.half_lives == pytest.approx(np.log(0.5) / np.log(forget).mean(axis=1))


def test_keep_rates_of_a_single_seed() -> None:
    assert mean_keep_rates(build_untrained("gru", replicas=1)).shape == (1, 16)
    assert read_gates(build_untrained("gru", replicas=1), IDS, 0).answers.shape == (4, 2)


def test_unknown_letters_are_rejected() -> None:
    assert parse_symbols("a B\nba", 2) == (0, 1, 1, 0)
    assert parse_symbols("", 2) == ()
    with pytest.raises(InvalidSetting, match=r"“c” is no symbol of this task\. It has 2: a, b"):
        parse_symbols("abc", 2)
    config = RecallConfig(6, 3)
    assert len(parse_symbols(random_sequence(config), 3)) == 6
    assert random_sequence(config) == random_sequence(config)
