from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.comparison import Line
from explorer.figures.recurrent.memory_string import _LABEL_GAP, _label_heights, string_loss_figure


def line(label: str, dash: str, end: float) -> Line:
    x = np.array([2.0, 10.0, 200.0])
    mean = np.array([1.0, 0.6, end])
    return Line(label, f"RNN <{label}>", "--m-rnn", dash, x, mean, mean - 0.01, mean + 0.01)


def test_string_loss_figure_has_two_dashes_a_floor_and_labels() -> None:
    figure = string_loss_figure([line("kept", "solid", 0.01), line("cut", "2px,4px", 0.3)], 200, (0.297, "floor 0.297"))
    means = [trace for trace in figure.data if trace.name.endswith("mean")]
    assert [trace.line.dash for trace in means] == ["solid", "2px,4px"]
    assert {trace.line.color for trace in means} == {"var(--m-rnn)"}
    assert [list(trace.y) for trace in means] == [[1.0, 0.6, 0.01], [1.0, 0.6, 0.3]]
    (mark,) = figure.layout.shapes
    assert (mark.y0, mark.y1, mark.line.dash, mark.line.color) == (0.297, 0.297, "5px,4px", "var(--ink)")
    assert [note.text for note in figure.layout.annotations] == ["<b>kept</b>", "<b>cut</b>", "floor 0.297"]
    low, high = figure.layout.yaxis.range
    assert low <= 0 < 1.01 <= high
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.tickvals) == [2, 10, 50, 200]


@pytest.mark.parametrize("heights", [[0.0, 0.0], [0.3, 0.28], [0.9, 0.1]])
def test_labels_do_not_overlap_and_keep_their_order(heights: list[float]) -> None:
    placed = _label_heights(heights)
    assert abs(placed[0] - placed[1]) >= _LABEL_GAP - 1e-9
    assert (placed[0] >= placed[1]) == (heights[0] > heights[1])
