from __future__ import annotations

import numpy as np

from explorer.figures.attention import answer_probabilities, head_importance, logit_lens

NOW, BEFORE = np.array([0.7, 0.2]), np.array([0.1, 0.6])


def test_answers_are_drawn_before_those_without_ablation() -> None:
    pale, solid = answer_probabilities(["a", "<b>"], NOW, BEFORE, "--m-transformer").data
    assert list(pale.x) == [0.1, 0.6] and list(solid.x) == [0.7, 0.2]
    assert list(solid.text) == ["0.70", "0.20"] and solid.width < pale.width
    unchanged = answer_probabilities(["a", "<b>"], NOW, None, "--m-transformer")
    assert list(unchanged.data[0].x) == [0, 0]  # nothing to compare with
    assert list(unchanged.layout.yaxis.ticktext) == ["a", "&lt;b&gt;"]


def test_logit_lens_has_a_row_per_layer_and_escapes_markup() -> None:
    figure = logit_lens(
        ["embedding", "layer 1"], ["x", "y"], [["a", "<i>"], ["c", "d"]], np.array([[0.1, 0.2], [0.3, 1.0]])
    )
    [map] = figure.data
    assert [list(row) for row in map.z] == [[0.1, 0.2], [0.3, 1.0]]
    assert [list(row) for row in map.text] == [["a", "&lt;i&gt;"], ["c", "d"]]
    assert (map.zmin, map.zmax) == (0, 1)
    assert list(figure.layout.yaxis.range) == [-0.5, 1.5]  # the last layer on top


def test_the_most_important_head_is_on_top_with_two_standard_errors() -> None:
    figure = head_importance(
        ["a", "b", "c"], np.array([0.1, 0.5, -0.2]), np.array([0.01, 0.02, 0.03]), "--m-transformer", "rise"
    )
    [dots] = figure.data
    assert list(dots.x) == [0.5, 0.1, -0.2]
    assert list(dots.error_x.array) == [0.04, 0.02, 0.06]
    assert list(figure.layout.yaxis.ticktext) == ["b", "a", "c"]
    low, high = figure.layout.xaxis.range
    assert low < -0.26 and high > 0.54 and figure.layout.yaxis.range[0] > 2
