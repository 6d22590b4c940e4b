"""The verdicts on the three claims follow from the numbers."""

from __future__ import annotations

import numpy as np

from explorer.labs.sequence_shapes import findings
from explorer.labs.sequence_shapes.findings import ClippingOutcome, PositionRuleAccuracy
from tests.words import assert_mentions


def clipping_outcome(accuracy: list[float], reach: float) -> ClippingOutcome:
    return ClippingOutcome(np.array(accuracy), np.full(len(accuracy), reach))


def test_the_share_of_the_last_steps_is_reported() -> None:
    share = np.tile([0.0, 0.0, 0.25, 0.75], (3, 1))
    even = np.full((3, 4), 0.25)
    assert findings.gradient_share_finding([("RNN standard", share), ("GRU open", even)], trained=False) == (
        "Before training, the last two steps contribute 100\u00a0% (RNN standard) and 50\u00a0% (GRU open) of the "
        "gradient."
    )
    assert findings.gradient_share_finding([("RNN", share)], trained=True).startswith("After training")


def test_clipping_does_not_restore_vanished_gradients() -> None:
    runs = clipping_outcome([1.0, 0.5, 0.5], 1e-9), clipping_outcome([1.0, 0.5, 0.5], 3e-9)
    assert findings.clipping_verdict(*runs) == (
        "No: the gradient vanishes with clipping too; 1 of 3 seeds learn with clipping, 1 without it."
    )
    assert "10⁻⁹ with clipping, 3\u00a0×\u00a010⁻⁹ without" in findings.clipping_caption(*runs)


def test_clipping_is_confirmed_if_runs_support_it() -> None:
    def outcome(accuracy: float, reach: float, seeds: int) -> ClippingOutcome:
        return ClippingOutcome(np.full(seeds, accuracy), reach * np.linspace(1, 2, seeds) ** (1 + (reach < 0.1)))

    for seeds, beginning in ((3, "These runs cannot tell: 3 of 3"), (8, "In these runs, yes: 8 of 8")):
        runs = outcome(1.0, 0.2, seeds), outcome(0.5, 1e-9, seeds)
        assert findings.clipping_verdict(*runs) == f"{beginning} seeds learn with clipping, 0 without it."
    assert_mentions(findings.clipping_caption(outcome(1.0, 0.2, 3), outcome(0.5, 1e-9, 3)), "no verdict")
    assert_mentions(findings.clipping_caption(outcome(1.0, 0.2, 8), outcome(0.5, 1e-9, 8)), "learn the task: different")
    assert findings.clipping_verdict(outcome(1.0, 1e-9, 8), outcome(0.5, 1e-9, 8)).startswith("No: the gradient")
    assert findings.clipping_verdict(outcome(1.0, 0.2, 8), outcome(0.5, 0.2, 8)).startswith("These gradients do not")
    lost = ClippingOutcome(np.full(8, 0.5), np.full(8, np.nan))  # diverged
    assert findings.clipping_verdict(lost, lost).startswith("These runs cannot tell")


def rule_accuracy(words: str, shares: bool, right: float, beyond: float) -> PositionRuleAccuracy:
    return PositionRuleAccuracy(words, shares, np.full(5, right), np.full(5, beyond))


def test_shared_weights_learn_position_rules_if_a_network_did() -> None:
    found = {
        "one rule": [rule_accuracy("the RNN", True, 1.0, 0.9), rule_accuracy("the GRU", True, 0.5, 0.4)],
        "another rule": [rule_accuracy("the GRU", True, 1.0, 0.9), rule_accuracy("the Transformer", False, 1.0, 0.1)],
    }
    assert findings.position_verdict(found) == "Yes: 5 of 5 RNNs learn one rule, 5 of 5 GRUs another rule."
    assert findings.position_caption(found) == "Not every network does: 0 of 5 GRUs learn one rule."
    unsolved = {"one rule": [rule_accuracy("the RNN", True, 0.5, 0.4)]}
    assert findings.position_verdict(unsolved) == "Not with every seed: at best 0 of 5 RNNs learn one rule."
    for unfinished in ({}, {"one rule": []}, {"one rule": [rule_accuracy("the Transformer", False, 1.0, 0.1)]}):
        assert findings.position_verdict(unfinished) == findings.position_caption(unfinished) == ""


def test_extrapolation_is_reported_only_for_seeds_that_learned() -> None:
    found = {
        "one rule": [
            rule_accuracy("the RNN", True, 1.0, 0.9),
            rule_accuracy("the GRU", True, 0.5, 0.4),
            rule_accuracy("the Transformer", False, 1.0, 0.1),
        ]
    }
    assert_mentions(findings.extrapolation_finding(found), "right in 90 to 90 % with shared weights … 10 to 10 %")
    assert findings.extrapolation_finding({"one rule": [rule_accuracy("the RNN", True, 1.0, 0.9)]}) == ""


def test_a_head_is_specialized_only_if_its_ablation_alone_costs_accuracy() -> None:
    whole, attention = np.ones(4), np.zeros((4, 1, 3))
    attention[:, 0, 0] = 0.8
    ablated_accuracy = np.ones((4, 1, 3))
    ablated_accuracy[:, 0, 0] = 0.5
    assert findings.heads_verdict(whole, ablated_accuracy) == (
        "Yes: in 4 of 4 seeds exactly one head matters (removing it costs more than 5\u00a0%)."
    )
    caption = findings.heads_caption("verb", whole, attention, ablated_accuracy)
    assert_mentions(caption, "verb by 50\u00a0% at most, by 50\u00a0% in the median seed")
    assert findings.heads_verdict(whole, np.ones((4, 1, 3))).startswith("No: in 0 of 4")
    two = ablated_accuracy.copy()
    two[:, 0, 1] = 0.5
    assert findings.heads_verdict(whole, two).startswith("No:")
