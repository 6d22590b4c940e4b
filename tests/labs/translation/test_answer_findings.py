"""Findings about the answers of translators state the answers that they were computed from."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.labs.translation import answer_findings as findings
from explorer.labs.translation.answer_findings import SeedAnswer
from tests.words import assert_states

VECTOR, WIDE = "the model with one vector", "the wide one"
ATTENDS, TRANSFORMER = "the one that looks", "the Transformer"


def make_answers(**texts: str) -> list[SeedAnswer]:
    words = {"v": VECTOR, "w": WIDE, "a": ATTENDS, "t": TRANSFORMER}
    return [SeedAnswer(words[name], text, True) for name, text in texts.items()]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (make_answers(v="951413", a="951413"), "Both models turn 314159 around."),
        (make_answers(v="951413", w="951413", a="951413"), "All three models turn 314159 around."),
        (make_answers(a="951413"), "The one that looks turns 314159 around."),
        (make_answers(v="951415"), "one vector … 951415 … wrong"),
        (
            make_answers(v="951415", w="951413", a="951413", t="951413"),
            "Three of four … 314159 … one vector … 951415",
        ),
        (
            make_answers(v="951415", w="951415", a="951413", t=""),
            "four models only … looks … 314159 … one vector … wide … 951415 … Transformer … nothing",
        ),
        (make_answers(w="9", a="5"), "Neither … 314159 … wide … 9 … looks … 5"),
        (
            make_answers(v="9", w="9", a="9"),
            "None … three … 314159 … one vector … wide … looks … 9",
        ),
        ([], ""),
    ],
)  # fmt: skip
def test_the_finding_names_who_answers_correctly(answers: list[SeedAnswer], expected: str) -> None:
    assert_states(findings.answers_finding("reverse", "314159", answers, "951413"), expected)


def test_an_answer_without_an_end_is_wrong() -> None:
    answers = [SeedAnswer(ATTENDS, "951413", False)]
    assert_states(
        findings.answers_finding("reverse", "314159", answers, "951413"), "looks … 951413 without an end … wrong"
    )


def test_a_long_answer_is_described_by_its_first_error() -> None:
    source = "12345678901234567890"
    answers = make_answers(v=source[:3] + "9" * 17, w=source[:5], a=source, t=source + "1")
    assert_states(
        findings.answers_finding("copy", source, answers, source),
        "four models only … looks … 20 digits … one vector … wrong … "
        "4 … wide … stops after 5 of 20 … Transformer … after … 20",
    )


def test_answers_to_dates_are_described() -> None:
    assert findings.answers_finding(
        "dates", "5-nov-55", make_answers(v="1955-11-05", a="1955-11-05"), "1955-11-05"
    ) == ("Both models read “5-nov-55” as 1955-11-05.")
    assert findings.answers_finding("dates", "x", make_answers(v="1999-03-03", a="1999-03-03"), None) == (
        "Both models write 1999-03-03 all the same."
    )
    assert (
        findings.answers_finding("dates", "x", make_answers(a=""), None)
        == "The one that looks writes nothing all the same."
    )
    assert_states(
        findings.answers_finding("dates", "x", make_answers(v="1", w="2", a="2"), None),
        "one vector … 1 … wide … looks … 2",
    )


def test_the_note_counts_right_or_agreeing_seeds() -> None:
    assert findings.seed_agreement(["1", "2", "1"], "1", "2") == "right in 2 of 3 seeds"
    assert findings.seed_agreement(["1", "2", "1"], None, "1") == "2 of 3 seeds write this"
    assert findings.seed_agreement(["1"], "2", "1") == "one seed"


def test_the_caption_names_untrained_lengths() -> None:
    assert findings.length_caption(20, 20, "digits") == ""
    assert findings.length_caption(21, 20, "digits").startswith("Beyond training: this source has 21 digits")


LOSSES = "1.50 nats … right tokens, 2.50 … own"


@pytest.mark.parametrize(
    ("teacher_forced", "free_running", "expected"),
    [
        (
            [[1.0, 0.8, 0.6], [1.0, 0.8, 0.6]],
            [[1.0, 0.4, 0.2], [1.0, 0.4, 0.0]],
            "2 on … right in 0.70 … right tokens … 0.25 … own … +0.30 (−0.12 to +0.72): no verdict … eight seeds",
        ),
        (
            [[0.9, 0.7]],
            [[0.5, 0.5]],
            "all … right in 0.80 … right tokens … 0.50 … own",
        ),
        (
            [[1.0, 0.8, 0.2, 0.2]],
            [[1.0, 0.4, 0.5, 0.5]],
            "At … 2 … right in 0.80 … right tokens … 0.40 … own",
        ),
        (
            [[1.0, 1.0]],
            [[1.0, 0.99]],
            "all … right in 1.00 … right tokens … 0.99 … own",
        ),
        (
            [[1.0, 0.5]],
            [[1.0, 0.7]],
            "all … right in 0.75 … right tokens … 0.85 … own",
        ),
    ],
)
def test_the_exposure_finding_compares_teacher_forcing_with_free_running(
    teacher_forced: list[list[float]], free_running: list[list[float]], expected: str
) -> None:
    right, loss = np.array(teacher_forced), np.full_like(teacher_forced, 1.5)
    assert_states(
        findings.exposure_finding("it", right, np.array(free_running), (loss, loss + 1)), f"{expected} … {LOSSES}"
    )


def test_eight_seeds_have_a_verdict_on_exposure() -> None:
    right = np.tile(np.linspace(0.8, 0.9, 8)[:, None], 2)
    losses = (right, right)
    assert "the same value in every seed" in findings.exposure_finding("it", right, right, losses)
    assert "different" in findings.exposure_finding("it", right, right * 0.8, losses)
    close = right - 0.001 * np.arange(8)[:, None]
    assert "practically equal (within ±0.020)" in findings.exposure_finding("it", right, close, losses)


def test_a_small_loss_keeps_a_digit() -> None:
    one = np.ones((1, 2))
    assert "The loss is 0.002 nats" in findings.exposure_finding("it", one, one, (0.002 * one, one))
