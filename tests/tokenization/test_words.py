from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import EmptySentence, SentenceError, SentenceTooLong, UnknownWords
from explorer.tasks.negation import VOCABULARY
from explorer.tokenization.words import MAX_WORDS, Words, split_words

sentences = st.lists(st.sampled_from(VOCABULARY.words), min_size=1, max_size=MAX_WORDS).map(tuple)
punctuation = st.text(alphabet=" .,;:!?\"'()[]{}«»“”…–—¡¿。，\t\n", max_size=5)


@given(sentences)
def test_decoding_inverts_encoding(words: tuple[str, ...]) -> None:
    ids = VOCABULARY.encode(words)
    assert VOCABULARY.decode(ids) == words
    assert (VOCABULARY.tokens[ids[0]], VOCABULARY.tokens[ids[-1]], len(ids)) == ("<BOS>", "<EOS>", len(words) + 2)


@given(sentences, st.data())
def test_case_and_surrounding_punctuation_are_ignored(words: tuple[str, ...], data: st.DataObject) -> None:
    case = st.sampled_from([str.upper, str.lower, str.title, str.swapcase])
    pieces = [data.draw(punctuation) + data.draw(case)(word) + data.draw(punctuation) for word in words]
    assert VOCABULARY.split(" ".join(pieces)) == words


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("  \t\n ", EmptySentence),
        ("... !? “”", EmptySentence),
        ("\u202eerutan namuh\u202c", UnknownWords),
        ("human\x00nature \x07\x1b[31m", UnknownWords),
        ("\ud800", UnknownWords),
        ("a" * 1_000_000, UnknownWords),
        ("not " * 10_000, SentenceTooLong),
        ("<BOS> human <PAD>", UnknownWords),
        ("x y z v w", UnknownWords),
    ],
    ids=range(9),
)
def test_invalid_text_raises_one_sentence(text: str, error: type[SentenceError]) -> None:
    with pytest.raises(error) as raised:
        VOCABULARY.split(text)
    assert 10 < len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)


def test_one_word_above_the_limit_raises_sentence_too_long() -> None:
    assert len(VOCABULARY.split("not " * MAX_WORDS)) == MAX_WORDS
    with pytest.raises(SentenceTooLong, match=f"has {MAX_WORDS + 1} words"):
        VOCABULARY.split("not " * (MAX_WORDS + 1))


def test_unknown_words_are_named_once_with_the_nearest_known_ones() -> None:
    with pytest.raises(UnknownWords, match=r"“whale”.*“naturee”") as raised:
        VOCABULARY.split("Whale not naturee whale nature")
    assert list(raised.value.nearest) == ["whale", "naturee"]
    assert raised.value.nearest["naturee"][0] == "nature"


@pytest.mark.parametrize(
    "variants",
    ["isn't isn’t ISN‘T isnʼt isn´t isn＇t is\u00adn't", "❤ ❤️ \u2060❤", "istanbul İSTANBUL i̇stanbul",
     "human ｈｕｍａｎ hu\u200dman \u202ehuman", "well-known well‑known well‐known", "é e\u0301", "“so” so «so» ‚so‘"],
)  # fmt: skip
def test_typographic_variants_are_one_word(variants: str) -> None:
    assert len(set(split_words(variants))) == 1 < len(split_words(variants))


def test_a_vocabulary_with_variants_is_read_as_it_was_stored() -> None:
    words = Words(("<BOS>", "<EOS>", "isn’t", "<PAD>"))
    assert words.split("isn't ISN’T") == ("isn’t", "isn’t")


def test_what_is_not_read_is_named() -> None:
    found = VOCABULARY.read("human zebra nature " + "not " * MAX_WORDS)
    assert found.tokens[:3] == ("human", "nature", "not") and len(found.tokens) == MAX_WORDS
    unread = f"The models never saw “zebra”. Only the first {MAX_WORDS} of {MAX_WORDS + 2} words are read."
    assert found.describe_unread() == unread
    assert VOCABULARY.read(" !? ").describe_unread("x") == "There is nothing to read. Shown is “x”."
    assert not VOCABULARY.read("human").describe_unread("x")


def test_words_are_found_in_spite_of_how_they_are_typed() -> None:
    assert VOCABULARY.split("ｈｕｍａｎ　ＮＯＴ na\u200bture") == ("human", "not", "nature")
    for typed, expected in (("humans", "human"), ("presrve", "preserve"), ("destroyed", "destroy")):
        assert VOCABULARY.nearest(typed)[0] == expected and len(set(VOCABULARY.nearest(typed))) == 3
        assert VOCABULARY.similar(typed)[0] == expected
    assert VOCABULARY.similar("xyz") == ()
    assert VOCABULARY.replace_word("Humann, not humann!", "humann", "human") == "human not human"
    with pytest.raises(UnknownWords, match=r"^The models never saw “x”, “y” and “z” and 1 more\."):
        VOCABULARY.split("x y z v")
