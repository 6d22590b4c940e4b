from __future__ import annotations

import numpy as np

from explorer.figures.comparison import Line
from explorer.figures.positions import LOWEST, ROUNDING, exact_match_by_length, order_sensitivity


def test_seeds_are_dots_and_zero_is_at_the_edge() -> None:
    apart = np.array([[0.0, 2e-7, 1e-7], [0.1, 0.2, 0.3]])
    drawn = order_sensitivity(["none", "sines, causal"], [False, True], apart, "--m-transformer")
    assert list(drawn.data[0].x) == [LOWEST, 2e-7, 1e-7] and list(drawn.data[1].y) == [1, 1, 1]
    assert drawn.data[0].marker.symbol == "circle" and drawn.data[1].marker.symbol == "diamond"
    assert list(drawn.layout.yaxis.ticktext) == ["none", "sines, causal"]
    assert drawn.layout.shapes[0].x0 == ROUNDING


def test_ticks_are_at_their_labels() -> None:
    axis = order_sensitivity(["none"], [False], np.array([[0.1]]), "--m-transformer").layout.xaxis
    told = dict(zip(axis.tickvals, axis.ticktext, strict=True))
    assert told[LOWEST] == "0" and told[10.0**-7] == "10<sup>-7</sup>" and told[0.1] == "0.1"
    assert told[10.0**-3] == "10<sup>-3</sup>" and told[10.0**-5] == "10<sup>-5</sup>"


def test_exact_match_by_length_marks_untrained_lengths() -> None:
    x, y = np.arange(1.0, 7.0), np.array([1.0, 1.0, 0.9, 0.2, 0.0, 0.0])
    drawn = exact_match_by_length(Line("sines", "the one with sines", "--m-transformer", "solid", x, y, y, y), 4, 6)
    assert drawn.layout.shapes[0].x0 == 4.5 and drawn.layout.xaxis.range == (0, 6.0)
    assert [note.text for note in drawn.layout.annotations] == ["not trained"]
    assert list(drawn.data[2].y) == y.tolist()
