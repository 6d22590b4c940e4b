from __future__ import annotations

import numpy as np
import pytest

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


@pytest.mark.parametrize(("label", "verdict"), [("collapse", "which is right"), ("sustain", "which is wrong")])
def test_the_final_prediction_is_judged_by_the_grammar(label: str, verdict: str) -> None:
    headline, details = findings.many_to_one_finding(
        unrolled(("<BOS>", "sustain", 0.6), ("human", "collapse", 0.7), ("<EOS>", label, 0.9)), WORDS
    )
    assert headline == f"After the last token the network answers “{label}” (90 %), {verdict}."
    assert "at 1 of 2 earlier steps" in details
    assert "which" not in findings.many_to_one_finding(unrolled(("not", label, 0.9)), ("not",))[0]


def test_senses_are_reported_with_preceding_cue_nouns() -> None:
    headline, details = findings.senses_finding(
        unrolled(("water", "water", 1.0), ("bank", "bank (river)", 0.8), ("boat", "boat", 1.0), ("loan", "loan", 1.0))
    )
    assert headline == "The network tags “bank” as bank (river) (80 %)." and "1 of 3 before “bank”" in details
    headline, details = findings.senses_finding(unrolled(("the", "the", 1.0)))
    assert headline == "None of these 1 words has two senses." and "bank" in details
    many = findings.senses_finding(unrolled(*[("bank", "bank (river)", 0.8)] * 5))[0]
    assert many == "The network tags 5 words that have two senses."


def test_accuracy_of_all_seeds_is_reported() -> None:
    assert "three seeds name the right sense in 50 to 70 %" in findings.senses_caption([0.6, 0.5, 0.7])


def test_predicted_letters_are_compared_with_the_next_ones() -> None:
    headline, details = findings.letters_finding(unrolled(("a", "b", 0.5), ("b", "c", 0.5), (" ", "\n", 0.2)))
    assert headline == "At 1 of 2 steps the most likely next character is the right one."
    assert details == "After the last character it predicts “⏎” (20 %)."
    assert findings.letters_finding(unrolled(("a", "b", 0.5)))[0].startswith("After the last character")


@pytest.mark.parametrize(
    ("right", "words"), [("12", "writes 12, which is right."), ("21", "writes 12 instead of 21."), (None, "writes 12.")]
)
def test_generated_output_is_judged(right: str | None, words: str) -> None:
    two = unrolled(("x", "", 0.0), ("<BOS>", "1", 0.9), ("1", "2", 0.9), ("2", "<EOS>", 0.9), unused=1)
    headline, details = findings.unaligned_finding(two, right)
    assert headline == f"The encoder reads 1 token, then the decoder {words}"
    assert "3 tokens" in details
    nothing = findings.unaligned_finding(unrolled(("x", "", 0.0), ("<BOS>", "<EOS>", 0.9), unused=1), None)[0]
    assert nothing.endswith("writes nothing.")


def test_the_least_certain_step_is_reported() -> None:
    headline, details = findings.one_to_many_finding(unrolled(("T", "h", 0.9), ("h", " ", 0.3)))
    assert headline == "From “T” alone the network writes “h␣”." and "least certain of “␣” (30 %)" in details


def test_probabilities_are_never_rounded_to_certainty() -> None:
    assert [findings.format_probability(p) for p in (0.9999, 0.5, 0.001)] == ["more than 99 %", "50 %", "less than 1 %"]


def test_component_data_is_plain_json() -> None:
    data = component_data(unrolled((" ", "\n", 0.123456)), "RNN, seed 0", "--m-rnn", "file")
    assert data["steps"] == [
        {"input": "␣", "used": True, "top": [["⏎", 0.12346]], "state": [0.5, -0.25], "fed_back": False}
    ]


@pytest.mark.parametrize(
    ("live", "text", "words"),
    [
        ("one", "human eats nature", "never saw “eats”"),
        ("one", "", "no word"),
        ("senses", "the banc", "bank"),
        ("letters", "żółw", "never saw “ż”"),
        ("letters", "", "no character"),
        ("from-one", "", "no character"),
        ("other", "3 märz", "never saw"),
    ],
)
def test_unreadable_input_is_reported(live: str, text: str, words: str) -> None:
    with pytest.raises(LineageError, match=words):
        EXAMPLES[live].read(text, 0)
