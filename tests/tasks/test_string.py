"""The loss floor of a string without memory, and errors in generated text."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.tasks.string import StringConfig, ambiguous_contexts, contexts, find_errors, loss_floor
from explorer.training.config import default_config, key, parse_config, to_json, with_settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abca abca abca ", 6 / 14 * math.log(2)),  # after "a" stands "b" three times and the space three times
        ("aab", math.log(2)),  # both transitions begin with "a": one goes to "a", one to "b"
        ("hello", 2 / 4 * math.log(2)),  # "l" to "l" and to "o"
        ("aaab", -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))),
        ("ü🙂üß", 2 / 3 * math.log(2)),
    ],
)
def test_loss_floor_of_worked_examples(text: str, expected: float) -> None:
    assert loss_floor(text) == pytest.approx(expected, abs=1e-12)


def test_ambiguous_contexts_are_sorted_by_their_loss() -> None:
    first, second, third = ambiguous_contexts("to be or not to be ")
    assert (first.character, dict(first.continuations)) == (" ", {"b": 2, "o": 1, "n": 1, "t": 1})
    assert (second.character, second.count, third.character, third.count) == ("o", 4, "t", 3)
    assert [c.character for c in ambiguous_contexts("abca abca ")] == ["a"]
    assert ambiguous_contexts("abcabc") == ()


@settings(max_examples=30)
@given(st.text("abc ", min_size=2, max_size=30))
def test_the_loss_floor_is_zero_exactly_if_continuations_are_unique(text: str) -> None:
    after = {char: {text[i + 1] for i in range(len(text) - 1) if text[i] == char} for char in text}
    assert (loss_floor(text) == 0) == all(len(successors) <= 1 for successors in after.values())
    assert 0 <= loss_floor(text) <= math.log(len(set(text))) + 1e-12
    uniform = sum(c.count * math.log(len(c.continuations)) for c in contexts(text)) / (len(text) - 1)
    assert loss_floor(text) <= uniform + 1e-12
    assert find_errors(text, text[1:]) == []


def test_errors_contradict_the_longest_matching_context() -> None:
    text = "abca abca abca "
    assert find_errors(text, "bca abca abca abca abca ") == []
    (early,) = find_errors(text, " abca ")  # the string begins with "ab", whatever follows "a" later on
    assert (early.position, early.context, early.expected, early.pair_in_string) == (0, "a", "b", True)
    (error,) = find_errors(text, "bcabca ")
    assert (error.position, error.context, error.expected, error.pair_in_string) == (3, "abca", " ", True)
    (pair,) = find_errors(text, "bb")
    assert (pair.position, pair.context, pair.expected, pair.pair_in_string) == (1, "ab", "c", False)
    assert [slip.position for slip in find_errors(text, "bcabcabca ")] == [3, 6]
    assert [slip.position for slip in find_errors("abcdabcd", "bcbcd")] == [2]
    assert find_errors("hex", "exhexx") == []  # nothing follows "x": neither "h" nor "x" can be wrong


def test_invalid_strings_raise_one_sentence(snapshot: SnapshotAssertion) -> None:
    messages = {}
    for text in ("", "a", "x" * 201, "a\nb", "a\x07b", "a\u2028b", "a\ud800"):
        with pytest.raises(InvalidSetting) as raised:
            StringConfig(text)
        messages[repr(text)] = str(raised.value)
        with pytest.raises(InvalidSetting):
            with_settings(default_config("string", "rnn"), {"text": text})
    assert messages == snapshot


@pytest.mark.parametrize("text", ["aa", "<b>&</b>", "grüße 🙂🙂", "👩‍👩‍👧", "x" * 200, "  "])
def test_every_other_string_is_accepted(text: str) -> None:
    config = with_settings(default_config("string", "gru"), {"text": text})
    assert parse_config(to_json(config)) == config
    assert key(config) != key(default_config("string", "gru"))
    task = config.task_as(StringConfig)
    assert "".join(task.vocabulary[id] for id in task.ids) == text
    assert task.transitions == len(text) - 1
