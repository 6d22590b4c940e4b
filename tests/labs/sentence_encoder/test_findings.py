from __future__ import annotations

import numpy as np

from explorer.labs.sentence_encoder.findings import (
    controls_finding,
    format_sense,
    masked_word_finding,
    nearest_neighbour_finding,
    similarity_note,
    similarity_verdict,
    word_in_sentences_finding,
    word_sense_finding,
)
from tests.words import assert_mentions, assert_states

FLAT = np.full((3, 3), 0.9)
FALLING = np.array([[0.9, 0.8, 0.4], [0.91, 0.7, 0.5], [0.89, 0.75, 0.45]])


def test_the_verdict_follows_the_numbers() -> None:
    assert similarity_verdict(FLAT, FALLING) == (
        "After two layers, similarity is 0.90 within one sense and 0.45 between senses; at layer 0 both are 0.90."
    )
    assert similarity_note(FLAT, FALLING) == (
        "Medians of three seeds; the senses are separated in every seed. At layer 0 the same word has the same "
        "embedding; only its position in the sentence differs."
    )
    assert_states(similarity_verdict(FLAT, FLAT), "two layers … not separated … 0.90 within … 0.90 between")
    assert "separated in 0 of three seeds" in similarity_note(FLAT, FLAT)
    uneven = FALLING.copy()
    uneven[2] = 0.9
    assert "separated in 2 of three seeds" in similarity_note(FLAT, uneven)
    assert similarity_verdict(FLAT[:1, :2], FALLING[:1, [1, 2]]).endswith("at layer 0 they are 0.90 and 0.80.")
    one = np.ones((1, 2))
    assert similarity_note(one, one * 0).endswith("separated in 1 of one seed.")


def test_the_controls_finding_names_what_separates_senses() -> None:
    found = controls_finding((FLAT, FALLING), (FLAT, FLAT), (FLAT, FLAT - 0.01))
    assert_mentions(found, "trained encoder 0.45 (0.40 to 0.50) … before training 0.90 … without attention 0.89")
    assert_mentions(found, "trained encoder is best on average … before training by 0.45 (0.33 to 0.57)")
    assert "Three seeds are too few for a verdict." in found
    eight = np.tile(FALLING, (3, 1))[:8] + np.linspace(0, 0.01, 8)[:, None]
    flat = np.full((8, 3), 0.9)
    found = controls_finding((flat, eight), (flat, flat), (flat, flat))
    assert_mentions(found, "Worse than the trained encoder: the encoder before training by 0.45")


def test_the_nearest_neighbour_proves_nothing_if_it_was_right_before_training() -> None:
    sentence = nearest_neighbour_finding(FLAT, FLAT - 0.1)
    assert_states(sentence, "0.90, but already 0.80 before training … nearest neighbours alone prove nothing")
    assert_states(nearest_neighbour_finding(FLAT, FLAT * 0 + 0.5), "same sense … 0.90; before training it is 0.50")


def test_accuracy_and_its_limits_are_reported() -> None:
    right, new = np.array([0.98, 0.96]), np.array([0.5, 0.7])
    sentence = word_sense_finding(right, new, 0.49)
    assert_mentions(sentence, "accuracy is 0.97 (0.96 to 0.98) … Without attention … 0.49; guessing gives 0.50")
    assert "in training it is 0.60 (0.50 to 0.70)" in sentence
    assert "Without attention" not in word_sense_finding(right, right, None)
    gist = masked_word_finding(right, right * 0 + 0.9, 0.5)
    assert "it is 0.90; guessing gives 0.50." in gist and "Without attention it is 0.50" in gist
    assert "Without attention" not in masked_word_finding(right, right * 0 + 0.5, None)


def test_predictions_are_formatted_as_sense_or_synonym() -> None:
    assert format_sense(True, "money", "lender", 0.987) == "money 0.99"
    assert format_sense(False, "money", "lender", -0.2) == "lender −0.20"


def test_the_nearest_sentence_is_counted_over_the_layers() -> None:
    real = np.zeros((4, 3, 3))
    real[0, 0] = 1, 0.1, 0.9  # the embedding does not count
    real[1:, 0] = [(1, 0.5, 0.2), (1, 0.6, 0.1), (1, 0.1, 0.3)]
    assert word_in_sentences_finding("bank", 0, real, None) == (
        "“bank” in sentence 1 is most similar to that in sentence 2 after 2 of 3 layers."
    )
    random = np.zeros((4, 3, 3))
    random[1:, 0, 2] = 0.5
    assert word_in_sentences_finding("bank", 0, real, random).endswith(
        "; with random weights to that in sentence 3 after 3."
    )
