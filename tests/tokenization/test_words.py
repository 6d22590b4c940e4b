from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.errors import EmptySentence, SentenceError, SentenceTooLong, UnknownWords
from explorer.tasks.negation import VOCABULARY
from explorer.tokenization.words import MAX_WORDS

sentences = st.lists(st.sampled_from(VOCABULARY.words), min_size=1, max_size=MAX_WORDS).map(tuple)
around = st.text(alphabet=" .,;:!?\"'()[]{}«»“”…–—¡¿。，\t\n", max_size=5)


@given(sentences)
def test_decoding_gives_the_encoded_words_back(words: tuple[str, ...]) -> None:
    assert VOCABULARY.decode(VOCABULARY.encode(words)) == words


@given(sentences)
def test_encoding_puts_a_sentence_between_its_markers(words: tuple[str, ...]) -> None:
    ids = VOCABULARY.encode(words)
    assert (VOCABULARY.tokens[ids[0]], VOCABULARY.tokens[ids[-1]], len(ids)) == ("<BOS>", "<EOS>", len(words) + 2)


@given(sentences, st.data())
def test_case_and_punctuation_around_a_word_change_nothing(words: tuple[str, ...], data: st.DataObject) -> None:
    case = st.sampled_from([str.upper, str.lower, str.title, str.swapcase])
    pieces = [data.draw(around) + data.draw(case)(word) + data.draw(around) for word in words]
    assert VOCABULARY.split(" ".join(pieces)) == words


@given(st.text(max_size=300))
def test_any_text_is_a_sentence_or_a_sentence_error(text: str) -> None:
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
def test_bad_text_is_one_sentence(text: str, error: type[SentenceError]) -> None:
    with pytest.raises(error) as raised:
        VOCABULARY.split(text)
    assert 10 < len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)


def test_as_many_words_as_allowed_and_not_one_more() -> None:
    assert len(VOCABULARY.split("not " * MAX_WORDS)) == MAX_WORDS
    with pytest.raises(SentenceTooLong, match=f"has {MAX_WORDS + 1} words"):
        VOCABULARY.split("not " * (MAX_WORDS + 1))


def test_fullwidth_letters_are_letters() -> None:
    assert VOCABULARY.split("ｈｕｍａｎ　ＮＯＴ") == ("human", "not")


def test_unknown_words_are_named_once_with_the_nearest_known_ones() -> None:
    with pytest.raises(UnknownWords, match=r"“whale”.*“naturee”") as raised:
        VOCABULARY.split("Whale not naturee whale nature")
    assert list(raised.value.nearest) == ["whale", "naturee"]
    assert raised.value.nearest["naturee"][0] == "nature"


@given(st.text(max_size=100))
def test_nearest_are_three_known_words(word: str) -> None:
    nearest = VOCABULARY.nearest(word)
    assert len(set(nearest)) == 3
    assert set(nearest) <= set(VOCABULARY.words)


@pytest.mark.parametrize(("typed", "meant"), [("humans", "human"), ("presrve", "preserve"), ("destroyed", "destroy")])
def test_a_slip_is_near_what_was_meant(typed: str, meant: str) -> None:
    assert VOCABULARY.nearest(typed)[0] == meant


def test_markers_cannot_be_typed() -> None:
    assert set(VOCABULARY.markers).isdisjoint(VOCABULARY.words)
    assert len(VOCABULARY.words) == 8
