"""The words of a text, and the batches of the word vectors task."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
import torch

from explorer.errors import InvalidSetting, TextError
from explorer.seeds import generator
from explorer.tasks.word_similarity import analogy_hits, nearest, purity, questions_of, unit_vectors
from explorer.tasks.word_vectors import (
    UNKNOWN,
    WordData,
    WordVectorsConfig,
    draw_batch,
    keep_probability,
    noise_probability,
)
from explorer.tasks.word_vectors_grammar import grammar_text
from explorer.training.config import default_config, with_settings


def test_the_data_are_deterministic() -> None:
    text = grammar_text(400, 3)
    data = WordData(WordVectorsConfig(sentences=400, corpus_seed=3, window=3), text)
    batches = [draw_batch(data, 5, "0/7", 6, kind) for kind in (True, False)]
    values = "/".join([text, *data.words, *(str(part.tolist()) for batch in batches for part in batch)])
    assert hashlib.sha256(values.encode()).hexdigest()[:16] == "3e28081ef35d2aa2"
    data = WordData(WordVectorsConfig(), grammar_text(300, 0))
    one = draw_batch(data, 0, "0/0", 32, True)
    for seed, step in ((1, "0/0"), (0, "0/1"), (0, "1/0")):
        assert not torch.equal(one.words, draw_batch(data, seed, step, 32, True).words)


def test_counts_and_probabilities_follow_the_paper_and_short_texts_are_refused() -> None:
    data = WordData(WordVectorsConfig(min_count=2, subsampling=0.05), "A a b; a b c.\n\nb a d d e e'e d ö")
    assert data.words == (UNKNOWN, "a", "b", "d") and data.counts.tolist() == [0, 4, 3, 3]
    share = np.array([0.4, 0.3, 0.3])
    np.testing.assert_allclose(keep_probability(data.counts, 0.05)[1:], np.sqrt(0.05 / share))
    assert (keep_probability(data.counts, 0.0) == 1).all() and (keep_probability(data.counts, 1.0) == 1).all()
    powers = np.array([4, 3, 3]) ** 0.75
    np.testing.assert_allclose(noise_probability(data.counts), [0, *powers / powers.sum()])
    with pytest.raises(TextError, match="Only 2 different words"):
        WordData(WordVectorsConfig(), "one two two one")
    with pytest.raises(TextError, match="each stands alone"):
        WordData(WordVectorsConfig(), "a\n\nb\n\nc\n\nd\n\ne")
    with pytest.raises(InvalidSetting, match="SHA-256"):
        with_settings(default_config("word_vectors", "cbow"), {"corpus": "own"})


def test_pairs_are_drawn_as_often_as_the_text_has_them() -> None:
    """Against a plain loop over the text: near neighbours weigh more, and no pair leaves its line."""
    config = WordVectorsConfig(window=2, subsampling=0.2)
    data = WordData(config, "a b c a d e\n\na a f b\n\ng")
    expected: Counter[tuple[int, int]] = Counter()
    for line in ("abcade", "aafb", "g"):
        for i, word in enumerate(line):
            for j, other in enumerate(line):
                reaches = sum(0 < abs(i - j) <= reach for reach in (1, 2)) / 2
                pair = data.index[word], data.index[other]
                expected[pair] += reaches * float(data.keep[pair[0]] * data.keep[pair[1]])
    words, neighbours = data.draw_pairs(40_000, generator(0, "test"))
    found = Counter(zip(words.tolist(), neighbours.tolist(), strict=True))
    assert set(found) == {pair for pair, weight in expected.items() if weight}
    total = sum(expected.values())
    for pair, weight in expected.items():
        assert found[pair] / 40_000 == pytest.approx(weight / total, abs=0.01)


def test_windows_hold_the_neighbours_of_their_line() -> None:
    data = WordData(WordVectorsConfig(window=2, subsampling=0.0), "a b c\n\nd e\n\nf")
    words, around, present = data.draw_windows(500, generator(0, "test"))
    for word, near, there in zip(words.tolist(), around.tolist(), present.tolist(), strict=True):
        found = "".join(data.words[id] for id, is_there in zip(near, there, strict=True) if is_there)
        assert found in {"a": ("b", "bc"), "b": ("ac",), "c": ("b", "ab"), "d": ("e",), "e": ("d",)}[data.words[word]]
    assert UNKNOWN not in {data.words[id] for id in data.draw_noise(200, generator(1, "test")).flatten().tolist()}


def test_analogies_and_neighbours_of_vectors_on_a_grid() -> None:
    words = (UNKNOWN, "king", "queen", "father", "mother", "apple", "pear")
    vectors = np.array([[9, 9, 9], [1, 1, 0], [1, -1, 0], [0, 1, 1], [0, -1, 1], [5, 0, -5], [6, 0, -5]], float)
    unit = unit_vectors(vectors)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1)
    index = {word: i for i, word in enumerate(words)}
    questions = questions_of(WordVectorsConfig(corpus="tinyshakespeare"), index)
    assert sorted(map(tuple, questions.tolist())) == [(1, 2, 3, 4), (2, 1, 4, 3), (3, 4, 1, 2), (4, 3, 2, 1)]
    assert analogy_hits(unit, questions, exclude=True).all()
    wrong = questions[:, [0, 1, 2, 0]]
    assert not analogy_hits(unit, wrong, exclude=True).any()
    assert nearest(unit[[5]] @ unit.T, 1, np.array([[5]])).tolist() == [[6]]
    assert purity(unit, words)[-1] == pytest.approx(1 / 5) and len(purity(unit, ("x",) * 7)) == 0
