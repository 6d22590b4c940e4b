from __future__ import annotations

import pytest

from explorer.environment import environment
from explorer.tasks.text import TextConfig
from explorer.ui import address
from explorer.ui.desk import Desk, config, readable

SHA = "a" * 64


def test_the_address_holds_what_differs_and_is_read_back() -> None:
    desk = Desk("own", SHA, "to be", "bytes", 700, "blocks", 4, "contiguous")
    assert address.write(Desk()) == {}
    assert address.read(Desk, address.write(desk)) == (desk, ())
    assert address.read(Desk, address.write(Desk(say=""))) == (Desk(say=""), ())


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("corpus", "bible", "corpus = bible is not possible. Give one of tinyshakespeare, toy"),
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
def test_a_bad_part_of_an_address_is_a_sentence_and_the_rest_is_kept(name: str, text: str, told: str) -> None:
    desk, problems = address.read(Desk, {name: text, "tokenizer": "word"})
    assert desk == Desk(tokenizer="word")
    assert len(problems) == 1 and told in problems[0]


def test_what_contradicts_itself_is_said_and_left_out() -> None:
    desk, problems = Desk(rows="sentences", batches="contiguous", text=SHA).settled()
    assert desk == Desk(rows="sentences")
    assert [problem.split(" goes with")[0] for problem in problems] == ["batches = contiguous", "text"]
    assert Desk(batches="contiguous").settled() == (Desk(batches="contiguous"), ())


def test_another_text_forgets_what_was_typed_and_other_rows_what_cannot_go_on() -> None:
    assert Desk(say="x", vocabulary=9).with_corpus("own", SHA) == Desk("own", SHA, vocabulary=9)
    assert Desk(batches="contiguous").with_rows("prefixes") == Desk(rows="prefixes")
    assert Desk(batches="contiguous").with_rows("blocks") == Desk(batches="contiguous")


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("First Citizen:\nBefore we proceed.\n\nAll:", "First Citizen:\nBefore we proceed."),
        ("abca " * 100, ("abca " * 24).strip()),
        ("a" * 500, "a" * 120),
        ("short", "short"),
    ],
)
def test_before_anybody_types_there_stands_how_the_text_begins(text: str, typed: str) -> None:
    assert Desk().typed(text) == typed
    assert Desk(say="").typed(text) == ""


@pytest.mark.parametrize(("kind", "vocabulary"), [("bytes", 256), ("bpe", 3), ("word", 2), ("char", 2)])
def test_the_task_has_no_vocabulary_that_cannot_be(kind: str, vocabulary: int) -> None:
    desk, _ = address.read(Desk, {"tokenizer": kind, "vocabulary": "2"})
    assert config(desk, TextConfig(corpus="toy")).vocabulary == vocabulary
    assert config(desk, TextConfig(corpus="toy")).corpus == "toy"


def test_of_a_very_long_typed_text_the_beginning_is_shown_and_that_is_said() -> None:
    most = environment().most_text
    assert readable("a" * most) == ("a" * most, "")
    shown, told = readable("é" * (most + 1))
    assert shown == "é" * most
    assert f"has {most + 1:,} characters; the first {most:,}" in told
