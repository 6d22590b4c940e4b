from __future__ import annotations

import numpy as np
import pytest

from explorer.labs.masks import findings
from explorer.labs.masks.findings import FinalLosses
from explorer.labs.masks.state import MAX_PROMPT, MasksState
from explorer.tasks.sequence_labelling.grammar_text import LETTERS, GrammarTextConfig
from explorer.tasks.sequence_labelling.random_symbols import RandomSymbolsConfig
from tests.words import assert_mentions, assert_states

NOISE, TWO, TALE = (
    findings.loss_baseline(task)
    for task in (RandomSymbolsConfig(), RandomSymbolsConfig(symbols=2), GrammarTextConfig())
)


def final_losses(loss: float, prefix: float = 2.95, by_position: list[float] | None = None) -> FinalLosses:
    positions = None if by_position is None else np.array([by_position])
    return FinalLosses(np.array([loss]), np.array([prefix]), positions)


def test_a_loss_below_the_floor_is_called_a_leak() -> None:
    sentence = findings.leak_verdict(NOISE, final_losses(2.95), final_losses(0.26))
    assert_states(sentence, "Without the mask … 0.26 nats … symbol … below … possible ln 19 = 2.94 … sees the answer")
    sentence = findings.leak_verdict(TALE, final_losses(0.44), final_losses(0.03))
    assert_states(sentence, "Without the mask … 0.03 nats … letter … below … possible 0.33 … sees the answer")
    assert len(sentence.split()) <= 20


@pytest.mark.parametrize(
    ("causal", "without", "words"),
    [
        (None, 2.95, "Without … 2.95 nats … symbol, not below ln 19 = 2.94 … no sign … leak"),
        (0.3, None, "With the mask … 0.30 … below … ln 19 = 2.94 … leak"),
        (3.4, None, "With the mask … 3.40 … lowest possible is ln 19 = 2.94"),
    ],
)
def test_other_final_losses_are_reported(causal: float | None, without: float | None, words: str) -> None:
    sentence = findings.leak_verdict(
        NOISE, *(None if loss is None else final_losses(loss) for loss in (causal, without))
    )
    assert_mentions(sentence, words)


def test_the_baseline_depends_on_the_task() -> None:
    assert "ln 2 = 0.69" in findings.leak_verdict(TWO, None, final_losses(0.1))
    assert findings.leak_verdict(TWO, None, None) == ""
    assert TALE.floor < 0.4 < 3 < TALE.uniform_loss and NOISE.floor == NOISE.uniform_loss


def test_prefix_loss_is_compared_with_guessing() -> None:
    sentence = findings.generation_finding(NOISE, final_losses(2.95), final_losses(0.3, prefix=7.5))
    assert_mentions(
        sentence,
        "7.50 nats per symbol (one seed) … with the mask … 2.95 … 2.94 … without the mask is worse … not there",
    )
    sentence = findings.generation_finding(TALE, None, final_losses(0.3, prefix=2.9))
    assert_mentions(sentence, "2.90 nats per letter … uniform guess … 3.33")
    assert "worse" not in sentence and "with the mask" not in sentence
    three = FinalLosses(np.ones(3), np.array([6.0, 7.0, 20.0]), None)
    assert_mentions(findings.generation_finding(TALE, None, three), "7.00 nats per letter (median of three seeds)")


def test_only_the_last_position_cannot_copy_its_answer() -> None:
    sentence = findings.position_finding(NOISE, final_losses(0.25, by_position=[0.01, 0.02, 3.0]))
    assert_mentions(sentence, "positions 1 to 2 … at most 0.02 nats … Position 3 … no next symbol … 3.00 nats")
    sentence = findings.position_finding(NOISE, final_losses(2.9, by_position=[2.9, 2.95, 3.0]))
    assert sentence.startswith("By position, the loss without the mask lies between 2.90")
    assert findings.position_finding(NOISE, final_losses(2.9)) == ""


def test_repetitions_are_counted() -> None:
    ids = np.array([[[0, 1, 1, 1, 2]], [[0, 1, 2, 0, 1]]])
    np.testing.assert_allclose(findings.repetition_rate(ids, 2), [2 / 3, 0])
    sentence = findings.repetition_finding(19, "Without the mask", ids, 2, np.array([[0.9, 0.8, 1.0], [0.9, 0.8, 1.0]]))
    assert (
        "33\u00a0% of the generated symbols" in sentence
        and "by chance it would be 5\u00a0%" in sentence
        and "probability of 0.90 (two seeds)" in sentence
    )
    assert "as often as by chance" in findings.repetition_finding(3, "x", ids, 2, np.zeros((2, 3)))
    assert findings.format_rows(ids[0], 2, "abc") == "ab → bbc"


@pytest.mark.parametrize(
    ("text", "first", "counts"),
    [
        ("the old king sees the owl. th", 12, (12, 12)),  # what the end cuts off may become a word
        ("the old kings see the o", 12, (4, 8)),  # nobody knows “kings” or “see”
        ("the old sailor hides", 10, (9, 9)),
        ("the owl.. hides x", 7, (5, 6)),
        ("qqqqqqqq", 2, (0, 6)),
        ("the owl  . ", 7, (0, 0)),
    ],
)
def test_generated_letters_in_words_are_counted(text: str, first: int, counts: tuple[int, int]) -> None:
    assert findings.count_letters_in_words(text, first) == counts


def test_the_share_of_letters_in_words_is_reported() -> None:
    ids = np.array([[[LETTERS.index(letter) for letter in "the owl hides the qwl. "]]])
    assert_states(findings.spelling_finding("With it", ids, 4), "With it … 79\u00a0% … letters … words")
    assert "0\u00a0% of the generated letters" in findings.spelling_finding("With it", ids[..., -2:], 1)


def test_a_beginning_that_is_too_long_is_cut_to_what_the_models_read() -> None:
    prompt, messages = MasksState(begin="b" * 200).prompt
    assert prompt == "b" * MAX_PROMPT and len(messages) == 1
    assert MasksState().prompt == (MasksState().begin, [])
