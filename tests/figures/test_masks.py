from __future__ import annotations

import numpy as np

from explorer.figures.comparison import Line
from explorer.figures.masks import losses


def line() -> Line:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 3.0])
    return Line("without", "without the mask", "--m-transformer", "6px,4px", x, y, y - 0.1, y + 0.1)


def test_guessing_is_marked_and_the_axis_ends_where_it_is_told() -> None:
    drawn = losses([line()], False, 200.0, 8.0, 2.94, "ln 19 = 2.94")
    assert drawn.layout.yaxis.range == (0.0, 8.0) and drawn.layout.xaxis.range == (0, 200.0)
    assert drawn.layout.shapes[0].y0 == drawn.layout.shapes[0].y1 == 2.94
    assert any("ln 19 = 2.94" in note.text for note in drawn.layout.annotations)
    assert drawn.layout.xaxis.title.text == "step" and list(drawn.data[2].y) == [0.1, 0.2, 3.0]


def test_places_are_counted_from_one() -> None:
    drawn = losses([line()], True, 12.0, 8.0, 2.94, "ln 19 = 2.94")
    assert drawn.layout.xaxis.tickvals == (1, 3, 6, 9, 12) and drawn.layout.xaxis.range[0] > 0
    assert drawn.layout.xaxis.title.text == "place"
