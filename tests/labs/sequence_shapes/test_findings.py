"""The verdicts on the three claims follow from the numbers."""

from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.labs.sequence_shapes import findings
from explorer.labs.sequence_shapes.findings import ClippingOutcome, PositionRuleAccuracy


def clipping_outcome(accuracy: list[float], reach: float) -> ClippingOutcome:
    return ClippingOutcome(np.array(accuracy), np.full(len(accuracy), reach))


def test_sentences(snapshot: SnapshotAssertion) -> None:
    share = np.tile([0.0, 0.0, 0.25, 0.75], (3, 1))
    even = np.full((3, 4), 0.25)
    runs = (clipping_outcome([1.0, 0.5, 0.5], 1e-09), clipping_outcome([1.0, 0.5, 0.5], 3e-09))
    found = {
        "one rule": [
            rule_accuracy("the RNN", True, 1.0, 0.9),
            rule_accuracy("the GRU", True, 0.5, 0.4),
            rule_accuracy("the Transformer", False, 1.0, 0.1),
        ]
    }
    whole, attention = (np.ones(4), np.zeros((4, 1, 3)))
    attention[:, 0, 0] = 0.8
    ablated_accuracy = np.ones((4, 1, 3))
    ablated_accuracy[:, 0, 0] = 0.5
    two = ablated_accuracy.copy()
    two[:, 0, 1] = 0.5
    assert [
        findings.gradient_share_finding([("RNN standard", share), ("GRU open", even)], trained=False),
        findings.gradient_share_finding([("RNN", share)], trained=True),
        findings.clipping_verdict(*runs),
        findings.clipping_caption(*runs),
        findings.extrapolation_finding(found),
        findings.extrapolation_finding({"one rule": [rule_accuracy("the RNN", True, 1.0, 0.9)]}),
        findings.heads_verdict(whole, ablated_accuracy),
        findings.heads_caption("verb", whole, attention, ablated_accuracy),
        findings.heads_verdict(whole, np.ones((4, 1, 3))),
        findings.heads_verdict(whole, two),
    ] == snapshot


def test_clipping_is_confirmed_if_runs_support_it(snapshot: SnapshotAssertion) -> None:
    def outcome(accuracy: float, reach: float, seeds: int) -> ClippingOutcome:
        return ClippingOutcome(np.full(seeds, accuracy), reach * np.linspace(1, 2, seeds) ** (1 + (reach < 0.1)))

    for seeds, beginning in ((3, "These runs cannot tell: 3 of 3"), (8, "In these runs, yes: 8 of 8")):
        runs = outcome(1.0, 0.2, seeds), outcome(0.5, 1e-9, seeds)
        assert findings.clipping_verdict(*runs) == f"{beginning} seeds learn with clipping, 0 without it."
    lost = ClippingOutcome(np.full(8, 0.5), np.full(8, np.nan))
    assert [
        findings.clipping_caption(outcome(1.0, 0.2, 3), outcome(0.5, 1e-09, 3)),
        findings.clipping_caption(outcome(1.0, 0.2, 8), outcome(0.5, 1e-09, 8)),
        findings.clipping_verdict(outcome(1.0, 1e-09, 8), outcome(0.5, 1e-09, 8)),
        findings.clipping_verdict(outcome(1.0, 0.2, 8), outcome(0.5, 0.2, 8)),
        findings.clipping_verdict(lost, lost),
    ] == snapshot


def rule_accuracy(words: str, shares: bool, right: float, beyond: float) -> PositionRuleAccuracy:
    return PositionRuleAccuracy(words, shares, np.full(5, right), np.full(5, beyond))


def test_shared_weights_learn_position_rules_if_a_network_did(snapshot: SnapshotAssertion) -> None:
    found = {
        "one rule": [rule_accuracy("the RNN", True, 1.0, 0.9), rule_accuracy("the GRU", True, 0.5, 0.4)],
        "another rule": [rule_accuracy("the GRU", True, 1.0, 0.9), rule_accuracy("the Transformer", False, 1.0, 0.1)],
    }
    unsolved = {"one rule": [rule_accuracy("the RNN", True, 0.5, 0.4)]}
    assert [
        findings.position_verdict(found),
        findings.position_caption(found),
        findings.position_verdict(unsolved),
    ] == snapshot
    for unfinished in ({}, {"one rule": []}, {"one rule": [rule_accuracy("the Transformer", False, 1.0, 0.1)]}):
        assert findings.position_verdict(unfinished) == findings.position_caption(unfinished) == ""
