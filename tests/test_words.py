import pytest

from tests.words import assert_mentions, assert_states

SENTENCE = "The GRU predicts best, with 1.500 nats a character; the n-gram has 1.600, −0.2 less. RNN: “a” not solved."


@pytest.mark.parametrize(
    "statement",
    ["GRU … best … 1.500 nats … n-gram … 1.600 … −0.2 less … RNN … “a” not", "GRU … 1.500 … 1.600, −0.2 … not solved."],
)
def test_a_statement_is_found_in_a_sentence(statement: str) -> None:
    assert_states(SENTENCE, statement)
    assert_mentions(f"There are 3 models, and no other. {SENTENCE} It took 10 s.", statement)


@pytest.mark.parametrize(
    "statement",
    [
        "GRU … 1.5 … 1.600 … −0.2 … not",  # another number
        "GRU … 1.500 … 1.600 … 0.2 … not",  # another sign
        "1.500 … GRU … 1.600 … −0.2 … not",  # another order
        "GRU … 1.500 … −0.2 … not",  # a number that the sentence has besides
        "GRU … 1.500 … 1.600 … −0.2 … RNN … solved",  # a negation that the sentence has besides
        "GRU … worst … 1.500 … 1.600 … −0.2 … not",  # another word
    ],
)
def test_another_statement_is_not_found(statement: str) -> None:
    for check in (assert_states, assert_mentions):
        with pytest.raises(AssertionError):
            check(SENTENCE, statement)


def test_the_empty_statement_is_that_of_an_empty_text() -> None:
    assert_states("", "")
    with pytest.raises(AssertionError):
        assert_states("anything", "")


def test_what_is_mentioned_may_stand_among_other_numbers() -> None:
    assert_mentions(SENTENCE, "n-gram … 1.600")
    with pytest.raises(AssertionError):
        assert_states(SENTENCE, "n-gram … 1.600")


def test_backslashes_of_markdown_are_left_out() -> None:
    assert_states("It has 1\\.5 nats\\.", "1.5 nats.")
