from __future__ import annotations

import numpy as np

from explorer.inspection.positions import Order
from explorer.ui import positions_findings as findings
from explorer.ui.positions_findings import Echoed

DOG, MAN = ["the", "dog", "bit", "the", "man"], ["the", "man", "bit", "the", "dog"]


def read(positions: str, causal: bool, apart: float) -> Order:
    return Order(positions, causal, np.array([apart, apart]), np.array([apart, apart]))


def echoed(words: str, *exact: float) -> Echoed:
    return Echoed(words, tuple(range(1, len(exact) + 1)), np.array([exact, exact], float))


def test_who_is_blind_is_named() -> None:
    found = [read("none", False, 1e-7), read("sinusoidal", False, 0.1), read("none", True, 0.2)]
    said = findings.order_finding(DOG, MAN, found)
    assert said.endswith("an encoder without positions cannot tell, in any of two seeds.")
    assert findings.order_finding(DOG, MAN, found[1:]).endswith("every one of these models sees it, in all two seeds.")
    assert "none of these models can tell" in findings.order_finding(DOG, MAN, found[:1])
    assert findings.order_finding(DOG, DOG, found).startswith("This is one sentence twice")
    assert "have not the same words" in findings.order_finding(DOG, ["a", "cat"], found)


def test_what_the_mask_tells_is_said_only_if_it_does() -> None:
    said = findings.masked_finding([read("none", False, 2e-7), read("none", True, 0.2)])
    assert "at most 2·10⁻⁷ of its length" in said and "is not blind: 0.20 to 0.20" in said
    other = findings.masked_finding([read("none", False, 0.3), read("none", True, 1e-7)])
    assert "words differ by up to 0.3" in other and "blind" not in other


def test_a_length_is_reached_if_all_before_it_are() -> None:
    assert echoed("x", 1, 0.9, 0.2, 0.9).reach() == 2
    assert echoed("x", 0.1, 1).reach() == 0 and echoed("x", 1, 1).reach() == 2
    assert np.isnan(echoed("x", 1).at(5))


def test_the_verdict_says_who_goes_on_beyond_the_training() -> None:
    learned, rotary, none = (
        echoed("learned", 1, 0.9, 0, 0),
        echoed("rotary", 1, 1, 0.7, 0),
        echoed("none", 1, 0.1, 0, 0),
    )
    said = findings.verdict({"learned": learned, "rotary": rotary, "none": none}, 2)
    assert said == (
        "Learned and rotary get at least half of the rows right up to 2 digits, as trained; beyond that rotary up to 3."
    )
    assert findings.verdict({"learned": learned}, 2).endswith("as trained; at 3 none.")
    nearly = echoed("rotary", 1, 1, 0.4, 0)
    assert findings.verdict({"rotary": nearly}, 2).endswith("at 3 the best, rotary, has 0.40.")
    assert "Nobody gets half of the rows right at the 2 digits" in findings.verdict({"none": none}, 2)


def test_the_falls_and_the_end_are_numbers() -> None:
    said = findings.beyond({"a": echoed("a", 1, 0.9, 0.2, 0), "b": echoed("b", 1, 0.8, 0.3, 0.1)}, 2)
    assert said.startswith("At 2, 3 and 4 digits: a 0.90, 0.20, 0.00; b 0.80, 0.30, 0.10.")
    assert said.endswith("At 4 digits the best, b, has 0.10.")
    assert findings.beyond({"a": echoed("a", 1, 1, 0, 0)}, 2).endswith("At 4 digits nobody gets a row right.")


def test_how_far_the_mask_alone_carries() -> None:
    found = {"none": echoed("none", 1, 0.1, 0), "rotary": echoed("rotary", 1, 1, 0)}
    assert "up to one digit, the others up to two" in findings.nothing(found, 2)
    assert "as far as any other" in findings.nothing({**found, "none": found["rotary"]}, 2)
    assert findings.nothing({"rotary": found["rotary"]}, 2) == ""
