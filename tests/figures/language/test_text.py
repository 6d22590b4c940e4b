from __future__ import annotations

import numpy as np

from explorer.figures.language.text import gradient_norms, train_and_held_out_loss


def test_both_losses_and_the_best_step_are_drawn() -> None:
    steps, held_out, trained = np.array([0.0, 10.0, 20.0]), np.array([3.0, 1.5, 1.6]), np.array([3.0, 1.4, np.nan])
    figure = train_and_held_out_loss(steps, held_out, trained, "GRU", "--m-gru", 40, (1.0, 3.0), best=10.0)
    first, second = figure.data
    assert list(first.x) == list(second.x) == [0.0, 10.0, 20.0]
    assert (list(first.y), list(second.y)) == ([3.0, 1.5, 1.6], [3.0, 1.4, None])
    assert first.line.width > second.line.width
    assert list(figure.layout.xaxis.range) == [0, 40]
    (line,) = figure.layout.shapes
    assert (line.x0, line.x1) == (10.0, 10.0)
    assert not train_and_held_out_loss(steps, held_out, trained, "GRU", "--m-gru", 40, (1.0, 3.0)).layout.shapes


def test_gradient_norms_share_a_logarithmic_axis() -> None:
    steps = np.array([5.0, 15.0])
    norms = {
        "GRU": ("--m-gru", "solid", (steps, np.array([0.5, np.inf]))),
        "RNN": ("--m-rnn", "3px,3px", (steps, np.array([2.0, 1.0]))),
    }
    figure = gradient_norms(norms, 20)
    assert [trace.name for trace in figure.data] == ["GRU", "RNN"]
    assert list(figure.data[0].y) == [0.5, None]
    assert figure.layout.yaxis.type == "log"
