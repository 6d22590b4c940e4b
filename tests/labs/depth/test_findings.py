from __future__ import annotations

import numpy as np

from explorer.inspection.steps_to_solve import LossCurves
from explorer.labs.depth import findings
from tests.words import assert_mentions, assert_states


def test_heads_that_differ_after_training() -> None:
    found = [0.4, 0.37, 0.43], [0.03, 0.03, 0.04]
    assert_states(findings.heads_finding(4, *found), "four heads … 0.40 bits after training … 0.03 bits before")
    assert_mentions(
        findings.heads_verdict(4, *found), "0.03 (0.03 to 0.04) before training, 0.40 (0.37 to 0.43) … no verdict"
    )
    trained, untrained = np.linspace(0.3, 0.4, 8), np.linspace(0.03, 0.04, 8)
    assert findings.heads_verdict(4, list(trained), list(untrained)).endswith("after: different.")


def test_heads_of_which_one_cannot_tell_whether_they_changed() -> None:
    trained, untrained = np.linspace(0.1, 0.4, 8), np.linspace(0.2, 0.32, 8)
    assert "cannot tell (" in findings.heads_verdict(2, list(trained), list(untrained))
    assert findings.heads_verdict(2, [0.1], [0.5]).endswith("One trained seed is too few for a verdict.")
    assert "single head" in findings.heads_finding(1, [np.nan], [np.nan])
    assert findings.heads_verdict(1, [np.nan], [np.nan]) == ""


def test_the_split_into_heads_is_described() -> None:
    text = findings.heads_text(8, 4, 16_384, 64, [8] * 8, 21, 0.57)
    assert_mentions(text, "trained with 4 heads, not with this split")
    assert "16,384" in text and "rank 8; the limit is 8 (8 numbers per head)" in text and "57\u00a0%" in text
    assert "trained with these 4 heads" in findings.heads_text(4, 4, 16_384, 64, [16] * 4, 21, 0.5)
    few = findings.heads_text(2, None, 16_384, 64, [5, 6], 6, 0.5)
    assert few.startswith("Its 16,384") and "rank 5 and 6; the limit is 6 (6 tokens)" in few


def test_the_formula_text_reports_measurements_out_of_range() -> None:
    measured = {"pre": 3.5, "none": 60.0, "post": 1.0}
    text = findings.formula_text("usual", 1 / 3, 24, (2.33, 5.0), (3.66, 45.9), measured)
    assert "s² = 0.111 and l = 24" in text
    assert "between 2.33 and 5; measured is 3.5." in text
    assert_mentions(text, "between 3.66 and 45.9 … 60 … outside")


def test_vanishing_gradients_are_reported() -> None:
    def finding(*ratios: float) -> str:
        return findings.vanishing_gradient_text(np.array(ratios), 24).rsplit(": ", 1)[1]

    assert finding(0.01, 0.05) == "it vanishes."
    assert finding(0.5, 0.9) == "it gets smaller, but does not vanish."
    assert finding(0.5, 1.4) == "it neither clearly grows nor shrinks."
    assert finding(1.2, 1.4) == "it grows."


def test_gradients_of_the_top_block_are_compared() -> None:
    text = findings.top_block_text((0.9, 1.08), (0.88, 0.58), (2, 24), 3.0)
    assert_mentions(text, "norm after each part: 0.90 … 2 and 1.08 … 24")
    assert_mentions(text, "smaller: 0.88 and 0.58 … 1.73 times")
    assert "stays about as large: 0.88 and 0.87." in findings.top_block_text((0.9, 1.08), (0.88, 0.87), (2, 24), 3.0)


def test_layernorm_and_rmsnorm_are_compared() -> None:
    layer = np.linspace(3.0, 4.0, 8)
    assert findings.norm_kinds_text(layer, layer + 0.1 * layer, 24).endswith("with RMSNorm: different.")
    assert findings.norm_kinds_text(layer, layer[::-1] + 0.1, 24).endswith("would be needed).")
    assert findings.norm_kinds_text(layer, layer, 24).endswith("the same value in every seed.")
    assert findings.norm_kinds_text(layer[:2], layer[:2] + 1, 24).endswith("fewer than eight seeds.")


def loss_curves(*reached: float | None) -> LossCurves:
    """Return curves of seeds that reach the threshold at these steps."""
    steps = np.arange(0.0, 200.0, 10.0)
    return LossCurves(steps, np.array([[0.01 if r is not None and s >= r else 2.3 for r in reached] for s in steps]))


def test_stacks_that_learn_are_named() -> None:
    ends = {
        "with a": loss_curves(50, 60),
        "with b": loss_curves(70, 70),
        "with c": loss_curves(None, 90),
        "so": loss_curves(None, None),
    }
    assert_states(findings.learning_finding(24, ends), "24 blocks … every seed only with a and with b.")
    more = ends | {"with d": loss_curves(40, 40)}
    assert_states(findings.learning_finding(24, more), "24 blocks … every seed, except with c and so.")
    assert "with c: 1 of two seeds; so: 0 of two seeds." in findings.learning_text(ends)
    none = {"with a": loss_curves(None), "with b": loss_curves(None)}
    assert findings.learning_finding(8, none) == "No stack of 8 blocks learns with every seed."
    assert findings.learning_finding(8, {"with a": loss_curves(9)}) == "All stacks of 8 blocks learn, with every seed."
    assert findings.learning_finding(8, {}) == findings.learning_text({}) == ""


def test_the_warmup_claim_is_judged() -> None:
    all_, some, none = loss_curves(50, 60), loss_curves(50, None), loss_curves(None, None)
    turns = findings.warmup_claim_text(none, all_)
    assert_mentions(turns, "none of two seeds learn … rate, two of two seeds learn … no verdict … eight seeds")
    eight = findings.warmup_claim_text(loss_curves(*[None] * 8), loss_curves(*[50] * 8))
    assert_mentions(eight, "none of eight seeds learn … eight of eight seeds learn … quarter … different.")
    assert "Here it learns without one: two of two" in findings.warmup_claim_text(all_, all_)
    assert_mentions(findings.warmup_claim_text(none, some), "none of two seeds learn … rate, one of two seeds learns")
    assert findings.warmup_claim_text(None, all_) == "" == findings.warmup_claim_text(none, None)
