from __future__ import annotations

from typing import Any

import pytest

from explorer.labs.depth.state import DepthState
from explorer.ui.state.url_codec import read, write
from tests.words import assert_mentions


def test_the_state_survives_the_url() -> None:
    state = DepthState("to be", "untrained", 3, 4, 8, "even", False, "post", "rms", 7, "kept", 2)
    assert read(DepthState, write(state)) == (state, ())
    assert write(DepthState()) == {}


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"cut": "3"}, "3 heads are not possible"),
        ({"heads": "16"}, "16 heads are not possible"),
        ({"layers": "25"}, "a number from 1 to 24"),
        ({"norm": "batch"}, "none, post, pre"),
        ({"say": "x" * 201}, "201 characters … too long … at most 200"),
        ({"first": "-1"}, "a number from 0"),
        ({"residual": "maybe"}, "true or false"),
        ({"mask": "1"}, "no “mask”"),
    ],
)
def test_an_invalid_url_parameter_is_reported_and_the_rest_is_used(part: dict[str, str], words: str) -> None:
    state, problems = read(DepthState, {"start": "zero", **part})
    assert state == DepthState(start="zero")
    assert len(problems) == 1
    assert_mentions(problems[0], words)


def test_a_long_text_is_stored_and_its_beginning_is_read() -> None:
    state = DepthState(say="to be or not to be, that is the question")
    assert state.text_read == "to be or not to be, that" and state.say.endswith("question")
    (sentence,) = state.input_problems
    assert "has 40 characters" in sentence and "“to be or not to be, that”" in sentence
    assert DepthState().input_problems == [] == DepthState(say="x" * 24).input_problems


def test_component_messages_are_applied() -> None:
    assert DepthState().apply_heads_event({"cut": 8, "view": "even"}) == DepthState(cut=8, view="even")
    event = {"residual": False, "norm": "post", "kind": "rms", "layers": 3}
    assert DepthState().apply_stacks_event(event) == DepthState(residual=False, norm="post", kind="rms", layers=3)


@pytest.mark.parametrize(
    "event",
    [
        *(None, 7, {}, {"cut": 3, "view": "even"}, {"cut": True, "view": "even"}, {"cut": [4], "view": "shares"}),
        {"cut": 4, "view": "<b>"},
    ],
)
def test_invalid_messages_of_the_heads_component_change_nothing(event: Any) -> None:
    assert DepthState().apply_heads_event(event) == DepthState()


@pytest.mark.parametrize(
    "wrong",
    [{"layers": 25}, {"layers": 0}, {"layers": 2.5}, {"norm": "x"}, {"norm": []}, {"residual": 1}, {"kind": None}],
)
def test_invalid_messages_of_the_stacks_component_change_nothing(wrong: dict[str, Any]) -> None:
    good = {"residual": False, "norm": "post", "kind": "rms", "layers": 3}
    assert DepthState().apply_stacks_event({**good, **wrong}) == DepthState()
    assert DepthState().apply_stacks_event([good]) == DepthState()
