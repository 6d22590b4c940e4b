"""Sentences state the numbers that they were computed from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.experiments.recall import SWEEP_LENGTHS as SWEPT
from explorer.experiments.recall import VARIANTS
from explorer.labs.memory import findings, gradient_findings, string_findings
from explorer.labs.memory.findings import RecallResult
from explorer.labs.memory.gradient_findings import ClippingResult, GradientRatio
from explorer.number_format import format_significant
from explorer.tasks.recall import evaluation_lengths
from explorer.tasks.string import ambiguous_contexts, find_errors
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

    def every(name: str, *accuracy: float) -> dict[int, RecallResult]:
        return {n: make_result(name, list(accuracy)) for n in SWEPT}

    solved, incomplete = (
        {"gru-chrono": every("gru-chrono", 1, 1)},
        {"lstm-chrono": {10: make_result("lstm-chrono", [1, 1])}},
    )
    others = {"gru-usual": every("gru-usual", 0.5, 0.5), "rnn-usual": every("rnn-usual", 1, 1)}
    others["rnn-usual"][50] = make_result("rnn-usual", [1, 0.5])
    rows = [solved | others | incomplete, others | incomplete, incomplete, {}]
    results = by_name(
        make_result("gru-chrono", [1, 1], n51=1, n1000=[1.0, 0.99]),
        make_result("lstm-forget-3", [1, 0.5], n51=1, n1000=[1.0, 0.5]),
        make_result("rnn-usual", [1, 1, 0.5], n51=[0.01, 0.5, 0.5], n1000=[0.2, 0.4, 0.5]),
        make_result("gru-usual", [0.5], n51=0.1),
    )
    assert [
        findings.describe_variants(
            [VARIANTS[name] for name in ("rnn-usual", "lstm-chrono", "gru-chrono", "transformer-none")]
        ),
        findings.solved_finding(runs, 50),
        findings.solved_finding(by_name(runs["rnn-usual"], runs["gru-usual"]), 50),
        findings.solved_finding(by_name(runs["gru-usual"]), 1),
        findings.solved_finding(by_name(runs["gru-chrono"]), 50),
        findings.solved_finding({}, 50),
        findings.solved_finding(by_name(*(make_result(name, [1.0]) for name in VARIANTS)), 50),
        findings.solved_finding(by_name(*(make_result(name, [1.0, 0.5]) for name in VARIANTS)), 1_000_000),
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
        *(findings.sweep_finding(each) for each in rows),
        findings.other_length_findings(results, 50),
    ] == snapshot
    stopped = make_result("gru-chrono", [1, 1])
    stopped.by_length[:] = np.nan
    assert findings.other_length_findings({"gru-chrono": stopped}, 50) == []


def by_name(*results: RecallResult) -> dict[str, RecallResult]:
    return {each.variant.name: each for each in results}


def test_a_seed_solves_the_task_from_the_step_after_which_it_stays_above_the_threshold() -> None:
    accuracy = np.array([[0.5, 0.5, 1.0], [1.0, 0.5, 0.5], [0.5, 0.96, 0.5], [1.0, 1.0, 0.5]])
    curves, gru = make_curves(accuracy, np.full((4, 3, len(LENGTHS)), np.nan)), VARIANTS["gru-chrono"]
    found = findings.recall_result(gru, gru.config(replicas=3), curves)
    assert found is not None and found.solved_at.tolist() == [60, 40, -1] and found.solved == 2


def make_curves(accuracy: Any, answers: Any, **metrics: Any) -> Curves:
    none, steps = np.zeros((61, accuracy.shape[1])), np.array([0, 20, 40, 60])
    metrics = {"accuracy": accuracy, **metrics}
    return Curves(0, none[1:], none[:, 0], none[:, 0], steps, metrics, {"by_length": answers})


RNN, OPEN = VARIANTS["rnn-usual"].title, VARIANTS["gru-chrono"].title


def test_sentences_on_gradients(snapshot: SnapshotAssertion) -> None:
    lives = {OPEN: np.array([[1.0, 22.0, 60.0]]), "GRU, standard initialization": np.array([[0.8, 0.8, 1.0]])}
    norms = np.ones((3, 1, 2))
    norms[:, 0, 0] = [1e-9, 5.0, 2e4]
    never, always = (np.full(8, 0.5), np.full(8, 1.0))
    same = ClippingResult("at a radius of 0.7", never, never, 0.88, True)
    helped = ClippingResult("at a radius of 2", np.array([1.0, *[0.5] * 7]), always, 21.0, False)
    judgements = gradient_findings.clipping_judgements([same, helped])
    trained_norms = np.ones((2, 3, 4))
    trained_norms[0, :, 0] = [1e-18, 1e-17, 1e-3]
    trained_norms[1, :, 0] = [2.0, 6.0, 7.0]
    ratio = gradient_findings.gradient_ratio(RNN, True, trained_norms, 300)
    models = [
        GradientRatio("Transformer, no positions", False, np.array([1.0]), np.array([1.0]), 300),
        GradientRatio(OPEN, True, np.array([0.09]), np.array([6.0]), 300),
        GradientRatio(RNN, True, np.array([4e-17]), np.array([3e-09]), 1000),
    ]
    unfinished = GradientRatio(RNN, True, np.array([np.nan]), np.array([np.nan]), 0)
    for found in (models, [unfinished], []):
        assert "single symbol" in gradient_findings.gradient_finding(found, 1)
    assert [
        *(gradient_findings.inline_title(each) for each in (RNN, OPEN, "LSTM")),
        gradient_findings.format_ratio(np.array([np.nan, np.inf])),
        gradient_findings.format_ratio_range(np.array([1.0])),
        gradient_findings.format_ratio_range(np.array([np.nan])),
        gradient_findings.half_life_finding(lives, "before training"),
        gradient_findings.half_life_finding({}, "before training"),
        *(
            gradient_findings.longest_half_life(each)
            for each in (np.array([[27.0, 55663.0]]), np.array([[np.inf]]), np.array([[27.0, 400.0]]))
        ),
        gradient_findings.answer_finding(OPEN, "a", 0.99, "a", 50, 0.5),
        gradient_findings.answer_finding(OPEN, "a", 0.2, "b", 50, 0.5),
        gradient_findings.answer_finding(OPEN, "a", 0.51, "a", 50, 0.5),
        *(
            gradient_findings.exploding_finding((0.5, 1.5, 3.0), each)
            for each in (
                norms,
                norms[..., :1],
                norms * [[[1e-09, 1.0]]],
                norms[[0, 2, 1]] * [[[1.0, 1.0]], [[1.0, 1.0]], [[0.0, 1.0]]],
            )
        ),
        gradient_findings.clipping_finding([same, helped]),
        gradient_findings.clipping_verdict(same, judgements),
        gradient_findings.clipping_verdict(helped, judgements),
        gradient_findings.clipping_finding([same]),
        gradient_findings.clipping_finding([]),
        gradient_findings.format_ratio(ratio.before),
        gradient_findings.format_ratio_range(ratio.before),
        gradient_findings.format_ratio(ratio.after),
        gradient_findings.gradient_finding(models, 50),
        gradient_findings.gradient_finding(models[:1], 50),
        gradient_findings.gradient_finding([unfinished], 50),
    ] == snapshot
    assert ratio.before == pytest.approx([1e-18, 1e-17, 1e-3], rel=1e-6, abs=0.0)
    assert ratio.after == pytest.approx([2.0, 6.0, 7.0])


def test_the_factor_of_a_step_is_raised_to_the_number_of_steps() -> None:
    gates = gradient_findings.backward_factor(None, np.array([[0.5, 0.5, 0.9]]), 11)
    assert gates == ("gate 0.5", format_significant(0.5**10), format_significant(0.9**10))
    radius = gradient_findings.backward_factor(np.array([0.6, 0.6371, 0.7]), None, 50)
    assert radius == ("radius 0.637", format_significant(0.637**49), "–"), "computed from the number that is printed"


def test_sentences_on_strings(snapshot: SnapshotAssertion) -> None:
    low = 0.297
    steps = np.array([0, 2, 4, 6])
    right = np.array([[0.5, 0.5], [1.0, 0.5], [0.5, 1.0], [1.0, 1.0]])
    some = np.array([[0.5, 0.5], [1.0, 0.5], [1.0, 1.0], [1.0, 0.5]])
    text, written = ("abca abca abca ", "bcab")
    (error,) = find_errors(text, written)
    (early,) = find_errors(text, "c")
    (context,) = ambiguous_contexts("abca abca abca ")
    (successors,) = ambiguous_contexts("aaab")
    none, early_errors = find_errors(text, "bca a"), find_errors(text, "bcab")
    late = find_errors(text, "bca " + "abca " * 3 + "abcab")
    assert [
        *(
            string_findings.memory_finding(text)
            for text in ["abca abca abca ", "to be or not to be ", "abcabc", "aaaa", "  "]
        ),
        string_findings.memory_finding("abacadbcbdcd"),
        *(string_findings.character_name(char) for char in [" ", "a", "<", "\xa0", "\u200d", "́", "🙂"]),
        string_findings.final_loss_finding("RNN", np.array([0.0002, 0.0013]), np.array([0.2971, 0.2973]), low),
        string_findings.final_loss_finding("RNN", np.array([0.2, 0.2]), np.array([0.35, 0.3]), low),
        string_findings.final_loss_finding("RNN", np.array([0.001]), np.array([0.001]), 0.0),
        *(string_findings.solved_step_finding(steps, each, 14) for each in (right, some, right * 0.5)),
        string_findings.error_hint(error, written, "a"),
        string_findings.error_hint(early, "c", "a"),
        string_findings.floor_formula("abca abca abca "),
        string_findings.floor_formula("abcabc"),
        string_findings.floor_formula("to be or not to be "),
        string_findings.floor_formula("$a$$b$$c"),
        string_findings.describe_successors(context),
        string_findings.entropy_words(context),
        string_findings.entropy_words(successors),
        string_findings.string_caption("abca abca abca "),
        string_findings.string_caption("a"),
        string_findings.error_count_caption(200, 14, [none, none], [early_errors, none]),
        string_findings.error_count_caption(200, 14, [late, none], [early_errors, early_errors]),
        string_findings.error_count_caption(200, 14, [early_errors, late], [early_errors, early_errors]),
    ] == snapshot
    assert (len(none), len(early_errors), len(late)) == (0, 1, 1)
