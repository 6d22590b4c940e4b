from __future__ import annotations

import pytest

from explorer.environment import environment
from explorer.labs.tokens.state import TokensState, truncate_typed
from explorer.tasks.text.config import TextConfig
from explorer.ui.state import url_codec
from tests.words import assert_mentions

SHA = "a" * 64


def test_the_url_holds_what_differs_from_the_defaults_and_is_parsed_back() -> None:
    state = TokensState("own", SHA, "to be", "bytes", 700, "blocks", 4, "contiguous")
    assert url_codec.write(TokensState()) == {}
    assert url_codec.read(TokensState, url_codec.write(state)) == (state, ())
    assert url_codec.read(TokensState, url_codec.write(TokensState(say=""))) == (TokensState(say=""), ())


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("corpus", "bible", "corpus = bible … not … tinyshakespeare, toy"),
        ("text", "../etc", "it is the SHA-256 of your own text"),
        ("vocabulary", "1", "Give a number from 2 to 2,000"),
        ("vocabulary", "99999", "Give a number from 2 to 2,000"),
        ("vocabulary", "many", "Give a number from 2 to 2,000"),
        ("context", "17", "Give a number from 1 to 16"),
        ("rows", "columns", "Give one of blocks, sentences, prefixes"),
        ("batches", "<b>", "Give one of random, contiguous"),
        ("nonsense", "1", "This page has no “nonsense”"),
    ],
)
def test_a_bad_url_parameter_is_reported_and_the_others_are_kept(name: str, text: str, sentence: str) -> None:
    state, problems = url_codec.read(TokensState, {name: text, "tokenizer": "word"})
    assert state == TokensState(tokenizer="word")
    assert len(problems) == 1
    assert_mentions(problems[0], sentence)


def test_contradictory_settings_are_reported_and_dropped() -> None:
    state, problems = TokensState(rows="sentences", batches="contiguous", text=SHA).validate()
    assert state == TokensState(rows="sentences")
    assert [problem.split(" goes with")[0] for problem in problems] == ["batches = contiguous", "text"]
    assert TokensState(batches="contiguous").validate() == (TokensState(batches="contiguous"), ())


def test_another_text_drops_the_typed_text_and_other_rows_drop_contiguous_batches() -> None:
    assert TokensState(say="x", vocabulary=9).with_corpus("own", SHA) == TokensState("own", SHA, vocabulary=9)
    assert TokensState(batches="contiguous").with_rows("prefixes") == TokensState(rows="prefixes")
    assert TokensState(batches="contiguous").with_rows("blocks") == TokensState(batches="contiguous")


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("First Citizen:\nBefore we proceed.\n\nAll:", "First Citizen:\nBefore we proceed."),
        ("abca " * 100, ("abca " * 24).strip()),
        ("a" * 500, "a" * 120),
        ("short", "short"),
    ],
)
def test_the_text_box_holds_the_beginning_of_the_corpus_at_first(text: str, typed: str) -> None:
    assert TokensState().typed_text(text) == typed
    assert TokensState(say="").typed_text(text) == ""


@pytest.mark.parametrize(("kind", "vocabulary"), [("bytes", 256), ("bpe", 3), ("word", 2), ("char", 2)])
def test_the_vocabulary_of_the_task_is_at_least_the_smallest_possible(kind: str, vocabulary: int) -> None:
    state, _ = url_codec.read(TokensState, {"tokenizer": kind, "vocabulary": "2"})
    assert state.task_config(TextConfig(corpus="toy")).vocabulary == vocabulary
    assert state.task_config(TextConfig(corpus="toy")).corpus == "toy"


def test_a_very_long_typed_text_is_truncated_with_a_sentence() -> None:
    most = environment().most_text
    assert truncate_typed("a" * most) == ("a" * most, "")
    shown, sentence = truncate_typed("é" * (most + 1))
    assert shown == "é" * most
    assert f"has {most + 1:,} characters; the first {most:,}" in sentence
