"""The verdicts on the three claims follow from the numbers."""

from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.recurrent.input_gradients import RecallOutcome
from explorer.inspection.recurrent.unrolled import UnrolledNetwork, UnrolledStep
from explorer.labs.sequence_shapes import findings
from explorer.labs.sequence_shapes.findings import PositionRuleAccuracy
from explorer.labs.sequence_shapes.unrolled_rnn import EXAMPLES, component_data


def clipping_outcome(accuracy: list[float], reach: float) -> RecallOutcome:
    return RecallOutcome(np.array(accuracy), np.full(len(accuracy), reach))


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

    def outcome(accuracy: float, reach: float, seeds: int) -> RecallOutcome:
        return RecallOutcome(np.full(seeds, accuracy), reach * np.linspace(1, 2, seeds) ** (1 + (reach < 0.1)))

    for seeds, beginning in ((3, "These runs cannot tell: 3 of 3"), (8, "In these runs, yes: 8 of 8")):
        confirmed = outcome(1.0, 0.2, seeds), outcome(0.5, 1e-9, seeds)
        assert findings.clipping_verdict(*confirmed) == f"{beginning} seeds learn with clipping, 0 without it."
    lost = RecallOutcome(np.full(8, 0.5), np.full(8, np.nan))
    two_rules = {
        "one rule": [rule_accuracy("the RNN", True, 1.0, 0.9), rule_accuracy("the GRU", True, 0.5, 0.4)],
        "another rule": [rule_accuracy("the GRU", True, 1.0, 0.9), rule_accuracy("the Transformer", False, 1.0, 0.1)],
    }
    unsolved = {"one rule": [rule_accuracy("the RNN", True, 0.5, 0.4)]}
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
        findings.clipping_caption(outcome(1.0, 0.2, 3), outcome(0.5, 1e-09, 3)),
        findings.clipping_caption(outcome(1.0, 0.2, 8), outcome(0.5, 1e-09, 8)),
        findings.clipping_verdict(outcome(1.0, 1e-09, 8), outcome(0.5, 1e-09, 8)),
        findings.clipping_verdict(outcome(1.0, 0.2, 8), outcome(0.5, 0.2, 8)),
        findings.clipping_verdict(lost, lost),
        findings.position_verdict(two_rules),
        findings.position_verdict(unsolved),
    ] == snapshot
    for unfinished in ({}, {"one rule": []}, {"one rule": [rule_accuracy("the Transformer", False, 1.0, 0.1)]}):
        assert findings.position_verdict(unfinished) == ("", "")


def rule_accuracy(words: str, shares: bool, right: float, beyond: float) -> PositionRuleAccuracy:
    return PositionRuleAccuracy(words, shares, np.full(5, right), np.full(5, beyond))


def make_network(*steps: tuple[str, str, float], unused: int = 0) -> UnrolledNetwork:
    unrolled_steps = [
        UnrolledStep(reads, np.array([0.5, -0.25]), ((output, p),) if output else (), used=i >= unused)
        for i, (reads, output, p) in enumerate(steps)
    ]
    return UnrolledNetwork(tuple(unrolled_steps), ())


WORDS = ("human", "consume", "nature")


def test_sentences_on_an_unrolled_network(snapshot: SnapshotAssertion) -> None:
    two = make_network(("x", "", 0.0), ("<BOS>", "1", 0.9), ("1", "2", 0.9), ("2", "<EOS>", 0.9), unused=1)
    nothing = make_network(("x", "", 0.0), ("<BOS>", "<EOS>", 0.9), unused=1)
    rows = [(two, "12"), (two, "21"), (two, None), (nothing, None)]
    steps = ("<BOS>", "sustain", 0.6), ("human", "collapse", 0.7)
    judged = [make_network(*steps, ("<EOS>", label, 0.9)) for label in ("collapse", "sustain")]
    assert [
        findings.senses_finding(
            make_network(
                ("water", "water", 1.0), ("bank", "bank (river)", 0.8), ("boat", "boat", 1.0), ("loan", "loan", 1.0)
            )
        ),
        findings.senses_finding(make_network(("the", "the", 1.0))),
        findings.senses_finding(make_network(*[("bank", "bank (river)", 0.8)] * 5))[0],
        findings.senses_caption([0.6, 0.5, 0.7]),
        findings.letters_finding(make_network(("a", "b", 0.5), ("b", "c", 0.5), (" ", "\n", 0.2))),
        findings.letters_finding(make_network(("a", "b", 0.5)))[0],
        findings.one_to_many_finding(make_network(("T", "h", 0.9), ("h", " ", 0.3))),
        *(findings.format_probability(p) for p in (0.9999, 0.5, 0.001)),
        *(findings.unaligned_finding(*row) for row in rows),
        *(findings.many_to_one_finding(each, WORDS) for each in judged),
    ] == snapshot
    assert "which" not in findings.many_to_one_finding(make_network(("not", "sustain", 0.9)), ("not",))[0]


def test_component_data_is_plain_json() -> None:
    data = component_data(make_network((" ", "\n", 0.123456)), "RNN, seed 0", "--m-rnn", "file")
    assert data["steps"] == [
        {"input": "␣", "used": True, "top": [["↵", 0.12346]], "state": [0.5, -0.25], "fed_back": False}
    ]


def test_unreadable_input_is_reported(snapshot: SnapshotAssertion) -> None:
    unreadable = [
        ("one", "human eats nature"),
        ("one", ""),
        ("senses", "the banc"),
        ("letters", "żółw"),
        ("letters", ""),
    ]
    messages = []
    for live, text in [*unreadable, ("from-one", ""), ("other", "3 märz")]:
        reading = EXAMPLES[live].keep(text)
        messages.append((reading.text, reading.describe_unread("example")))
    assert messages == snapshot
