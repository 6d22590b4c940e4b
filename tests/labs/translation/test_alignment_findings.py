from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from explorer.labs.translation import alignment_findings as findings
from explorer.tasks.seq2seq.dates import DATE_FORMATS, DatesConfig, format_date
from explorer.tasks.seq2seq.digits import CopyConfig, ReverseConfig
from tests.words import assert_mentions, assert_states

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


def test_hits_of_additive_attention_are_counted_step_by_step() -> None:
    target = ("4", "1", "3", "<EOS>")
    sentence = findings.attention_finding(
        ReverseConfig(), "the model with it", "314", target, attention_on(2, 1, 1, 0), (0, 0)
    )
    assert_states(sentence, "2 of 3 steps the model with it … most … digit")
    sentence = findings.attention_finding(
        CopyConfig(), "the model with it", "314", target, attention_on(0, 1, 1, 0), (0, 0)
    )
    assert "In 2 of 3 steps" in sentence
    assert "writes nothing" in findings.attention_finding(
        ReverseConfig(), "it", "3", ("<EOS>",), attention_on(0), (0, 0)
    )


def test_the_selected_head_is_compared_with_the_best() -> None:
    two = np.concatenate([attention_on(0, 0, 0, 0), attention_on(2, 1, 0, 0)], axis=1)
    target = ("4", "1", "3", "<EOS>")
    sentence = findings.attention_finding(ReverseConfig(), "the Transformer", "314", target, two, (0, 0))
    assert sentence == "In 1 of 3 steps layer 1, head 1 of the Transformer attends most to the digit it has to write."
    compare = partial(findings.head_comparison, ReverseConfig(), "314", target, two)
    assert compare((0, 0)) == "Of the 2 heads layer 1, head 2 does so most."
    assert compare((0, 1)) == "Of the 2 heads this one does so most."
    assert findings.head_comparison(ReverseConfig(), "314", target, two[:, :1], (0, 0)) == ""
    assert findings.head_comparison(ReverseConfig(), "3", ("<EOS>",), two, (0, 0)) == "", "nothing was written"


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


def test_the_weight_on_the_year_is_compared_with_uniform_attention() -> None:
    target = (*"1997-03-03", "<EOS>")
    weights = attention_on(13, 14, 15, 16, *[0] * 7, columns=17)
    sentence = findings.attention_finding(DatesConfig(), "the model", DATE, target, weights, (0, 0))
    share = 0.8 + 3 * 0.2 / 16
    percent = f"{100 * share:.0f}"
    assert sentence.replace("\u00a0", " ") == (
        f"Writing the year, the model puts {percent} % of its attention on “1997” (uniform: 24 %)."
    )
    two = np.concatenate([attention_on(*[0] * 11, columns=17), weights], axis=0)
    sentence = findings.attention_finding(DatesConfig(), "the Transformer", DATE, target, two, (0, 0))
    assert_mentions(sentence, "layer 1, head 1 … Transformer … 5\u00a0% … “1997”")
    compare = partial(findings.head_comparison, DatesConfig(), DATE, target, two)
    assert compare((0, 0)) == "Of the 2 heads layer 2, head 1 does so most."
    assert compare((1, 0)) == "Of the 2 heads this one does so most."
    assert findings.head_comparison(DatesConfig(), "31 february 1999", target, two, (0, 0)) == "", "there is no year"


def test_an_invalid_date_is_reported_with_the_answer() -> None:
    weights = attention_on(*[0] * 11, columns=16)
    sentence = findings.attention_finding(
        DatesConfig(), "the model", "31 february 1999", (*"1999-02-28", "<EOS>"), weights, (0, 0)
    )
    assert "28 days, not 31" in sentence and sentence.endswith("The model writes “1999-02-28” anyway.")
    sentence = findings.attention_finding(
        DatesConfig(), "the model", DATE, ("1", "9", "<EOS>"), attention_on(0, 0, 0, columns=17), (0, 0)
    )
    assert sentence == "The model writes “19”, which is not even a year."


# ---- one vector, and what is written


def test_the_finding_has_the_most_and_least_sensitive_position() -> None:
    sentence = findings.sensitivity_finding(tuple("314"), np.array([0.5, 2.0, 1.0], np.float32))
    assert_mentions(sentence, "2 … “1” … vector most … 2.00")
    assert sentence.endswith("At position 1, instead of “3”, it changes least, by 0.50.")
    assert findings.sensitivity_finding(("a b"[1],), np.array([0.5], np.float32)).startswith(
        "Another symbol instead of “␣”"
    )
    assert "all 4 tokens from the same 64 numbers" in findings.vector_finding("it", 4, 64)


@pytest.mark.parametrize(
    ("target", "right", "sentence"),
    [
        (("4", "1", "<EOS>"), ("4", "1", "<EOS>"), "The model writes “41”, which is right."),
        (("4", "<EOS>"), ("4", "1", "<EOS>"), "1 of 3 tokens … right … <EOS> … right answer … “41”"),
        (("4", "1", "7"), ("4", "1", "<EOS>"), "“417”, without an end: 2 of 3 tokens are right"),
        (("<EOS>",), ("4", "<EOS>"), "The model writes nothing: 0 of 2"),
        (("4", "<EOS>"), None, "There is no right answer to compare."),
    ],
)
def test_the_output_is_compared_with_the_right_answer(
    target: tuple[str, ...], right: tuple[str, ...] | None, sentence: str
) -> None:
    assert_mentions(findings.output_finding(target, right), sentence)


# ---- formulas


def test_the_example_numbers_give_the_weight() -> None:
    energies = np.array([1.0, 900.0, 899.0], np.float32)  # too large for an exponential
    shifted = np.exp(energies.astype(float) - 900)
    weights = (shifted / shifted.sum()).astype(np.float32)
    sentence = findings.additive_example(4, energies, weights)
    assert r"e_{5,2} &= 900.00" in sentence and r"\frac{1}{1 + 0.368} = 0.73" in sentence
    assert r"c_{5} &= 0.73\, h_{2} + 0.27\, h_{3} + 0.00\, h_{1} \end" in sentence


def test_scores_are_products_over_the_root_of_their_width() -> None:
    sentence = findings.scaled_example(0, 16, np.array([2.5], np.float32), np.array([1.0], np.float32))
    assert r"\frac{10.00}{\sqrt{16}} = 2.50" in sentence and r"\frac{1}{1 + 0.000} = 1.00" in sentence
