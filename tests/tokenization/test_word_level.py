from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.tokenization.text import from_json, round_trip
from explorer.tokenization.word_level import WordLevel
from explorer.tokenization.words import fold_variants


def split_words(text: str) -> list[str]:
    """Return the words into which a text is split."""
    return [text[start:end] for _, start, end in WordLevel.train(["x"], 2).spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We'll  hang him,\tsir.", ["We'll", "hang", "him", ",", "sir", "."]),
        ("'Tis o'er-leap'd--ay!\n\nCome", ["'Tis", "o'er", "-", "leap'd", "-", "-", "ay", "!", "\n", "\n", "Come"]),
        ("the lords' “1st” (don’t)", ["the", "lords", "'", "“", "1st", "”", "(", "don’t", ")"]),
        ("שָׁלוֹם हिन्दी 文字 a\r\nb", ["שָׁלוֹם", "हिन्दी", "文字", "a", "\n", "b"]),
        ("x" * 100, ["x" * 64, "x" * 36]),
        ("", []),
    ],
)
def test_words_punctuation_marks_and_line_ends_are_tokens(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


@given(st.text())
def test_only_spaces_and_invisible_characters_are_lost(text: str) -> None:
    # An accent that the library unites with its letter is part of the token, but not of its place: here they are one.
    text = unicodedata.normalize("NFKC", text.replace("\u0307", ""))
    kept = {at for _, start, end in WordLevel.train(["x"], 2).spans(text) for at in range(start, end)}
    lost = "".join(char for at, char in enumerate(text) if at not in kept)
    assert not fold_variants(lost).strip() and "\n" not in lost


def test_the_most_frequent_words_are_kept_and_ties_are_broken_alphabetically() -> None:
    tokenizer = WordLevel.train(["b d a\nb c c", "e c"], 5)
    assert tokenizer.tokens == ("<unk>", "c", "b", "\n", "a")
    assert tokenizer.encode("a b\nd <unk>").tolist() == [4, 2, 3, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "First Citizen:\nWe'll hang him; 'tis well -- no?\n".replace(" -- ", "--"),
        '(Ay, [good] sir)...\n\n{"Now!"}, he said "yes"; well-known, too',
        "one\n\n\ntwo\nthree: four",
        "\nfirst",
        "last\n",
    ],
)
def test_decoding_restores_usual_spaces(text: str) -> None:
    tokenizer = WordLevel.train([text], 1_000)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_variants_of_a_word_are_one_token_and_an_older_vocabulary_keeps_them() -> None:
    tokenizer = WordLevel.train(["it isn't “so”, co\u00adop ｆｕｌｌ ❤️"], 100)
    assert (
        tokenizer.encode('isn’t isnʼt "so" coop full ❤').tolist()
        == tokenizer.encode("isn't isn't “so” coop full ❤️").tolist()
    )
    assert "variants of characters" in round_trip(tokenizer, "isn’t").differences
    assert tokenizer.unknown not in tokenizer.encode("isn’t ❤")
    older = WordLevel({"<unk>": 0, "isn’t": 1})
    assert from_json(older.to_json()).encode("isn’t").tolist() == [1]
    assert round_trip(older, "isn’t").exact
