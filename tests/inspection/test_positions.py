from __future__ import annotations

import numpy as np
import pytest

from explorer.inspection.positions import KINDS, learned, word_order
from explorer.training import store

DOG, MAN = ["the", "dog", "bit", "the", "man"], ["the", "man", "bit", "the", "dog"]


def test_only_an_encoder_without_positions_is_blind_for_order() -> None:
    found = {(one.positions, one.causal): one for one in word_order(DOG, MAN, seeds=3)}
    assert set(found) == {(kind, causal) for kind in KINDS for causal in (False, True)}
    blind = found["none", False]
    assert blind.sentence.shape == (3,) and blind.sentence.max() < 1e-5
    assert blind.words is not None and blind.words.max() < 1e-5, "each word has the same vector in both"
    for key, one in found.items():
        if key != ("none", False):
            assert one.sentence.min() > 1e-3, key


def test_models_of_a_seed_are_the_same_every_time_and_other_seeds_are_others() -> None:
    once, again = (word_order(DOG, MAN, seeds=2) for _ in range(2))
    for one, other in zip(once, again, strict=True):
        np.testing.assert_array_equal(one.sentence, other.sentence)
    assert once[1].sentence[0] != once[1].sentence[1]


def test_other_words_are_seen_by_everybody_and_have_no_pairs() -> None:
    found = word_order(DOG, ["a", "cat"], seeds=1)
    assert all(one.words is None and one.sentence.min() > 1e-3 for one in found)


def test_one_sentence_twice_has_no_difference() -> None:
    assert all(one.sentence.max() == 0 for one in word_order(DOG, DOG, seeds=1))


def test_what_no_training_row_reached_stays_as_it_started() -> None:
    run = store.find("echo-learned")
    before, after = learned(run)
    trained = 2 * run.config.task.longest  # type: ignore[union-attr]
    np.testing.assert_array_equal(before[trained:], after[trained:])
    assert (np.linalg.norm(after - before, axis=1)[:trained] > 0.1).all()


@pytest.mark.parametrize("words", [["one"], ["the", "the"]])
def test_short_sentences_are_no_trouble(words: list[str]) -> None:
    assert len(word_order(words, words, seeds=1)) == 8
