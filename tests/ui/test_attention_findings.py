from __future__ import annotations

import numpy as np
import pytest

from explorer.inspection.attention import Read
from explorer.inspection.heads import Worth
from explorer.ui.attention_findings import answer, how_measured, lens, touches, worth
from explorer.ui.attention_views import Looked
from explorer.ui.gaze import Gaze

USUAL = Gaze()
LABELS = ["layer 1, head 1", "layer 1, head 2", "layer 2, head 1", "layer 2, head 2"]


def looked(now: list[float], before: list[float], gaze: Gaze = USUAL) -> Looked:
    read = Read((1, 2), ("a", "\n"), "", "", (), (), False)
    as_logs = (np.log(np.array([[0.5, 0.5], p], dtype=np.float32)) for p in (now, before))
    return Looked(gaze, read, (1, 1), (), b"", *as_logs)


def measured(rise: list[float], error: float) -> Worth:
    loss = 1.5 + np.array(rise).reshape(2, 2)
    return Worth("validation loss, nats a token", 1.5, loss, np.full((2, 2), error), 2_048)


def test_an_answer_is_said_with_its_probability() -> None:
    found = looked([0.2, 0.8], [0.2, 0.8])
    assert answer(found, 1, "xy".__getitem__, True) == "After “a↵” it expects “y” most, 0.80."
    assert answer(found, 1, ["collapse", "sustain"].__getitem__, False) == "It answers sustain, 0.80."


@pytest.mark.parametrize(
    ("now", "told"),
    [
        (0.8, "With one head off, its answer stays “y”, 0.80: nothing moves that two digits show."),
        (0.8049, "With one head off, its answer stays “y”, 0.80: nothing moves that two digits show."),
        (0.8051, "With one head off, its answer stays “y”, but goes from 0.80 to 0.81."),
        (0.6, "With one head off, its answer stays “y”, but goes from 0.80 to 0.60."),
        (0.3, "With one head off, after “a↵” it expects “x” most, 0.70; untouched it is “y”, 0.80."),
    ],
)
def test_what_a_touch_changes_is_said_and_what_it_does_not(now: float, told: str) -> None:
    assert answer(looked([1 - now, now], [0.2, 0.8], Gaze(off=("0.0",))), 1, "xy".__getitem__, True) == told


def test_every_touch_is_named() -> None:
    gaze = Gaze(off=("0.0", "1.1"), flat=("0.1",), unmasked=True, unplaced=True)
    assert touches(gaze) == "two heads off, one head made uniform, the mask lifted and no positions"


def test_the_dearest_head_is_named_and_the_idle_ones_are_counted() -> None:
    said = worth(measured([0.1, 0.01, 0.2, 0.001], 0.005), LABELS)
    assert said == (
        "Without layer 2, head 1 the loss rises most, from 1.500 nats by +0.200; without any one of two of the 4 heads "
        "nothing measurable is lost."
    )
    said = worth(measured([0.1, 0.05, 0.2, -0.04], 0.001), LABELS)
    assert said.endswith("least of all without layer 2, head 2, −0.040.")


def test_an_only_head_is_not_compared_with_others() -> None:
    one = Worth("loss", 0.001, np.array([[0.7]]), np.zeros((1, 1)), 6)
    assert worth(one, LABELS[:1]) == "Without its only head the loss goes from 0.001 to 0.700 nats."
    assert how_measured(one, False).startswith("All 6 sentences of the grammar")
    assert how_measured(measured([0.0] * 4, 0.1), True, 9_000).startswith("2,048 of 9,000 held-out targets")


def test_where_no_head_matters_none_is_named() -> None:
    said = worth(measured([0.001, -0.001, 0.0, 0.002], 0.01), LABELS)
    assert said == "Without any one of its 4 heads the loss changes by nothing that can be measured."


@pytest.mark.parametrize(
    ("right", "told"),
    [
        ([True, True, True], "From the embedding on it has its answer; there it is 0.10 sure, at the end 0.90."),
        ([True, False, True], "Only the last layer says what the model answers; after layer 1 it is still another one"),
        ([False, True, True], "From layer 1 on it has its answer; there it is 0.50 sure, at the end 0.90."),
    ],
)
def test_the_answer_stands_from_the_layer_after_which_it_never_changes(right: list[bool], told: str) -> None:
    said = lens(["the embedding", "layer 1", "layer 2"], np.array([0.1, 0.5, 0.9]), np.array(right))
    assert said.startswith(told)
