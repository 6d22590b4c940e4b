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
    results = [result("GRU", GOOD), result("RNN", BAD), result("LSTM", [*GOOD[:7], 0.5])]
    rng = np.random.default_rng(0)
    losses = {title: (mean + 0.01 * rng.normal(size=8)).tolist() for title, mean in (("GRU", 1.9), ("RNN", 2.1))}
    losses_of_two = [result(title, values, comparison="text") for title, values in losses.items()]
    equal = [
        *losses_of_two,
        result("LSTM", [v + 0.0001 * (-1) ** i for i, v in enumerate(losses["GRU"])], comparison="text"),
    ]
    tuned = [result("GRU", GOOD, BAD), result("RNN", BAD, BAD), result("LSTM", BAD)]
    assert [
        findings.RULE,
        findings.headline("recall", results),
        findings.verdict("recall", results),
        findings.headline("negation", [result("RNN", [0.998] * 8)]),
        findings.headline("text", losses_of_two),
        findings.headline("text", equal),
        findings.verdict("text", losses_of_two),
        findings.changed_by_tuning("text", losses_of_two),
        findings.changed_by_tuning("recall", tuned),
        findings.changed_by_tuning("recall", tuned[1:]),
        findings.describe_default("recall", tuned[0]),
        findings.describe_default("recall", tuned[2]),
        findings.edge_note([result("GRU", GOOD)]),
        findings.edge_note([result("GRU", GOOD, best=0.1), result("RNN", GOOD)]),
        findings.method_note("recall", [result("GRU", GOOD)]),
        findings.headline("text", []),
        findings.method_note("text", []),
    ] == snapshot
