"""Sentences on the comparison at equal tuning budget, from results that are made up so that the answer is known."""

from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.experiments.learning_rates import COMPARISONS, RateResult, RateSearch
from explorer.labs.compare import tuned_findings as findings
from explorer.labs.compare.tuned_findings import TunedResult


def result(
    title: str, values: list[float], default: list[float] | None = None, best: float = 0.03, comparison: str = "recall"
) -> TunedResult:
    search = RateSearch(0.01, {0.01: RateResult((2.0,), (0.5,)), best: RateResult((1.0,), (0.9,))})
    config = next(iter(COMPARISONS[comparison]().values()))
    return TunedResult(title, search, config, np.array(values), None if default is None else np.array(default))


GOOD, BAD = [1.0] * 8, [0.5] * 8


def test_sentences(snapshot: SnapshotAssertion) -> None:
    assert snapshot(name="rule is stated") == findings.RULE
    results = [result("GRU", GOOD), result("RNN", BAD), result("LSTM", [*GOOD[:7], 0.5])]
    assert [
        findings.headline("recall", results),
        findings.verdict("recall", results),
        findings.headline("negation", [result("RNN", [0.998] * 8)]),
    ] == snapshot(name="models that solve the task")
    rng = np.random.default_rng(0)
    losses = {title: (mean + 0.01 * rng.normal(size=8)).tolist() for title, mean in (("GRU", 1.9), ("RNN", 2.1))}
    results = [result(title, values, comparison="text") for title, values in losses.items()]
    equal = [*results, result("LSTM", [v + 0.0001 * (-1) ** i for i, v in enumerate(losses["GRU"])], comparison="text")]
    assert [
        findings.headline("text", results),
        findings.headline("text", equal),
        findings.verdict("text", results),
        findings.changed_by_tuning("text", results),
    ] == snapshot(name="lowest loss is named and compared")
    results = [result("GRU", GOOD, BAD), result("RNN", BAD, BAD), result("LSTM", BAD)]
    assert [
        findings.changed_by_tuning("recall", results),
        findings.changed_by_tuning("recall", results[1:]),
        findings.describe_default("recall", results[0]),
        findings.describe_default("recall", results[2]),
    ] == snapshot(name="what tuning changes is compared")
    assert [
        findings.edge_note([result("GRU", GOOD)]),
        findings.edge_note([result("GRU", GOOD, best=0.1), result("RNN", GOOD)]),
    ] == snapshot(name="best rate at the end")
    assert findings.method_note("recall", [result("GRU", GOOD)]) == snapshot(name="seeds of the comparison are named")
    assert [findings.headline("text", []), findings.method_note("text", [])] == snapshot(
        name="without runs nothing is concluded"
    )
