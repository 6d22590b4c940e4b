from __future__ import annotations

import numpy as np

from explorer.generation.measures import ByTemperature
from explorer.ui.studio import Studio
from explorer.ui.studio_findings import coldest, cuts, how_measured, like_people
from explorer.ui.studio_measures import Measured


def measured(people: list[float] | None = None, repeats: float = 0.5, held_out: bool = True) -> Measured:
    varied = np.array([[0.2, 0.2], [0.8, 0.9], [1.0, 1.0]])
    repeated = np.array([[repeats, repeats], [0.1, 0.0], [0.0, 0.0]])
    likely = np.array([[-0.2, -0.2], [-1.0, -1.2], [-3.0, -3.2]])
    return Measured(ByTemperature((0.0, 1.0, 2.0), varied, repeated, likely), people and np.array(people), held_out)


def test_the_coldest_text_and_the_temperature_of_people_are_said() -> None:
    found = [("n-gram", measured([0.86, 0.0, -2.1], 0.88)), ("RNN", measured([0.25, 0.0, -0.1]))]
    assert coldest(found) == "At temperature 0, 88 % of what the n-gram writes and 50 % of the RNN stood there before."
    assert like_people(found) == (
        "As varied as what people wrote is the n-gram at about 1.1 and the RNN at about 0.1; as surprising to itself "
        "as their text, the n-gram at about 1.5 and the RNN at no temperature."
    )


def test_without_the_text_of_people_nothing_is_compared_with_it() -> None:
    alone = [("RNN", measured())]
    assert coldest(alone) == "At temperature 0, 50 % of what the RNN writes stood there before."
    assert like_people(alone) == ""
    assert "Dashed" not in how_measured(alone, Studio())


def test_the_dashed_line_is_what_it_is_for_each_model() -> None:
    ours, theirs = ("RNN", measured([1.0, 0.0, -1.0])), ("GRU", measured([1.0, 0.0, -1.0], held_out=False))
    assert "what people wrote, held-out text, in eight pieces" in how_measured([ours], Studio())
    assert "what people wrote, the text it learned from, in" in how_measured([theirs], Studio())
    both = how_measured([ours, theirs], Studio())
    assert "held-out text (RNN) and the text it learned from (GRU)" in both


def test_a_cut_is_named() -> None:
    assert cuts(Studio()) == ""
    assert cuts(Studio(greedy=True, top_k=3)) == "greedy"
    assert cuts(Studio(top_k=5, top_p=0.9, min_p=0.05)) == "top-k 5, top-p 0.9 and min-p 0.05"
