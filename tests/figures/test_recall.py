from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.comparison import PER_RUN, Line
from explorer.figures.recall import by_length, by_step, own_and_fresh, solved

X = np.array([1.0, 10.0, 50.0, 1_000.0])
LINES = [
    Line("open", "with open gates", "--m-gru", "solid", X, np.ones(4), np.full(4, 0.9), np.ones(4)),
    Line("usual", "with the usual start", "--m-gru", "6px,4px", X, np.full(4, 0.5), np.full(4, 0.4), np.full(4, 0.6)),
]


def test_every_start_is_a_line_with_its_band_and_its_name_at_the_end() -> None:
    figure = by_length(LINES, 50, 1_000, 0.5)
    assert len(figure.data) == PER_RUN * 2
    assert [trace.line.dash for trace in figure.data[2::3]] == ["solid", "6px,4px"]
    named = [note for note in figure.layout.annotations if note.x == 1.0 and note.xref == "paper"]
    assert [note.text for note in named] == ["<b>open</b>", "<b>usual</b>"]
    assert named[0].y - named[1].y > 0.12


def test_the_trained_length_and_guessing_are_marked() -> None:
    figure = by_length(LINES, 50, 1_000, 0.25)
    upright = [shape for shape in figure.layout.shapes if shape.yref == "paper"]
    across = [shape for shape in figure.layout.shapes if shape.xref == "paper"]
    assert [shape.x0 for shape in upright] == [50] and [shape.y0 for shape in across] == [0.25]
    assert figure.layout.xaxis.type == "log" and list(figure.layout.yaxis.tickvals) == [0, 0.25, 1]
    assert figure.layout.xaxis.range[1] == pytest.approx(3, abs=0.05)


def test_all_architectures_share_the_axis_of_steps() -> None:
    for lines in (LINES, LINES[:1], []):
        assert list(by_step(lines, 400, 0.5).layout.xaxis.range) == [0, 400]
    assert [shape.x0 for shape in own_and_fresh(LINES, 300, 30).layout.shapes if shape.yref == "paper"] == [30]


def test_a_tile_that_was_never_run_is_none() -> None:
    figure = solved(
        np.array([[1.0, np.nan], [0.0, 0.5]]),
        [["8 of 8", ""], ["0 of 8", "4 of 8"]],
        ["GRU", "RNN"],
        ["10", "50"],
        "symbols",
    )
    assert figure.data[0].z[0][1] is None and figure.data[0].z[1][0] == 0.0
    assert figure.data[0].text[1][1] == "4 of 8" and list(figure.layout.yaxis.ticktext) == ["GRU", "RNN"]
