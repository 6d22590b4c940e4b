from __future__ import annotations

import math

import numpy as np
import pytest

from explorer.inspection.tokens import ALL, Fitted, Kind, at, fitted, learned, merge_ids, reading, smaller, words
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.tokenization.subwords import BPE
from explorer.tokenization.text import characters_per_token, train, unknown_rate

TEXTS = {
    "repeats": TextConfig(corpus="repeats", size=5_000),
    "brackets": TextConfig(corpus="brackets", size=5_000),
    "toy": TextConfig(corpus="toy", size=1_000),
}


def of(name: str) -> tuple[str, dict[Kind, Fitted]]:
    return corpora.text_of(TEXTS[name]), fitted(TEXTS[name])


def some_sizes(each: Fitted) -> list[int]:
    return sorted({each.least, each.size(each.least + 1), (each.least + each.most) // 2, each.most - 1, each.most})


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("name", TEXTS)
def test_a_smaller_tokenizer_is_the_one_that_training_with_that_size_gives(name: str, kind: Kind) -> None:
    text, every = of(name)
    for size in some_sizes(every[kind]):
        if size < every[kind].least:
            continue
        cut, trained = smaller(every[kind].tokenizer, size), train(kind, text, size)
        assert cut.tokens == trained.tokens
        assert cut.merges == trained.merges
        assert cut.encode(text).tolist() == trained.encode(text).tolist()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("name", TEXTS)
def test_lengths_and_unknown_rates_at_every_size_are_those_of_the_tokenizer(name: str, kind: Kind) -> None:
    text, every = of(name)
    each = every[kind]
    assert len(each.lengths) == len(each.characters_per_token) == len(each.unknown_rates) == each.most - each.least + 1
    for size in some_sizes(each):
        if size < each.least:
            continue
        trained, place = train(kind, text, size), size - each.least
        assert each.lengths[place] == len(trained.encode(text))
        assert each.characters_per_token[place] == pytest.approx(characters_per_token(trained, text))
        assert each.unknown_rates[place] == pytest.approx(unknown_rate(trained, text))


def test_a_merge_is_used_as_often_as_the_text_becomes_shorter_by_it() -> None:
    text, every = of("brackets")
    bpe = every["bpe"]
    assert np.diff(bpe.lengths).tolist() == (-bpe.uses).tolist()
    assert bpe.uses[0] == bpe.uses.max()
    assert bpe.lengths[0] == len([char for char in text if not char.isspace()])


def test_the_same_token_made_by_two_merges_is_counted_once() -> None:
    tokenizer = BPE(
        {"<unk>": 0, "<pad>": 1, "a": 2, "b": 3, "c": 4, "ab": 5, "bc": 6, "abc": 7},
        [("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc")],
    )
    each = Fitted(tokenizer, 9, np.array([0, 0, 0, 0, 0, 0, 0, 3]))
    assert each.uses.tolist() == [3, 0, 3, 0]
    assert each.lengths.tolist() == [9, 6, 6, 3]


def test_characters_have_one_size_and_a_wish_is_fulfilled_as_far_as_can_be() -> None:
    _, every = of("repeats")
    assert every["char"].least == every["char"].most == len(every["char"].tokenizer.tokens)
    assert every["bytes"].size(3) == every["bytes"].least == 256
    assert every["bpe"].size(100_000) == every["bpe"].most < 2_000
    assert {kind: len(tokenizer.tokens) for kind, tokenizer in at(every, 60).items()} == {
        "char": every["char"].most,
        "word": 60,
        "bpe": 60,
        "bytes": 256,
    }


def test_a_text_without_pairs_has_no_merges() -> None:
    text = "abcdefghijklmnopqrstuvwxyz"
    every = fitted(TextConfig(corpus="own", text=corpora.keep(text)))
    assert every["bpe"].least == every["bpe"].most == 28
    assert every["bpe"].uses.tolist() == []
    assert every["bpe"].lengths.tolist() == [26]


@pytest.mark.parametrize("text", ["abab", "abca abca", "a bc, (d)!", "é 🐳 x"])
@pytest.mark.parametrize("kind", ALL)
def test_the_symbols_of_a_text_with_all_merges_are_its_tokens(kind: Kind, text: str) -> None:
    tokenizer = train(kind, "abca abca (abca) bc! " * 5, 300)
    flat = [symbol for word in words(tokenizer, text) for symbol in word]
    if not merge_ids(tokenizer):
        assert flat == tokenizer.spans(text)
    else:
        assert flat[0][1] == 0
        merged = [[id for id, _, _ in word] for word in words(tokenizer, text)]
        for left, right, both in merge_ids(tokenizer):
            merged = [joined(word, left, right, both) for word in merged]
        assert [id for word in merged for id in word] == tokenizer.encode(text).tolist()


def joined(word: list[int], left: int, right: int, both: int) -> list[int]:
    made: list[int] = []
    for id in word:
        if id == right and made and made[-1] == left:
            made[-1] = both
        else:
            made.append(id)
    return made


def test_merges_are_learned_up_to_the_last_token_of_a_vocabulary() -> None:
    merges = ((1, 2, 5), (5, 3, 6), (1, 6, 6), (6, 6, 7))
    assert [learned(merges, size) for size in (4, 5, 6, 7, 8, 9)] == [0, 0, 1, 2, 4, 4]
    assert learned((), 10) == 0


def test_a_reading_of_nothing_has_no_numbers() -> None:
    found = reading(train("char", "abc", 0), "")
    assert math.isnan(found.characters_per_token) and math.isnan(found.unknown)
    assert found.back.exact


def test_what_is_lost_is_in_a_reading() -> None:
    found = reading(train("bpe", "to be or not to be", 20), "to be?")
    assert not found.back.exact
    assert "unknown character" in found.back.lost
    assert found.unknown == 1 / len(found.ids)
