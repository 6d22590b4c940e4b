from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explorer.inspection.attention.attend import TokenizedInput
from explorer.inspection.attention.head_scores import HeadImportance
from explorer.labs.attention.findings import (
    answer_finding,
    describe_ablation,
    importance_caption,
    importance_finding,
    lens_finding,
    text_end,
)
from explorer.labs.attention.measurements import top_answers
from explorer.labs.attention.results import AttentionReading
from explorer.labs.attention.state import AttentionState
from tests.words import assert_mentions, assert_states

DEFAULTS = AttentionState()
AFTER = "after “a↵”"
LABELS = ["layer 1, head 1", "layer 1, head 2", "layer 2, head 1", "layer 2, head 2"]


def make_reading(now: list[float], before: list[float], state: AttentionState = DEFAULTS) -> AttentionReading:
    tokenized = TokenizedInput((1, 2), ("a", "\n"), "", "", (), (), False)
    as_logs = (np.log(np.array([[0.5, 0.5], p], dtype=np.float32)) for p in (now, before))
    return AttentionReading(
        state, tokenized, tokenized.tokens, tokenized.ids, (1, 1), (), b"", top_answers(*as_logs), True
    )


def make_importance(rise: list[float], error: float) -> HeadImportance:
    loss = 1.5 + np.array(rise).reshape(2, 2)
    return HeadImportance("validation loss, nats a token", 1.5, loss, np.full((2, 2), error), 2_048, available=9_000)


def test_the_finding_has_the_answer_and_its_probability() -> None:
    found = make_reading([0.2, 0.8], [0.2, 0.8])
    letters, classes = "xy".__getitem__, ["collapse", "sustain"].__getitem__
    assert answer_finding(found, 1, letters, AFTER) == "The model predicts “y” after “a↵”, with probability 0.80."
    assert answer_finding(found, 1, classes, "") == "The model predicts “sustain”, with probability 0.80."


def test_a_model_without_predictions_has_no_answer() -> None:
    found = replace(make_reading([0.2, 0.8], [0.2, 0.8]), answers=None)
    assert "no token is predicted" in answer_finding(found, 1, "xy".__getitem__, AFTER)


def test_a_prediction_that_was_never_trained_is_no_finding() -> None:
    finding = answer_finding(make_reading([0.2, 0.8], [0.2, 0.8]), 1, "xy".__getitem__, AFTER, trained=False)
    assert_mentions(finding, "not trained to predict anything after “a↵”")
    assert "0.80" not in finding


def test_a_long_text_is_named_by_its_end() -> None:
    assert text_end(["the", "king", "is", "proud", "of"], " ") == "…king is proud of"
    assert text_end(["a", "b"], "") == "ab"
    assert text_end(list("abcdefghijklmnopqrst"), "") == "…efghijklmnopqrst"
    assert text_end(["The", " capital", " of", " France", " is"], "") == "…of France is"
    assert text_end(["internationalization"], "") == "internationalization"
    assert text_end(["a", "\n"], " ") == "a \n"


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (0.8, "one head … still … “y” (0.80) … not change"),
        (0.8049, "one head … still … “y” (0.80) … not change"),
        (0.8051, "one head … still … “y” … from 0.80 to 0.81"),
        (0.6, "one head … still … “y” … from 0.80 to 0.60"),
        (0.3, "one head … “x” (0.70); unchanged … “y” (0.80)"),
    ],
)
def test_the_finding_says_whether_an_ablation_changes_the_answer(now: float, expected: str) -> None:
    assert_states(
        answer_finding(
            make_reading([1 - now, now], [0.2, 0.8], AttentionState(off=("0.0",))), 1, "xy".__getitem__, AFTER
        ),
        expected,
    )


def test_every_ablation_is_named() -> None:
    state = AttentionState(off=("0.0", "1.1"), flat=("0.1",), unmasked=True, unplaced=True)
    assert_states(describe_ablation(state), "two heads … one head … uniform … mask … positions removed")


def test_the_most_important_head_is_named_and_unimportant_ones_are_counted() -> None:
    finding = importance_finding(make_importance([0.1, 0.01, 0.2, 0.001], 0.005), LABELS)
    assert_states(finding, "Without layer 2, head 1 … rises most: … +0.200 … 1.500 nats. Two of the 4 heads … nothing")
    finding = importance_finding(make_importance([0.1, 0.05, 0.2, -0.04], 0.001), LABELS)
    assert finding.endswith("least without layer 2, head 2 (−0.040).")


def test_an_only_head_is_not_compared_with_others() -> None:
    one = HeadImportance("loss", 0.001, np.array([[0.7]]), np.zeros((1, 1)), 6, "grammar")
    assert_states(importance_finding(one, LABELS[:1]), "Without … only head … loss rises from 0.001 to 0.700 nats")
    assert importance_caption(one).startswith("Measured on all 6 sentences of the grammar")
    assert importance_caption(make_importance([0.0] * 4, 0.1)).startswith("Measured on 2,048 of 9,000 held-out tokens")


def test_where_no_head_matters_none_is_named() -> None:
    finding = importance_finding(make_importance([0.001, -0.001, 0.0, 0.002], 0.01), LABELS)
    assert_states(finding, "Without any … 4 heads … loss … not change")


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ([True, True, True], "embedding … already … (0.10); … more sure (0.90)"),
        ([True, False, True], "Only the last layer … after layer 1"),
        ([False, True, True], "layer 1 … already … (0.50); … more sure (0.90)"),
    ],
)
def test_the_finding_has_the_layer_after_which_the_prediction_never_changes(right: list[bool], expected: str) -> None:
    finding = lens_finding(["the embedding", "layer 1", "layer 2"], np.array([0.1, 0.5, 0.9]), np.array(right))
    assert_mentions(finding, expected)


def test_only_the_most_probable_answers_are_kept() -> None:
    now, before = np.full((1, 9), 0.01), np.full((1, 9), 0.01)
    now[0, 4], before[0, 7], now[0, 2] = 0.9, 0.8, 0.1
    top = top_answers(np.log(now), np.log(before))
    assert top.outcomes[0, :3].tolist() == [4, 7, 2] and top.outcomes.shape == (1, 5)
    assert top.probabilities[0, :2] == pytest.approx([0.9, 0.01]) and top.original[0, :2] == pytest.approx([0.01, 0.8])
