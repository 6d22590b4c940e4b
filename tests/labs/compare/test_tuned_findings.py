"""Sentences on the comparison at equal tuning budget, from results that are made up so that the answer is known."""

from __future__ import annotations

import numpy as np

from explorer.experiments.learning_rates import COMPARISONS, RateResult, RateSearch
from explorer.labs.compare import tuned_findings as findings
from explorer.labs.compare.tuned_findings import TunedResult
from tests.words import assert_mentions, assert_states


def result(
    title: str, values: list[float], default: list[float] | None = None, best: float = 0.03, comparison: str = "recall"
) -> TunedResult:
    search = RateSearch(0.01, {0.01: RateResult((2.0,), (0.5,)), best: RateResult((1.0,), (0.9,))})
    config = next(iter(COMPARISONS[comparison]().values()))
    return TunedResult(title, search, config, np.array(values), None if default is None else np.array(default))


GOOD, BAD = [1.0] * 8, [0.5] * 8


def test_the_rule_is_stated() -> None:
    assert_states(findings.RULE, "Each architecture … best for it among five; every one had the same five")


def test_models_that_solve_the_task_with_all_seeds_are_counted() -> None:
    results = [result("GRU", GOOD), result("RNN", BAD), result("LSTM", [*GOOD[:7], 0.5])]
    assert_states(
        findings.headline("recall", results), "equal tuning budget, one of three models … symbol with all eight seeds"
    )
    assert_mentions(findings.verdict("recall", results), "Worse than GRU: RNN (0 of 8 against 8 of 8 seeds)")
    assert_mentions(findings.verdict("recall", results), "Cannot tell whether GRU is better than LSTM")
    assert_mentions(findings.headline("negation", [result("RNN", [0.998] * 8)]), "no model gets every sentence right")


def test_the_lowest_loss_is_named_and_compared() -> None:
    rng = np.random.default_rng(0)
    losses = {title: (mean + 0.01 * rng.normal(size=8)).tolist() for title, mean in (("GRU", 1.9), ("RNN", 2.1))}
    results = [result(title, values, comparison="text") for title, values in losses.items()]
    assert_mentions(findings.headline("text", results), f"lowest mean loss, {np.mean(losses['GRU']):.3f} nats")
    assert "cannot tell" not in findings.headline("text", results)
    equal = [*results, result("LSTM", [v + 1e-4 * (-1) ** i for i, v in enumerate(losses["GRU"])], comparison="text")]
    assert_mentions(findings.headline("text", equal), "one cannot tell it from that of")
    assert_mentions(findings.verdict("text", results), "Worse than GRU: RNN by")
    assert findings.changed_by_tuning("text", results) == ""


def test_what_tuning_changes_is_compared_with_the_default_rate() -> None:
    results = [result("GRU", GOOD, BAD), result("RNN", BAD, BAD), result("LSTM", BAD)]
    assert_states(
        findings.changed_by_tuning("recall", results),
        "Seeds of 8 … default rates: GRU 8 instead of 0 (rate 0.03 instead of 0.01).",
    )
    assert_mentions(findings.changed_by_tuning("recall", results[1:]), "every model solves … as many seeds")
    assert findings.describe_default("recall", results[0]) == "0 of 8 (at 0.01)"
    assert findings.describe_default("recall", results[2]) == "– (at 0.01)"


def test_a_best_rate_at_the_end_of_the_list_is_named() -> None:
    assert findings.edge_note([result("GRU", GOOD)]) == ""
    assert_mentions(
        findings.edge_note([result("GRU", GOOD, best=0.1), result("RNN", GOOD)]), "For GRU the best rate is"
    )


def test_the_seeds_of_the_comparison_are_named() -> None:
    note = findings.method_note("recall", [result("GRU", GOOD)])
    assert_mentions(note, "seeds 0 to 7")
    assert_mentions(note, "same new sequences, with other seeds")


def test_without_runs_nothing_is_concluded() -> None:
    assert_mentions(findings.headline("text", []), "No run")
    assert findings.method_note("text", []) == ""
