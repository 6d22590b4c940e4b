from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.words.model_internals import (
    answer_after_each_token,
    attention_map,
    contributions,
    embedding_map,
    word_weights,
)

TOKENS = ("<BOS>", "human", "not", "not", "destroy", "<EOS>")


def test_attention_map_has_no_tile_for_masked_pairs() -> None:
    weights = np.random.default_rng(3).dirichlet(np.ones(6), size=6)
    weights[:, 5] = weights[5] = np.nan
    heatmap = attention_map(weights, TOKENS).data[0]
    z = np.array(heatmap.z, dtype=float)
    assert z == pytest.approx(weights, abs=5e-5, nan_ok=True)
    assert all(cell is None for cell in (*heatmap.z[5], *(row[5] for row in heatmap.z)))
    assert (heatmap.zmin, heatmap.zmax) == (0, 1)


def test_attention_map_has_tokens_on_both_axes() -> None:
    layout = attention_map(np.eye(6), TOKENS).layout
    for axis in (layout.xaxis, layout.yaxis):
        assert list(axis.tickvals) == [0, 1, 2, 3, 4, 5]
        assert list(axis.ticktext) == ["&lt;BOS&gt;", "human", "not", "not", "destroy", "&lt;EOS&gt;"]
    assert layout.xaxis.range == (-0.5, 5.5)
    assert layout.yaxis.range == (5.5, -0.5)


def test_large_attention_weights_have_numbers_in_small_maps() -> None:
    weights = np.array([[0.9, 0.1], [1.0, np.nan]])
    labels = attention_map(weights, ("a", "b")).data[0].text
    assert [list(row) for row in labels] == [[".90", ".10"], ["1.00", ""]]
    many = attention_map(np.eye(13), [str(i) for i in range(13)]).data[0]
    assert {text for row in many.text for text in row} == {""}


@pytest.mark.parametrize("values", [(0.5, -1.25, 2.0), (-0.5, -0.25, -3.0), (0.0, 0.0, 0.0)])
def test_contributions_form_a_waterfall_that_ends_at_the_total(values: tuple[float, ...]) -> None:
    bias = 0.125
    steps = [bias, *values]
    bars, _, numbers = contributions(("human", "not", "not"), np.array(values), bias).data
    ends = np.cumsum(steps)
    assert np.array(bars.base[:-1]) == pytest.approx([0, *ends[:-1]])
    assert np.array(bars.base) + np.array(bars.x) == pytest.approx([*ends, ends[-1]])
    labels = [text.replace("<b>", "").replace("</b>", "").strip().replace("−", "-") for text in numbers.text]
    assert [float(text) for text in labels] == pytest.approx([*steps, ends[-1]], abs=0.0051)
    assert list(numbers.y) == list(bars.y) == [0, 1, 2, 3, 4]


def test_rows_of_contributions_are_start_tokens_and_total() -> None:
    figure = contributions(TOKENS, np.ones(6), -1.0)
    labels = ["bias", "&lt;BOS&gt;", "human", "not", "not", "destroy", "&lt;EOS&gt;", "together"]
    assert list(figure.layout.yaxis.ticktext) == labels
    low, high = figure.layout.xaxis.range
    assert low < -1 and high > 5


def test_positive_and_negative_contributions_have_different_colours() -> None:
    colours = contributions(("a", "b"), np.array([1.0, -1.0]), 1.0).data[0].marker.color
    assert colours[0] == colours[1] != colours[2]


def test_answers_after_each_token_lie_between_the_two_classes() -> None:
    sustain = np.array([0.5, 0.4, 0.7, 0.2, 0.9, 1.0])
    figure = answer_after_each_token(TOKENS, sustain, "--m-rnn", ("collapse", "sustain"))
    line, axis = figure.data[0], figure.layout.yaxis
    assert list(line.y) == list(sustain)
    assert list(line.text) == ["0.50", "0.40", "0.70", "0.20", "0.90", "1.00"]
    assert dict(zip(axis.tickvals, axis.ticktext, strict=True)) == {0: "collapse", 0.5: "undecided", 1: "sustain"}
    assert list(figure.layout.xaxis.ticktext)[3:5] == ["not", "destroy"]
    assert figure.layout.shapes[0].y0 == figure.layout.shapes[0].y1 == 0.5


def test_word_weights_have_two_bars_per_token_around_zero() -> None:
    weights = np.array([[0.5, -2.0, 0.25], [-0.5, 2.0, -0.25]])
    figure = word_weights(("a", "<EOS>", "c"), weights, ("collapse", "sustain"))
    assert [bar.name for bar in figure.data] == ["collapse", "sustain"]
    assert [list(bar.x) for bar in figure.data] == weights.tolist()
    assert list(figure.layout.yaxis.ticktext) == ["a", "&lt;EOS&gt;", "c"]
    low, high = figure.layout.xaxis.range
    assert -low == high > 2


def test_embedding_map_keeps_positions_and_has_equal_units() -> None:
    points = np.array([[1.0, -0.5], [-2.0, 0.25], [0.0, 0.0]])
    figure = embedding_map(("not", "<EOS>", "human"), points, "--m-rnn")
    dots = figure.data[0]
    assert list(zip(dots.x, dots.y, strict=True)) == [tuple(point) for point in points]
    assert list(dots.text) == ["not", "&lt;EOS&gt;", "human"]
    assert figure.layout.yaxis.scaleanchor == "x"
    assert figure.layout.xaxis.range == figure.layout.yaxis.range
    assert figure.layout.xaxis.range[1] > 2


def test_labels_of_coinciding_embeddings_are_on_different_sides() -> None:
    points = np.array([[1.0, 1.0], [0.3, 0.3], [0.3, 0.3], [0.3, 0.3], [0.3, 0.3]])
    sides = embedding_map(("far", "consume", "destroy", "not", "human"), points, "--m-rnn").data[0].textposition
    assert len(set(sides[1:])) == 4
