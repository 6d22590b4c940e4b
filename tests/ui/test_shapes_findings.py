"""What is said of the three claims follows from the numbers, also from others."""

from __future__ import annotations

import numpy as np

from explorer.ui import shapes_findings as findings
from explorer.ui.shapes_findings import Counted, Kept


def kept(accuracy: list[float], reach: float) -> Kept:
    return Kept(np.array(accuracy), np.full(len(accuracy), reach))


def test_where_a_gradient_comes_from() -> None:
    share = np.tile([0.0, 0.0, 0.25, 0.75], (3, 1))
    even = np.full((3, 4), 0.25)
    assert findings.sum_finding([("the RNN", share), ("the GRU", even)], trained=False) == (
        "Before training, the last two of 4 steps make so much of the whole gradient: of the RNN 100% and of the GRU "
        "50%."
    )
    assert findings.sum_finding([("the RNN", share)], trained=True).startswith("After training")


def test_clipping_is_no_cure_where_nothing_comes_back() -> None:
    said = findings.clipping_verdict(kept([1.0, 0.5, 0.5], 1e-9), kept([1.0, 0.5, 0.5], 3e-9))
    assert said.startswith("False. With clipping 1 of 3 seeds learn to recall, without it 1;")
    assert "10⁻⁹ and 3\u00a0×\u00a010⁻⁹" in said


def test_clipping_is_believed_where_the_runs_say_so() -> None:
    said = findings.clipping_verdict(kept([1.0, 1.0, 1.0], 0.2), kept([0.5, 0.5, 0.5], 1e-9))
    assert said.startswith("These runs speak for it.")
    assert findings.clipping_verdict(kept([1.0] * 3, 1e-9), kept([0.5] * 3, 1e-9)).startswith("Not so:")


def counted(words: str, shares: bool, right: float, beyond: float) -> Counted:
    return Counted(words, shares, np.full(5, right), np.full(5, beyond))


def test_shared_weights_can_count_where_a_net_did() -> None:
    found = {"one rule": [counted("the RNN", True, 1.0, 0.9), counted("the GRU", True, 0.5, 0.4)]}
    assert findings.place_verdict(found) == (
        "False. The RNN learns one rule with all five seeds. Not always: the GRU learns one rule with 0 of 5."
    )
    nobody = {"one rule": [counted("the RNN", True, 0.5, 0.4)]}
    assert findings.place_verdict(nobody) == "These runs speak for it: the RNN learns one rule with 0 of 5."


def test_beyond_the_training_only_those_are_told_of_that_learned_it() -> None:
    found = {
        "one rule": [
            counted("the RNN", True, 1.0, 0.9),
            counted("the GRU", True, 0.5, 0.4),
            counted("the Transformer", False, 1.0, 0.1),
        ]
    }
    assert "right in 90% to 90% where weights are shared, and in 10% to 10%" in findings.beyond_finding(found)
    assert findings.beyond_finding({"one rule": [counted("the RNN", True, 1.0, 0.9)]}) == ""


def test_a_head_is_the_one_only_if_it_alone_is_missed() -> None:
    whole, looks = np.ones(4), np.zeros((4, 1, 3))
    looks[:, 0, 0] = 0.8
    missed = np.ones((4, 1, 3))
    missed[:, 0, 0] = 0.5
    said = findings.heads_verdict("verb", whole, looks, missed)
    assert said.startswith("True here. In 4 of 4 seeds at least one head") and "the dearest costs 50%" in said
    assert findings.heads_verdict("verb", whole, looks, np.ones((4, 1, 3))).startswith("False here.")
    two = missed.copy()
    two[:, 0, 1] = 0.5
    assert findings.heads_verdict("verb", whole, looks, two).startswith("False here.")
