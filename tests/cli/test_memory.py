"""The commands on runs that recall, in this process; what ships is asked."""

from __future__ import annotations

import pytest

from tests.terminal import RunCommand, parse_json_lines


def test_the_first_of_some_symbols_is_named(ask: RunCommand) -> None:
    code, out, err = ask("predict", "recall-50-gru-chrono", "b" + "ab" * 30, "--json")
    (said,) = parse_json_lines(out)
    assert (code, err) == (0, "")
    assert (said["symbols"], said["first"], said["trained_at"]) == (61, "b", 50)
    assert said["probabilities"]["b"] > 0.95 and sum(said["probabilities"].values()) == pytest.approx(1)
    code, out, _ = ask("predict", "recall-50-gru-chrono", "abba")
    assert code == 0 and out.startswith("a ") and "█" in out


@pytest.mark.parametrize(("typed", "words"), [("abxa", "“x” is no symbol"), (" ", "The sequence is empty")])
def test_what_is_no_sequence_is_said_in_one_sentence(ask: RunCommand, typed: str, words: str) -> None:
    code, out, err = ask("predict", "recall-50-gru-chrono", typed)
    assert code == 2 and not out and words in err


def test_a_date_that_is_none_is_answered_and_said_to_be_none(ask: RunCommand) -> None:
    code, out, err = ask("predict", "dates-additive", "31 february 1999")
    assert code == 0 and "There is no such date: february 1999 has 28 days, not 31." in err
    assert len(out.splitlines()) == 3


def test_ten_thousand_symbols_are_refused_with_the_limit_and_the_time(ask: RunCommand) -> None:
    code, out, err = ask("train", "--task", "recall", "--model", "gru", "--set", "length=10000")
    assert code == 2 and not out
    assert "10,000 symbols in a sequence, about " in err and "of training; this server allows 1,000" in err


def test_an_attention_that_is_shown_elsewhere_is_said_to_be(ask: RunCommand) -> None:
    code, _, err = ask("inspect", "recall-50-transformer-learned", "abba")
    assert code == 2 and "This run learned recall" in err and "on the page Memory" in err
