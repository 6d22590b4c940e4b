from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.figures.comparison import Line
from explorer.figures.runs.experiments import FinalValues, final_values_figure, log_ticks, low_comparison_figure

WITHOUT = FinalValues("none", "without", "--m-rnn", "6px,4px", np.array([[3.0, 3.2], [9.0, 90.0], [4.0, 4.2]]))
WITH = FinalValues("clip", "with", "--m-rnn", "solid", np.array([[3.0, 3.1], [np.nan, np.nan], [3.2, np.inf]]))


def annotation_texts(figure: object) -> list[str]:
    return [note.text for note in figure.layout.annotations]  # type: ignore[attr-defined]


def test_seeds_are_dots_and_means_a_line_with_gaps_outside_the_frame() -> None:
    figure = final_values_figure([WITHOUT, WITH], ["0.1", "0.3", "1"], "learning rate", (2.5, 6.0))
    line, dots, other, others = figure.data
    assert line.y == (3.1, None, 4.1) and other.y == (3.05, None, None)
    assert dots.y == (3.0, 3.2, 4.0, 4.2) and others.y == (3.0, 3.1, 3.2)
    assert (line.line.dash, other.line.dash) == ("6px,4px", "solid")
    assert dots.x[0] < 0 < others.x[0]  # side by side, not one over the other
    assert figure.layout.xaxis.ticktext == ("0.1", "0.3", "1")


def test_values_above_the_frame_are_written_at_its_edge() -> None:
    texts = annotation_texts(final_values_figure([WITHOUT, WITH], ["0.1", "0.3", "1"], "learning rate", (2.5, 6.0)))
    assert texts == ["↑ 90", "no numbers", "<b>none</b>", "<b>clip</b>"]


def test_the_reference_is_drawn_inside_the_frame_only() -> None:
    for span, visible in (((2.5, 7.0), True), ((2.5, 6.0), False)):
        figure = final_values_figure([WITHOUT], ["0.1", "0.3", "1"], "learning rate", span, (6.02, "blind guessing"))
        assert ("blind guessing" in annotation_texts(figure)) == visible
        assert len(figure.layout.shapes) == visible


def test_a_single_line_needs_no_label() -> None:
    figure = final_values_figure(
        [FinalValues("", "window", "--m-rnn", "solid", np.ones((2, 3)))], ["1", "2"], "window", (0.5, 1.5)
    )
    assert annotation_texts(figure) == []


@pytest.mark.parametrize("last", [(3.0, 3.0), (3.0, 3.001), (5.9, 5.9), (2.5, 2.5), (3.0, np.inf), (np.nan, 3.0)])
def test_labels_do_not_overlap(last: tuple[float, float]) -> None:
    lines = [FinalValues(str(i), "x", "--m-rnn", "solid", np.array([[end]])) for i, end in enumerate(last)]
    labels = {
        n.text: n.y
        for n in final_values_figure(lines, ["1"], "rate", (2.5, 6.0)).layout.annotations
        if n.yref == "paper"
    }
    assert abs(labels["<b>0</b>"] - labels["<b>1</b>"]) > 0.08
    assert all(0 <= height <= 1 for height in labels.values())


def curve(label: str, end: float) -> Line:
    return Line(label, label, "--m-rnn", "solid", np.array([0.0, 9.0]), *np.array([[6.0, end]] * 3))


def test_labels_of_low_curves_are_apart_and_in_order() -> None:
    figure = low_comparison_figure([curve("a", 3.0), curve("b", 3.01)], "step", (2.9, 6.0), 9.0)
    low, high = (note.y for note in figure.layout.annotations)
    assert high - low == pytest.approx(0.15)
    assert figure.layout.xaxis.range == (0, 9)


def test_a_logarithmic_axis_has_plain_numbers() -> None:
    figure = low_comparison_figure([curve("a", 200.0)], "step", (2.8, 260.0), 9.0, log_y=True)
    assert figure.layout.yaxis.ticktext == ("3", "10", "30", "100")
    wide = low_comparison_figure([curve("a", 200.0)], "step", (0.05, 8e9), 9.0, log_y=True).layout.yaxis
    assert "10⁷" in wide.ticktext[-1]


@given(st.floats(-4, 4), st.floats(0.3, 14))
def test_log_ticks_are_few_and_inside_the_axis(low: float, wide: float) -> None:
    ticks = log_ticks(10**low, 10 ** (low + wide))
    assert len(ticks) <= 8
    assert all(10**low <= tick <= 10 ** (low + wide) for tick in ticks)
    assert all(a < b and math.isfinite(b) for a, b in pairwise(ticks))
    if wide > 1:
        assert ticks
