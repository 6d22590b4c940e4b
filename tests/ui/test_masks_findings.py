from __future__ import annotations

import numpy as np
import pytest

from explorer.ui import masks_findings as findings
from explorer.ui.masks_findings import Leaked


def ended(loss: float, prefix: float = 2.95, by_place: list[float] | None = None) -> Leaked:
    places = None if by_place is None else np.array([by_place])
    return Leaked(np.array([loss]), np.array([prefix]), places)


def test_a_loss_below_what_is_possible_is_called_a_leak() -> None:
    said = findings.verdict(19, ended(2.95), ended(0.26))
    assert said == (
        "Without the mask the loss falls to 0.26 nats, below ln 19 = 2.94: on random symbols that is not learning but "
        "a leak. With the mask it stays at 2.95."
    )


@pytest.mark.parametrize(
    ("causal", "without", "words"),
    [
        (None, 2.95, "ends at 2.95 nats, not below ln 19 = 2.94: nothing leaked yet"),
        (0.3, None, "below ln 19 = 2.94 too: here is another leak"),
        (3.4, None, "it ends at 3.40, above ln 19 = 2.94"),
        (2.95, None, "it stays at 2.95, the floor ln 19 = 2.94"),
    ],
)
def test_other_ends_are_told_as_they_are(causal: float | None, without: float | None, words: str) -> None:
    said = findings.verdict(19, *(None if loss is None else ended(loss) for loss in (causal, without)))
    assert words in said


def test_the_floor_is_that_of_the_symbols() -> None:
    assert "below ln 2 = 0.69" in findings.verdict(2, None, ended(0.1))
    assert findings.verdict(2, None, None) == ""


def test_generation_is_compared_with_guessing() -> None:
    assert findings.generation(19, ended(0.3, prefix=7.5)).endswith("loses 7.50 nats: 2.5 times as much as guessing.")
    assert findings.generation(19, ended(0.3, prefix=2.9)).endswith("loses 2.90 nats; guessing costs 2.94.")


def test_only_the_last_place_has_nothing_to_read_off() -> None:
    said = findings.places(19, ended(0.25, by_place=[0.01, 0.02, 3.0]))
    assert "At places 1 to 2" in said and "at most 0.02" in said and "3.00 / 3 = 1.00" in said
    assert findings.places(19, ended(2.9, by_place=[2.9, 2.95, 3.0])).startswith("By place its loss lies between 2.90")
    assert findings.places(19, ended(2.9)) == ""


def test_what_is_written_is_counted() -> None:
    ids = np.array([[[0, 1, 1, 1, 2]], [[0, 1, 2, 0, 1]]])
    np.testing.assert_allclose(findings.repeated(ids, 2), [2 / 3, 0])
    said = findings.writing(19, "Without the mask", ids, 2, np.array([[0.9, 0.8, 1.0], [0.9, 0.8, 1.0]]))
    assert (
        "33% of what it writes" in said and "by chance it would be 5%" in said and "0.90 on average (two seeds)" in said
    )
    assert "as often as chance" in findings.writing(3, "x", ids, 2, np.zeros((2, 3)))
    assert findings.rows(ids[0], 2, "abc") == "ab → bbc"
