from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.labs.induction import findings

LOW, HIGH = np.array([0.1, 0.2, 0.3]), np.array([2.0, 2.2, 2.4])
NAN = float("nan")


def test_sentences(snapshot: SnapshotAssertion) -> None:
    values = np.array([[0.9, 0.0, 0.7], [0.1, 1.0, 0.9]])
    noise = np.linspace(0, 0.1, 8)
    previous, induction = (np.array([190.0, 210, NAN, 150]), np.array([200.0, 200, 250, 250]))
    previous_of_two, induction_of_two = (np.array([[0.8, 0.1], [0.3, 0.2]]), np.array([[0.1, 0.1], [0.05, 0.9]]))
    assert [
        findings.row_finding([True, False, True], {"A": values, "B": values[:1]}),
        findings.row_finding([False, False, True], {"A": values}),
        findings.row_finding([False] * 3, {"A": values}),
        findings.loss_finding({"one": LOW, "two": HIGH, "three": np.array([0.1, 0.7, 0.1])}),
        findings.loss_finding({"two": HIGH}),
        findings.loss_text({"one": LOW, "two": HIGH}),
        findings.loss_finding({}),
        findings.loss_text({}),
        findings.loss_finding({"one": LOW[:1]}),
        *(
            findings.comparison_text(each)
            for each in ({"A": LOW, "B": HIGH}, {"A": noise, "B": 2 + noise[::-1]}, {"A": LOW})
        ),
        findings.moment_finding("A", previous, induction, np.array([300, 320, 300, NAN])),
        findings.moment_finding("A", previous, induction, np.array([100, 320, 300, NAN])),
        findings.moment_finding("A", previous, induction, np.full(4, NAN)),
        findings.heads_finding(7, previous_of_two, induction_of_two, 2),
        findings.heads_finding(7, previous_of_two[:1], induction_of_two[:1], 1),
        *(findings.ablation_finding("the head", LOW, change) for change in [HIGH, LOW - 0.1]),
        findings.control_text("A", HIGH, "B", LOW),
        findings.control_text("A", LOW, "B", HIGH),
        findings.control_text("A", np.array([1.0, 2.0]), "B", np.array([2.0, 1.0])),
        findings.changed_row_text(0.1, 0.9, 3),
        findings.changed_row_text(0.0, 0.0, 0),
    ] == snapshot
