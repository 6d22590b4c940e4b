from __future__ import annotations

from typing import Any

import pytest

from explorer.ui.address import read, write
from explorer.ui.depth import Depth


def test_everything_stands_in_the_address_and_comes_back() -> None:
    state = Depth("to be", "untrained", 3, 4, 8, "even", False, "post", "rms", 7, "kept", 2)
    assert read(Depth, write(state)) == (state, ())
    assert write(Depth()) == {}


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"cut": "3"}, "3 heads are not possible"),
        ({"heads": "16"}, "16 heads are not possible"),
        ({"layers": "25"}, "a number from 1 to 24"),
        ({"norm": "batch"}, "none, post, pre"),
        ({"say": "x" * 201}, "201 characters is too long here. Give at most 200."),
        ({"first": "-1"}, "a number from 0"),
        ({"residual": "maybe"}, "true or false"),
        ({"mask": "1"}, "no “mask”"),
    ],
)
def test_a_bad_part_is_named_and_the_rest_kept(part: dict[str, str], words: str) -> None:
    state, problems = read(Depth, {"start": "zero", **part})
    assert state == Depth(start="zero")
    assert len(problems) == 1 and words in problems[0]


def test_of_a_long_text_the_beginning_is_read_and_the_rest_is_kept() -> None:
    state = Depth(say="to be or not to be, that is the question")
    assert state.text == "to be or not to be, that" and state.say.endswith("question")
    (sentence,) = state.troubles
    assert "has 40 characters" in sentence and "“to be or not to be, that”" in sentence
    assert Depth().troubles == [] == Depth(say="x" * 24).troubles


def test_what_the_instruments_say_is_taken_in() -> None:
    assert Depth().cut_as({"cut": 8, "view": "even"}) == Depth(cut=8, view="even")
    said = {"residual": False, "norm": "post", "kind": "rms", "layers": 3}
    assert Depth().stacked_as(said) == Depth(residual=False, norm="post", kind="rms", layers=3)


@pytest.mark.parametrize(
    "said",
    [
        *(None, 7, {}, {"cut": 3, "view": "even"}, {"cut": True, "view": "even"}, {"cut": [4], "view": "shares"}),
        {"cut": 4, "view": "<b>"},
    ],
)
def test_what_an_instrument_of_ours_cannot_say_changes_nothing(said: Any) -> None:
    assert Depth().cut_as(said) == Depth()


@pytest.mark.parametrize(
    "wrong",
    [{"layers": 25}, {"layers": 0}, {"layers": 2.5}, {"norm": "x"}, {"norm": []}, {"residual": 1}, {"kind": None}],
)
def test_nor_of_stacks(wrong: dict[str, Any]) -> None:
    good = {"residual": False, "norm": "post", "kind": "rms", "layers": 3}
    assert Depth().stacked_as({**good, **wrong}) == Depth()
    assert Depth().stacked_as([good]) == Depth()
