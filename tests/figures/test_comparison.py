from __future__ import annotations

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.figures.comparison import TRACES_PER_RUN, Line, comparison_figure


def line(label: str = "1", mean: tuple[float, ...] = (0.5, 0.7, 0.9), x: tuple[float, ...] = (0, 10, 20)) -> Line:
    values = np.array(mean, float)
    return Line(label, "RNN", "--m-rnn", "3px,3px", np.array(x, float), values, values - 0.1, values + 0.1)


EMPTY = line("2", (), ())


def label_heights(figure: go.Figure) -> dict[str, float]:
    return {text.text: text.y for text in figure.layout.annotations}


def test_every_run_has_a_band_over_seeds_and_a_line_in_its_colour() -> None:
    figure = comparison_figure([line("1"), line("2")], "steps", (0.4, 1.0))
    assert len(figure.data) == 2 * TRACES_PER_RUN
    low, high, mean = figure.data[TRACES_PER_RUN:]
    assert (low.y, high.y, mean.y) == ((0.4, 0.6, 0.8), (0.6, 0.8, 1.0), (0.5, 0.7, 0.9))
    assert (low.x, high.fill, mean.line.dash) == ((0, 10, 20), "tonexty", "3px,3px")
    assert (mean.line.color, low.fillcolor) == ("var(--m-rnn)", "var(--m-rnn/0.16)")
    assert [trace.name for trace in (low, high, mean)] == ["2 RNN, lowest seed", "2 RNN, highest seed", "2 RNN, mean"]
    assert figure.layout.yaxis.range == (0.4, 1.0)


@settings(deadline=None)
@given(st.lists(st.floats(0.4, 1.0), min_size=1, max_size=8))
@example([0.4] * 8)
def test_labels_are_apart_in_the_order_of_the_line_ends(ends: list[float]) -> None:
    lines = [line(str(i), (0.5, end), (0, 10)) for i, end in enumerate(ends)]
    heights = list(label_heights(comparison_figure(lines, "steps", (0.4, 1.0))).values())
    order = sorted(range(len(ends)), key=lambda i: (-ends[i], i))
    assert all(heights[a] - heights[b] > 0.069 for a, b in pairwise(order))
    assert min(heights) >= 0 and max(heights) <= 1
    if len(ends) == 1:
        assert heights == [pytest.approx((ends[0] - 0.4) / 0.6)]


def test_zero_is_moved_on_a_logarithmic_axis() -> None:
    figure = comparison_figure([line(mean=(0.5, 0.1, 0.0))], "steps", (1e-3, 1.0), log_x=True, log_y=True)
    assert figure.data[2].x == (5, 10, 20)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert figure.layout.yaxis.range == (-3, 0)
    assert all(np.isfinite(height) for height in label_heights(figure).values())


def test_a_run_without_points_keeps_its_traces_without_a_label() -> None:
    for log in (False, True):
        figure = comparison_figure([EMPTY, line("1")], "steps", (0.4, 1.0), log_x=log, log_y=log)
        assert len(figure.data) == 2 * TRACES_PER_RUN
        assert list(label_heights(figure)) == ["<b>1</b>"]
    assert len(comparison_figure([], "steps", (0.4, 1.0)).data) == 0


def test_missing_values_are_gaps() -> None:
    diverged = line("1", (np.nan, 0.7, np.inf))
    figure = comparison_figure([diverged, line("2")], "steps", (0.4, 1.0))
    assert figure.data[2].y == (None, 0.7, None)
    assert label_heights(figure) == {"<b>1</b>": pytest.approx(0.5), "<b>2</b>": pytest.approx(0.5 / 0.6)}
