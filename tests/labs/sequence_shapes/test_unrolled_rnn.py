from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import LineageError
from explorer.inspection.recurrent.unrolled import UnrolledNetwork, UnrolledStep
from explorer.labs.sequence_shapes import unrolled_findings as findings
from explorer.labs.sequence_shapes.unrolled_rnn import EXAMPLES, component_data


def unrolled(*steps: tuple[str, str, float], unused: int = 0) -> UnrolledNetwork:
    unrolled_steps = [
        UnrolledStep(reads, np.array([0.5, -0.25]), ((output, p),) if output else (), used=i >= unused)
        for i, (reads, output, p) in enumerate(steps)
    ]
    return UnrolledNetwork(tuple(unrolled_steps), ())


WORDS = ("human", "consume", "nature")


def test_the_final_prediction_is_judged_by_the_grammar(snapshot: SnapshotAssertion) -> None:
    steps = ("<BOS>", "sustain", 0.6), ("human", "collapse", 0.7)
    judged = [unrolled(*steps, ("<EOS>", label, 0.9)) for label in ("collapse", "sustain")]
    assert [findings.many_to_one_finding(each, WORDS) for each in judged] == snapshot
    assert "which" not in findings.many_to_one_finding(unrolled(("not", "sustain", 0.9)), ("not",))[0]


def test_sentences(snapshot: SnapshotAssertion) -> None:
    assert [
        findings.senses_finding(
            unrolled(
                ("water", "water", 1.0), ("bank", "bank (river)", 0.8), ("boat", "boat", 1.0), ("loan", "loan", 1.0)
            )
        ),
        findings.senses_finding(unrolled(("the", "the", 1.0))),
        findings.senses_finding(unrolled(*[("bank", "bank (river)", 0.8)] * 5))[0],
        findings.senses_caption([0.6, 0.5, 0.7]),
        findings.letters_finding(unrolled(("a", "b", 0.5), ("b", "c", 0.5), (" ", "\n", 0.2))),
        findings.letters_finding(unrolled(("a", "b", 0.5)))[0],
        findings.one_to_many_finding(unrolled(("T", "h", 0.9), ("h", " ", 0.3))),
        *(findings.format_probability(p) for p in (0.9999, 0.5, 0.001)),
    ] == snapshot


def test_generated_output_is_judged(snapshot: SnapshotAssertion) -> None:
    two = unrolled(("x", "", 0.0), ("<BOS>", "1", 0.9), ("1", "2", 0.9), ("2", "<EOS>", 0.9), unused=1)
    nothing = unrolled(("x", "", 0.0), ("<BOS>", "<EOS>", 0.9), unused=1)
    rows = [(two, "12"), (two, "21"), (two, None), (nothing, None)]
    assert [findings.unaligned_finding(*row) for row in rows] == snapshot


def test_component_data_is_plain_json() -> None:
    data = component_data(unrolled((" ", "\n", 0.123456)), "RNN, seed 0", "--m-rnn", "file")
    assert data["steps"] == [
        {"input": "␣", "used": True, "top": [["⏎", 0.12346]], "state": [0.5, -0.25], "fed_back": False}
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
        with pytest.raises(LineageError) as error:
            EXAMPLES[live].read(text, 0)
        messages.append(str(error.value))
    assert messages == snapshot
