from __future__ import annotations

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.transformer.positions import OrderDistance
from explorer.labs.positions import findings
from explorer.labs.positions.findings import CopyAccuracy

DOG, MAN = ["the", "dog", "bit", "the", "man"], ["the", "man", "bit", "the", "dog"]


def order_of(positions: str, causal: bool, apart: float) -> OrderDistance:
    return OrderDistance(positions, causal, np.array([apart, apart]), np.array([apart, apart]))


def copy_accuracy(words: str, *exact: float) -> CopyAccuracy:
    return CopyAccuracy(words, tuple(range(1, len(exact) + 1)), np.array([exact, exact], float))


def test_sentences(snapshot: SnapshotAssertion) -> None:
    found = [order_of("none", False, 1e-07), order_of("sinusoidal", False, 0.1), order_of("none", True, 0.2)]
    learned, rotary = copy_accuracy("learned", 1, 0.9, 0, 0), copy_accuracy("rotary", 1, 1, 0.7, 0)
    none = copy_accuracy("none", 1, 0.1, 0, 0)
    unplaced = {"none": copy_accuracy("none", 1, 0.1, 0), "rotary": copy_accuracy("rotary", 1, 1, 0)}

    def result(words: str, mean: float, seeds: int) -> CopyAccuracy:
        return CopyAccuracy(words, (1, 2, 3), np.array([[1, 1, mean + 0.01 * i] for i in range(seeds)]))

    three = {name: result(name, mean, 3) for name, mean in (("rotary", 0.4), ("learned", 0.1))}
    eight = {name: result(name, mean, 8) for name, mean in (("rotary", 0.4), ("learned", 0.1))}
    eight["learned"].exact[0, 2] = 0.12
    neither = {name: copy_accuracy(name, 1, 1, 0) for name in "ab"}
    assert [
        findings.order_finding(DOG, MAN, found),
        findings.order_finding(DOG, MAN, found[1:]),
        findings.order_finding(DOG, MAN, found[:1]),
        findings.order_finding(DOG, DOG, found),
        findings.order_finding(DOG, ["a", "cat"], found),
        findings.causal_mask_finding([order_of("none", False, 2e-07), order_of("none", True, 0.2)]),
        findings.causal_mask_finding([order_of("none", False, 0.3), order_of("none", True, 1e-07)]),
        findings.length_verdict({"learned": learned, "rotary": rotary, "none": none}, 2),
        findings.length_verdict({"learned": learned}, 2),
        findings.length_verdict({"learned": learned, "none": none}, 2),
        findings.length_verdict({"none": none}, 2),
        findings.length_verdict(neither, 2),
        findings.extrapolation_finding(
            {"a": copy_accuracy("a", 1, 0.9, 0.2, 0), "b": copy_accuracy("b", 1, 0.8, 0.3, 0.1)}, 2
        ),
        *(
            findings.no_positions_finding(each, 2)
            for each in (unplaced, {**unplaced, "none": unplaced["rotary"]}, {"rotary": unplaced["rotary"]})
        ),
        findings.beyond_training_finding(three, 2),
        findings.beyond_training_finding(eight, 2),
        findings.beyond_training_finding(neither, 2),
    ] == snapshot


def test_a_length_is_solved_only_if_all_shorter_ones_are() -> None:
    assert copy_accuracy("x", 1, 0.9, 0.2, 0.9).longest_solved() == 2
    assert copy_accuracy("x", 0.1, 1).longest_solved() == 0 and copy_accuracy("x", 1, 1).longest_solved() == 2
    assert np.isnan(copy_accuracy("x", 1).accuracy_at(5))
