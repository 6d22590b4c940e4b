"""What a string leaves open for whoever sees one character, and where a written text leaves it: by counting alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import InvalidSetting
from explorer.tasks.strings import StringConfig, ambiguous, contexts, floor, slips
from explorer.training.config import changed, default, key, parse, to_json

LETTERS = st.text("abc ", min_size=2, max_size=30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abca abca abca ", 6 / 14 * math.log(2)),  # after "a" stands "b" three times and the space three times
        ("aaaa", 0.0),
        ("abcabc", 0.0),
        ("ab", 0.0),
        ("aab", math.log(2)),  # both transitions begin with "a": one goes to "a", one to "b"
        ("banana", 0.0),
        ("hello", 2 / 4 * math.log(2)),  # "l" to "l" and to "o"
        ("aaab", -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))),
        ("ü🙂üß", 2 / 3 * math.log(2)),
    ],
)
def test_floor_by_hand(text: str, expected: float) -> None:
    assert floor(text) == pytest.approx(expected, abs=1e-12)


def test_ambiguous_characters_come_with_their_continuations_the_most_expensive_first() -> None:
    first, second, third = ambiguous("to be or not to be ")
    assert (first.character, dict(first.follow)) == (" ", {"b": 2, "o": 1, "n": 1, "t": 1})
    assert (second.character, second.count, third.character, third.count) == ("o", 4, "t", 3)
    assert [c.character for c in ambiguous("abca abca ")] == ["a"]
    assert ambiguous("abcabc") == ()


@given(LETTERS)
def test_the_floor_is_zero_exactly_where_every_character_has_one_continuation(text: str) -> None:
    after = {char: {text[i + 1] for i in range(len(text) - 1) if text[i] == char} for char in text}
    assert (floor(text) == 0) == all(len(found) <= 1 for found in after.values())
    assert 0 <= floor(text) <= math.log(len(set(text))) + 1e-12
    assert sum(context.count for context in contexts(text)) == len(text) - 1


@given(LETTERS)
def test_no_other_distribution_after_one_character_is_cheaper(text: str) -> None:
    uniform = sum(c.count * math.log(len(c.follow)) for c in contexts(text)) / (len(text) - 1)
    assert floor(text) <= uniform + 1e-12


def test_a_slip_contradicts_the_longest_piece_that_the_string_has_too() -> None:
    text = "abca abca abca "
    assert slips(text, "bca abca abca abca abca ") == []
    (early,) = slips(text, " abca ")  # the string begins with "ab", whatever follows "a" later on
    assert (early.at, early.after, early.right, early.known) == (0, "a", "b", True)


def test_slips_of_the_default_string_by_hand() -> None:
    text = "abca abca abca "
    (found,) = slips(text, "bcabca ")
    assert (found.at, found.after, found.right, found.known) == (3, "abca", " ", True)
    (pair,) = slips(text, "bb")
    assert (pair.at, pair.after, pair.right, pair.known) == (1, "ab", "c", False)
    assert [slip.at for slip in slips(text, "bcabcabca ")] == [3, 6]


def test_a_slip_counts_once_and_what_follows_is_judged_anew() -> None:
    assert [slip.at for slip in slips("abcdabcd", "bcbcd")] == [2]


def test_what_follows_the_very_end_of_a_string_was_never_shown() -> None:
    assert slips("hex", "exhexx") == []  # nothing follows "x": neither "h" nor "x" can be wrong


@given(LETTERS)
def test_the_string_itself_holds_no_slip(text: str) -> None:
    assert slips(text, text[1:]) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a", "single character"),
        ("x" * 201, "201 characters; 2 to 200"),
        ("a\nb", r"U\+000A"),
        ("a\x07b", r"U\+0007"),
        ("a\u2028b", r"U\+2028"),
        ("a\ud800", r"U\+D800"),
    ],
)
def test_what_cannot_be_learned_is_refused_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(InvalidSetting, match=said) as raised:
        StringConfig(text)
    assert "\n" not in str(raised.value)
    with pytest.raises(InvalidSetting, match=said):
        changed(default("string", "rnn"), {"text": text})


@pytest.mark.parametrize("text", ["aa", "<b>&</b>", "grüße 🙂🙂", "👩‍👩‍👧", "x" * 200, "  "])
def test_every_other_string_is_a_setting_like_any(text: str) -> None:
    config = changed(default("string", "gru"), {"text": text})
    assert parse(to_json(config)) == config
    assert key(config) != key(default("string", "gru"))
    task = config.on(StringConfig)
    assert "".join(task.vocabulary[id] for id in task.ids) == text
    assert task.transitions == len(text) - 1
