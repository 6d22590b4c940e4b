from __future__ import annotations

import numpy as np

from explorer.figures.language.loss_by_context import Line, loss_by_window
from explorer.figures.language.perplexity import bars


def test_only_a_comparable_figure_marks_its_lowest_bar() -> None:
    comparable, other = (bars(["A", "<B>"], [2.5, 1.25], 2, "--m-ngram", marked) for marked in (True, False))
    assert list(comparable.data[0].x) == [2.5, 1.25]
    assert list(comparable.layout.yaxis.ticktext) == ["A", "&lt;B&gt;"]
    assert [note.text for note in comparable.layout.annotations] == ["2.50", "<b>1.25</b>"]
    assert comparable.data[0].marker.color[0] != comparable.data[0].marker.color[1]
    assert [note.text for note in other.layout.annotations] == ["2.50", "1.25"]
    assert len(set(other.data[0].marker.color)) == 1


def test_the_selected_window_is_marked() -> None:
    x = np.array([16, 32])
    lines = [Line("blocks", "--m-transformer", "solid", x, np.array([1.5, 1.4]), x * 0 + 1.3, x * 0 + 1.6)]
    found = loss_by_window(lines, 32)
    assert found.layout.shapes[0].x0 == 32 and list(found.layout.xaxis.ticktext) == ["16", "32"]
