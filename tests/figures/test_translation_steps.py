from __future__ import annotations

import numpy as np

from explorer.figures.translation_steps import both, by_place

GIVEN = np.array([[1.0, 0.8, 0.6], [1.0, 0.6, 0.8]])
OWN = np.array([[1.0, 0.4, 0.0], [0.8, 0.2, 0.2]])


def test_both_curves_have_one_colour_two_dashes_and_a_band_over_the_seeds() -> None:
    given, own = both(GIVEN, OWN, "the <model>", "--m-gru")
    assert (given.label, own.label, given.colour, own.colour) == ("given", "own", "--m-gru", "--m-gru")
    assert given.dash != own.dash
    assert given.x.tolist() == [1, 2, 3]
    np.testing.assert_allclose((own.mean, own.low, own.high), ([0.9, 0.3, 0.1], [0.8, 0.2, 0.0], [1.0, 0.4, 0.2]))


def test_an_accuracy_has_the_whole_axis_and_a_loss_begins_at_nothing() -> None:
    lines = both(GIVEN, OWN, "it", "--m-gru")
    accuracy, loss = by_place(lines, loss=False), by_place([*both(3 * GIVEN, OWN, "it", "--m-gru")], loss=True)
    assert tuple(accuracy.layout.yaxis.range) == (0.0, 1.04)
    assert list(accuracy.layout.yaxis.tickvals) == [0, 0.5, 1]
    low, high = loss.layout.yaxis.range
    assert low == 0.0 and 3.0 < high < 4.0
    for drawn in (accuracy, loss):
        assert tuple(drawn.layout.xaxis.range) == (0.5, 3.5)
        assert drawn.layout.xaxis.title.text == "place in the target"
        assert [note.text for note in drawn.layout.annotations] == ["<b>given</b>", "<b>own</b>"]
        assert len(drawn.data) == 6


def test_a_loss_of_nothing_has_an_axis_all_the_same() -> None:
    zero = np.zeros((1, 2))
    assert by_place(both(zero, zero, "it", "--m-gru"), loss=True).layout.yaxis.range[1] > 0
