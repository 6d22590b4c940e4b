"""English text as words and pieces of words: spellings of a sentence are one, and no text is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import EmptySentence
from explorer.tokenization.english import MAX_PIECES, split_english, train_pieces

SENTENCES = ("the film is not good", "i would not watch it again", "the unwatchable film is bad", "watch good films")
PIECES = train_pieces(SENTENCES * 3, 60)


@pytest.mark.parametrize(
    ("variants", "words"),
    [
        (("The film isn't good.", "the film isn’t good", "THE FILM IS NOT GOOD", "The film isnt good!"),
         "the film is not good"),
        (("It's bad; it can't work.", "it’s bad, it cannot work…", "It is bad (it cant work)?"),
         "it is bad it can not work"),
        (("We'll see. I'm glad they've won!", "we will see, I am glad they have won"),
         "we will see i am glad they have won"),
        (("Rock'n'roll! It's 10 o`clock", "rock’n’roll it is 10 o'clock"), "rock'n'roll it is 10 o'clock"),
        (("the dog's bone 🙂 — 2€", "THE DOG’S BONE 🙂, 2 €"), "the dog 's bone 🙂 2 €"),
    ],
    ids=range(5),
)  # fmt: skip
def test_all_spellings_of_a_sentence_are_the_same_words(variants: tuple[str, ...], words: str) -> None:
    assert [" ".join(split_english(text)) for text in variants] == [words] * len(variants)


def test_a_word_is_divided_into_the_longest_known_pieces() -> None:
    assert {"watch", "un", "##w", "##atch", "##a", "##g"} < set(PIECES.words)
    assert PIECES.split("watchag unwatchag") == ("watch", "##a", "##g", "un", "##w", "##atch", "##a", "##g")


def test_the_vocabulary_is_the_same_in_every_process() -> None:
    pieces = "itaohldnwcefgmsbu##a##b##c##d##e##g##h##i##l##m##n##o##s##t##u##wfi##at##ch##lmfilm##atchisthno"
    assert all("".join(train_pieces(SENTENCES * 3, 45).words) == pieces for _ in range(20))


def test_what_cannot_be_read_is_left_out_and_named() -> None:
    reading = PIECES.read("The film 映画 is 🙂 good. Фильм! 🙂")
    assert (reading.text, reading.unknown) == ("the film is good", ("映画", "🙂", "фильм"))
    assert reading.describe_unread() == "The models never saw “映画”, “🙂” and “фильм”."
    with pytest.raises(EmptySentence, match="no English word"):
        PIECES.split("映画 … <🙂>")


def test_a_long_text_is_cut_and_the_cut_is_said() -> None:
    reading = PIECES.read("The film is good. " * 560)
    assert len(reading.tokens) == MAX_PIECES and len(reading.left_out) == 560 * 4 - MAX_PIECES
    assert reading.describe_unread() == "Only the first 60 of 2,240 words are read."
    assert len(PIECES.encode(PIECES.split("good " * 10_000))) == MAX_PIECES + 2


@given(st.text(max_size=200) | st.text("' ’nt.isn\u0130🙂#<>", max_size=40))
def test_no_text_is_refused_and_one_by_one_is_as_all_together(text: str) -> None:
    tokens = PIECES.read(text).tokens
    assert set(tokens) <= set(PIECES.words)
    assert PIECES.encode_all([split_english(text)]) == [PIECES.encode(tokens)]
