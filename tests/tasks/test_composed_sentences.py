"""The grammar of English sentences that judge something: its classes, and what training never shows."""

from __future__ import annotations

import pytest

from explorer.tasks.text import english_grammar as grammar
from explorer.tokenization.english import split_english

COMPOSED = grammar.compose(4_000, 1)
NEW_WORDS, NEW_FORMS = grammar.compose_new_words(2_000, 1), grammar.compose_new_forms(2_000, 1)


@pytest.mark.parametrize("sentences", [COMPOSED, NEW_WORDS, NEW_FORMS], ids=["known", "new words", "new forms"])
def test_half_of_the_sentences_are_positive_and_a_third_are_turned(sentences: list[grammar.Composed]) -> None:
    assert 0.45 < sum(each.label for each in sentences) / len(sentences) < 0.55
    assert 0.25 < sum(each.turned for each in sentences) / len(sentences) < 0.5
    assert not any("{" in each.text or "(" in each.text or "|" in each.text for each in sentences)


def test_the_class_is_that_of_the_adjective_unless_the_form_turns_it() -> None:
    classes = {word: label for label, words in grammar.ADJECTIVES.items() for word in words.split()}
    assert not set(grammar.ADJECTIVES[0].split()) & set(grammar.ADJECTIVES[1].split())
    for each in NEW_WORDS:
        (label,) = {classes[word] for word in split_english(each.text) if word in grammar.NEW_ADJECTIVES}
        assert each.label == label ^ each.turned, each.text


def test_training_never_shows_the_words_and_the_forms_of_the_test() -> None:
    assert all(grammar.NEW_ADJECTIVES.isdisjoint(split_english(each.text)) for each in (*COMPOSED, *NEW_FORMS))
    assert all(not grammar.NEW_ADJECTIVES.isdisjoint(split_english(each.text)) for each in NEW_WORDS)
    assert not {each.text for each in NEW_FORMS} & {each.text for each in grammar.compose(40_000, 2)}


def test_sentences_follow_from_their_seed() -> None:
    assert grammar.compose(4_000, 1) == COMPOSED != grammar.compose(4_000, 2)
