from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.comparison import TRACES_PER_RUN, Line
from explorer.figures.seq2seq.translation import (
    copy_accuracy_by_step,
    exact_match_by_ablation,
    exact_match_by_format,
    exact_match_by_length,
    exact_match_by_step,
)

X = np.arange(1.0, 11.0)


def line(label: str, falls: int) -> Line:
    """Return a line that is 1 up to a length and 0 after it."""
    mean = np.where(falls >= X, 1.0, 0.0)
    return Line(label, label, "--m-gru", "solid", X, mean, mean, mean)


def test_a_line_is_labelled_where_it_falls() -> None:
    figure = exact_match_by_length([line("one vector", 3), line("attention", 8)], 8, 10)
    labels = {note.text: note.x for note in figure.layout.annotations}
    assert 3 < labels["<b>one vector</b>"] < 4 and 8 < labels["<b>attention</b>"] < 9
    assert len(figure.data) == 2 * TRACES_PER_RUN


def test_a_vertical_line_ends_the_trained_lengths() -> None:
    figure = exact_match_by_length([line("attention", 8)], 8, 10)
    assert [shape.x0 for shape in figure.layout.shapes] == [8.5]
    assert {"trained", "beyond"} <= {note.text for note in figure.layout.annotations}
    assert list(figure.layout.xaxis.range) == [0, 10]


def test_a_line_that_never_falls_is_labelled_at_its_end() -> None:
    figure = exact_match_by_length([line("attention", 99)], 8, 10)
    assert next(note.x for note in figure.layout.annotations if "attention" in note.text) == 10


def test_the_step_axis_has_a_fixed_end() -> None:
    assert list(exact_match_by_step([], 800).layout.xaxis.range) == [0, 800]


def test_impossible_ablations_have_no_tile() -> None:
    values = np.array([[[1.0, 0.5], [0.5, 0.5]], [[np.nan, np.nan], [0.1, 0.3]]])
    figure = exact_match_by_ablation(values, ["as it is", "looks evenly"], ["one vector", "attention"])
    assert figure.data[0].z[1][0] is None and figure.data[0].text[1][0] == ""
    assert figure.data[0].z[1][1] == pytest.approx(0.2) and figure.data[0].text[1][1] == "0.20  (0.10–0.30)"


def test_date_formats_are_tick_labels() -> None:
    figure = exact_match_by_format(np.array([[0.5, np.nan]]), ["3 march 1997"], ["one vector", "attention"])
    assert list(figure.layout.yaxis.ticktext) == ["3 march 1997"] and list(figure.data[0].z[0]) == [0.5, None]
    assert list(figure.data[0].text[0]) == ["0.50", ""]


def test_chance_is_a_horizontal_line() -> None:
    assert [shape.y0 for shape in copy_accuracy_by_step([line("attention", 3)], 10, 0.05).layout.shapes] == [0.05]
