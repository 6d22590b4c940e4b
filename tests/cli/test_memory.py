"""The commands on included runs of the recall task, in this process."""

from __future__ import annotations

import pytest

from tests.terminal import RunCommand, parse_json_lines


def test_predict_names_the_first_symbol(ask: RunCommand) -> None:
    code, out, err = ask("predict", "recall-50-gru-chrono", "b" + "ab" * 30, "--json")
    (prediction,) = parse_json_lines(out)
    assert (code, err) == (0, "")
    assert (prediction["symbols"], prediction["first"], prediction["trained_at"]) == (61, "b", 50)
    assert prediction["probabilities"]["b"] > 0.95 and sum(prediction["probabilities"].values()) == pytest.approx(1)
    code, out, _ = ask("predict", "recall-50-gru-chrono", "abba")
    assert code == 0 and out.startswith("a ") and "█" in out


@pytest.mark.parametrize(("sequence", "message"), [("abxa", "“x” is no symbol"), (" ", "The sequence is empty")])
def test_an_invalid_sequence_prints_one_sentence(ask: RunCommand, sequence: str, message: str) -> None:
    code, out, err = ask("predict", "recall-50-gru-chrono", sequence)
    assert code == 2 and not out and message in err


def test_an_impossible_date_is_translated_and_reported(ask: RunCommand) -> None:
    code, out, err = ask("predict", "dates-additive", "31 february 1999")
    assert code == 0 and "There is no such date: february 1999 has 28 days, not 31." in err
    assert len(out.splitlines()) == 3


def test_a_too_long_sequence_is_refused_with_the_limit_and_the_time(ask: RunCommand) -> None:
    code, out, err = ask("train", "--task", "recall", "--model", "gru", "--set", "length=10000")
    assert code == 2 and not out
    assert "10,000 symbols in a sequence; this server allows 1,000" in err and "give --yes" in err


def test_inspect_names_the_page_that_shows_the_attention_of_a_recall_run(ask: RunCommand) -> None:
    code, _, err = ask("inspect", "recall-50-transformer-learned", "abba")
    assert code == 2 and "This run learned recall" in err and "on the page Memory" in err
