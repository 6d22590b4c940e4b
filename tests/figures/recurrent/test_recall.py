from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.comparison import TRACES_PER_RUN, Line
from explorer.figures.recurrent.recall import (
    accuracy_by_length,
    accuracy_by_step,
    solved_shares,
    train_and_test_accuracy,
)

X = np.array([1.0, 10.0, 50.0, 1_000.0])
LINES = [
    Line("open", "with open gates", "--m-gru", "solid", X, np.ones(4), np.full(4, 0.9), np.ones(4)),
    Line("usual", "with the usual start", "--m-gru", "6px,4px", X, np.full(4, 0.5), np.full(4, 0.4), np.full(4, 0.6)),
]


def test_every_initialization_has_a_line_a_band_and_a_label() -> None:
    figure = accuracy_by_length(LINES, 50, 1_000, 0.5)
    assert len(figure.data) == TRACES_PER_RUN * 2
    assert [trace.line.dash for trace in figure.data[2::3]] == ["solid", "6px,4px"]
    labels = [note for note in figure.layout.annotations if note.x == 1.0 and note.xref == "paper"]
    assert [note.text for note in labels] == ["<b>open</b>", "<b>usual</b>"]
    assert labels[0].y - labels[1].y > 0.12


def test_the_trained_length_and_chance_are_marked() -> None:
    figure = accuracy_by_length(LINES, 50, 1_000, 0.25)
    upright = [shape for shape in figure.layout.shapes if shape.yref == "paper"]
    across = [shape for shape in figure.layout.shapes if shape.xref == "paper"]
    assert [shape.x0 for shape in upright] == [50] and [shape.y0 for shape in across] == [0.25]
    assert figure.layout.xaxis.type == "log" and list(figure.layout.yaxis.tickvals) == [0, 0.25, 1]
    assert figure.layout.xaxis.range[1] == pytest.approx(3, abs=0.05)


def test_all_architectures_share_the_step_axis() -> None:
    for lines in (LINES, LINES[:1], []):
        assert list(accuracy_by_step(lines, 400, 0.5).layout.xaxis.range) == [0, 400]
    assert [shape.x0 for shape in train_and_test_accuracy(LINES, 300, 30).layout.shapes if shape.yref == "paper"] == [
        30
    ]


def test_missing_runs_have_no_tile() -> None:
    figure = solved_shares(
        np.array([[1.0, np.nan], [0.0, 0.5]]),
        [["8 of 8", ""], ["0 of 8", "4 of 8"]],
        ["GRU", "RNN"],
        ["10", "50"],
        "symbols",
    )
    assert figure.data[0].z[0][1] is None and figure.data[0].z[1][0] == 0.0
    assert figure.data[0].text[1][1] == "4 of 8" and list(figure.layout.yaxis.ticktext) == ["GRU", "RNN"]
