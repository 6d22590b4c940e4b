from __future__ import annotations

from typing import Any

import numpy as np

from explorer.tasks.recall import asked_lengths
from explorer.training.recall_runs import CONTESTANTS
from explorer.training.recall_runs import LENGTHS as SWEPT
from explorer.training.record import Curves
from explorer.ui.recall_findings import (
    Recalled,
    budgets,
    elsewhere,
    ends,
    moves,
    recalled,
    stopped,
    trapped,
    verdict,
    who,
)

LENGTHS = asked_lengths(50)


def of(name: str, accuracy: list[float], **at: float | list[float]) -> Recalled:
    """A run whose seeds are this right at 50, and at other lengths as given, or else at chance."""
    values = np.full((len(accuracy), len(LENGTHS)), 0.5)
    values[:, LENGTHS.index(50)] = accuracy
    for length, share in at.items():
        values[:, LENGTHS.index(int(length[1:]))] = share
    each = CONTESTANTS[name]
    return Recalled(
        each,
        each.config(replicas=len(accuracy)),
        np.array(accuracy, float),
        np.full(len(accuracy), 40),
        LENGTHS,
        values,
    )


def test_those_of_one_start_stand_together() -> None:
    told = who([CONTESTANTS[name] for name in ("rnn-usual", "lstm-chrono", "gru-chrono", "transformer-none")])
    assert (
        told
        == "the RNN with the usual start, the LSTM and the GRU with open gates and the Transformer without positions"
    )


def test_the_verdict_counts_seeds() -> None:
    runs = (of("rnn-usual", [1, 0.5, 0.96]), of("gru-usual", [0.5, 0.4, 0.6]), of("gru-chrono", [1, 1, 0.95]))
    assert verdict({run.contestant.name: run for run in runs}, 50) == (
        "Who can name the first of 50 symbols? The GRU with open gates in every seed; the RNN with the usual start in "
        "two of three; the GRU with the usual start in none."
    )
    assert verdict({}, 50) == ""


def test_who_still_knows_far_away_and_who_is_a_clock() -> None:
    found = {
        "gru-chrono": of("gru-chrono", [1, 1], n51=1, n1000=[1.0, 0.99]),
        "lstm-forget-3": of("lstm-forget-3", [1, 0.5], n51=1, n1000=[1.0, 0.5]),
        "rnn-usual": of("rnn-usual", [1, 1, 0.5], n51=[0.01, 0.5, 0.5], n1000=[0.2, 0.4, 0.5]),
        "gru-usual": of("gru-usual", [0.5], n51=0.1),
    }
    told = elsewhere(found, 50)
    assert told[0] == (
        "Trained at 50, asked at 1,000: all two seeds of the GRU with open gates and one of two seeds of the LSTM with "
        "gates at bias 3 still know."
    )
    assert told[1] == "Asked at 1,000, two of three seeds of the RNN with the usual start are right in 0.20 to 0.40."
    assert told[2].startswith(
        "One symbol further, at 51, one of the two seeds of the RNN with the usual start is not lost"
    )
    assert told[2].endswith("right at 50. The others are right in 0.50 there.")
    assert len(told) == 3


def test_where_it_was_stopped_nothing_is_said_of_other_lengths() -> None:
    stopped = of("gru-chrono", [1, 1])
    stopped.by_length[:] = np.nan
    assert elsewhere({"gru-chrono": stopped}, 50) == []


def test_a_seed_has_solved_it_from_when_on_it_never_falls_below_again() -> None:
    accuracy = np.array([[0.5, 0.5, 1.0], [1.0, 0.5, 0.5], [0.5, 0.96, 0.5], [1.0, 1.0, 0.5]])
    answers = np.full((4, 3, len(LENGTHS)), np.nan)
    found = recalled(CONTESTANTS["gru-chrono"], CONTESTANTS["gru-chrono"].config(replicas=3), curves(accuracy, answers))
    assert found is not None and found.first.tolist() == [60, 40, -1] and found.solved == 2


def curves(accuracy: Any, answers: Any, **metrics: Any) -> Curves:
    none = np.zeros((61, accuracy.shape[1]))
    return Curves(
        0,
        none[1:],
        none[:, 0],
        none[:, 0],
        np.array([0, 20, 40, 60]),
        {"accuracy": accuracy, **metrics},
        {"by_length": answers},
    )


def test_the_end_moves_with_the_step_size() -> None:
    found = {
        (0.003, 10): of("rnn-usual", [1, 1]),
        (0.003, 50): of("rnn-usual", [0.5, 0.5]),
        (0.01, 50): of("rnn-usual", [1, 0.5]),
        (0.03, 10): of("rnn-usual", [0.5, 0.5]),
    }
    assert moves(found, "the RNN") == (
        "The longest that any seed of the RNN solves: 10 at a step size of 0.003, 50 at a step size of 0.01 "
        "and none at 0.03."
    )
    assert moves({(0.003, 10): of("rnn-usual", [1])}, "the RNN") == ""


def test_a_sweep_says_where_luck_decides_and_nothing_of_rows_with_holes() -> None:
    every = lambda name, *accuracy: {n: of(name, list(accuracy)) for n in SWEPT}  # noqa: E731
    found = {
        "gru-chrono": every("gru-chrono", 1, 1),
        "gru-usual": every("gru-usual", 0.5, 0.5),
        "rnn-usual": {**every("rnn-usual", 1, 1), 50: of("rnn-usual", [1, 0.5])},
        "lstm-chrono": {10: of("lstm-chrono", [1, 1])},
    }
    assert ends(found) == (
        "The GRU with open gates solves every length here in every seed. The GRU with the usual start solves none. "
        "For the RNN with the usual start it depends on the length and on the seed."
    )
    assert ends({"lstm-chrono": found["lstm-chrono"]}) == ""


def test_the_trap_is_told_by_its_two_scores_and_by_seeds() -> None:
    own, none = np.full((4, 3), 0.98), np.zeros((4, 3, 1))
    begins = "After 60 steps the LSTM is right in 0.98 of its own sequences. "
    assert trapped({"lstm": curves(np.full((4, 3), 0.5), none, train_accuracy=own)}) == [
        begins + "On fresh ones, in 0.50."
    ]
    some = curves(np.tile([0.44, 1.0, 0.54], (4, 1)), none, train_accuracy=own)
    assert trapped({"lstm": some}) == [
        begins + "On fresh ones two of three seeds are right in 0.44 to 0.54; one has learned it."
    ]
    assert trapped({"lstm": curves(np.ones((4, 3)), none, train_accuracy=own)}) == [begins + "On fresh ones too: 1.00."]
    assert stopped({"lstm": some}, 20).endswith("mean: LSTM 0.98 and 0.66.") and stopped({"lstm": some}, 7) == ""


def test_how_long_each_was_trained_is_said() -> None:
    found = {name: of(name, [0.5, 1.0]) for name in ("rnn-usual", "gru-usual", "gru-chrono")}
    assert budgets(found).startswith("Steps of training: GRU 300; RNN 1,000.")
    assert budgets({"gru-usual": found["gru-usual"]}).startswith("All were trained for 300 steps.")
