from __future__ import annotations

import numpy as np
import pytest

from explorer.inspection.transformer.positions import POSITION_KINDS, learned_positions, word_order_distances
from explorer.run_store import store

DOG, MAN = ["the", "dog", "bit", "the", "man"], ["the", "man", "bit", "the", "dog"]


def test_only_an_encoder_without_positions_ignores_word_order() -> None:
    distances = {(one.positions, one.causal): one for one in word_order_distances(DOG, MAN, seeds=3)}
    assert set(distances) == {(kind, causal) for kind in POSITION_KINDS for causal in (False, True)}
    blind = distances["none", False]
    assert blind.sentence_distance.shape == (3,) and blind.sentence_distance.max() < 1e-5
    assert blind.word_distance is not None and blind.word_distance.max() < 1e-5, "each word has the same vector in both"
    for key, one in distances.items():
        if key != ("none", False):
            assert one.sentence_distance.min() > 1e-3, key


def test_distances_are_reproducible_and_differ_between_seeds() -> None:
    first, second = (word_order_distances(DOG, MAN, seeds=2) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.sentence_distance, other.sentence_distance)
    assert first[1].sentence_distance[0] != first[1].sentence_distance[1]


def test_different_words_are_distinguished_by_all_models_and_have_no_word_distance() -> None:
    distances = word_order_distances(DOG, ["a", "cat"], seeds=1)
    assert all(one.word_distance is None and one.sentence_distance.min() > 1e-3 for one in distances)


def test_equal_sentences_have_distance_zero() -> None:
    assert all(one.sentence_distance.max() == 0 for one in word_order_distances(DOG, DOG, seeds=1))


def test_positions_beyond_the_training_rows_keep_their_initialization() -> None:
    run = store.find("echo-learned")
    before, after = learned_positions(run)
    trained = 2 * run.config.task.longest  # type: ignore[union-attr]
    np.testing.assert_array_equal(before[trained:], after[trained:])
    assert (np.linalg.norm(after - before, axis=1)[:trained] > 0.1).all()


@pytest.mark.parametrize("words", [["one"], ["the", "the"]])
def test_word_order_of_short_sentences(words: list[str]) -> None:
    assert len(word_order_distances(words, words, seeds=1)) == 8
