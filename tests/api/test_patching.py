from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import explorer
from explorer.errors import InvalidSetting
from explorer.hub import memory
from tests import needs

CLEAN, CHANGED = "O thou ha", "O they ha"


@pytest.fixture(scope="module")
def run() -> explorer.Run:
    return explorer.load("text-transformer")  # type: ignore[return-value]


def test_patching_has_arrays_a_table_and_figures(run: explorer.Run) -> None:
    found = run.patching(CLEAN, CHANGED, seed=1)
    assert (found.answer, found.contrast) == ("s", "v") and found.positions == (4, 5, 6, 7, 8)
    assert found.clean == tuple(CLEAN) and found.changed == tuple(CHANGED)
    assert found.residual.shape == (5, 5) and found.heads.shape == (4, 4) and found.layers.shape == (4, 3)
    table = found.table()
    assert table.state.value_counts().to_dict() == {
        "residual": 25,
        "head": 16,
        "attention": 4,
        "feedforward": 4,
        "layer": 4,
    }
    row = table[(table.state == "head") & (table.layer == 3) & (table["head"] == 2)].iloc[0]
    assert row.share == found.heads[3, 2] and 0 < row.probability < 1
    last = table[(table.state == "residual") & (table.layer == 4) & (table.position == 8)].iloc[0]
    assert last.share == pytest.approx(1, abs=1e-3) and last.token == "a"
    for states, shares in (("residual", found.residual), ("heads", found.heads), ("layers", found.layers)):
        figure = found.plot(states)  # type: ignore[arg-type]
        np.testing.assert_allclose(np.array(figure.data[0].z, float), shares, atol=1e-4)
    axes = found.plot().layout
    assert axes.xaxis.ticktext[0] == "o / e" and axes.yaxis.ticktext[:2] == ("embedding", "layer 0")
    layer, head = np.unravel_index(found.heads.argmax(), found.heads.shape)
    assert f"most restored by layer {layer}, head {head}" in repr(found)


def test_patched_values_are_those_of_a_trace_and_outcomes_and_position_can_be_chosen(run: explorer.Run) -> None:
    found = run.patching(CLEAN, CHANGED)
    clean = run.trace(CLEAN)
    patched = run.trace(CHANGED, replace={"blocks.2.attention.mixed": clean["blocks.2.attention.mixed"]}).logits[-1]
    table = found.table()
    row = table[(table.state == "attention") & (table.layer == 2)].iloc[0]
    shares = np.exp(patched - patched.max())
    assert row.probability == pytest.approx((shares / shares.sum())[found.found.outcomes[0]], abs=1e-5)
    found = run.patching(CLEAN, CHANGED, position=6, answer="h", contrast="d")
    assert (found.answer, found.contrast, found.positions) == ("h", "d", (4, 5, 6))
    parts = run.logit_attribution(CLEAN, position=6, outcome="h", contrast="d")
    assert (parts.outcome, parts.contrast) == ("h", "d")
    assert parts.logit == pytest.approx(float(found.found.metric(found.found.clean)), abs=1e-5)


def test_logit_attribution_adds_up_and_has_bars(run: explorer.Run) -> None:
    parts = run.logit_attribution(CLEAN)
    table = parts.table()
    assert parts.outcome == "s" and parts.contrast == "" and len(table) == 1 + 4 * 5 + 1
    assert table.added.sum() == pytest.approx(parts.logit, abs=1e-4) and table.added.is_monotonic_decreasing
    assert parts.logit == pytest.approx(float(run.trace(CLEAN).logits[-1].max()), abs=1e-4)
    bars = parts.plot(most=3).data[0]
    assert len(bars.x) == 4 and sum(bars.x) == pytest.approx(parts.logit, abs=1e-3)
    assert f"logit {parts.logit:.3f}" in repr(parts)


def test_what_is_not_possible_is_said_in_a_sentence(run: explorer.Run) -> None:
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: run.patching(CLEAN, "O they had"), "The first text has 9 tokens, the changed text 10"),
        (lambda: run.patching(CLEAN, CLEAN), "The two texts are the same"),
        (lambda: run.patching(CLEAN, CHANGED, answer="ß"), "no outcome “ß”. The most probable ones here are “s”"),
        (lambda: run.patching(CLEAN, CHANGED, answer=3), "An outcome is needed, not a value of the type int"),
        (lambda: run.patching(CLEAN, CHANGED, position=9), "position = 9 is not possible. Give a whole number"),
        (lambda: run.patching(CLEAN, 5), "A text is needed"),
        (lambda: run.patching(CLEAN, CHANGED).plot("layer"), "There are no states layer. Give one of residual"),
        (lambda: run.logit_attribution(CLEAN).plot(0), "most = 0 is not possible"),
        (lambda: explorer.load("text-toy-rnn").patching("ab", "ba"), "no attention"),
        (lambda: explorer.load("agreement-heads").logit_attribution("the king"), "norm follows each part"),
        (lambda: explorer.load("dates-additive").patching("1", "2"), "shown by plot()"),
    ]
    for call, message in calls:
        with pytest.raises(InvalidSetting, match=re.escape(message)):
            call()


@needs.transformers
def test_real_models_are_patched_too(tmp_path: Path, home: Path) -> None:
    from tests.hub.tiny_tokenizers import open_tiny

    try:
        decoder = explorer.load(open_tiny("gpt2", tmp_path / "decoder"))
        found = decoder.patching("the cat sat", "the dog sat")
        assert found.heads.shape == (3, 4) and found.residual.shape[0] == 4
        parts = decoder.logit_attribution("the cat sat")
        assert parts.table().added.sum() == pytest.approx(parts.logit, abs=1e-3)
        pair = explorer.load(open_tiny("t5", tmp_path / "pair"))
        with pytest.raises(InvalidSetting, match="reads one text and writes another"):
            pair.patching("the cat", "the dog")
    finally:
        memory.reset()
