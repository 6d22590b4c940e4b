from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.tokenization.word_level import WordLevel


def words(text: str) -> list[str]:
    """The words that a text is split into."""
    return [text[start:end] for _, start, end in WordLevel.train(["x"], 2).spans(text)]


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("We'll  hang him,\tsir.", ["We'll", "hang", "him", ",", "sir", "."]),
        ("'Tis o'er-leap'd--ay!\n\nCome", ["'Tis", "o'er", "-", "leap'd", "-", "-", "ay", "!", "\n", "\n", "Come"]),
        ("the lords' “1st” … (don’t)", ["the", "lords", "'", "“", "1st", "”", "…", "(", "don’t", ")"]),
        ("שָׁלוֹם हिन्दी 文字 a\r\nb", ["שָׁלוֹם", "हिन्दी", "文字", "a", "\n", "b"]),
        ("x" * 100, ["x" * 64, "x" * 36]),
        ("", []),
    ],
)
def test_words_marks_and_line_ends_are_tokens(text: str, split: list[str]) -> None:
    assert words(text) == split


@given(st.text())
def test_only_spaces_are_lost(text: str) -> None:
    assert "".join("".join(words(text)).split()) == "".join(text.split())
    assert words(text).count("\n") == text.count("\n")


def test_the_most_frequent_words_are_kept_and_ties_go_by_letters() -> None:
    learned = WordLevel.train(["b d a\nb c c", "e c"], 5)
    assert learned.tokens == ("<unk>", "c", "b", "\n", "a")
    assert learned.encode("a b\nd <unk>").tolist() == [4, 2, 3, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "First Citizen:\nWe'll hang him; 'tis well -- no?\n".replace(" -- ", "--"),
        "(Ay, [good] sir)...\n\n{“Now!”}, he said; well-known, too",
        "one\n\n\ntwo\nthree: four",
        "\nfirst",
        "last\n",
    ],
)
def test_spaces_come_back_where_they_usually_are(text: str) -> None:
    learned = WordLevel.train([text], 1_000)
    assert learned.decode(learned.encode(text)) == text
