from __future__ import annotations

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.ui.address import read, write
from explorer.ui.block import Block
from explorer.ui.block_findings import Added, finding, norm_words, parameter_words, parts_words
from explorer.ui.block_why import Normal, example, formula, reason


def added(part: str, stream: int, much: int, half: str = "") -> Added:
    return Added(part, half, np.full(3, float(stream)), np.full(3, float(much)), np.full(3, float(stream)))


def test_what_adds_most_is_named_whichever_it_is() -> None:
    parts = [added("attention", 2, 1), added("feedforward", 2, 6)]
    assert finding(parts, 2, 4, "run a, seed 7") == (
        "In block 2 of 4, the feedforward layer adds most to the stream: 3.00 times its length, more than was there "
        "(run a, seed 7)."
    )
    words = "In the only block, the attention adds most to the stream: 0.50 times its length, less than was there (b)."
    assert finding(parts[:1], 1, 1, "b") == words
    assert "the look back at the source of the decoder" in finding([added("cross", 1, 1, "decoder")], 1, 2, "b")


def test_parts_norms_and_parameters_are_told_by_their_numbers() -> None:
    words = parts_words([added("attention", 2, 1), added("feedforward", 2, 6)])
    told = "The attention adds 0.50 times the length of what it is added to and the feedforward layer 3.00 times. At"
    assert words.startswith(told)
    assert "2.00 long, what came was 1.00, the sum is 2.00, in the mean over 3 tokens" in words
    assert norm_words(np.array([4.0, 9.0]), np.ones(2), False).endswith("is 4.00 to 9.00; after it, 1.00 to 1.00.")
    assert "gain" in norm_words(np.array([4.0]), np.array([1.5]), True)
    words = parameter_words({"feedforward layers": 60, "attention": 30}, 100)
    assert words == "Where the model’s 100 parameters stand: 60 % in the feedforward layers and 30 % in the attention."


def test_the_formula_follows_the_model() -> None:
    assert r"x &\leftarrow x + \mathrm{Attention}(\mathrm{Norm}(x)) \\" in formula(True, True)
    assert r"x &\leftarrow \mathrm{Norm}(x + \mathrm{Attention}(x)) \\" in formula(False, True)
    assert "Norm" not in formula(False, False) and "no norms" in reason(True, False)
    assert "before each part" in reason(True, True) and "after each sum" in reason(False, True)
    layer = example(Normal("layernorm", True, "a", -1.0, 0.5, 4.0, 2.0, 0.25, -1.25))
    assert "a mean of 0.500 and a variance of 4.000" in layer and "from −1.000 into −1.250" in layer
    rms = example(Normal("rmsnorm", False, "a", 1.0, 0.0, 4.0, 2.0, 0.0, 1.0))
    assert "mean square of 4.000" in rms and "bias" not in rms


def test_everything_stands_in_the_address_and_comes_back() -> None:
    state = Block("both", "reverse-transformer", 1, "123", 2, "decoder.cross.scores", 3, 40, 2)
    assert read(Block, write(state)) == (state, ())
    assert write(Block()) == {}


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
def test_a_bad_part_is_named_and_the_rest_kept(part: dict[str, str], words: str) -> None:
    state, problems = read(Block, {"token": "2", **part})
    assert state == Block(token=2)
    assert len(problems) == 1 and words in problems[0]


def test_gestures_change_what_they_should() -> None:
    state = Block("decoder", layer=3, open="ids", token=4)
    assert state.of_kind("both") == Block("both") and state.of_kind(None) is state
    assert state.of_model("text-best") == Block("decoder", "text-best", open="ids")
    assert Block("decoder", "text-best").of_model("text-transformer").model == ""
    assert state.saying("to be", "usual").say == "to be" and state.saying("usual", "usual").say == ""
    with pytest.raises(InvalidSetting, match="at most 200"):
        state.saying("x" * 201, "usual")
    said = {"open": "embedding.out", "token": 1, "unit": 2, "head": 0}
    assert state.opened_as(said) == Block("decoder", layer=3, open="embedding.out", token=1, unit=2)
    for wrong in (None, {**said, "open": 3}, {**said, "token": -1}, {**said, "unit": True}, {**said, "open": "x" * 65}):
        assert state.opened_as(wrong) is state
