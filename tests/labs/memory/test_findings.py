from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from explorer.experiments.recall import SWEEP_LENGTHS as SWEPT
from explorer.experiments.recall import VARIANTS
from explorer.labs.memory.findings import (
    RecallResult,
    budget_caption,
    describe_variants,
    learning_rate_finding,
    other_length_findings,
    recall_result,
    solved_comparison_finding,
    solved_finding,
    sweep_finding,
    train_set_caption,
    train_set_finding,
)
from explorer.tasks.recall import evaluation_lengths
from explorer.training.record import Curves
from tests.words import assert_mentions, assert_states

LENGTHS = evaluation_lengths(50)


def make_result(name: str, accuracy: list[float], **at: float | list[float]) -> RecallResult:
    """Return a result with this accuracy per seed at length 50; other lengths as given, or else at chance."""
    values = np.full((len(accuracy), len(LENGTHS)), 0.5)
    values[:, LENGTHS.index(50)] = accuracy
    for length, share in at.items():
        values[:, LENGTHS.index(int(length[1:]))] = share
    each = VARIANTS[name]
    return RecallResult(
        each,
        each.config(replicas=len(accuracy)),
        np.array(accuracy, float),
        np.full(len(accuracy), 40),
        LENGTHS,
        values,
    )


def test_variants_are_grouped_by_initialization() -> None:
    found_text = describe_variants(
        [VARIANTS[name] for name in ("rnn-usual", "lstm-chrono", "gru-chrono", "transformer-none")]
    )
    assert_states(found_text, "RNN … LSTM … GRU … gates … Transformer without positions")


def by_name(*results: RecallResult) -> dict[str, RecallResult]:
    return {each.variant.name: each for each in results}


def test_the_headline_names_the_models_that_solve_the_task_in_every_seed() -> None:
    runs = by_name(
        make_result("rnn-usual", [1, 0.5, 0.96]),
        make_result("gru-usual", [0.5, 0.4, 0.6]),
        make_result("lstm-chrono", [1, 1, 1]),
        make_result("gru-chrono", [1, 1, 0.95]),
    )
    assert solved_finding(runs, 50) == "LSTM and GRU (open gates) recall the first of 50 symbols in every seed."
    assert solved_finding(by_name(runs["rnn-usual"], runs["gru-usual"]), 50) == (
        "No model recalls the first of 50 symbols in every seed; RNN (standard initialization) does in 2 of 3 seeds."
    )
    assert solved_finding(by_name(runs["gru-usual"]), 1) == "No model recalls the first of 1 symbol in any seed."
    assert solved_finding(by_name(runs["gru-chrono"]), 50).startswith("The GRU (open gates) recalls the first of 50")
    assert solved_finding({}, 50) == ""


@pytest.mark.parametrize("accuracy", [[1.0], [0.5], [1.0, 1.0], [1.0, 0.5], [0.5, 0.5], [float("nan")]])
def test_the_headline_never_has_more_than_twenty_words(accuracy: list[float]) -> None:
    every = [make_result(name, accuracy) for name in VARIANTS]
    for count in range(1, len(every) + 1):
        assert 0 < len(solved_finding(by_name(*every[:count]), 1_000_000).split()) <= 20
    if accuracy == [1.0]:
        assert solved_finding(by_name(*every), 50) == (
            f"{len(every)} of {len(every)} models recall the first of 50 symbols with its only seed."
        )


def test_findings_name_models_that_generalize_to_other_lengths_and_those_that_do_not() -> None:
    found = {
        "gru-chrono": make_result("gru-chrono", [1, 1], n51=1, n1000=[1.0, 0.99]),
        "lstm-forget-3": make_result("lstm-forget-3", [1, 0.5], n51=1, n1000=[1.0, 0.5]),
        "rnn-usual": make_result("rnn-usual", [1, 1, 0.5], n51=[0.01, 0.5, 0.5], n1000=[0.2, 0.4, 0.5]),
        "gru-usual": make_result("gru-usual", [0.5], n51=0.1),
    }
    found_text = other_length_findings(found, 50)
    assert_states(found_text[0], "50 … 1,000 … all two seeds … GRU … one of two seeds … LSTM … bias 3")
    assert_states(found_text[1], "1,000 … two of three seeds … RNN … right on 20 to 40 %")
    assert_mentions(found_text[2], "51 … one of the two seeds … RNN … only 1 % … guessing … exactly 50")
    assert found_text[2].endswith("The other solving seeds are right on 50 % there.")
    assert len(found_text) == 3


def test_a_stopped_run_has_no_finding_about_other_lengths() -> None:
    stopped = make_result("gru-chrono", [1, 1])
    stopped.by_length[:] = np.nan
    assert other_length_findings({"gru-chrono": stopped}, 50) == []


def test_a_seed_solves_the_task_from_the_step_after_which_it_stays_above_the_threshold() -> None:
    accuracy = np.array([[0.5, 0.5, 1.0], [1.0, 0.5, 0.5], [0.5, 0.96, 0.5], [1.0, 1.0, 0.5]])
    answers = np.full((4, 3, len(LENGTHS)), np.nan)
    found = recall_result(
        VARIANTS["gru-chrono"], VARIANTS["gru-chrono"].config(replicas=3), make_curves(accuracy, answers)
    )
    assert found is not None and found.solved_at.tolist() == [60, 40, -1] and found.solved == 2


def make_curves(accuracy: Any, answers: Any, **metrics: Any) -> Curves:
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


def test_the_longest_solved_length_depends_on_the_learning_rate() -> None:
    found = {
        (0.003, 10): make_result("rnn-usual", [1, 1]),
        (0.003, 50): make_result("rnn-usual", [0.5, 0.5]),
        (0.01, 50): make_result("rnn-usual", [1, 0.5]),
        (0.03, 10): make_result("rnn-usual", [0.5, 0.5]),
    }
    assert_states(
        learning_rate_finding(found, "the RNN"), "Longest … any seed … RNN … 10 … 0.003, 50 … 0.01 and none at 0.03"
    )
    assert learning_rate_finding({(0.003, 10): make_result("rnn-usual", [1])}, "the RNN") == ""


def test_the_sweep_finding_leaves_out_incomplete_rows() -> None:
    every = lambda name, *accuracy: {n: make_result(name, list(accuracy)) for n in SWEPT}  # noqa: E731
    found = {
        "gru-chrono": every("gru-chrono", 1, 1),
        "gru-usual": every("gru-usual", 0.5, 0.5),
        "rnn-usual": {**every("rnn-usual", 1, 1), 50: make_result("rnn-usual", [1, 0.5])},
        "lstm-chrono": {10: make_result("lstm-chrono", [1, 1])},
    }
    assert sweep_finding(found) == ("The GRU (open gates) learns every length up to 200 in every seed; 1 learns none.")
    del found["gru-chrono"]
    assert sweep_finding(found) == "None of 2 models learns every length up to 200 in every seed."
    assert sweep_finding({"lstm-chrono": found["lstm-chrono"]}) == sweep_finding({}) == ""


def test_the_train_set_finding_has_the_medians_of_both_accuracies() -> None:
    own, none = np.full((4, 3), 0.98), np.zeros((4, 3, 1))
    some = {"lstm": make_curves(np.tile([0.44, 1.0, 0.54], (4, 1)), none, train_accuracy=own)}
    assert train_set_finding(some) == "Right on training and on new sequences (median): LSTM 98 % and 54 %."
    assert train_set_caption(some) == "Seeds that solve new sequences after 60 steps: LSTM 1 of 3."
    assert train_set_finding({}) == train_set_caption({}) == ""


def test_the_caption_has_the_steps_of_each_model() -> None:
    found = {name: make_result(name, [0.5, 1.0]) for name in ("rnn-usual", "gru-usual", "gru-chrono")}
    assert budget_caption(found).startswith(
        "The training budgets differ: 19,200 examples (300 steps of 64) for the GRU; "
        "64,000 examples (1,000 steps of 64) for the RNN."
    )
    assert budget_caption({"gru-usual": found["gru-usual"]}).startswith("All were trained for 300 steps.")


def test_the_seeds_that_solve_recall_are_compared_by_an_exact_test() -> None:
    every, none, some = [1.0] * 8, [0.5] * 8, [1.0] * 4 + [0.5] * 4
    runs = {"gru-chrono": every, "gru-usual": none, "rnn-usual": some}
    found = solved_comparison_finding({name: make_result(name, values) for name, values in runs.items()})
    assert_mentions(found, "95% or more … Worse than GRU open: GRU standard (0 of 8 against 8 of 8 seeds)")
    assert_mentions(
        found, "Cannot … RNN standard (4 of 8 against 8 of 8 seeds; about 19 seeds … Fisher … three comparisons"
    )
    three = {name: make_result(name, values[-3:]) for name, values in runs.items()}
    assert_mentions(solved_comparison_finding(three), "Three seeds are too few")
    assert solved_comparison_finding({"gru-usual": three["gru-usual"], "rnn-usual": three["rnn-usual"]}) == ""
    assert solved_comparison_finding({"gru-chrono": three["gru-chrono"]}) == ""
