from __future__ import annotations

import numpy as np
import pytest

from explorer.errors import LineageError
from explorer.inspection.shapes import Step, Unrolled
from explorer.ui import shapes_net_findings as findings
from explorer.ui.shapes_net import LIVES, pictured


def net(*steps: tuple[str, str, float], unused: int = 0) -> Unrolled:
    made = [
        Step(reads, np.array([0.5, -0.25]), ((said, p),) if said else (), used=i >= unused)
        for i, (reads, said, p) in enumerate(steps)
    ]
    return Unrolled(tuple(made), ())


WORDS = ("human", "consume", "nature")


@pytest.mark.parametrize(("label", "verdict"), [("collapse", "which is right"), ("sustain", "which is wrong")])
def test_one_answer_is_judged_by_the_grammar(label: str, verdict: str) -> None:
    said = findings.one_finding(
        net(("<BOS>", "sustain", 0.6), ("human", "collapse", 0.7), ("<EOS>", label, 0.9)), WORDS
    )
    assert f"it says {label}, with 90%, {verdict}" in said and "at 1 of 2 steps" in said
    assert "which" not in findings.one_finding(net(("not", label, 0.9)), ("not",))


def test_senses_are_told_with_the_nouns_before_them() -> None:
    said = findings.senses_finding(
        net(("water", "water", 1.0), ("bank", "bank (river)", 0.8), ("boat", "boat", 1.0), ("loan", "loan", 1.0))
    )
    assert "“bank” is answered with bank (river), 80%, after 1 of 3 nouns that tell" in said
    assert "None has two senses: write one of bank" in findings.senses_finding(net(("the", "the", 1.0)))


def test_all_seeds_are_told() -> None:
    assert "three seeds name the sense right in 50% to 70%" in findings.senses_caption([0.6, 0.5, 0.7])


def test_letters_are_counted_against_what_came() -> None:
    said = findings.letters_finding(net(("a", "b", 0.5), ("b", "c", 0.5), (" ", "\n", 0.2)))
    assert said.startswith("At 1 of 2 steps the likeliest next character is the one that comes.")
    assert said.endswith("After the last one it expects “⏎”, with 20%.")
    assert findings.letters_finding(net(("a", "b", 0.5))).startswith("After the last")


@pytest.mark.parametrize(
    ("right", "words"), [("12", ", which is right"), ("21", ", where 21 is right"), (None, "write 12. ")]
)
def test_what_is_written_after_reading(right: str | None, words: str) -> None:
    two = net(("x", "", 0.0), ("<BOS>", "1", 0.9), ("1", "2", 0.9), ("2", "<EOS>", 0.9), unused=1)
    said = findings.other_finding(two, right)
    assert said.startswith("1 step reads and says nothing; then") and "3 steps write 12" in said and words in said


def test_a_writer_tells_where_it_was_least_sure() -> None:
    said = findings.writes_finding(net(("T", "h", 0.9), ("h", " ", 0.3)))
    assert "From “T” alone it writes “h␣”" in said and "least sure of “␣”: 30%" in said


def test_shares_are_never_certain() -> None:
    assert [findings.share(p) for p in (0.9999, 0.5, 0.001)] == ["more than 99%", "50%", "less than 1%"]


def test_what_travels_is_plain() -> None:
    data = pictured(net((" ", "\n", 0.123456)), "RNN, seed 0", "--m-rnn", "file")
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
def test_what_cannot_be_read_is_said(live: str, text: str, words: str) -> None:
    with pytest.raises(LineageError, match=words):
        LIVES[live].read(text, 0)
