from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from explorer.inspection.language import tokenizers
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.tokenization.subwords import BPE
from explorer.tokenization.text import train, unknown_rate


def train_on(name: Any) -> tuple[str, dict[tokenizers.Kind, tokenizers.TrainedTokenizer]]:
    config = TextConfig(corpus=name, size=1_000 if name == "toy" else 2_000)
    return corpora.load_text(config), tokenizers.train_tokenizers(config)


@pytest.mark.parametrize("kind", tokenizers.KINDS)
@pytest.mark.parametrize("name", ["brackets", "toy"])
def test_every_size_equals_a_tokenizer_trained_at_that_size(name: str, kind: tokenizers.Kind) -> None:
    text, by_kind = train_on(name)
    each = by_kind[kind]
    sizes = each.max_vocabulary - each.min_vocabulary + 1
    assert len(each.lengths) == len(each.characters_per_token) == len(each.unknown_rates) == sizes
    low, high = each.min_vocabulary, each.max_vocabulary
    for size in {low, each.nearest_vocabulary(low + 1), (low + high) // 2, max(low, high - 1), high}:
        truncated, trained = tokenizers.truncate_tokenizer(each.tokenizer, size), train(kind, text, size)
        assert (truncated.tokens, truncated.merges) == (trained.tokens, trained.merges)
        assert truncated.encode(text).tolist() == trained.encode(text).tolist()
        place = size - each.min_vocabulary
        assert each.lengths[place] == len(trained.encode(text))
        assert each.characters_per_token[place] == pytest.approx(len(text) / len(trained.encode(text)))
        assert each.unknown_rates[place] == pytest.approx(unknown_rate(trained, text))


def test_the_uses_of_a_merge_equal_the_shortening_of_the_text() -> None:
    text, by_kind = train_on("brackets")
    bpe = by_kind["bpe"]
    assert np.diff(bpe.lengths).tolist() == (-bpe.merge_uses).tolist()
    assert bpe.merge_uses[0] == bpe.merge_uses.max()
    assert bpe.lengths[0] == len([char for char in text if not char.isspace()])
    tokens = ("<unk>", "<pad>", "a", "b", "c", "ab", "bc", "abc")
    merges = [("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc")]
    tokenizer = BPE({token: id for id, token in enumerate(tokens)}, merges)
    each = tokenizers.TrainedTokenizer(tokenizer, 9, np.array([0, 0, 0, 0, 0, 0, 0, 3]))
    assert each.merge_uses.tolist() == [3, 0, 3, 0]
    assert each.lengths.tolist() == [9, 6, 6, 3]


def test_character_tokenizers_have_one_size_and_sizes_are_clamped() -> None:
    _, by_kind = train_on("repeats")
    assert by_kind["char"].min_vocabulary == by_kind["char"].max_vocabulary == len(by_kind["char"].tokenizer.tokens)
    assert by_kind["bytes"].nearest_vocabulary(3) == by_kind["bytes"].min_vocabulary == 256
    assert by_kind["bpe"].nearest_vocabulary(100_000) == by_kind["bpe"].max_vocabulary < 2_000
    sizes = {kind: each.nearest_vocabulary(60) for kind, each in by_kind.items()}
    assert sizes == {"char": by_kind["char"].max_vocabulary, "word": 60, "bpe": 60, "bytes": 256}


@pytest.mark.parametrize("kind", tokenizers.KINDS)
def test_applying_all_merges_to_the_initial_symbols_gives_the_tokens(kind: tokenizers.Kind) -> None:
    tokenizer, text = train(kind, "abca abca (abca) bc! " * 5, 300), "abca, a bc (é 🐳)!"
    words = tokenizers.initial_symbols(tokenizer, text)
    if not tokenizers.merge_ids(tokenizer):
        assert words == [tokenizer.spans(text)]
        return
    assert words[0][0][1] == 0
    merged = [[id for id, _, _ in word] for word in words]
    for left, right, merged_id in tokenizers.merge_ids(tokenizer):
        for word in merged:
            for i in range(len(word) - 1):
                if word[i : i + 2] == [left, right]:
                    word[i : i + 2] = [merged_id]
    assert [id for word in merged for id in word] == tokenizer.encode(text).tolist()


def test_merge_counts_and_texts_that_have_no_tokens_or_lose_characters() -> None:
    merges = ((1, 2, 5), (5, 3, 6), (1, 6, 6), (6, 6, 7))
    assert [tokenizers.merge_count(merges, size) for size in (4, 5, 6, 7, 8, 9)] == [0, 0, 1, 2, 4, 4]
    assert tokenizers.merge_count((), 10) == 0
    config = TextConfig(corpus="own", text=corpora.store_text("abcdefghijklmnopqrstuvwxyz"))
    alone = tokenizers.train_tokenizers(config)["bpe"]
    assert (alone.min_vocabulary, alone.max_vocabulary) == (28, 28)
    assert (alone.merge_uses.tolist(), alone.lengths.tolist()) == ([], [26])
    result = tokenizers.tokenize(train("char", "abc", 0), "")
    assert math.isnan(result.characters_per_token) and math.isnan(result.unknown) and result.round_trip.exact
    result = tokenizers.tokenize(train("bpe", "to be or not to be", 20), "to be?")
    assert not result.round_trip.exact and "unknown character" in result.round_trip.differences
    assert result.unknown == 1 / len(result.ids) and result.characters_per_token == 6 / len(result.ids)
