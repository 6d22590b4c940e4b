from __future__ import annotations

import numpy as np
import pytest

from explorer.figures.transformer.scaled_attention import Axis, quantity_by_width, weight_bars

WIDTHS = (1, 4, 16)


def test_weight_bars_have_a_frame_per_width() -> None:
    weights = np.array([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]])
    figure, frames = weight_bars(weights, 1)
    assert list(figure.data[0].y) == [0.9, 0.1]
    assert [frame[0] for frame in frames] == weights.tolist()


def test_only_the_dot_changes_between_frames() -> None:
    values = np.arange(1, 19).reshape(2, 3, 3) / 20
    figure, frames = quantity_by_width(WIDTHS, values, Axis((0.0, 1.0), (0.0, 1.0), (0.9, "even")), 0)
    assert len(figure.data) == 8 and all(len(frame) == 8 for frame in frames)
    assert list(figure.data[2].y) == values[0, :, 0].tolist() and list(figure.data[0].y) == values[0, :, 1].tolist()
    for stop, frame in enumerate(frames):
        assert frame[:6] == frames[0][:6]
        assert frame[7] == [values[1, i, 0] if i == stop else None for i in range(3)]
    labels = [note.text for note in figure.layout.annotations]
    assert labels == ["not divided", "divided"] and figure.layout.yaxis.ticktext[-1] == "even"


@pytest.mark.parametrize("log", [False, True])
def test_two_labels_do_not_overlap(log: bool) -> None:
    values = np.full((2, 3, 3), 1.0 if log else 0.999)
    figure, _ = quantity_by_width(WIDTHS, values, Axis((0.001, 1.0), (0.001, 1.0), log=log), 0)
    first, second = (note.y for note in figure.layout.annotations)
    assert abs(first - second) >= 0.119 and min(first, second) >= 0 and max(first, second) <= 1
