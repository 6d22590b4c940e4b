"""The verdicts on the three claims follow from the numbers."""

from __future__ import annotations

import numpy as np

from explorer.labs.sequence_shapes import findings
from explorer.labs.sequence_shapes.findings import ClippingOutcome, PositionRuleAccuracy
from tests.words import assert_mentions, assert_states


def clipping_outcome(accuracy: list[float], reach: float) -> ClippingOutcome:
    return ClippingOutcome(np.array(accuracy), np.full(len(accuracy), reach))


def test_the_share_of_the_last_steps_is_reported() -> None:
    share = np.tile([0.0, 0.0, 0.25, 0.75], (3, 1))
    even = np.full((3, 4), 0.25)
    assert_states(
        findings.gradient_share_finding([("the RNN", share), ("the GRU", even)], trained=False),
        "Before training … last two of 4 steps … gradient … RNN 100% … GRU 50%",
    )
    assert findings.gradient_share_finding([("the RNN", share)], trained=True).startswith("After training")


def test_clipping_does_not_restore_vanished_gradients() -> None:
    sentence = findings.clipping_verdict(
        clipping_outcome([1.0, 0.5, 0.5], 1e-9), clipping_outcome([1.0, 0.5, 0.5], 3e-9)
    )
    assert_mentions(sentence, "No … With clipping 1 of 3 seeds … without it 1")
    assert "10⁻⁹ and 3\u00a0×\u00a010⁻⁹" in sentence


def test_clipping_is_confirmed_if_runs_support_it() -> None:
    def outcome(accuracy: float, reach: float, seeds: int) -> ClippingOutcome:
        return ClippingOutcome(np.full(seeds, accuracy), reach * np.linspace(1, 2, seeds) ** (1 + (reach < 0.1)))

    few = findings.clipping_verdict(outcome(1.0, 0.2, 3), outcome(0.5, 1e-9, 3))
    assert_mentions(few, "These runs cannot tell … With clipping 3 of 3 seeds … without it 0: no verdict")
    many = findings.clipping_verdict(outcome(1.0, 0.2, 8), outcome(0.5, 1e-9, 8))
    assert_mentions(many, "In these runs, yes … With clipping 8 of 8 seeds … without it 0: different")
    assert findings.clipping_verdict(outcome(1.0, 1e-9, 8), outcome(0.5, 1e-9, 8)).startswith(
        "No. The gradient vanishes"
    )
    assert findings.clipping_verdict(outcome(1.0, 0.2, 8), outcome(0.5, 0.2, 8)).startswith("These gradients do not")


def rule_accuracy(words: str, shares: bool, right: float, beyond: float) -> PositionRuleAccuracy:
    return PositionRuleAccuracy(words, shares, np.full(5, right), np.full(5, beyond))


def test_shared_weights_learn_position_rules_if_a_network_did() -> None:
    found = {"one rule": [rule_accuracy("the RNN", True, 1.0, 0.9), rule_accuracy("the GRU", True, 0.5, 0.4)]}
    assert_states(
        findings.position_verdict(found), "Yes … RNN … one rule … all five seeds … Not … GRU … one rule … 0 of 5"
    )
    unsolved = {"one rule": [rule_accuracy("the RNN", True, 0.5, 0.4)]}
    assert_states(findings.position_verdict(unsolved), "Not in these runs … RNN … one rule … 0 of 5")


def test_extrapolation_is_reported_only_for_seeds_that_learned() -> None:
    found = {
        "one rule": [
            rule_accuracy("the RNN", True, 1.0, 0.9),
            rule_accuracy("the GRU", True, 0.5, 0.4),
            rule_accuracy("the Transformer", False, 1.0, 0.1),
        ]
    }
    assert_mentions(findings.extrapolation_finding(found), "right in 90% to 90% … weights … shared … 10% to 10%")
    assert findings.extrapolation_finding({"one rule": [rule_accuracy("the RNN", True, 1.0, 0.9)]}) == ""


def test_a_head_is_specialized_only_if_its_ablation_alone_costs_accuracy() -> None:
    whole, attention = np.ones(4), np.zeros((4, 1, 3))
    attention[:, 0, 0] = 0.8
    ablated_accuracy = np.ones((4, 1, 3))
    ablated_accuracy[:, 0, 0] = 0.5
    sentence = findings.heads_verdict("verb", whole, attention, ablated_accuracy)
    assert sentence.startswith("Yes. In 4 of 4 seeds at least one head") and "the dearest costs 50%" in sentence
    assert findings.heads_verdict("verb", whole, attention, np.ones((4, 1, 3))).startswith("No.")
    two = ablated_accuracy.copy()
    two[:, 0, 1] = 0.5
    assert findings.heads_verdict("verb", whole, attention, two).startswith("No.")
