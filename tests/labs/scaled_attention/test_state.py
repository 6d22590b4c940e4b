from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from explorer.inspection.steps_to_solve import LossCurves
from explorer.labs.scaled_attention.findings import softmax_at_width, training_text, training_verdict, width_finding
from explorer.labs.scaled_attention.state import ScaledAttentionState, apply_event
from explorer.ui.state import url_codec
from tests.words import assert_mentions, assert_states

EDITED = ScaledAttentionState(
    words="a b", width=2, q=(1.0, -0.25, 3.0, 0.0), mask="padding", padding=(0, 1), at="out.1.0", draw=7
)


def test_the_url_stores_the_tables() -> None:
    assert url_codec.write(ScaledAttentionState()) == {}
    written = url_codec.write(EDITED)
    assert written["q"] == "1.0,-0.25,3.0,0.0" and written["at"] == "out.1.0"
    assert url_codec.read(ScaledAttentionState, written) == (EDITED, ())
    full = ScaledAttentionState(q=(-99.999,) * 36, k=(0.1234,) * 36)
    assert url_codec.read(ScaledAttentionState, url_codec.write(full)) == (full, ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q", "1,nan"),
        ("k", "1,x"),
        ("v", "1e9"),
        ("q", ",".join(["1"] * 37)),
        ("at", "scores.1"),
        ("at", "q.0.0"),
        ("padding", "9"),
        ("width", "7"),
        ("mask", "both"),
        ("wide", "0"),
        ("words", "a " * 41),
    ],
)
def test_an_invalid_url_parameter_is_reported_and_the_rest_is_used(name: str, text: str) -> None:
    state, problems = url_codec.read(ScaledAttentionState, {name: text, "draw": "3"})
    assert len(problems) == 1 and state == ScaledAttentionState(draw=3)


def test_component_messages_are_applied_to_the_state() -> None:
    message = json.dumps(EDITED.component_state)
    assert apply_event(ScaledAttentionState(words="a b"), message) == EDITED
    assert apply_event(EDITED, json.dumps({**EDITED.component_state, "at": "", "q": []})) == replace(
        EDITED, at="", q=()
    )


@pytest.mark.parametrize("message", ["", "[1]", "7", '{"width": 99}', '{"q": [1e9]}', '{"q": ["a"]}', '{"mask": null}'])
def test_invalid_component_messages_change_nothing(message: str) -> None:
    assert apply_event(EDITED, message) == EDITED


def test_tokens_can_be_added_and_removed() -> None:
    state = ScaledAttentionState()
    assert state.with_token_count(5).tokens == ["the", "cat", "sat", "down", "word5"]
    assert state.with_token_count(2).tokens == ["the", "cat"] and state.with_token_count(2).padding == (1,)
    assert state.with_token_count(1) == state and len(state.with_token_count(9).tokens) == 6
    assert ScaledAttentionState(words="").tokens == ["word 1", "word 2"]


def test_input_that_does_not_fit_is_reported() -> None:
    assert ScaledAttentionState().input_problems == [] and EDITED.input_problems == []
    (sentence,) = ScaledAttentionState(words="a b c d e f g").input_problems
    assert "7 words" in sentence and ScaledAttentionState(words="a b c d e f g").tokens == list("abcdef")
    assert "has no words" in ScaledAttentionState(words=" ").input_problems[0]
    odd = ScaledAttentionState(k=(1.0, 2.0, 3.0))
    assert "numbers of K" in odd.input_problems[0] and odd.component_state["k"] == []


def test_another_model_starts_at_its_first_head() -> None:
    state = ScaledAttentionState(model="a", say="mine", layer=2, head=3)
    assert state.with_model("b") == replace(state, model="b", layer=0, head=0)
    assert state.with_model("b", examples=("mine",)).say is None
    assert replace(EDITED, seeds=2).with_defaults() == ScaledAttentionState(seeds=2)


def test_the_width_finding_follows_the_numbers() -> None:
    widths = (1, 4, 16, 64)
    even = np.full(4, 0.18)
    sentence = width_finding(widths, np.array([[0.1, 0.2, 0.3, 0.0003], even]))
    assert_mentions(sentence, "falls 1,000-fold from d_k = 16 to 64")
    assert "divided, it stays at 0.18." in sentence and len(sentence.split()) <= 20
    assert "falls 5.0-fold from d_k = 1 to 64" in width_finding(widths, np.array([[0.5, 0.4, 0.3, 0.1], even]))
    assert "grows to 0.4 at d_k = 64" in width_finding(widths, np.array([[0.1, 0.2, 0.3, 0.4], even]))
    gone = width_finding(widths, np.array([[0.1, 0.2, 0.1, 0.0], [0.1, 0.2, 0.1, 0.05]]))
    assert "more than a million-fold" in gone and "divided, it lies between 0.05 and 0.2." in gone


def test_softmax_at_one_width_is_described_with_its_numbers() -> None:
    sentence = softmax_at_width(64, 32, np.array([0.87, 0.1]), np.array([0.49, 3.72]))
    assert_states(
        sentence,
        "d_k = 64 … divided by 8.00 … largest of 32 weights … 0.10 … entropy … 3.72 nats … "
        "at most ln 32 = 3.47. Without … 0.87 … 0.49",
    )


def loss_curves(*reached: float | None) -> LossCurves:
    """Return curves of seeds that reach the threshold at these steps."""
    steps = np.arange(0.0, 200.0, 10.0)
    return LossCurves(steps, np.array([[0.01 if r is not None and s >= r else 2.0 for r in reached] for s in steps]))


def test_the_training_verdict_follows_the_numbers() -> None:
    assert loss_curves(50, None).steps_to_solve.tolist() == [50, np.inf]
    curves = loss_curves(50, 60), loss_curves(100, 120)
    assert (
        training_verdict(64, *curves)
        == "With the division 2 of two seeds learn the task at d_k = 64; without it 2 of two."
    )
    slower = training_text(*curves)
    assert_mentions(slower, "With the division … 50 to 60 steps; without it … 100 to 120 steps")
    assert "2.00 times as many steps: no verdict with fewer than eight seeds." in slower
    lost = training_text(loss_curves(50, 50, 50), loss_curves(90, None, None))
    assert_mentions(lost, "without it … seeds that learn it need 90 steps")
    assert lost.endswith("3 of 3 against 1 of 3 seeds: no verdict with fewer than eight seeds.")
    assert "takes 0.5 times as many steps." in training_text(loss_curves(100), loss_curves(50))
    steps = [50, 60, 70, 80, 90, 100, 110, 120]
    assert training_text(loss_curves(*steps), loss_curves(*steps)).endswith("the same value in every seed.")
    doubled = training_text(loss_curves(*[50] * 8), loss_curves(*[100] * 7, 110))
    assert_mentions(doubled, "2.02 (1.97 to 2.08) times as many steps: different.")
    near = training_text(loss_curves(*[100] * 8), loss_curves(*[100] * 7, 110))
    assert "practically equal (the interval lies within a factor of 1.2)" in near
    assert "without it, no seed learns it" in training_text(loss_curves(50), loss_curves(None))
    none = loss_curves(None), loss_curves(None)
    assert training_verdict(64, *none).startswith("Neither model learns") and training_text(*none) == ""
    assert training_verdict(64, None, loss_curves(50)) == training_text(None, loss_curves(50)) == ""
