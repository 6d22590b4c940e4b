from __future__ import annotations

from typing import Any

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.steps_to_solve import LossCurves
from explorer.labs.depth import findings
from explorer.labs.depth.state import DepthState
from explorer.ui.state.url_codec import apply_message


def test_a_long_text_is_stored_and_its_beginning_is_read() -> None:
    state = DepthState(say="to be or not to be, that is the question")
    assert state.text_read == "to be or not to be, that" and state.say.endswith("question")
    (sentence,) = state.input_problems
    assert "has 40 characters" in sentence and "“to be or not to be, that”" in sentence
    assert DepthState().input_problems == [] == DepthState(say="x" * 24).input_problems


def test_component_messages_are_applied_if_they_are_valid() -> None:
    assert apply_message(DepthState(), {"cut": 8, "view": "even"}) == DepthState(cut=8, view="even")
    event = {"residual": False, "norm": "post", "kind": "rms", "layers": 3}
    assert apply_message(DepthState(), event) == DepthState(residual=False, norm="post", kind="rms", layers=3)

    even: dict[str, Any] = {"cut": 4, "view": "even"}
    for event in (None, 7, {}, even | {"cut": 3}, even | {"cut": True}, even | {"view": "<b>"}):
        assert apply_message(DepthState(), event) == DepthState()
    good: dict[str, Any] = {"residual": False, "norm": "post", "kind": "rms", "layers": 3}
    wrong: list[dict[str, Any]] = [{"layers": 25}, {"layers": 0}, {"layers": 2.5}, {"norm": "x"}, {"norm": []}]
    for event in ([good], *({**good, **change} for change in (*wrong, {"residual": "x"}, {"kind": None}))):
        assert apply_message(DepthState(), event) == DepthState()


def test_sentences(snapshot: SnapshotAssertion) -> None:
    found = ([0.4, 0.37, 0.43], [0.03, 0.03, 0.04])
    trained, untrained = (np.linspace(0.3, 0.4, 8), np.linspace(0.03, 0.04, 8))
    similar, before = (np.linspace(0.1, 0.4, 8), np.linspace(0.2, 0.32, 8))
    measured = {"pre": 3.5, "none": 60.0, "post": 1.0}

    layer = np.linspace(3.0, 4.0, 8)
    ends = {
        "with a": loss_curves(50, 60),
        "with b": loss_curves(70, 70),
        "with c": loss_curves(None, 90),
        "so": loss_curves(None, None),
    }
    more = ends | {"with d": loss_curves(40, 40)}
    none = {"with a": loss_curves(None), "with b": loss_curves(None)}
    all_, some, unsolved = (loss_curves(50, 60), loss_curves(50, None), loss_curves(None, None))
    assert [
        findings.heads_finding(4, *found),
        findings.heads_verdict(4, *found),
        findings.heads_verdict(4, list(trained), list(untrained)),
        findings.heads_verdict(2, list(similar), list(before)),
        findings.heads_verdict(2, [0.1], [0.5]),
        findings.heads_finding(1, [np.nan], [np.nan]),
        findings.heads_verdict(1, [np.nan], [np.nan]),
        findings.heads_text(8, 4, 16384, 64, [8] * 8, 21, 0.57),
        findings.heads_text(4, 4, 16384, 64, [16] * 4, 21, 0.5),
        findings.heads_text(2, None, 16384, 64, [5, 6], 6, 0.5),
        findings.formula_text(1 / 3, 24, (2.33, 5.0), (3.66, 45.9), measured),
        findings.vanishing_gradient_text(np.array([0.01, 0.05]), 24),
        findings.top_block_text((0.9, 1.08), (0.88, 0.58), (2, 24), 3.0),
        findings.norm_kinds_text(layer, layer + 0.1 * layer, 24),
        findings.norm_kinds_text(layer, layer[::-1] + 0.1, 24),
        findings.norm_kinds_text(layer, layer, 24),
        findings.norm_kinds_text(layer[:2], layer[:2] + 1, 24),
        findings.learning_finding(24, ends),
        findings.learning_finding(24, more),
        findings.learning_text(ends),
        *(findings.learning_finding(8, each) for each in (none, {"with a": loss_curves(9)}, {})),
        findings.learning_text({}),
        findings.warmup_claim_text(unsolved, all_, (0.016, 0.001)),
        findings.warmup_claim_text(loss_curves(*[None] * 8), loss_curves(*[50] * 8), (0.016, 0.001)),
        findings.warmup_claim_text(all_, all_, (0.016, 0.001)),
        findings.warmup_claim_text(unsolved, some, (0.016, 0.001)),
        findings.warmup_claim_text(None, all_, (0.016, 0.001)),
        findings.warmup_claim_text(unsolved, None, (0.016, 0.001)),
    ] == snapshot


def loss_curves(*reached: float | None) -> LossCurves:
    """Return curves of seeds that reach the threshold at these steps."""
    steps = np.arange(0.0, 200.0, 10.0)
    return LossCurves(steps, np.array([[0.01 if r is not None and s >= r else 2.3 for r in reached] for s in steps]))
