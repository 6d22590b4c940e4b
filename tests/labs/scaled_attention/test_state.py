from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.steps_to_solve import LossCurves
from explorer.inspection.transformer.softmax_scaling import WIDTHS, measure_softmax
from explorer.labs.scaled_attention.division import width_panels
from explorer.labs.scaled_attention.findings import softmax_at_width, training_text, training_verdict, width_finding
from explorer.labs.scaled_attention.state import ScaledAttentionState
from explorer.ui.state import url_codec

EDITED = ScaledAttentionState(
    words="a b", width=2, q=(1.0, -0.25, 3.0, 0.0), mask="padding", padding=(0, 1), at="out.1.0", draw=7
)


def test_the_longest_tables_are_in_the_url() -> None:
    full = ScaledAttentionState(q=(-99.999,) * 36, k=(0.1234,) * 36)
    assert url_codec.read(ScaledAttentionState, url_codec.write(full)) == (full, ())


@pytest.mark.parametrize("given", ["at=scores.1", "k=1,x", "q=1e9", "words=" + "a" * 300])
def test_an_invalid_part_of_an_address_is_reported_and_the_rest_is_used(given: str) -> None:
    name, text = given.split("=")
    state, problems = url_codec.read(ScaledAttentionState, {name: text, "draw": "3"})
    assert len(problems) == 1 and state == ScaledAttentionState(draw=3)


def test_component_messages_are_applied_if_they_are_valid() -> None:
    message = json.dumps(EDITED.component_state)
    assert url_codec.apply_message(ScaledAttentionState(words="a b"), message) == EDITED
    assert url_codec.apply_message(EDITED, json.dumps({**EDITED.component_state, "at": "", "q": []})) == replace(
        EDITED, at="", q=()
    )

    for message in ("", "[1]", "7", '{"width": 99}', '{"q": [1e9]}', '{"q": ["a"]}', '{"mask": null}'):
        assert url_codec.apply_message(EDITED, message) == EDITED


def test_tokens_can_be_added_and_removed() -> None:
    state = ScaledAttentionState()
    assert state.with_token_count(5).tokens == ["the", "cat", "sat", "down", "word5"]
    assert state.with_token_count(2).tokens == ["the", "cat"] and state.with_token_count(2).padding == (1,)
    assert state.with_token_count(1) == state and len(state.with_token_count(9).tokens) == 6
    assert ScaledAttentionState(words="").tokens == ["word 1", "word 2"]


def test_input_that_does_not_fit_is_reported(snapshot: SnapshotAssertion) -> None:
    odd = ScaledAttentionState(k=(1.0, 2.0, 3.0))
    assert [
        ScaledAttentionState(words="a b c d e f g").input_problems,
        ScaledAttentionState(words=" ").input_problems[0],
        odd.input_problems[0],
    ] == snapshot
    assert ScaledAttentionState().input_problems == [] and EDITED.input_problems == []
    assert ScaledAttentionState(words="a b c d e f g").tokens == list("abcdef")
    assert odd.component_state["k"] == ()


def test_another_model_starts_at_its_first_head() -> None:
    state = ScaledAttentionState(model="a", say="mine", layer=2, head=3)
    assert state.with_model("b") == replace(state, model="b", layer=0, head=0)
    assert state.with_model("b", examples=("mine",)).say is None
    assert replace(EDITED, seeds=2).with_defaults(*EDITED.TABLE_FIELDS) == ScaledAttentionState(seeds=2)


def test_every_width_has_a_frame_of_bars_and_is_read_on_the_lines() -> None:
    statistics = measure_softmax(draws=3)
    bars, _, largest, *_ = width_panels(statistics)
    assert [chart.traces()[0]["y"] for chart in bars.frames] == statistics.one[0].round(4).tolist()
    assert len(largest.frames) == len(WIDTHS) and largest.rest == WIDTHS
    middle = largest.chart.traces()[largest.chart.readouts[0]["trace"]]
    assert middle["y"] == pytest.approx(statistics.percentiles("largest")[0, :, 0], rel=1e-4)
    assert largest.chart.text.startswith("Largest weight by dₖ from 1 to 1,024: not divided from")


def test_sentences(snapshot: SnapshotAssertion) -> None:
    widths = (1, 4, 16, 64)
    even = np.full(4, 0.18)
    curves = (loss_curves(50, 60), loss_curves(100, 120))
    steps = [50, 60, 70, 80, 90, 100, 110, 120]
    none = (loss_curves(None), loss_curves(None))
    assert [
        width_finding(widths, np.array([[0.1, 0.2, 0.3, 0.0003], even])),
        width_finding(widths, np.array([[0.5, 0.4, 0.3, 0.1], even])),
        width_finding(widths, np.array([[0.1, 0.2, 0.3, 0.4], even])),
        width_finding(widths, np.array([[0.1, 0.2, 0.1, 0.0], [0.1, 0.2, 0.1, 0.05]])),
        softmax_at_width(64, 32, np.array([0.87, 0.1]), np.array([0.49, 3.72])),
        training_verdict(64, *curves),
        training_text(*curves),
        training_text(loss_curves(50, 50, 50), loss_curves(90, None, None)),
        training_text(loss_curves(100), loss_curves(50)),
        training_text(loss_curves(*steps), loss_curves(*steps)),
        training_text(loss_curves(*[50] * 8), loss_curves(*[100] * 7, 110)),
        training_text(loss_curves(*[100] * 8), loss_curves(*[100] * 7, 110)),
        training_text(loss_curves(50), loss_curves(None)),
        training_verdict(64, *none),
        training_text(*none),
        training_verdict(64, None, loss_curves(50)),
        training_text(None, loss_curves(50)),
    ] == snapshot
    assert loss_curves(50, None).steps_to_solve.tolist() == [50, np.inf]


def loss_curves(*reached: float | None) -> LossCurves:
    """Return curves of seeds that reach the threshold at these steps."""
    steps = np.arange(0.0, 200.0, 10.0)
    return LossCurves(steps, np.array([[0.01 if r is not None and s >= r else 2.0 for r in reached] for s in steps]))
