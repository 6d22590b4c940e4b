from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.labs.block import findings, formulas
from explorer.labs.block.findings import Contribution
from explorer.labs.block.state import BlockState
from explorer.ui.state.url_codec import apply_message


def contribution(part: str, stream: int, much: int, half: str = "") -> Contribution:
    return Contribution(part, half, np.full(3, float(stream)), np.full(3, float(much)), np.full(3, float(stream)))


def test_sentences(snapshot: SnapshotAssertion) -> None:
    parts = [contribution("attention", 2, 1), contribution("feedforward", 2, 6)]
    assert [
        *(
            findings.largest_contribution_finding(*each)
            for each in ((parts, 2, 4), (parts[:1], 1, 1), ([contribution("cross", 1, 1, "decoder")], 1, 2))
        ),
        findings.contributions_text([contribution("attention", 2, 1), contribution("feedforward", 2, 6)]),
        findings.norm_text(np.array([4.0, 9.0]), np.ones(2), False),
        findings.norm_text(np.array([4.0]), np.array([1.5]), True),
        findings.parameter_share_text({"feedforward layers": 60, "attention": 30}, 100),
        *(formulas.block_formula(*each) for each in ((True, True), (False, True), (False, False))),
        *(formulas.norm_placement_text(*each) for each in ((True, False), (True, True), (False, True))),
        *(formulas.norm_formula(*each) for each in (("layer", True), ("layer", False), ("rms", True))),
        formulas.norm_example_text(True, "a", np.array([-1.0, 2.0]), [2.0, 0.25], -1.25),
        formulas.norm_example_text(False, "a", np.array([1.0, 2.0]), [2.0], 1.0),
    ] == snapshot


def test_component_messages_change_the_state() -> None:
    state = BlockState("decoder", layer=3, open="ids", token=4)
    assert state.with_kind("both") == BlockState("both") and state.with_kind(None) is state
    assert state.with_model("text-best") == BlockState("decoder", "text-best", open="ids")
    assert BlockState("decoder", "text-best").with_model("text-transformer").model == ""
    assert state.with_text("to be", "usual").say == "to be" and state.with_text("usual", "usual").say == ""
    with pytest.raises(InvalidSetting, match="at most 200"):
        state.with_text("x" * 201, "usual")
    event = {"open": "embedding.out", "token": 1, "unit": 2, "head": 0}
    assert apply_message(state, event) == BlockState("decoder", layer=3, open="embedding.out", token=1, unit=2)
    assert apply_message(state, None) == state
    for wrong in ({"token": -1}, {"unit": True}, {"head": "x"}):
        assert apply_message(state, {**event, **wrong}) == state
