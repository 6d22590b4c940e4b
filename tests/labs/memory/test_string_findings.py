"""Findings about the string model state the numbers that they were computed from."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.labs.memory import string_findings as findings
from explorer.tasks.string import ambiguous_contexts, find_errors
from tests.words import assert_mentions, assert_states


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("abca abca abca ", "Memory … 0.297 nats … “a” has several"),
        (
            "to be or not to be ",
            "Memory … 0.707 nats … space, “o” and “t” have several",
        ),
        ("abcabc", "Memory … nothing … every character … one"),
        ("aaaa", "No error … “a” … only character"),
        ("  ", "No error … space … only character"),
    ],
)
def test_the_finding_has_the_loss_that_memory_can_save(text: str, sentence: str) -> None:
    assert_states(findings.memory_finding(text), sentence)


def test_many_ambiguous_characters_are_counted_and_some_are_named() -> None:
    sentence = findings.memory_finding("abacadbcbdcd")
    assert_mentions(sentence, "four characters … “a”")


@pytest.mark.parametrize(
    ("char", "name"),
    [
        (" ", "space"),
        ("a", "“a”"),
        ("<", "“<”"),
        ("\u00a0", "no-break space"),
        ("\u200d", "zero width joiner"),
        ("\u0301", "combining acute accent"),
        ("🙂", "“🙂”"),
    ],
)
def test_a_character_that_cannot_be_seen_has_a_name(char: str, name: str) -> None:
    assert findings.character_name(char) == name


def test_the_finding_has_the_final_losses() -> None:
    low = 0.297
    sentence = findings.final_loss_finding("RNN", np.array([0.0002, 0.0013]), np.array([0.2971, 0.2973]), low)
    assert_states(
        sentence,
        "With its state … RNN … 0.0002 to 0.001 nats … character … Without … 0.297 … lowest loss without memory",
    )
    sentence = findings.final_loss_finding("RNN", np.array([0.2, 0.2]), np.array([0.35, 0.30]), low)
    assert "not yet its lowest" in sentence
    assert "0.300 to 0.350, at most 0.053 above" in sentence
    assert "both can predict every character" in findings.final_loss_finding(
        "RNN", np.array([0.001]), np.array([0.001]), 0.0
    )


def test_the_finding_has_the_step_from_which_everything_is_right() -> None:
    steps = np.array([0, 2, 4, 6])
    right = np.array([[0.5, 0.5], [1.0, 0.5], [0.5, 1.0], [1.0, 1.0]])
    assert_states(
        findings.solved_step_finding(steps, right, 14), "With its state … all 14 … right … step between 4 and 6"
    )
    some = np.array([[0.5, 0.5], [1.0, 0.5], [1.0, 1.0], [1.0, 0.5]])
    assert "in one of two seeds from step 2 on" in findings.solved_step_finding(steps, some, 14)
    assert_states(findings.solved_step_finding(steps, right * 0.5, 14), "step 6 at most 7 of 14 … right")


def test_the_caption_counts_errors() -> None:
    text = "abca abca abca "
    none, early, late = (
        find_errors(text, "bca a"),
        find_errors(text, "bcab"),
        find_errors(text, "bca " + "abca " * 3 + "abcab"),
    )
    assert (len(none), len(early), len(late)) == (0, 1, 1)
    sentence = findings.error_count_caption(200, 14, [none, none], [early, none])
    assert_states(sentence, "200 characters … each of two seeds … no errors with its state, 0 to 1 error without")
    assert "none makes an error before the end" in findings.error_count_caption(200, 14, [late, none], [early, early])
    assert "before the end" not in findings.error_count_caption(200, 14, [early, late], [early, early])


def test_the_hint_explains_an_error() -> None:
    text, written = "abca abca abca ", "bcab"
    (error,) = find_errors(text, written)
    assert_states(findings.error_hint(error, written, "a"), "After “abca” … space, not “b” … does follow “a”")
    (error,) = find_errors(text, "c")
    assert_states(findings.error_hint(error, "c", "a"), "After “a” … “b”, not “c” … nowhere … follow “a”")


def test_the_formula_holds_the_numbers_of_the_string_and_none_of_its_characters() -> None:
    assert r"\tfrac{6}{14} \cdot 0.693 \\ &= 0.297" in findings.floor_formula("abca abca abca ")
    assert findings.floor_formula("abcabc").count("&=") == 2
    assert "+ 0.106" in findings.floor_formula("to be or not to be ")
    assert "$" not in findings.floor_formula("$a$$b$$c")


def test_the_table_has_the_successors_and_the_entropy() -> None:
    (context,) = ambiguous_contexts("abca abca abca ")
    assert findings.describe_successors(context) == "“b” three times and space three times"
    assert findings.entropy_words(context) == "ln 2 = 0.693"
    (context,) = ambiguous_contexts("aaab")
    assert findings.entropy_words(context) == "0.637"


def test_the_caption_describes_the_string() -> None:
    assert findings.string_caption("abca abca abca ") == "15 characters, 4 different, the last one a space."
    assert findings.string_caption("a") == "1 character, 1 different."
