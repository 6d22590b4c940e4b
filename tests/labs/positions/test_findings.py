from __future__ import annotations

import numpy as np

from explorer.inspection.transformer.positions import OrderDistance
from explorer.labs.positions import findings
from explorer.labs.positions.findings import CopyAccuracy
from tests.words import assert_mentions, assert_states

DOG, MAN = ["the", "dog", "bit", "the", "man"], ["the", "man", "bit", "the", "dog"]


def order_of(positions: str, causal: bool, apart: float) -> OrderDistance:
    return OrderDistance(positions, causal, np.array([apart, apart]), np.array([apart, apart]))


def copy_accuracy(words: str, *exact: float) -> CopyAccuracy:
    return CopyAccuracy(words, tuple(range(1, len(exact) + 1)), np.array([exact, exact], float))


def test_models_without_order_information_are_named() -> None:
    found = [order_of("none", False, 1e-7), order_of("sinusoidal", False, 0.1), order_of("none", True, 0.2)]
    sentence = findings.order_finding(DOG, MAN, found)
    assert_mentions(sentence, "encoder without positions cannot … apart … any of two seeds")
    assert_mentions(findings.order_finding(DOG, MAN, found[1:]), "All these models … apart … all two seeds")
    assert "None of these models can tell" in findings.order_finding(DOG, MAN, found[:1])
    assert findings.order_finding(DOG, DOG, found).startswith("Both sentences are the same")
    assert "different words" in findings.order_finding(DOG, ["a", "cat"], found)


def test_the_causal_mask_is_mentioned_only_if_it_reveals_order() -> None:
    sentence = findings.causal_mask_finding([order_of("none", False, 2e-7), order_of("none", True, 0.2)])
    assert "at most 2\u00a0×\u00a010⁻⁷ of the vector’s length" in sentence and "the distance is 0.20." in sentence
    other = findings.causal_mask_finding([order_of("none", False, 0.3), order_of("none", True, 1e-7)])
    assert "differ by up to 0.3" in other and "mask" not in other


def test_a_length_is_solved_only_if_all_shorter_ones_are() -> None:
    assert copy_accuracy("x", 1, 0.9, 0.2, 0.9).longest_solved() == 2
    assert copy_accuracy("x", 0.1, 1).longest_solved() == 0 and copy_accuracy("x", 1, 1).longest_solved() == 2
    assert np.isnan(copy_accuracy("x", 1).accuracy_at(5))


def test_the_verdict_names_models_that_extrapolate() -> None:
    learned, rotary, none = (
        copy_accuracy("learned", 1, 0.9, 0, 0),
        copy_accuracy("rotary", 1, 1, 0.7, 0),
        copy_accuracy("none", 1, 0.1, 0, 0),
    )
    sentence = findings.length_verdict({"learned": learned, "rotary": rotary, "none": none}, 2)
    assert_states(sentence, "Rotary … at least half … up to 3 digits … at most 2")
    assert_states(findings.length_verdict({"learned": learned}, 2), "All … half … trained 2 digits … none … beyond")
    assert findings.length_verdict({"learned": learned, "none": none}, 2).startswith("1 of 2 models copy")
    assert_mentions(findings.length_verdict({"none": none}, 2), "No model … half … trained 2 digits … none … up to 1")


def test_the_drop_beyond_training_is_stated_in_numbers() -> None:
    sentence = findings.extrapolation_finding(
        {"a": copy_accuracy("a", 1, 0.9, 0.2, 0), "b": copy_accuracy("b", 1, 0.8, 0.3, 0.1)}, 2
    )
    assert_mentions(sentence, "2, 3 and 4 digits … a 0.90, 0.20, 0.00 … b 0.80, 0.30, 0.10")


def test_the_reach_of_the_mask_without_positions_is_stated() -> None:
    found = {"none": copy_accuracy("none", 1, 0.1, 0), "rotary": copy_accuracy("rotary", 1, 1, 0)}
    assert "up to one digit, with the best of the others up to two" in findings.no_positions_finding(found, 2)
    assert "as far as with any of the others" in findings.no_positions_finding({**found, "none": found["rotary"]}, 2)
    assert findings.no_positions_finding({"rotary": found["rotary"]}, 2) == ""


def test_models_are_compared_one_digit_beyond_training() -> None:
    def result(words: str, mean: float, seeds: int) -> CopyAccuracy:
        return CopyAccuracy(words, (1, 2, 3), np.array([[1, 1, mean + 0.01 * i] for i in range(seeds)]))

    three = {name: result(name, mean, 3) for name, mean in (("rotary", 0.4), ("learned", 0.1))}
    found = findings.beyond_training_finding(three, 2)
    assert_mentions(found, "at 3 digits … Rotary is best on average … learned by 0.30 … Three seeds are too few")
    eight = {name: result(name, mean, 8) for name, mean in (("rotary", 0.4), ("learned", 0.1))}
    eight["learned"].exact[0, 2] = 0.12
    assert_mentions(findings.beyond_training_finding(eight, 2), "Worse than rotary: learned by 0.30")
    none = {name: copy_accuracy(name, 1, 1, 0) for name in "ab"}
    assert findings.beyond_training_finding(none, 2) == ""
