from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.tokenization.word_level import WordLevel


def split_words(text: str) -> list[str]:
    """Return the words into which a text is split."""
    return [text[start:end] for _, start, end in WordLevel.train(["x"], 2).spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We'll  hang him,\tsir.", ["We'll", "hang", "him", ",", "sir", "."]),
        ("'Tis o'er-leap'd--ay!\n\nCome", ["'Tis", "o'er", "-", "leap'd", "-", "-", "ay", "!", "\n", "\n", "Come"]),
        ("the lords' “1st” … (don’t)", ["the", "lords", "'", "“", "1st", "”", "…", "(", "don’t", ")"]),
        ("שָׁלוֹם हिन्दी 文字 a\r\nb", ["שָׁלוֹם", "हिन्दी", "文字", "a", "\n", "b"]),
        ("x" * 100, ["x" * 64, "x" * 36]),
        ("", []),
    ],
)
def test_words_punctuation_marks_and_line_ends_are_tokens(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


@given(st.text())
def test_only_spaces_are_lost(text: str) -> None:
    assert "".join("".join(split_words(text)).split()) == "".join(text.split())
    assert split_words(text).count("\n") == text.count("\n")


def test_the_most_frequent_words_are_kept_and_ties_are_broken_alphabetically() -> None:
    tokenizer = WordLevel.train(["b d a\nb c c", "e c"], 5)
    assert tokenizer.tokens == ("<unk>", "c", "b", "\n", "a")
    assert tokenizer.encode("a b\nd <unk>").tolist() == [4, 2, 3, 0, 0, 0, 0]


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
def test_decoding_restores_usual_spaces(text: str) -> None:
    tokenizer = WordLevel.train([text], 1_000)
    assert tokenizer.decode(tokenizer.encode(text)) == text
