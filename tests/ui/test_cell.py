from __future__ import annotations

import json
from dataclasses import replace

import pytest

from explorer.errors import InvalidSetting
from explorer.ui import address
from explorer.ui.cell import PRESETS, STEPS, Cell, Measured, lane, measured_finding, product, scientific, taken


def test_a_lane_is_runs_and_its_last_value_goes_on() -> None:
    assert lane("0x2,1,0.5")[:5] == (0, 0, 1, 0.5, 0.5)
    assert len(lane("0.9")) == len(lane("1x50")) == STEPS


@pytest.mark.parametrize("text", ["", "a", "1,,0", "1x", "0.5x999", "1x51", "x3", "nan", "1e5", "0x30,1x30"])
def test_what_is_no_lane_is_refused(text: str) -> None:
    with pytest.raises(InvalidSetting):
        lane(text)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_every_preset_has_an_address_and_comes_back_from_it(preset: object) -> None:
    state = replace(Cell(), **preset.lanes, at=preset.at)  # type: ignore[attr-defined]
    found, problems = address.read(Cell, address.write(state))
    assert problems == () and found == state


def test_what_the_instrument_tells_is_checked_like_an_address() -> None:
    said = {"lanes": Cell().lanes | {"f": "0.5"}, "u": 0.25, "w": 1, "at": 7, "show": "gru"}
    assert taken(Cell(), json.dumps(said)) == Cell(f="0.5", u=0.25, w=1.0, at=7, show="gru")
    for bad in ("", "7", "[]", "{}", None, json.dumps(said | {"u": 9}), json.dumps(said | {"lanes": {"f": "2"}})):
        assert taken(Cell(at=3), bad) == Cell(at=3)


def test_what_is_kept_counts_from_the_first_writing() -> None:
    assert Cell().kept("f") == (0.9,) * 49 and Cell().kept("z") == (0.9,) * 49
    late = Cell(i="0x4,1,0", z="1x4,0,0.5", n="0x4,1,0")
    assert (late.written("f"), late.written("z")) == (5, 5) and late.kept("z") == (0.5,) * 45
    assert Cell(i="0").written("f") == 1
    assert Cell(i="0x49,1").kept("f") == ()


def test_products_are_written_short() -> None:
    assert product((0.9,) * 49) == "0.9^{49}"
    assert product((0.5, 1.0, 1.0)) == r"1^{2} \cdot 0.5"
    assert product(()) == "1"
    assert product(tuple(i / 10 for i in range(6))).endswith(r"\cdots")
    assert [scientific(v) for v in (0.0, 1.0, 0.0057, 0.123, 3.2e-9)] == [
        "0",
        "1",
        r"5.7 \cdot 10^{-3}",
        "0.12",
        r"3.2 \cdot 10^{-9}",
    ]


def test_the_measured_sentence_says_what_the_runs_say() -> None:
    found = {3.0: Measured(3.0, 7, 8), 0.0: Measured(0.0, 0, 8)}
    assert "at about 0.50 (the usual start) 0 of 8; at 0.95 (bias 3) 7 of 8" in measured_finding(found, 50, "GRU")
    assert measured_finding({}, 50, "GRU") == ""
