from __future__ import annotations

import datetime
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
    digits = ("4", "1", "3", "<EOS>")
    two_heads = np.concatenate([attention_on(0, 0, 0, 0), attention_on(2, 1, 0, 0)], axis=1)
    compare_digits = partial(findings.head_comparison, ReverseConfig(), "314", digits, two_heads)
    date = (*"1997-03-03", "<EOS>")
    weights = attention_on(13, 14, 15, 16, *[0] * 7, columns=17)
    two_layers = np.concatenate([attention_on(*[0] * 11, columns=17), weights], axis=0)
    compare_dates = partial(findings.head_comparison, DatesConfig(), DATE, date, two_layers)
    first_only = attention_on(*[0] * 11, columns=16)
    energies = np.array([1.0, 900.0, 899.0], np.float32)
    shifted = np.exp(energies.astype(float) - 900)
    shares = (shifted / shifted.sum()).astype(np.float32)
    assert [
        findings.attention_finding(
            ReverseConfig(), "the model with it", "314", digits, attention_on(2, 1, 1, 0), (0, 0)
        ),
        findings.attention_finding(CopyConfig(), "the model with it", "314", digits, attention_on(0, 1, 1, 0), (0, 0)),
        findings.attention_finding(ReverseConfig(), "it", "3", ("<EOS>",), attention_on(0), (0, 0)),
        findings.attention_finding(ReverseConfig(), "the Transformer", "314", digits, two_heads, (0, 0)),
        compare_digits((0, 0)),
        compare_digits((0, 1)),
        findings.head_comparison(ReverseConfig(), "314", digits, two_heads[:, :1], (0, 0)),
        findings.head_comparison(ReverseConfig(), "3", ("<EOS>",), two_heads, (0, 0)),
        findings.attention_finding(DatesConfig(), "the model", DATE, date, weights, (0, 0)),
        findings.attention_finding(DatesConfig(), "the Transformer", DATE, date, two_layers, (0, 0)),
        compare_dates((0, 0)),
        compare_dates((1, 0)),
        findings.head_comparison(DatesConfig(), "31 february 1999", date, two_layers, (0, 0)),
        findings.attention_finding(
            DatesConfig(), "the model", "31 february 1999", (*"1999-02-28", "<EOS>"), first_only, (0, 0)
        ),
        findings.attention_finding(
            DatesConfig(), "the model", DATE, ("1", "9", "<EOS>"), attention_on(0, 0, 0, columns=17), (0, 0)
        ),
        findings.sensitivity_finding(tuple("314"), np.array([0.5, 2.0, 1.0], np.float32)),
        findings.sensitivity_finding(("a b"[1],), np.array([0.5], np.float32)),
        findings.vector_finding("it", 4, 64),
        *(
            findings.output_finding(target, right)
            for target, right in [
                (("4", "1", "<EOS>"), ("4", "1", "<EOS>")),
                (("4", "<EOS>"), ("4", "1", "<EOS>")),
                (("4", "1", "7"), ("4", "1", "<EOS>")),
                (("<EOS>",), ("4", "<EOS>")),
                (("4", "<EOS>"), None),
            ]
        ),
        findings.additive_example(4, energies, shares),
        findings.scaled_example(0, 16, np.array([2.5], np.float32), np.array([1.0], np.float32)),
    ] == snapshot


# ---- dates


def test_the_year_is_found_in_every_date_format() -> None:
    for way in DATE_FORMATS:
        text = format_date(datetime.date(1985, 11, 12), way)
        year = findings.find_year(text)
        assert year is not None
        assert text[year.start : year.stop] in ("1985", "85"), text
    assert findings.find_year("31 february 1999") is None
    assert findings.find_year("no date") is None
