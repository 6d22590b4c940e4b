from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.transformer.depth import TRACES_PER_LINE, HeadMeasure, measure_by_heads

LINES = [
    HeadMeasure("trained", "--m-transformer", "solid", np.array([[np.nan] * 3, [0.2, 0.45, 0.25], [0.5, 0.9, 0.6]])),
    HeadMeasure("untrained", "--soft", "6px,4px", np.array([[np.nan] * 2, [0.02, 0.03], [0.61, 0.62]])),
]


def test_lines_are_medians_and_bands_ranges_over_seeds() -> None:
    figure = measure_by_heads(LINES, (1, 2, 4), "bits", (0.0, 1.0))
    low, high, line = figure.data[:TRACES_PER_LINE]
    assert list(line.y)[1:] == pytest.approx([0.25, 0.6]) and line.y[0] is None
    assert list(low.y)[1:] == pytest.approx([0.2, 0.5]) and list(high.y)[1:] == pytest.approx([0.45, 0.9])
    assert list(figure.layout.xaxis.ticktext) == ["1", "2", "4"]
    assert figure.data[2 * TRACES_PER_LINE - 1].line.dash == "6px,4px"


def test_labels_are_at_the_line_ends_and_do_not_overlap() -> None:
    names = measure_by_heads(LINES, (1, 2, 4), "bits", (0.0, 1.0)).layout.annotations
    heights = [name.y for name in names]
    assert heights[0] < heights[1] - 0.08 and sum(heights) == pytest.approx(0.6 + 0.615)  # both move as far
    low = [HeadMeasure(line.name, line.colour, line.dash, line.values * 0.01) for line in LINES]
    assert min(name.y for name in measure_by_heads(low, (1, 2, 4), "bits", (0.0, 1.0)).layout.annotations) >= 0
