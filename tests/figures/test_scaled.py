from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.scaled import Axis, bars, by_width

WIDTHS = (1, 4, 16)


def test_bars_turn_to_the_weights_of_each_width() -> None:
    weights = np.array([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]])
    drawn, frames = bars(weights, 1)
    assert list(drawn.data[0].y) == [0.9, 0.1]
    assert [frame[0] for frame in frames] == weights.tolist()


def test_lines_stay_and_the_dot_moves() -> None:
    values = np.arange(1, 19).reshape(2, 3, 3) / 20
    drawn, frames = by_width(WIDTHS, values, Axis((0.0, 1.0), (0.0, 1.0), (0.9, "even")), 0)
    assert len(drawn.data) == 8 and all(len(frame) == 8 for frame in frames)
    assert list(drawn.data[2].y) == values[0, :, 0].tolist() and list(drawn.data[0].y) == values[0, :, 1].tolist()
    for stop, frame in enumerate(frames):
        assert frame[:6] == frames[0][:6]
        assert frame[7] == [values[1, i, 0] if i == stop else None for i in range(3)]
    said = [note.text for note in drawn.layout.annotations]
    assert said == ["not divided", "divided", "even"]


@pytest.mark.parametrize("log", [False, True])
def test_two_names_never_cover_each_other(log: bool) -> None:
    values = np.full((2, 3, 3), 1.0 if log else 0.999)
    drawn, _ = by_width(WIDTHS, values, Axis((0.001, 1.0), (0.001, 1.0), log=log), 0)
    first, second = (note.y for note in drawn.layout.annotations)
    assert abs(first - second) >= 0.119 and min(first, second) >= 0 and max(first, second) <= 1
