from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
import pytest

from explorer.figures.language.loss_by_context import (
    TRACES_PER_LINE,
    Line,
    accuracy_by_distance,
    cost_by_length,
    loss_by_context,
)

X = np.array([1, 4, 64])


def line(name: str = "RNN", y: tuple[float, ...] = (3.0, 2.0, 1.5), hollow: bool = False) -> Line:
    values = np.array(y)
    return Line(name, "--m-rnn", "3px,3px", X, values, values - 0.1, values + 0.1, hollow)


def plain_line(y: tuple[float, ...], name: str = "RNN") -> Line:
    return Line(name, "--m-rnn", "3px,3px", X, np.array(y))


def names(figure: go.Figure) -> dict[str, float]:
    """Return the labels at the line ends with their heights."""
    heights = {text.text.split("</span> ")[-1]: text.y for text in figure.layout.annotations if "</span>" in text.text}
    assert all("●" in text.text or "○" in text.text for text in figure.layout.annotations if "</span>" in text.text)
    return heights


def test_every_model_has_a_band_a_line_in_its_colour_and_a_label() -> None:
    figure = loss_by_context([line(), line("LSTM", (3.0, 1.9, 1.2))], 64)
    assert len(figure.data) == 2 * TRACES_PER_LINE
    low, high, mean = figure.data[:TRACES_PER_LINE]
    assert (low.y, high.y, mean.y) == ((2.9, 1.9, 1.4), (3.1, 2.1, 1.6), (3.0, 2.0, 1.5))
    assert (mean.x, high.fill, mean.line.dash) == ((1, 4, 64), "tonexty", "3px,3px")
    assert (mean.line.color, low.fillcolor) == ("var(--m-rnn)", "var(--m-rnn/0.18)")
    assert [trace.name for trace in (low, high, mean)] == ["RNN, low", "RNN, high", "RNN"]
    assert list(names(figure)) == ["RNN", "LSTM"]
    assert figure.layout.xaxis.type == "log" and figure.layout.yaxis.type is None
    assert figure.layout.xaxis.tickvals == (1, 2, 4, 8, 16, 32, 64)
    span = figure.layout.yaxis.range
    assert span[0] < 1.1 and span[1] > 3.1
    assert names(figure)["LSTM"] == pytest.approx((1.2 - span[0]) / (span[1] - span[0]))


def test_labels_are_apart_in_the_order_of_the_line_ends() -> None:
    figure = loss_by_context([line(str(i), (3.0, 2.0, 1.5 + 0.001 * i)) for i in range(6)], 64)
    heights = names(figure)
    assert all(heights[str(i + 1)] - heights[str(i)] > 0.07 for i in range(5))
    crowded = [line(str(i), (1.0, 1.0, 1.0)) for i in range(12)]
    assert all(0 <= height <= 1 for height in names(loss_by_context(crowded, 64)).values())


def test_cost_by_length_has_two_logarithmic_axes() -> None:
    figure = cost_by_length([plain_line((0.02, 0.1, 2.0)), line("explicit", (0.5, 5.0, 50.0), hollow=True)], "s", 1_024)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert figure.layout.xaxis.ticktext[-1] == "1,024"
    low, high = figure.layout.yaxis.range
    assert 10**low == pytest.approx(0.02 / 1.5) and 10**high == pytest.approx(75)
    assert figure.layout.yaxis.ticktext == ("0.1", "1", "10")
    assert names(figure)["RNN"] == pytest.approx((math.log10(2) - low) / (high - low))
    full, hollow = figure.data[2].marker, figure.data[5].marker
    assert (full.color, hollow.color, hollow.line.color) == ("var(--m-rnn)", "var(--page)", "var(--m-rnn)")
    assert figure.data[0].y == figure.data[1].y == (None,) * 3, "no band"


def test_a_short_logarithmic_axis_has_more_ticks() -> None:
    figure = cost_by_length([plain_line((0.03, 0.1, 0.4))], "s", 64)
    assert figure.layout.yaxis.ticktext == ("0.02", "0.05", "0.1", "0.2", "0.5")


def test_missing_measurements_have_no_dot_and_no_label() -> None:
    some, none = plain_line((0.1, 0.3, math.nan)), plain_line((math.nan,) * 3, "GRU")
    for figure in (cost_by_length([some, none], "s", 64), loss_by_context([some, none], 64)):
        assert figure.data[2].y == (0.1, 0.3, None)
        assert list(names(figure)) == ["RNN"]
    assert len(cost_by_length([], "s", 64).data) == 0 == len(loss_by_context([none][:0], 64).data)


def test_accuracy_by_distance_marks_the_baseline_and_the_context() -> None:
    lines = [line(y=(1.0, 0.9, 0.4))]
    figure = accuracy_by_distance(lines, 0.27, "always )", 32, 60)
    baseline, context = figure.layout.shapes
    assert (baseline.y0, baseline.y1) == (0.27, 0.27) and (context.x0, context.x1) == (32, 32)
    texts = {text.text: text for text in figure.layout.annotations}
    assert texts["always ) 0.27"].y == 0.27
    assert texts["read"].x == pytest.approx(math.log10(32))
    assert figure.layout.yaxis.range == (0, 1.04)
    assert len(accuracy_by_distance(lines, 0.27, "always )", 64, 60).layout.shapes) == 1


def test_length_ticks_double_and_include_the_end_if_there_is_room() -> None:
    assert loss_by_context([line()], 64).layout.xaxis.tickvals == (1, 2, 4, 8, 16, 32, 64)
    assert loss_by_context([line()], 50).layout.xaxis.tickvals == (1, 2, 4, 8, 16, 32, 50)
    assert loss_by_context([line()], 40).layout.xaxis.tickvals == (1, 2, 4, 8, 16, 32)
    assert loss_by_context([line()], 1).layout.xaxis.tickvals == (1,)
