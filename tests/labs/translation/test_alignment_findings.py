from __future__ import annotations

from functools import partial

import numpy as np
from syrupy.assertion import SnapshotAssertion

from explorer.labs.translation import alignment_findings as findings
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig, format_date
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig

DATE = "3rd of march 1997"


def attention_on(*strongest: int, columns: int = 3, weight: float = 0.8) -> np.ndarray:
    """Return the weights of one head whose rows attend most to these positions."""
    weights = np.full((1, 1, len(strongest), columns), (1 - weight) / (columns - 1), np.float32)
    for row, column in enumerate(strongest):
        weights[0, 0, row, column] = weight
    return weights


# ---- digits


def test_target_positions_follow_from_the_task_while_tokens_are_generated() -> None:
    assert findings.target_positions(ReverseConfig(), 3, ("4", "1", "3", "<EOS>")) == [2, 1, 0]
    assert findings.target_positions(CopyConfig(), 3, ("3", "1", "4", "<EOS>")) == [0, 1, 2]
    assert findings.target_positions(ReverseConfig(), 3, ("4", "<EOS>")) == [2]
    assert findings.target_positions(ReverseConfig(), 2, ("1", "1", "1", "1")) == [1, 0]


def test_sentences(snapshot: SnapshotAssertion) -> None:
    target = ("4", "1", "3", "<EOS>")
    assert [
        findings.attention_finding(
            ReverseConfig(), "the model with it", "314", target, attention_on(2, 1, 1, 0), (0, 0)
        ),
        findings.attention_finding(CopyConfig(), "the model with it", "314", target, attention_on(0, 1, 1, 0), (0, 0)),
        findings.attention_finding(ReverseConfig(), "it", "3", ("<EOS>",), attention_on(0), (0, 0)),
    ] == snapshot(name="hits of additive attention are counted")
    two = np.concatenate([attention_on(0, 0, 0, 0), attention_on(2, 1, 0, 0)], axis=1)
    target = ("4", "1", "3", "<EOS>")
    compare = partial(findings.head_comparison, ReverseConfig(), "314", target, two)
    assert [
        findings.attention_finding(ReverseConfig(), "the Transformer", "314", target, two, (0, 0)),
        compare((0, 0)),
        compare((0, 1)),
        findings.head_comparison(ReverseConfig(), "314", target, two[:, :1], (0, 0)),
        findings.head_comparison(ReverseConfig(), "3", ("<EOS>",), two, (0, 0)),
    ] == snapshot(name="selected head is compared")
    target = (*"1997-03-03", "<EOS>")
    weights = attention_on(13, 14, 15, 16, *[0] * 7, columns=17)
    two = np.concatenate([attention_on(*[0] * 11, columns=17), weights], axis=0)
    compare = partial(findings.head_comparison, DatesConfig(), DATE, target, two)
    assert [
        findings.attention_finding(DatesConfig(), "the model", DATE, target, weights, (0, 0)),
        findings.attention_finding(DatesConfig(), "the Transformer", DATE, target, two, (0, 0)),
        compare((0, 0)),
        compare((1, 0)),
        findings.head_comparison(DatesConfig(), "31 february 1999", target, two, (0, 0)),
    ] == snapshot(name="weight on the year is compared")
    weights = attention_on(*[0] * 11, columns=16)
    assert [
        findings.attention_finding(
            DatesConfig(), "the model", "31 february 1999", (*"1999-02-28", "<EOS>"), weights, (0, 0)
        ),
        findings.attention_finding(
            DatesConfig(), "the model", DATE, ("1", "9", "<EOS>"), attention_on(0, 0, 0, columns=17), (0, 0)
        ),
    ] == snapshot(name="invalid date is reported")
    assert [
        findings.sensitivity_finding(tuple("314"), np.array([0.5, 2.0, 1.0], np.float32)),
        findings.sensitivity_finding(("a b"[1],), np.array([0.5], np.float32)),
        findings.vector_finding("it", 4, 64),
    ] == snapshot(name="finding has the most and least")
    assert [
        findings.output_finding(target, right)
        for target, right in [
            (("4", "1", "<EOS>"), ("4", "1", "<EOS>")),
            (("4", "<EOS>"), ("4", "1", "<EOS>")),
            (("4", "1", "7"), ("4", "1", "<EOS>")),
            (("<EOS>",), ("4", "<EOS>")),
            (("4", "<EOS>"), None),
        ]
    ] == snapshot(name="output is compared with the right")
    energies = np.array([1.0, 900.0, 899.0], np.float32)
    shifted = np.exp(energies.astype(float) - 900)
    weights = (shifted / shifted.sum()).astype(np.float32)
    assert findings.additive_example(4, energies, weights) == snapshot(name="example numbers give the weight")
    assert findings.scaled_example(0, 16, np.array([2.5], np.float32), np.array([1.0], np.float32)) == snapshot(
        name="scores are products over the root"
    )


# ---- dates


def test_the_year_is_found_in_every_date_format() -> None:
    from datetime import date

    for way in DATE_FORMATS:
        text = format_date(date(1985, 11, 12), way)
        year = findings.find_year(text)
        assert year is not None
        assert text[year.start : year.stop] in ("1985", "85"), text
    assert findings.find_year("31 february 1999") is None
    assert findings.find_year("no date") is None


# ---- one vector, and what is written


# ---- formulas
