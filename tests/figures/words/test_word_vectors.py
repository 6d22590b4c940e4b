from __future__ import annotations

import numpy as np

from explorer.figures.words.word_vectors import agreement_by_count, label_positions, length_by_count, word_map


def test_labels_of_neighbouring_points_stand_on_different_sides() -> None:
    points = np.array([[0.0, 0.0], [0.01, 0.0], [1.0, 1.0]])
    first, second, _ = label_positions(points, ["queen", "princess", "bank"])
    assert first != second


def test_a_map_has_every_word_and_marks_some() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.5], [0.2, -0.3]])
    (trace,) = word_map(points, ["<a>", "b", "c"], "--m-cbow", ["b"]).data
    assert list(trace.text) == ["&lt;a&gt;", "b", "c"] and list(trace.marker.size) == [8, 13, 8]
    assert list(trace.x) == [0.0, 1.0, 0.2] and trace.marker.color == "var(--m-cbow)"


def test_bars_have_the_range_over_pairs_of_seeds() -> None:
    (bar,) = agreement_by_count(["1–9", "≥10"], np.array([[0.1, 0.5], [0.3, 0.7]]), "--m-cbow").data
    assert list(bar.y) == [0.2, 0.6] and list(bar.error_y.array) == [0.1, 0.1] == list(bar.error_y.arrayminus)
    dots = length_by_count(np.array([1, 100]), np.array([1.0, 2.0]), "--m-cbow")
    assert dots.layout.xaxis.type == "log" and list(dots.data[0].y) == [1.0, 2.0]
