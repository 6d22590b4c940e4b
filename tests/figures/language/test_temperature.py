from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.language.temperature import TRACES_PER_LINE, TextMeasure, measure_by_temperature

X = np.array([0.0, 1.0, 2.0])
COURSE = TextMeasure("RNN", "--m-rnn", "3px,3px", np.array([[0.1, 0.3], [0.5, 0.5], [0.8, 1.0]]))


def test_lines_are_means_and_bands_ranges_over_seeds() -> None:
    figure = measure_by_temperature([COURSE, COURSE], X, 0.7, [], (0.0, 1.0))
    assert len(figure.data) == 2 * TRACES_PER_LINE
    low, high, mean = figure.data[:TRACES_PER_LINE]
    assert list(low.y) == [0.1, 0.5, 0.8]
    assert list(high.y) == [0.3, 0.5, 1.0] and high.fill == "tonexty"
    assert list(mean.y) == [0.2, 0.5, 0.9] and mean.line.color == "var(--m-rnn)" and mean.line.dash == "3px,3px"
    assert [shape.x0 for shape in figure.layout.shapes] == [0.7]


@pytest.mark.parametrize(("height", "anchor"), [(0.5, "bottom"), (0.95, "top")])
def test_labels_of_human_text_stay_inside_the_figure(height: float, anchor: str) -> None:
    figure = measure_by_temperature([COURSE], X, 0.7, [("--ink", height)], (0.0, 1.0))
    assert figure.layout.shapes[1].y0 == height and figure.layout.shapes[1].line.color == "var(--ink)"
    [words] = figure.layout.annotations
    assert words.text == f"people {height:.2f}" and words.yanchor == anchor
    below = measure_by_temperature([COURSE], X, 0.7, [("--m-rnn", -1.25)], (-3.0, 0.0))
    assert below.layout.annotations[0].text == "people −1.25"


def test_each_line_of_human_text_has_a_label_in_its_colour() -> None:
    figure = measure_by_temperature(
        [COURSE], X, 0.7, [("--m-ngram", 0.5), ("--m-rnn", 0.51), ("--m-gru", 0.52)], (0.0, 1.0)
    )
    marks = figure.layout.annotations
    assert [(words.x, words.xanchor) for words in marks] == [
        (2.0, "right"),
        (0.0, "left"),
        (0.0, "left"),
    ]
    assert [words.yanchor for words in marks] == ["bottom", "bottom", "top"]
    assert [words.font.color for words in marks] == [
        "var(--m-ngram)",
        "var(--m-rnn)",
        "var(--m-gru)",
    ]
    assert len(figure.layout.shapes) == 4
