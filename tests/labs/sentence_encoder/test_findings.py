from __future__ import annotations

import numpy as np

from explorer.labs.sentence_encoder.findings import (
    controls_finding,
    format_sense,
    masked_word_finding,
    nearest_neighbour_finding,
    similarity_verdict,
    word_sense_finding,
)

FLAT = np.full((3, 3), 0.9)
FALLING = np.array([[0.9, 0.8, 0.4], [0.91, 0.7, 0.5], [0.89, 0.75, 0.45]])


def test_the_verdict_follows_the_numbers() -> None:
    assert similarity_verdict(FLAT, FALLING) == (
        "Before attention every “bank” is one vector, whichever its sense (likeness 0.90 and 0.90). After two layers "
        "it is 0.90 where the sense is the same, 0.45 where it is the other one (mean of three seeds). In every seed "
        "the senses part."
    )
    assert similarity_verdict(FLAT, FLAT) == (
        "After two layers a word with two senses is still one vector: likeness 0.90 where the sense is the same, 0.90 "
        "where it is the other one (mean of three seeds)."
    )
    uneven = FALLING.copy()
    uneven[2] = 0.9
    assert similarity_verdict(FLAT, uneven).endswith("Not in every seed do the senses part.")
    assert similarity_verdict(FLAT[:1, :2], FALLING[:1, [1, 2]]).startswith(
        "Before attention the likeness is 0.90 and 0.80. After"
    )


def test_the_controls_finding_names_what_separates_senses() -> None:
    assert controls_finding((FLAT, FLAT), (FLAT, FLAT - 0.01)) == (
        "It takes both, training and attention: to the other sense the likeness stays 0.90 before training, 0.89 "
        "without attention."
    )
    assert controls_finding((FLAT, FALLING), (FLAT, FLAT)) == (
        "The senses part also before training: to the other sense the likeness is 0.45 before training, 0.90 without "
        "attention."
    )


def test_the_nearest_neighbour_proves_nothing_if_it_was_right_before_training() -> None:
    assert nearest_neighbour_finding(FLAT, FLAT - 0.1).startswith(
        "Beware"
    ) and "0.80 of the time already" in nearest_neighbour_finding(FLAT, FLAT - 0.1)
    assert nearest_neighbour_finding(FLAT, FLAT * 0 + 0.5) == (
        "The occurrence of a word that lies nearest has the right sense 0.90 of the time, and 0.50 before training."
    )


def test_accuracy_and_its_limits_are_reported() -> None:
    right, new = np.array([0.98, 0.96]), np.array([0.5, 0.7])
    said = word_sense_finding(right, new, 0.49)
    assert said.startswith(
        "On fresh sentences the sense is right 0.97 (0.96 to 0.98) of the time. Without attention it is 0.49"
    )
    assert "falls to 0.60 (0.50 to 0.70)" in said
    assert "Without attention" not in word_sense_finding(right, right, None) and "falls" not in word_sense_finding(
        right, right, None
    )
    assert "coin" not in word_sense_finding(right, new, 0.9)
    gist = masked_word_finding(right, right * 0 + 0.9, 0.5)
    assert "it is 0.90 (0.90 to 0.90): these it knows" in gist and "Without attention 0.50 do" in gist
    assert masked_word_finding(right, right * 0 + 0.5, None).endswith("it is 0.50 (0.50 to 0.50): these do not help.")


def test_predictions_are_formatted_as_sense_or_synonym() -> None:
    assert format_sense(True, "money", "lender", 0.987) == "money 0.99"
    assert format_sense(False, "money", "lender", -0.2) == "lender −0.20"
