"""Small counts, lists and durations are formatted as words."""

from __future__ import annotations

from explorer.number_format import format_duration
from explorer.ui.wording import count_seeds, join_words, number_word, original_whitespace, visible_whitespace


def test_counts_lists_and_durations_are_formatted_as_words() -> None:
    assert [number_word(n) for n in (0, 1, 8, 12, 13, 10_000)] == ["no", "one", "eight", "twelve", "13", "10,000"]
    assert [count_seeds(1), count_seeds(8)] == ["one seed", "eight seeds"]
    assert [join_words(["a"]), join_words(["a", "b"]), join_words(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
    times = [format_duration(seconds) for seconds in (0.42, 9.94, 9.96, 89.0, 91.0, 600.0)]
    assert times == ["0.4 s", "9.9 s", "10 s", "89 s", "2 min", "10 min"]


def test_visible_white_space_is_read_back() -> None:
    text = " a\n\tb "
    assert visible_whitespace(text) == "␣a↵⇥b␣" and original_whitespace("␣a↵⇥b␣") == text
