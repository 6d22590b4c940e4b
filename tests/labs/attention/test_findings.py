from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.attention.attend import TokenizedInput
from explorer.inspection.attention.head_scores import HeadImportance
from explorer.labs.attention import findings
from explorer.labs.attention.measurements import top_answers
from explorer.labs.attention.results import AttentionReading
from explorer.labs.attention.state import AttentionState

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


def test_sentences(snapshot: SnapshotAssertion) -> None:
    found = make_reading([0.2, 0.8], [0.2, 0.8])
    letters, classes = ("xy".__getitem__, ["collapse", "sustain"].__getitem__)
    unanswered = replace(make_reading([0.2, 0.8], [0.2, 0.8]), answers=None)
    state = AttentionState(off=("0.0", "1.1"), flat=("0.1",), unmasked=True, unplaced=True)
    one = HeadImportance("loss", 0.001, np.array([[0.7]]), np.zeros((1, 1)), 6, "grammar")
    assert [
        findings.answer_finding(found, 1, letters, AFTER),
        findings.answer_finding(found, 1, classes, ""),
        findings.answer_finding(unanswered, 1, "xy".__getitem__, AFTER),
        findings.answer_finding(make_reading([0.2, 0.8], [0.2, 0.8]), 1, "xy".__getitem__, AFTER, trained=False),
        findings.text_end(["the", "king", "is", "proud", "of"], " "),
        findings.text_end(["a", "b"], ""),
        findings.text_end(list("abcdefghijklmnopqrst"), ""),
        findings.text_end(["The", " capital", " of", " France", " is"], ""),
        findings.text_end(["internationalization"], ""),
        findings.text_end(["a", "\n"], " "),
        *(
            findings.answer_finding(
                make_reading([1 - now, now], [0.2, 0.8], AttentionState(off=("0.0",))), 1, "xy".__getitem__, AFTER
            )
            for now in [0.8, 0.8049, 0.8051, 0.6, 0.3]
        ),
        findings.describe_ablation(state),
        findings.importance_finding(make_importance([0.1, 0.01, 0.2, 0.001], 0.005), LABELS),
        findings.importance_finding(make_importance([0.1, 0.05, 0.2, -0.04], 0.001), LABELS),
        findings.importance_finding(one, LABELS[:1]),
        findings.importance_caption(one),
        findings.importance_caption(make_importance([0.0] * 4, 0.1)),
        findings.importance_finding(make_importance([0.001, -0.001, 0.0, 0.002], 0.01), LABELS),
        *(
            findings.lens_finding(["the embedding", "layer 1", "layer 2"], np.array([0.1, 0.5, 0.9]), np.array(right))
            for right in [[True, True, True], [True, False, True], [False, True, True]]
        ),
    ] == snapshot


def test_only_the_most_probable_answers_are_kept() -> None:
    now, before = np.full((1, 9), 0.01), np.full((1, 9), 0.01)
    now[0, 4], before[0, 7], now[0, 2] = 0.9, 0.8, 0.1
    top = top_answers(np.log(now), np.log(before))
    assert top.outcomes[0, :3].tolist() == [4, 7, 2] and top.outcomes.shape == (1, 5)
    assert top.probabilities[0, :2] == pytest.approx([0.9, 0.01]) and top.original[0, :2] == pytest.approx([0.01, 0.8])
