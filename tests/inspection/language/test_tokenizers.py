from __future__ import annotations

import math

import numpy as np
import pytest

from explorer.inspection.language.tokenizers import (
    KINDS,
    Kind,
    TrainedTokenizer,
    initial_symbols,
    merge_count,
    merge_ids,
    tokenize,
    train_tokenizers,
    truncate_all,
    truncate_tokenizer,
)
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.subwords import BPE
from explorer.tokenization.text import characters_per_token, train, unknown_rate

TEXTS = {
    "repeats": TextConfig(corpus="repeats", size=5_000),
    "brackets": TextConfig(corpus="brackets", size=5_000),
    "toy": TextConfig(corpus="toy", size=1_000),
}


def train_on(name: str) -> tuple[str, dict[Kind, TrainedTokenizer]]:
    return corpora.load_text(TEXTS[name]), train_tokenizers(TEXTS[name])


def some_sizes(each: TrainedTokenizer) -> list[int]:
    return sorted(
        {
            each.min_vocabulary,
            each.nearest_vocabulary(each.min_vocabulary + 1),
            (each.min_vocabulary + each.max_vocabulary) // 2,
            each.max_vocabulary - 1,
            each.max_vocabulary,
        }
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_truncated_tokenizer_equals_one_trained_at_that_size(name: str, kind: Kind) -> None:
    text, by_kind = train_on(name)
    for size in some_sizes(by_kind[kind]):
        if size < by_kind[kind].min_vocabulary:
            continue
        truncated, trained = truncate_tokenizer(by_kind[kind].tokenizer, size), train(kind, text, size)
        assert truncated.tokens == trained.tokens
        assert truncated.merges == trained.merges
        assert truncated.encode(text).tolist() == trained.encode(text).tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TEXTS)
def test_lengths_and_unknown_rates_equal_those_of_tokenizers_trained_at_that_size(name: str, kind: Kind) -> None:
    text, by_kind = train_on(name)
    each = by_kind[kind]
    assert (
        len(each.lengths)
        == len(each.characters_per_token)
        == len(each.unknown_rates)
        == each.max_vocabulary - each.min_vocabulary + 1
    )
    for size in some_sizes(each):
        if size < each.min_vocabulary:
            continue
        trained, place = train(kind, text, size), size - each.min_vocabulary
        assert each.lengths[place] == len(trained.encode(text))
        assert each.characters_per_token[place] == pytest.approx(characters_per_token(trained, text))
        assert each.unknown_rates[place] == pytest.approx(unknown_rate(trained, text))


def test_the_uses_of_a_merge_equal_the_shortening_of_the_text() -> None:
    text, by_kind = train_on("brackets")
    bpe = by_kind["bpe"]
    assert np.diff(bpe.lengths).tolist() == (-bpe.merge_uses).tolist()
    assert bpe.merge_uses[0] == bpe.merge_uses.max()
    assert bpe.lengths[0] == len([char for char in text if not char.isspace()])


def test_two_merges_with_the_same_result_are_counted_once() -> None:
    tokenizer = BPE(
        {"<unk>": 0, "<pad>": 1, "a": 2, "b": 3, "c": 4, "ab": 5, "bc": 6, "abc": 7},
        [("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc")],
    )
    each = TrainedTokenizer(tokenizer, 9, np.array([0, 0, 0, 0, 0, 0, 0, 3]))
    assert each.merge_uses.tolist() == [3, 0, 3, 0]
    assert each.lengths.tolist() == [9, 6, 6, 3]


def test_character_tokenizers_have_one_size_and_sizes_are_clamped() -> None:
    _, by_kind = train_on("repeats")
    assert by_kind["char"].min_vocabulary == by_kind["char"].max_vocabulary == len(by_kind["char"].tokenizer.tokens)
    assert by_kind["bytes"].nearest_vocabulary(3) == by_kind["bytes"].min_vocabulary == 256
    assert by_kind["bpe"].nearest_vocabulary(100_000) == by_kind["bpe"].max_vocabulary < 2_000
    assert {kind: len(tokenizer.tokens) for kind, tokenizer in truncate_all(by_kind, 60).items()} == {
        "char": by_kind["char"].max_vocabulary,
        "word": 60,
        "bpe": 60,
        "bytes": 256,
    }


def test_a_text_without_repeated_pairs_has_no_merges() -> None:
    text = "abcdefghijklmnopqrstuvwxyz"
    by_kind = train_tokenizers(TextConfig(corpus="own", text=corpora.store_text(text)))
    assert by_kind["bpe"].min_vocabulary == by_kind["bpe"].max_vocabulary == 28
    assert by_kind["bpe"].merge_uses.tolist() == []
    assert by_kind["bpe"].lengths.tolist() == [26]


@pytest.mark.parametrize("text", ["abab", "abca abca", "a bc, (d)!", "é 🐳 x"])
@pytest.mark.parametrize("kind", KINDS)
def test_applying_all_merges_to_the_initial_symbols_gives_the_tokens(kind: Kind, text: str) -> None:
    tokenizer = train(kind, "abca abca (abca) bc! " * 5, 300)
    flat = [symbol for word in initial_symbols(tokenizer, text) for symbol in word]
    if not merge_ids(tokenizer):
        assert flat == tokenizer.spans(text)
    else:
        assert flat[0][1] == 0
        merged = [[id for id, _, _ in word] for word in initial_symbols(tokenizer, text)]
        for left, right, merged_id in merge_ids(tokenizer):
            merged = [apply_merges(word, left, right, merged_id) for word in merged]
        assert [id for word in merged for id in word] == tokenizer.encode(text).tolist()


def apply_merges(word: list[int], left: int, right: int, merged_id: int) -> list[int]:
    merged: list[int] = []
    for id in word:
        if id == right and merged and merged[-1] == left:
            merged[-1] = merged_id
        else:
            merged.append(id)
    return merged


def test_merge_count_by_vocabulary_size() -> None:
    merges = ((1, 2, 5), (5, 3, 6), (1, 6, 6), (6, 6, 7))
    assert [merge_count(merges, size) for size in (4, 5, 6, 7, 8, 9)] == [0, 0, 1, 2, 4, 4]
    assert merge_count((), 10) == 0


def test_tokenizing_an_empty_text_gives_nan() -> None:
    result = tokenize(train("char", "abc", 0), "")
    assert math.isnan(result.characters_per_token) and math.isnan(result.unknown)
    assert result.round_trip.exact


def test_losses_of_the_round_trip_are_reported() -> None:
    result = tokenize(train("bpe", "to be or not to be", 20), "to be?")
    assert not result.round_trip.exact
    assert "unknown character" in result.round_trip.differences
    assert result.unknown == 1 / len(result.ids)
