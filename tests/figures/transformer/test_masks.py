from __future__ import annotations

import math

import numpy as np

from explorer.figures.comparison import Line
from explorer.figures.transformer.masks import loss_figure

SPAN = (0.01, 8.0)


def line() -> Line:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 3.0])
    return Line("without", "without the mask", "--m-transformer", "6px,4px", x, y, y - 0.05, y + 0.1)


def test_the_loss_floor_is_marked_and_the_axis_has_its_end() -> None:
    figure = loss_figure([line()], False, 200.0, SPAN, (2.94, "ln 19 = 2.94"))
    assert figure.layout.yaxis.type == "log" and figure.layout.xaxis.range == (0, 200.0)
    np.testing.assert_allclose(figure.layout.yaxis.range, (-2, math.log10(8)))
    assert figure.layout.yaxis.ticktext == ("0.01", "0.1", "1")
    assert figure.layout.shapes[0].y0 == figure.layout.shapes[0].y1 == 2.94
    assert any("ln 19 = 2.94" in note.text for note in figure.layout.annotations)
    assert figure.layout.annotations[-1].yanchor == "bottom", "where the line begins, below, it would be in its way"
    assert loss_figure([line()], False, 200.0, SPAN, (0.03, "least")).layout.annotations[-1].yanchor == "top"
    assert figure.layout.xaxis.title.text == "step" and list(figure.data[2].y) == [0.1, 0.2, 3.0]


def test_positions_start_at_one_without_a_floor() -> None:
    figure = loss_figure([line()], True, 12.0, SPAN, None)
    assert figure.layout.xaxis.tickvals == (1, 3, 6, 9, 12) and figure.layout.xaxis.range[0] > 0
    assert figure.layout.xaxis.title.text == "place" and not figure.layout.shapes
    assert loss_figure([line()], True, 40.0, SPAN, None).layout.xaxis.tickvals == (1, 10, 20, 30, 40)
