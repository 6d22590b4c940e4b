from __future__ import annotations

from typing import Any

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.experiments.recall import SWEEP_LENGTHS as SWEPT
from explorer.experiments.recall import VARIANTS
from explorer.labs.memory import findings
from explorer.labs.memory.findings import RecallResult
from explorer.tasks.recall import evaluation_lengths
from explorer.training.record import Curves

LENGTHS = evaluation_lengths(50)


def make_result(name: str, accuracy: list[float], **at: float | list[float]) -> RecallResult:
    """Return a result with this accuracy per seed at length 50; other lengths as given, or else at chance."""
    values = np.full((len(accuracy), len(LENGTHS)), 0.5)
    values[:, LENGTHS.index(50)] = accuracy
    for length, share in at.items():
        values[:, LENGTHS.index(int(length[1:]))] = share
    config, solved_at = VARIANTS[name].config(replicas=len(accuracy)), np.full(len(accuracy), 40)
    return RecallResult(VARIANTS[name], config, np.array(accuracy, float), solved_at, LENGTHS, values)


def test_sentences(snapshot: SnapshotAssertion) -> None:
    runs = by_name(
        make_result("rnn-usual", [1, 0.5, 0.96]),
        make_result("gru-usual", [0.5, 0.4, 0.6]),
        make_result("lstm-chrono", [1, 1, 1]),
        make_result("gru-chrono", [1, 1, 0.95]),
    )
    found = {
        (0.003, 10): make_result("rnn-usual", [1, 1]),
        (0.003, 50): make_result("rnn-usual", [0.5, 0.5]),
        (0.01, 50): make_result("rnn-usual", [1, 0.5]),
        (0.03, 10): make_result("rnn-usual", [0.5, 0.5]),
    }
    own, none = (np.full((4, 3), 0.98), np.zeros((4, 3, 1)))
    some = {"lstm": make_curves(np.tile([0.44, 1.0, 0.54], (4, 1)), none, train_accuracy=own)}
    budgets = {name: make_result(name, [0.5, 1.0]) for name in ("rnn-usual", "gru-usual", "gru-chrono")}
    every, never, half = ([1.0] * 8, [0.5] * 8, [1.0] * 4 + [0.5] * 4)
    seeds = {"gru-chrono": every, "gru-usual": never, "rnn-usual": half}
    three = {name: make_result(name, values[-3:]) for name, values in seeds.items()}
    assert [
        findings.describe_variants(
            [VARIANTS[name] for name in ("rnn-usual", "lstm-chrono", "gru-chrono", "transformer-none")]
        ),
        findings.solved_finding(runs, 50),
        findings.solved_finding(by_name(runs["rnn-usual"], runs["gru-usual"]), 50),
        findings.solved_finding(by_name(runs["gru-usual"]), 1),
        findings.solved_finding(by_name(runs["gru-chrono"]), 50),
        findings.solved_finding({}, 50),
        findings.learning_rate_finding(found, "the RNN"),
        findings.learning_rate_finding({(0.003, 10): make_result("rnn-usual", [1])}, "the RNN"),
        findings.train_set_finding(some),
        findings.train_set_caption(some),
        findings.train_set_finding({}),
        findings.train_set_caption({}),
        findings.budget_caption(budgets),
        findings.budget_caption({"gru-usual": budgets["gru-usual"]}),
        findings.solved_comparison_finding({name: make_result(name, values) for name, values in seeds.items()}),
        findings.solved_comparison_finding(three),
        findings.solved_comparison_finding({"gru-usual": three["gru-usual"], "rnn-usual": three["rnn-usual"]}),
        findings.solved_comparison_finding({"gru-chrono": three["gru-chrono"]}),
    ] == snapshot


def by_name(*results: RecallResult) -> dict[str, RecallResult]:
    return {each.variant.name: each for each in results}


def test_the_headline_never_has_more_than_twenty_words() -> None:
    for accuracy in ([1.0], [0.5], [1.0, 1.0], [1.0, 0.5], [0.5, 0.5], [float("nan")]):
        every = [make_result(name, accuracy) for name in VARIANTS]
        for count in range(1, len(every) + 1):
            assert 0 < len(findings.solved_finding(by_name(*every[:count]), 1_000_000).split()) <= 20
    all_solve = by_name(*(make_result(name, [1.0]) for name in VARIANTS))
    assert findings.solved_finding(all_solve, 50) == (
        f"{len(VARIANTS)} of {len(VARIANTS)} models recall the first of 50 symbols with its only seed."
    )


def test_findings_name_models_that_generalize_to_other_lengths(snapshot: SnapshotAssertion) -> None:
    results = by_name(
        make_result("gru-chrono", [1, 1], n51=1, n1000=[1.0, 0.99]),
        make_result("lstm-forget-3", [1, 0.5], n51=1, n1000=[1.0, 0.5]),
        make_result("rnn-usual", [1, 1, 0.5], n51=[0.01, 0.5, 0.5], n1000=[0.2, 0.4, 0.5]),
        make_result("gru-usual", [0.5], n51=0.1),
    )
    assert findings.other_length_findings(results, 50) == snapshot
    stopped = make_result("gru-chrono", [1, 1])
    stopped.by_length[:] = np.nan
    assert findings.other_length_findings({"gru-chrono": stopped}, 50) == []


def test_a_seed_solves_the_task_from_the_step_after_which_it_stays_above_the_threshold() -> None:
    accuracy = np.array([[0.5, 0.5, 1.0], [1.0, 0.5, 0.5], [0.5, 0.96, 0.5], [1.0, 1.0, 0.5]])
    curves, gru = make_curves(accuracy, np.full((4, 3, len(LENGTHS)), np.nan)), VARIANTS["gru-chrono"]
    found = findings.recall_result(gru, gru.config(replicas=3), curves)
    assert found is not None and found.solved_at.tolist() == [60, 40, -1] and found.solved == 2


def make_curves(accuracy: Any, answers: Any, **metrics: Any) -> Curves:
    none, steps = np.zeros((61, accuracy.shape[1])), np.array([0, 20, 40, 60])
    metrics = {"accuracy": accuracy, **metrics}
    return Curves(0, none[1:], none[:, 0], none[:, 0], steps, metrics, {"by_length": answers})


def test_the_sweep_finding_leaves_out_incomplete_rows(snapshot: SnapshotAssertion) -> None:
    def every(name: str, *accuracy: float) -> dict[int, RecallResult]:
        return {n: make_result(name, list(accuracy)) for n in SWEPT}

    solved, incomplete = (
        {"gru-chrono": every("gru-chrono", 1, 1)},
        {"lstm-chrono": {10: make_result("lstm-chrono", [1, 1])}},
    )
    others = {"gru-usual": every("gru-usual", 0.5, 0.5), "rnn-usual": every("rnn-usual", 1, 1)}
    others["rnn-usual"][50] = make_result("rnn-usual", [1, 0.5])
    rows = [solved | others | incomplete, others | incomplete, incomplete, {}]
    assert [findings.sweep_finding(each) for each in rows] == snapshot
