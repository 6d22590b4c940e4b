import pytest

from tests.words import assert_mentions, assert_states

SENTENCE = "The GRU predicts best, with 1\\.500 nats a character; the n-gram has 1.600, −0.2 less. RNN: “a” not solved."


def test_a_statement_is_found_unless_a_number_a_name_their_order_or_a_negation_differs() -> None:
    assert_states("", "")
    assert_states(SENTENCE, "GRU … best … 1.500 nats … n-gram … 1.600 … −0.2 less … RNN … “a” not")
    assert_mentions(SENTENCE, "n-gram … 1.600")
    for statement in ("n-gram … 1.600", "GRU … 1.500 … 1.600 … −0.2 … RNN … solved", ""):
        with pytest.raises(AssertionError):
            assert_states(SENTENCE, statement)
    for statement in ("GRU … 1.5 …", "1.600 … 0.2", "1.500 … GRU", "1.500 … −0.2", "GRU … worst", "RNN … solved"):
        with pytest.raises(AssertionError):
            assert_mentions(SENTENCE, statement)
