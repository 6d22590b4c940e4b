from __future__ import annotations

from explorer.environment import environment
from explorer.labs.tokens.state import TokensState, truncate_typed
from explorer.tasks.text.config import TextConfig
from explorer.ui.state import url_codec

SHA = "a" * 64


def test_contradictory_settings_are_reported_and_dropped() -> None:
    state, problems = TokensState(rows="sentences", batches="contiguous", text=SHA).validate()
    assert state == TokensState(rows="sentences")
    assert [problem.split(" goes with")[0] for problem in problems] == ["batches = contiguous", "text"]
    assert TokensState(batches="contiguous").validate() == (TokensState(batches="contiguous"), ())


def test_another_text_drops_the_typed_text_and_other_rows_drop_contiguous_batches() -> None:
    assert TokensState(say="x", vocabulary=9).with_corpus("own", SHA) == TokensState("own", SHA, vocabulary=9)
    assert TokensState(batches="contiguous").with_rows("prefixes") == TokensState(rows="prefixes")
    assert TokensState(batches="contiguous").with_rows("blocks") == TokensState(batches="contiguous")


def test_the_text_box_holds_the_beginning_of_the_corpus_at_first() -> None:
    two = "First Citizen:\nBefore we proceed.\n\nAll:"
    texts = {two: two[:33], "abca " * 100: ("abca " * 24).strip(), "a" * 500: "a" * 120, "short": "short"}
    assert [TokensState().typed_text(text) for text in texts] == list(texts.values())
    assert TokensState(say="").typed_text(two) == ""


def test_the_vocabulary_of_the_task_is_at_least_the_smallest_possible() -> None:
    for kind, vocabulary in (("bytes", 256), ("bpe", 3), ("word", 2), ("char", 2)):
        state, _ = url_codec.read(TokensState, {"tokenizer": kind, "vocabulary": "2"})
        task = state.task_config(TextConfig(corpus="toy"))
        assert (task.vocabulary, task.corpus) == (vocabulary, "toy")


def test_a_very_long_typed_text_is_truncated_with_a_sentence() -> None:
    most = environment().most_text
    assert truncate_typed("a" * most) == ("a" * most, "")
    shown, sentence = truncate_typed("é" * (most + 1))
    assert shown == "é" * most
    assert f"has {most + 1:,} characters; the first {most:,}" in sentence
