from __future__ import annotations

from typing import Any

from explorer.labs.depth.state import DepthState


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


def test_invalid_component_messages_change_nothing() -> None:
    even: dict[str, Any] = {"cut": 4, "view": "even"}
    for event in (None, 7, {}, even | {"cut": 3}, even | {"cut": True}, even | {"cut": [4]}, even | {"view": "<b>"}):
        assert DepthState().apply_heads_event(event) == DepthState()
    good: dict[str, Any] = {"residual": False, "norm": "post", "kind": "rms", "layers": 3}
    wrong = [
        ("layers", 25),
        ("layers", 0),
        ("layers", 2.5),
        ("norm", "x"),
        ("norm", []),
        ("residual", 1),
        ("kind", None),
    ]
    for event in ([good], *({**good, name: value} for name, value in wrong)):
        assert DepthState().apply_stacks_event(event) == DepthState()
