from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.language.tokens import (
    SplitScores,
    TokenizerLine,
    measure_by_vocabulary,
    row_origins,
    split_scores_figure,
)

SIZES = np.arange(65, 2001)
BPE = TokenizerLine("BPE", "solid", SIZES, np.log(SIZES))
CHARACTERS = TokenizerLine("Characters", "solid", np.array([65]), np.array([1.0]))
WORDS = TokenizerLine("Words", "1px,3px", SIZES, np.log(SIZES) + 0.01)


def test_a_thinned_line_keeps_its_ends() -> None:
    line, point = measure_by_vocabulary([BPE, CHARACTERS], 500, "characters per token").data
    assert (line.x[0], line.x[-1]) == (65, 2000)
    assert line.y == pytest.approx(np.log(line.x), abs=1e-4)
    assert len(line.x) < 200
    assert line.x[1] - line.x[0] == 1 and line.x[-1] - line.x[-2] > 10, "closer where it bends"
    assert (line.mode, point.mode) == ("lines", "markers")
    assert (list(point.x), list(point.y)) == ([65], [1.0])


def test_the_current_size_is_marked_and_labels_do_not_overlap() -> None:
    layout = measure_by_vocabulary([BPE, WORDS, CHARACTERS], 500, "characters per token").layout
    assert [(line.x0, line.x1) for line in layout.shapes] == [(500, 500)]
    heights = {text.text: text.y for text in layout.annotations}
    assert set(heights) == {"BPE", "Words", "Characters"}
    assert heights["Words"] - heights["BPE"] > 0.5


def test_shares_are_shown_in_percent() -> None:
    figure = measure_by_vocabulary(
        [TokenizerLine("Words", "solid", np.array([2, 3]), np.array([0.5, 0.25]))], 2, "unknown", percent=True
    )
    assert list(figure.data[0].y) == [50, 25]
    assert figure.layout.yaxis.ticksuffix == " %"


def test_row_origins_and_shared_labels() -> None:
    figure = row_origins(np.array([[100, 900], [110, 200], [120, 500]]), 1_000)
    dots, labels = figure.data
    assert list(zip(dots.x, dots.y, dots.customdata, strict=True)) == [
        (100, 0, 1),
        (110, 0, 2),
        (120, 0, 3),
        (900, 1, 1),
        (200, 1, 2),
        (500, 1, 3),
    ]
    assert list(zip(labels.x, labels.text, strict=True)) == [(100, "1 2 3"), (200, "2"), (500, "3"), (900, "1")]
    assert figure.layout.xaxis.range == (0, 1_000)
    assert list(figure.layout.yaxis.ticktext) == ["row 1", "row 2"]


def test_honest_and_leaky_scores_differ_by_shape() -> None:
    figure = split_scores_figure([SplitScores("blocks", 2.19, 0.82), SplitScores("lines", 2.0, 2.001)], "--m-ngram")
    _, unbiased, leaky = figure.data
    assert (list(unbiased.x), list(leaky.x)) == ([2.19, 2.0], [0.82, 2.001])
    assert unbiased.marker.color == "var(--m-ngram)" and leaky.marker.color == "var(--page)"
    assert {text.text for text in figure.layout.annotations} == {
        "honest 2.19",
        "leaky 0.82",
        "honest 2.00",
        "leaky 2.00",
    }
    sides = {text.text.split()[0]: text.yanchor for text in figure.layout.annotations}
    assert sides == {"honest": "bottom", "leaky": "top"}


def test_labels_of_scores_near_zero_stay_inside_the_figure() -> None:
    text = split_scores_figure([SplitScores("blocks", 1.0, 0.01)], "--m-ngram").layout.annotations
    assert {t.text: t.xanchor for t in text} == {"honest 1.00": "center", "leaky 0.01": "left"}
