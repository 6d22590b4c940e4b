"""Every word about the smallest language model against the numbers it was made from."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.tasks.strings import ambiguous, slips
from explorer.ui import memory_string_findings as findings


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("abca abca abca ", "Memory is worth 0.297 nats here: it tells which “a” this is."),
        (
            "to be or not to be ",
            "Memory is worth 0.707 nats here: it tells which space, which “o” or which “t” this is.",
        ),
        ("abcabc", "Memory is worth nothing here: every character has one continuation, so seeing it is enough."),
        ("aaaa", "Nothing can be wrong here: “a” is the only character there is."),
        ("  ", "Nothing can be wrong here: space is the only character there is."),
    ],
)
def test_what_memory_is_worth(text: str, said: str) -> None:
    assert findings.worth(text) == said


def test_many_ambiguous_characters_are_counted_and_some_are_named() -> None:
    said = findings.worth("abacadbcbdcd")
    assert "it tells the places of four characters apart, such as “a”, " in said


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
    assert findings.named(char) == name


def test_where_the_losses_ended() -> None:
    low = 0.297
    said = findings.ended("RNN", np.array([0.0002, 0.0013]), np.array([0.2971, 0.2973]), low)
    assert said == (
        "With its state the RNN ends at 0.0002 to 0.001 nats a character. With the state cut it ends at 0.297, "
        "on the floor."
    )
    said = findings.ended("RNN", np.array([0.2, 0.2]), np.array([0.35, 0.30]), low)
    assert "still on its way" in said
    assert "0.300 to 0.350, 0.053 above the floor at most." in said
    assert "both can be right everywhere" in findings.ended("RNN", np.array([0.001]), np.array([0.001]), 0.0)


def test_from_which_step_on_everything_is_right() -> None:
    steps = np.array([0, 2, 4, 6])
    right = np.array([[0.5, 0.5], [1.0, 0.5], [0.5, 1.0], [1.0, 1.0]])
    assert findings.learned(steps, right, 14) == (
        "With its state all 14 next characters are right from a step between 4 and 6 on."
    )
    some = np.array([[0.5, 0.5], [1.0, 0.5], [1.0, 1.0], [1.0, 0.5]])
    assert "in one of two seeds from step 2 on" in findings.learned(steps, some, 14)
    assert findings.learned(steps, right * 0.5, 14) == "After step 6 at most 7 of 14 next characters are right."


def test_how_often_they_slip() -> None:
    text = "abca abca abca "
    none, early, late = slips(text, "bca a"), slips(text, "bcab"), slips(text, "bca " + "abca " * 3 + "abcab")
    assert (len(none), len(early), len(late)) == (0, 1, 1)
    said = findings.slipped(200, 14, [none, none], [early, none])
    assert said == "In 200 characters each of two seeds slips never with its state, at most once with the state cut."
    assert "none slips before the string's own end" in findings.slipped(200, 14, [late, none], [early, early])
    assert "own end" not in findings.slipped(200, 14, [early, late], [early, early])


def test_a_slip_says_why_it_is_one() -> None:
    text, written = "abca abca abca ", "bcab"
    (slip,) = slips(text, written)
    assert findings.hint(slip, written, "a") == (
        "After “abca” comes space, not “b”: elsewhere in the string it may follow “a”."
    )
    (slip,) = slips(text, "c")
    assert findings.hint(slip, "c", "a") == ("After “a” comes “b”, not “c”: nowhere in the string it does follow “a”.")


def test_the_formula_holds_the_numbers_of_the_string_and_none_of_its_characters() -> None:
    assert r"\tfrac{6}{14} \cdot 0.693 \\ &= 0.297" in findings.formula("abca abca abca ")
    assert findings.formula("abcabc").count("&=") == 2
    assert "+ 0.106" in findings.formula("to be or not to be ")
    assert "$" not in findings.formula("$a$$b$$c")


def test_the_table_says_what_follows() -> None:
    (context,) = ambiguous("abca abca abca ")
    assert findings.follows(context) == "“b” three times and space three times"
    assert findings.entropy_words(context) == "ln 2 = 0.693"
    (context,) = ambiguous("aaab")
    assert findings.entropy_words(context) == "0.637"


def test_what_is_said_of_the_string_itself() -> None:
    assert findings.about("abca abca abca ") == "15 characters, 4 different, the last one a space."
    assert findings.about("a") == "1 character, 1 different."
