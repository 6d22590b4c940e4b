"""Findings about the answers of translators state the answers that they were computed from."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from explorer.labs.translation import answer_findings as findings
from explorer.labs.translation.answer_findings import SeedAnswer
from tests.words import assert_mentions, assert_states

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


def test_the_finding_names_the_seed_and_counts_models_with_long_names() -> None:
    answers = make_answers(v="951413", a="1")
    assert findings.answers_finding("reverse", "314159", answers, "951413", "seed 3").startswith(
        "With seed 3, the model"
    )
    long = [SeedAnswer(f"the model with a very long name {i} in words", "1" if i % 2 else "2", True) for i in range(4)]
    assert findings.answers_finding("copy", "1", long, "1") == "Two of four models copy 1 correctly."


def test_an_answer_without_an_end_is_wrong() -> None:
    answers = [SeedAnswer(ATTENDS, "951413", False)]
    assert_states(
        findings.answers_finding("reverse", "314159", answers, "951413"), "looks … 951413 without an end … wrong"
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (LONG[:3] + "9" * 17, "makes its first error at position 4"),
        (LONG[:5], "stops after 5 of 20 tokens"),
        (LONG + "1", "does not stop after 20 tokens"),
    ],
)
def test_a_long_answer_is_described_by_its_first_error(written: str, expected: str) -> None:
    assert findings.answers_finding("copy", LONG, make_answers(v=written), LONG) == (
        f"The model with one vector {expected}."
    )


def test_answers_to_dates_are_described() -> None:
    assert findings.answers_finding(
        "dates", "5-nov-55", make_answers(v="1955-11-05", a="1955-11-05"), "1955-11-05"
    ) == ("Both models read “5-nov-55” correctly.")
    without = partial(findings.answers_finding, "dates", "x", expected=None)
    assert without(make_answers(v="1999-03-03", a="1999-03-03")) == "Both models write 1999-03-03 anyway."
    assert without(make_answers(a="")) == "The one that looks writes nothing anyway."
    assert without(make_answers(v="1", w="2", a="2")) == "The models answer anyway, and not all write the same."


def test_the_note_counts_right_or_agreeing_seeds() -> None:
    assert findings.seed_agreement(["1", "2", "1"], "1", "2") == "right in 2 of 3 seeds"
    assert findings.seed_agreement(["1", "2", "1"], None, "1") == "same answer in 2 of 3 seeds"
    assert findings.seed_agreement(["1"], "2", "1") == "one seed"


def test_the_caption_names_untrained_lengths() -> None:
    assert findings.length_caption(20, 20, "digits") == ""
    assert findings.length_caption(21, 20, "digits").endswith("21 digits instead of at most 20.")


def test_the_exposure_finding_compares_teacher_forcing_with_free_running() -> None:
    forced, free = np.array([[1.0, 0.8, 0.6], [1.0, 0.8, 0.6]]), np.array([[1.0, 0.4, 0.1], [1.0, 0.4, 0.0]])
    assert findings.exposure_finding(forced, free).replace("\u00a0", " ") == (
        "After correct tokens the model predicts 80 % of the tokens, after its own output 48 %."
    )
    caption = findings.exposure_caption(forced, free, (forced, forced + 1))
    assert caption.startswith("The first position with a lower accuracy is 2 of 3.")
    assert_mentions(caption, "correct tokens minus … own … +0.32 (+0.10 to +0.53): no verdict … eight seeds")
    assert_mentions(caption, "0.80 nats … correct tokens, 1.80 after its own")
    same = findings.exposure_caption(forced[:1], forced[:1], (forced[:1], forced[:1]))
    assert same.startswith("Loss: 0.80 nats"), "one seed and no difference: nothing to compare"


def test_eight_seeds_have_a_verdict_on_exposure() -> None:
    right = np.tile(np.linspace(0.8, 0.9, 8)[:, None], 2)
    losses = (right, right)
    assert "the same value in every seed" in findings.exposure_caption(right, right, losses)
    assert "different" in findings.exposure_caption(right, right * 0.8, losses)
    close = right - 0.001 * np.arange(8)[:, None]
    assert "practically equal (within ±0.020)" in findings.exposure_caption(right, close, losses)


def test_a_small_loss_keeps_a_digit() -> None:
    one = np.ones((1, 2))
    assert "Loss: 0.002 nats" in findings.exposure_caption(one, one, (0.002 * one, one))
