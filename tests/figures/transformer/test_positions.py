from __future__ import annotations

import numpy as np

from explorer.figures.comparison import Line
from explorer.figures.transformer.positions import LOWEST, ROUNDING, exact_match_by_length, order_sensitivity


def test_seeds_are_dots_and_zero_is_at_the_edge() -> None:
    distances = np.array([[0.0, 2e-7, 1e-7], [0.1, 0.2, 0.3]])
    figure = order_sensitivity(["none", "sines, causal"], [False, True], distances, "--m-transformer")
    assert list(figure.data[0].x) == [LOWEST, 2e-7, 1e-7] and list(figure.data[1].y) == [1, 1, 1]
    assert figure.data[0].marker.symbol == "circle" and figure.data[1].marker.symbol == "diamond"
    assert list(figure.layout.yaxis.ticktext) == ["none", "sines, causal"]
    assert figure.layout.shapes[0].x0 == ROUNDING


def test_ticks_are_at_their_labels() -> None:
    axis = order_sensitivity(["none"], [False], np.array([[0.1]]), "--m-transformer").layout.xaxis
    labels = dict(zip(axis.tickvals, axis.ticktext, strict=True))
    assert labels[LOWEST] == "0" and labels[10.0**-7] == "10⁻⁷" and labels[0.1] == "0.1"
    assert labels[10.0**-3] == "10⁻³" and labels[10.0**-5] == "10⁻⁵"


def test_exact_match_by_length_marks_untrained_lengths() -> None:
    x, y = np.arange(1.0, 7.0), np.array([1.0, 1.0, 0.9, 0.2, 0.0, 0.0])
    figure = exact_match_by_length(Line("sines", "the one with sines", "--m-transformer", "solid", x, y, y, y), 4, 6)
    assert figure.layout.shapes[0].x0 == 4.5 and figure.layout.xaxis.range == (0, 6.0)
    assert [note.text for note in figure.layout.annotations] == ["not trained"]
    assert list(figure.data[2].y) == y.tolist()
