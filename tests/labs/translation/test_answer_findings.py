"""Findings about the answers of translators state the answers that they were computed from."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.labs.translation import answer_findings as findings
from explorer.labs.translation.answer_findings import SeedAnswer

VECTOR, WIDE = "the model with one vector", "the wide one"
ATTENDS, TRANSFORMER = "the one that looks", "the Transformer"


LONG = "12345678901234567890"


def make_answers(**texts: str) -> list[SeedAnswer]:
    words = {"v": VECTOR, "w": WIDE, "a": ATTENDS, "t": TRANSFORMER}
    return [SeedAnswer(words[name], text, True) for name, text in texts.items()]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (make_answers(v="951413", a="951413"), "Both models reverse 314159 correctly."),
        (make_answers(v="951413", w="951413", a="951413"), "All three models reverse 314159 correctly."),
        (make_answers(a="951413"), "The one that looks reverses 314159 correctly."),
        (make_answers(v="951415"), "The model with one vector writes 951415, which is wrong."),
        (
            make_answers(v="951415", w="951413", a="951413", t="951413"),
            "All models except the model with one vector reverse 314159 correctly.",
        ),
        (
            make_answers(v="951415", w="951415", a="951413", t=""),
            "The one that looks reverses 314159 correctly; the other three models do not.",
        ),
        (make_answers(w="9", a="951413"), "The one that looks reverses 314159 correctly; the other model does not."),
        (make_answers(w="9", a="5"), "Neither model reverses 314159 correctly."),
        (make_answers(v="9", w="9", a="9"), "None of the three models reverses 314159 correctly."),
        ([], ""),
    ],
)  # fmt: skip
def test_the_finding_names_who_answers_correctly(answers: list[SeedAnswer], expected: str) -> None:
    assert findings.answers_finding("reverse", "314159", answers, "951413") == expected
    assert len(expected.split()) <= 17, "the seed adds three words"


def test_sentences(snapshot: SnapshotAssertion) -> None:
    answers = make_answers(v="951413", a="1")
    long = [SeedAnswer(f"the model with a very long name {i} in words", "1" if i % 2 else "2", True) for i in range(4)]
    endless = [SeedAnswer(ATTENDS, "951413", False)]
    right = np.tile(np.linspace(0.8, 0.9, 8)[:, None], 2)
    losses = (right, right)
    close = right - 0.001 * np.arange(8)[:, None]
    one = np.ones((1, 2))
    assert [
        findings.answers_finding("reverse", "314159", answers, "951413", "seed 3"),
        findings.answers_finding("copy", "1", long, "1"),
        findings.answers_finding("reverse", "314159", endless, "951413"),
        *(
            findings.answers_finding("copy", LONG, make_answers(v=written), LONG)
            for written in [LONG[:3] + "9" * 17, LONG[:5], LONG + "1"]
        ),
        *(
            findings.seed_agreement(*each)
            for each in ((["1", "2", "1"], "1", "2"), (["1", "2", "1"], None, "1"), (["1"], "2", "1"))
        ),
        findings.length_caption(20, 20, "digits"),
        findings.length_caption(21, 20, "digits"),
        *(findings.exposure_caption(right, each, losses) for each in (right, right * 0.8, close)),
        findings.exposure_caption(one, one, (0.002 * one, one)),
    ] == snapshot


def test_answers_to_dates_are_described(snapshot: SnapshotAssertion) -> None:
    without = partial(findings.answers_finding, "dates", "x", expected=None)
    assert [
        findings.answers_finding("dates", "5-nov-55", make_answers(v="1955-11-05", a="1955-11-05"), "1955-11-05"),
        without(make_answers(v="1999-03-03", a="1999-03-03")),
        without(make_answers(a="")),
        without(make_answers(v="1", w="2", a="2")),
    ] == snapshot


def test_the_exposure_finding_compares_teacher_forcing_with_free_running(snapshot: SnapshotAssertion) -> None:
    forced, free = (np.array([[1.0, 0.8, 0.6], [1.0, 0.8, 0.6]]), np.array([[1.0, 0.4, 0.1], [1.0, 0.4, 0.0]]))
    assert [
        findings.exposure_finding(forced, free),
        findings.exposure_caption(forced, free, (forced, forced + 1)),
        findings.exposure_caption(forced[:1], forced[:1], (forced[:1], forced[:1])),
    ] == snapshot
