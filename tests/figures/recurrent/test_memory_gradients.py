from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.recurrent.memory_gradients import (
    MAX_POSITIONS,
    TRACES_PER_LINE,
    GradientLine,
    gradient_figure,
)
from explorer.figures.style import power_of_ten

DECAY = np.stack([10.0 ** np.linspace(-power, -1, 5) for power in (16, 17, 18)])  # three seeds, five symbols
FLAT = np.full((3, 5), 0.1)


def lines(frames: int = 2) -> list[GradientLine]:
    later = np.stack([DECAY, *[FLAT] * (frames - 1)])
    return [
        GradientLine("RNN usual", "RNN, usual start", "--m-rnn", "6px,4px", later),
        GradientLine("Transformer none", "Transformer", "--m-transformer", "solid", np.stack([FLAT] * frames)),
    ]


def test_lines_are_medians_between_the_extreme_seeds() -> None:
    figure, frames = gradient_figure(lines())
    low, high, median, _ = figure.data[:TRACES_PER_LINE]
    assert list(median.x) == [1, 2, 3, 4, 5]
    assert median.y[0] == pytest.approx(1e-17, rel=1e-6, abs=0.0)
    assert (low.y[0], high.y[0]) == (pytest.approx(1e-18, abs=0.0), pytest.approx(1e-16, abs=0.0))
    assert median.line.dash == "6px,4px"
    assert len(frames) == 2
    assert all(len(frame) == len(figure.data) for frame in frames)
    assert frames[1][2] == [0.1] * 5


def test_the_axis_of_the_first_frame_contains_all_frames() -> None:
    first, frames = gradient_figure(lines())
    assert list(first.data[2].y) == frames[0][2]
    low, high = first.layout.yaxis.range
    assert -18 < low < -17  # the middle seed; a band may leave the figure
    assert -1 < high < 1
    assert len(first.layout.yaxis.tickvals) <= 5
    assert first.layout.yaxis.ticktext[0] == "10⁻¹⁵"


def test_labels_are_apart_at_the_first_symbol() -> None:
    _, frames = gradient_figure(lines())
    labels = [[frame[TRACES_PER_LINE * i + 3][0] for i in range(2)] for frame in frames]
    assert labels[0][0] == pytest.approx(1e-17, rel=0.5, abs=0.0)
    assert labels[1][0] is not None
    assert labels[1][1] is not None
    assert gradient_figure(lines())[0].data[7].text == ("<b>Transformer</b>&nbsp;&nbsp;<br><b>none</b>&nbsp;&nbsp;",)
    assert abs(np.log10(labels[1][0]) - np.log10(labels[1][1])) > 1  # both lines are at 0.1


def test_long_sequences_are_thinned_and_zeros_dropped() -> None:
    norms = np.full((1, 2, 400), 1e-3)
    norms[:, :, 0] = 0.0
    figure, frames = gradient_figure([GradientLine("a", "a", "--m-gru", "solid", norms)])
    assert len(figure.data[2].x) == MAX_POSITIONS
    assert (figure.data[2].x[0], figure.data[2].x[-1]) == (1, 400)
    assert frames[0][2][0] is None


def test_powers_of_ten_use_markup() -> None:
    assert [power_of_ten(n) for n in (-17, 0, 3)] == ["10⁻¹⁷", "1", "10³"]
