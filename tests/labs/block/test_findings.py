from __future__ import annotations

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.labs.block.findings import (
    Contribution,
    contributions_text,
    largest_contribution_finding,
    norm_text,
    parameter_share_text,
)
from explorer.labs.block.formulas import (
    NormExample,
    block_formula,
    norm_example_text,
    norm_formula,
    norm_placement_text,
)
from explorer.labs.block.state import BlockState
from explorer.ui.state.url_codec import read, write
from tests.words import assert_mentions, assert_states


def contribution(part: str, stream: int, much: int, half: str = "") -> Contribution:
    return Contribution(part, half, np.full(3, float(stream)), np.full(3, float(much)), np.full(3, float(stream)))


def test_the_part_that_adds_most_is_named() -> None:
    parts = [contribution("attention", 2, 1), contribution("feedforward", 2, 6)]
    assert_states(
        largest_contribution_finding(parts, 2, 4), "block 2 … feedforward … residual stream most … 3.00 times"
    )
    assert_states(largest_contribution_finding(parts[:1], 1, 1), "only block … attention … most … 0.50 times")
    assert "the cross-attention of the decoder" in largest_contribution_finding(
        [contribution("cross", 1, 1, "decoder")], 1, 2
    )


def test_parts_norms_and_parameters_are_described_with_their_numbers() -> None:
    words = contributions_text([contribution("attention", 2, 1), contribution("feedforward", 2, 6)])
    assert_mentions(words, "attention … 0.50 times … feedforward … 3.00 times")
    assert_mentions(words, "1.00 … 2.00 … sum … 2.00 … means … 3 tokens")
    assert norm_text(np.array([4.0, 9.0]), np.ones(2), False).endswith(
        "is 4.00 to 9.00 before the first norm and 1.00 after it."
    )
    assert "gain" in norm_text(np.array([4.0]), np.array([1.5]), True)
    words = parameter_share_text({"feedforward layers": 60, "attention": 30}, 100)
    assert_states(words, "100 parameters … 60 % … feedforward … 30 % … attention")


def test_the_formula_depends_on_the_model() -> None:
    assert r"x &\leftarrow x + \mathrm{Attention}(\mathrm{Norm}(x)) \\" in block_formula(True, True)
    assert r"x &\leftarrow \mathrm{Norm}(x + \mathrm{Attention}(x)) \\" in block_formula(False, True)
    assert "Norm" not in block_formula(False, False) and "no norms" in norm_placement_text(True, False)
    assert "before each part" in norm_placement_text(True, True) and "after each sum" in norm_placement_text(
        False, True
    )
    assert norm_formula("layer", True).endswith("+ b") and norm_formula("layer", False).endswith(r"\cdot g")
    assert "mean}(x^2)" in norm_formula("rms", True) and "+ b" not in norm_formula("rms", True)
    layer = norm_example_text(NormExample("layernorm", True, "a", -1.0, 0.5, 4.0, 2.0, 0.25, -1.25))
    assert "a mean of 0.500 and a variance of 4.000" in layer and "from −1.000 to −1.250" in layer
    rms = norm_example_text(NormExample("rmsnorm", False, "a", 1.0, 0.0, 4.0, 2.0, 0.0, 1.0))
    assert "mean square of 4.000" in rms and "bias" not in rms


def test_the_state_survives_the_url() -> None:
    state = BlockState("both", "reverse-transformer", 1, "123", 2, "decoder.cross.scores", 3, 40, 2)
    assert read(BlockState, write(state)) == (state, ())
    assert write(BlockState()) == {}


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"kind": "middle"}, "encoder, decoder, both"),
        ({"layer": "0"}, "a number from 1 to 8"),
        ({"head": "x"}, "a number from 0 to 15"),
        ({"say": "x" * 201}, "has 201. Shorten it."),
        ({"arrow": "1"}, "no “arrow”"),
    ],
)
def test_an_invalid_url_parameter_is_reported_and_the_rest_is_used(part: dict[str, str], words: str) -> None:
    state, problems = read(BlockState, {"token": "2", **part})
    assert state == BlockState(token=2)
    assert len(problems) == 1 and words in problems[0]


def test_component_messages_change_the_state() -> None:
    state = BlockState("decoder", layer=3, open="ids", token=4)
    assert state.with_kind("both") == BlockState("both") and state.with_kind(None) is state
    assert state.with_model("text-best") == BlockState("decoder", "text-best", open="ids")
    assert BlockState("decoder", "text-best").with_model("text-transformer").model == ""
    assert state.with_text("to be", "usual").say == "to be" and state.with_text("usual", "usual").say == ""
    with pytest.raises(InvalidSetting, match="at most 200"):
        state.with_text("x" * 201, "usual")
    event = {"open": "embedding.out", "token": 1, "unit": 2, "head": 0}
    assert state.apply_event(event) == BlockState("decoder", layer=3, open="embedding.out", token=1, unit=2)
    for wrong in (
        None,
        {**event, "open": 3},
        {**event, "token": -1},
        {**event, "unit": True},
        {**event, "open": "x" * 65},
    ):
        assert state.apply_event(wrong) is state
