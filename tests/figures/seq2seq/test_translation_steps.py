from __future__ import annotations

import numpy as np

from explorer.figures.seq2seq.translation_steps import curves_by_position, teacher_forcing_lines

GIVEN = np.array([[1.0, 0.8, 0.6], [1.0, 0.6, 0.8]])
OWN = np.array([[1.0, 0.4, 0.0], [0.8, 0.2, 0.2]])


def test_curves_have_one_colour_two_dashes_and_bands_over_seeds() -> None:
    forced, free = teacher_forcing_lines(GIVEN, OWN, "the <model>", "--m-gru")
    assert (forced.label, free.label, forced.colour, free.colour) == (
        "correct",
        "own",
        "--m-gru",
        "--m-gru",
    )
    assert forced.dash != free.dash
    assert forced.x.tolist() == [1, 2, 3]
    np.testing.assert_allclose((free.mean, free.low, free.high), ([0.9, 0.3, 0.1], [0.8, 0.2, 0.0], [1.0, 0.4, 0.2]))


def test_y_axes_of_accuracy_and_loss() -> None:
    lines = teacher_forcing_lines(GIVEN, OWN, "it", "--m-gru")
    accuracy, loss = (
        curves_by_position(lines, loss=False),
        curves_by_position([*teacher_forcing_lines(3 * GIVEN, OWN, "it", "--m-gru")], loss=True),
    )
    assert tuple(accuracy.layout.yaxis.range) == (0.0, 1.04)
    assert list(accuracy.layout.yaxis.tickvals) == [0, 0.5, 1]
    low, high = loss.layout.yaxis.range
    assert low == 0.0 and 3.0 < high < 4.0
    for figure in (accuracy, loss):
        assert tuple(figure.layout.xaxis.range) == (0.5, 3.5)
        assert figure.layout.xaxis.title.text == "position in the target"
        assert [note.text for note in figure.layout.annotations] == ["<b>correct</b>", "<b>own</b>"]
        assert len(figure.data) == 6


def test_a_zero_loss_has_a_nonempty_axis() -> None:
    zero = np.zeros((1, 2))
    assert curves_by_position(teacher_forcing_lines(zero, zero, "it", "--m-gru"), loss=True).layout.yaxis.range[1] > 0
