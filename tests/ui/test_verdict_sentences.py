"""The sentences of verdicts."""

from __future__ import annotations

import numpy as np

from explorer.inspection.verdicts import compare_with_best, judge, mean_difference, solved_difference
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, describe_judgement

STEADY = np.array([0.01, -0.01, 0.02, -0.02, 0.01, -0.01, 0.0, 0.0])


def test_every_verdict_has_its_sentence() -> None:
    top = 1 + STEADY
    values = {"GRU": 0.5 - STEADY, "LSTM": top, "RNN": top, "n-gram": top - 0.001 - STEADY / 9}
    values["Transformer"] = top[::-1] * 0.98
    found = compare_with_best(values, paired=True, margin=0.01)
    assert comparison_finding(found, digits=3, unit="bits") == (
        "Worse than LSTM: GRU by 0.500 (0.478 to 0.522) bits. "
        "Practically equal to LSTM (the whole interval lies within ±0.010 bits): n-gram. "
        "LSTM and RNN have the same value in every seed. "
        "Cannot tell whether LSTM is better than Transformer (0.020 (0.000 to 0.040) bits; "
        "about 25 seeds would probably decide)."
    )
    assert comparison_note(found) == (
        "In brackets: 95 % confidence intervals over seeds. "
        "Tests: Student’s t test of pairs of seeds, corrected for ten comparisons (Holm)."
    )


def test_three_seeds_have_a_difference_and_no_verdict() -> None:
    found = compare_with_best({"GRU": STEADY[:3], "RNN": STEADY[:3] - 0.1 - STEADY[1:4] / 9}, paired=True)
    assert comparison_finding(found) == (
        "GRU is best on average, ahead of RNN by 0.100 (0.094 to 0.105). Three seeds are too few for a verdict."
    )
    assert comparison_note(found) == "In brackets: 95 % confidence intervals over seeds."
    assert comparison_finding(None) == comparison_note(None) == ""


def test_solved_seeds_are_counted() -> None:
    def solved(count: int) -> np.ndarray:
        return np.arange(8) < count

    found = compare_with_best({"Transformer": solved(4), "feedforward": solved(6), "RNN": solved(0)}, paired=False)
    assert comparison_finding(found) == (
        "Worse than feedforward: RNN (0 of 8 against 6 of 8 seeds). Cannot tell whether feedforward is better than "
        "Transformer (4 of 8 against 6 of 8 seeds; about 85 seeds would probably decide)."
    )
    assert comparison_note(found) == "Tests: Fisher’s exact test, corrected for three comparisons (Holm)."


def test_a_cell_has_the_difference_its_interval_and_the_verdict() -> None:
    wide = mean_difference(STEADY, STEADY[::-1] * 3 + 0.01, paired=True)
    same = mean_difference(STEADY, STEADY, paired=True)
    assert wide is not None and same is not None
    assert describe_judgement(judge([wide])[0]) == (
        "+0.01 (−0.03 to +0.05): cannot tell (about 200 seeds would probably decide)"
    )
    assert describe_judgement(judge([same])[0]) == "the same value in every seed"
    few = solved_difference(np.zeros(3, bool), np.ones(3, bool), paired=True)
    assert describe_judgement(judge([few])[0]) == "0 of 3 against 3 of 3 seeds: no verdict with fewer than eight seeds"
