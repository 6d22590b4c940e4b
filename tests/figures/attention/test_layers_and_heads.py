from __future__ import annotations

import numpy as np

from explorer.figures.attention.layers_and_heads import head_importance, logit_lens, rollout_map


def test_rollout_has_a_colour_scale_and_values() -> None:
    [map] = rollout_map(np.array([[1.0, np.nan], [0.05, 0.95]]), ["a", "b"]).data
    assert map.showscale and [list(row) for row in map.text] == [["1.00", ""], ["", "0.95"]]


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
