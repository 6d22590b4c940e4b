from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest
from numpy import ndarray

from explorer.figures.runs.learning_curves import HIGH, LOW, MEDIAN, learning_curve

EPOCHS = np.array([0, 0.25, 1, 3.5])  # a checkpoint is not always at the end of an epoch
VALUES = np.array([[0.5, 0.4, 0.6], [0.7, 0.5, 0.9], [0.8, 0.8, 0.8], [1.0, 0.7, 1.0]])


def curve(values: ndarray = VALUES, ceiling: tuple[float, str] | None = None) -> go.Figure:
    return learning_curve(EPOCHS[: len(values)], values, "RNN", "--m-rnn", "3px,3px", 25, (0.42, 1.03), ceiling)


def test_lines_are_medians_and_bands_ranges_over_seeds() -> None:
    traces = curve().data
    assert list(traces[LOW].y) == [0.4, 0.5, 0.8, 0.7]
    assert list(traces[HIGH].y) == [0.6, 0.9, 0.8, 1.0]
    assert list(traces[MEDIAN].y) == [0.5, 0.7, 0.8, 1.0]
    assert all(list(trace.x) == [0, 0.25, 1, 3.5] for trace in traces)
    assert traces[HIGH].fill == "tonexty"
    assert [trace.name for trace in traces] == ["RNN, lowest seed", "RNN, highest seed", "RNN, median"]


def test_the_line_has_the_colour_and_dash_of_its_model() -> None:
    line = curve().data[MEDIAN].line
    assert (line.color, line.dash) == ("var(--m-rnn)", "3px,3px")


@pytest.mark.parametrize("evaluations", [0, 1, 4])
def test_the_frame_is_constant_during_training(evaluations: int) -> None:
    layout = curve(VALUES[:evaluations]).layout
    assert layout.xaxis.range == (0, 25)
    assert layout.yaxis.range == (0.42, 1.03)


def test_the_ceiling_is_at_its_height_with_an_optional_label() -> None:
    layout = curve(ceiling=(0.8833, "ceiling of counting")).layout
    assert [(line.y0, line.y1) for line in layout.shapes] == [(0.8833, 0.8833)]
    assert [(text.y, text.text) for text in layout.annotations] == [(0.8833, "ceiling of counting")]
    quiet = curve(ceiling=(0.8833, "")).layout
    assert len(quiet.shapes) == 1 and not quiet.annotations
    assert not curve().layout.shapes
