from __future__ import annotations

import pytest

from explorer.errors import InvalidSetting
from explorer.ui import address
from explorer.ui.gaze import LONGEST, Gaze, heads, named


def test_the_address_holds_what_differs_and_is_read_back() -> None:
    gaze = Gaze(
        "text-best", "", "O Romeo", 0, 126, 2, 3, 5, "matrix", "row", "spread", ("0.1", "2.3"), ("1.0",), True, True, 4
    )
    assert address.write(Gaze()) == {}
    assert address.read(Gaze, address.write(gaze)) == (gaze, ())
    assert address.read(Gaze, address.write(Gaze(say=""))) == (Gaze(say=""), ())


def test_the_longest_text_is_in_the_address() -> None:
    gaze = Gaze(say="x" * LONGEST, at=3)
    assert address.read(Gaze, address.write(gaze)) == (gaze, ())


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("off", "1", "“1” names no heads. Write layer.head"),
        ("flat", "0.1,x", "names no heads"),
        ("layer", "first", "Give a number from 0 to 63"),
        ("at", "-1", "Give a number from 0 to 1,023"),
        ("view", "cube", "Give one of lines, matrix"),
        ("sort", "beauty", "Give one of place, previous"),
        ("unmasked", "perhaps", "Give true or false"),
        ("walk", "7", "Give a number from 0 to 6"),
    ],
)
def test_a_bad_part_of_an_address_is_a_sentence_and_the_rest_is_kept(name: str, text: str, told: str) -> None:
    gaze, problems = address.read(Gaze, {name: text, "head": "2"})
    assert gaze == Gaze(head=2)
    assert len(problems) == 1 and told in problems[0]


def test_another_model_keeps_the_text_and_the_way_to_look_but_no_head_of_the_old_one() -> None:
    gaze = Gaze(say="x", layer=3, off=("0.1",), step=5, view="matrix", unmasked=True)
    assert gaze.of_model("text-best") == Gaze("text-best", say="x", view="matrix")
    assert gaze.of_model(gaze.model) is gaze
    assert gaze.of_model("text-best", usual=("x", "y")) == Gaze("text-best", view="matrix")


def test_what_a_model_does_not_have_is_left_out() -> None:
    gaze = Gaze(layer=7, head=7, at=30, off=("0.1", "9.9", "1.1"), flat=("5.0",))
    assert gaze.within(2, 4, 30) == Gaze(layer=1, head=3, at=None, off=("0.1", "1.1"), flat=())
    assert gaze.within(8, 8, 31).at == 30


def test_another_text_has_other_places_and_an_end() -> None:
    assert Gaze(at=3).saying("a b") == Gaze(say="a b")
    with pytest.raises(InvalidSetting, match="at most 2,000 characters here; this one has 2,001"):
        Gaze().saying("x" * (LONGEST + 1))


def test_heads_have_one_name_in_an_address() -> None:
    assert named(heads(("1.0", "0.1", "0.10"))) == ("0.1", "0.10", "1.0")
    assert Gaze(off=("0.0",)).touched and not Gaze().touched
