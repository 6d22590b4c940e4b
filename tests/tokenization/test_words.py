from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import EmptySentence, SentenceError, SentenceTooLong, UnknownWords
from explorer.tasks.negation import VOCABULARY
from explorer.tokenization.words import MAX_WORDS

sentences = st.lists(st.sampled_from(VOCABULARY.words), min_size=1, max_size=MAX_WORDS).map(tuple)
punctuation = st.text(alphabet=" .,;:!?\"'()[]{}«»“”…–—¡¿。，\t\n", max_size=5)


@given(sentences)
def test_decoding_inverts_encoding(words: tuple[str, ...]) -> None:
    assert VOCABULARY.decode(VOCABULARY.encode(words)) == words


@given(sentences)
def test_encoding_adds_markers_at_both_ends(words: tuple[str, ...]) -> None:
    ids = VOCABULARY.encode(words)
    assert (VOCABULARY.tokens[ids[0]], VOCABULARY.tokens[ids[-1]], len(ids)) == ("<BOS>", "<EOS>", len(words) + 2)


@given(sentences, st.data())
def test_case_and_surrounding_punctuation_are_ignored(words: tuple[str, ...], data: st.DataObject) -> None:
    case = st.sampled_from([str.upper, str.lower, str.title, str.swapcase])
    pieces = [data.draw(punctuation) + data.draw(case)(word) + data.draw(punctuation) for word in words]
    assert VOCABULARY.split(" ".join(pieces)) == words


@given(st.text(max_size=300))
def test_any_text_is_split_or_raises_sentence_error(text: str) -> None:
    try:
        words = VOCABULARY.split(text)
    except SentenceError as error:
        assert str(error)
        assert "\n" not in str(error)
    else:
        assert set(words) <= set(VOCABULARY.words)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", EmptySentence),
        ("  \t\n ", EmptySentence),
        ("... !? “”", EmptySentence),
        ("\N{NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}", EmptySentence),
        ("🌍 🔥", UnknownWords),
        ("\u202eerutan namuh\u202c", UnknownWords),
        ("אדם לא הורס טבע", UnknownWords),
        ("human\x00nature \x07\x1b[31m", UnknownWords),
        ("<script>alert(1)</script>", UnknownWords),
        ("\ud800", UnknownWords),
        ("a" * 1_000_000, UnknownWords),
        ("not " * 10_000, SentenceTooLong),
        ("<BOS> human <PAD>", UnknownWords),
        ("preserve-nature", UnknownWords),
        ("x y z v w", UnknownWords),
    ],
    ids=range(15),
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


def test_fullwidth_letters_equal_ascii_letters() -> None:
    assert VOCABULARY.split("ｈｕｍａｎ　ＮＯＴ") == ("human", "not")


def test_unknown_words_are_named_once_with_the_nearest_known_ones() -> None:
    with pytest.raises(UnknownWords, match=r"“whale”.*“naturee”") as raised:
        VOCABULARY.split("Whale not naturee whale nature")
    assert list(raised.value.nearest) == ["whale", "naturee"]
    assert raised.value.nearest["naturee"][0] == "nature"


@given(st.text(max_size=100))
def test_nearest_returns_three_words_of_the_vocabulary(word: str) -> None:
    nearest = VOCABULARY.nearest(word)
    assert len(set(nearest)) == 3
    assert set(nearest) <= set(VOCABULARY.words)


@pytest.mark.parametrize(
    ("typed", "expected"), [("humans", "human"), ("presrve", "preserve"), ("destroyed", "destroy")]
)
def test_the_nearest_word_corrects_a_typing_error(typed: str, expected: str) -> None:
    assert VOCABULARY.nearest(typed)[0] == expected


def test_markers_are_not_words() -> None:
    assert set(VOCABULARY.markers).isdisjoint(VOCABULARY.words)
    assert len(VOCABULARY.words) == 8
