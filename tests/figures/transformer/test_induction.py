from __future__ import annotations

import numpy as np

from explorer.figures.transformer.induction import next_symbol_map


def test_tiles_have_the_probability_and_the_predicted_symbol() -> None:
    chart = next_symbol_map("bab", 2, ["two", "one"], np.array([[0.1, 0.2, 0.9], [0.1, 0.1, 0.1]]), ["xyb", "xyz"])
    (tiles,) = chart.data
    assert tiles.z[0][2] == 0.9 and [list(row) for row in tiles.text] == [["x", "y", "b"], ["x", "y", "z"]]
    assert list(chart.layout.xaxis.ticktext) == ["b", "a", "b"]
    assert list(chart.layout.yaxis.ticktext) == ["two", "one"] and chart.layout.shapes[0].x0 == 1.5
    assert not next_symbol_map("b", None, ["two"], np.array([[0.1]]), ["x"]).layout.shapes
