from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting
from explorer.inspection.gates import drawn, gated, half_lives, kept_shares, reading, typed
from explorer.inspection.opening import OpenedModel
from explorer.tasks.recall import RecallConfig
from explorer.training.building import build
from explorer.training.config import changed, default

IDS = (0, 1, 1, 0)


def opened(model: str, **settings: object) -> OpenedModel:
    config = changed(default("recall", model), {"length": 6, "replicas": 2, **settings})
    return OpenedModel(config, build(config).requires_grad_(False), None)


def test_half_of_what_is_held_is_left_after_a_half_life() -> None:
    shares = np.array([0.5, 0.9, 0.99])
    lives = half_lives(np.log(shares))
    assert shares**lives == pytest.approx([0.5] * 3)
    assert lives[0] == pytest.approx(1.0)
    assert half_lives(np.array([0.0])).tolist() == [math.inf]


@pytest.mark.parametrize(
    ("model", "titles"),
    [
        ("lstm", ["forget gate", "input gate", "output gate", "candidate", "cell", "hidden state"]),
        ("gru", ["update gate", "reset gate", "candidate", "hidden state"]),
        ("rnn", ["hidden state"]),
    ],
)
def test_what_is_shown_obeys_the_equations_of_its_cell(model: str, titles: list[str]) -> None:
    found = opened(model)
    seen = reading(found, IDS, 1)
    assert [part.title for part in seen.parts] == titles
    at = {part.title: part.values for part in seen.parts}
    assert all(values.shape == (16, 4) for values in at.values())
    before = np.pad(at["hidden state"], ((0, 0), (1, 0)))[:, :-1]
    if model == "lstm":
        cell = np.pad(at["cell"], ((0, 0), (1, 0)))[:, :-1]
        assert at["cell"] == pytest.approx(at["forget gate"] * cell + at["input gate"] * at["candidate"], abs=1e-6)
        assert at["hidden state"] == pytest.approx(at["output gate"] * np.tanh(at["cell"]), abs=1e-6)
    if model == "gru":
        z = at["update gate"]
        assert at["hidden state"] == pytest.approx(z * before + (1 - z) * at["candidate"], abs=1e-6)
    assert gated(found) == (model != "rnn")
    assert (seen.half_lives is None) == (model == "rnn")
    whole = found.stack(torch.tensor([[IDS], [IDS]])).softmax(dim=-1)[1, 0]
    assert seen.answers[-1] == pytest.approx(whole.numpy(), abs=1e-6)
    assert seen.answers.shape == (4, 2)


def test_open_gates_keep_what_their_bias_says() -> None:
    found = opened("lstm", start="forget-3")
    shares = kept_shares(found)
    assert shares.shape == (2, 16)
    assert shares.mean() == pytest.approx(1 / (1 + math.exp(-3)), abs=0.02)
    assert kept_shares(opened("lstm")).mean() == pytest.approx(0.5, abs=0.05)
    one = reading(found, IDS, 0)
    forget = one.parts[0].values.astype(float)
    assert one.half_lives == pytest.approx(np.log(0.5) / np.log(forget).mean(axis=1))


def test_one_seed_alone_is_asked_like_many() -> None:
    assert kept_shares(opened("gru", replicas=1)).shape == (1, 16)
    assert reading(opened("gru", replicas=1), IDS, 0).answers.shape == (4, 2)


def test_letters_are_symbols_and_others_are_refused() -> None:
    assert typed("a B\nba", 2) == (0, 1, 1, 0)
    assert typed("", 2) == ()
    with pytest.raises(InvalidSetting, match=r"“c” is no symbol of this task\. It has 2: a, b"):
        typed("abc", 2)
    config = RecallConfig(6, 3)
    assert len(typed(drawn(config), 3)) == 6
    assert drawn(config) == drawn(config)
