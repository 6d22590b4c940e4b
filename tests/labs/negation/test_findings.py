"""Every sentence agrees with the numbers that it was made from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import ndarray

from explorer.labs.negation.findings import (
    ModelAnswer,
    answers_finding,
    attention_finding,
    beyond_sums_finding,
    ceiling_finding,
    comparison_with_best,
    contributions_finding,
    final_accuracy_finding,
    held_out_finding,
    padding_finding,
    pairs_finding,
    reading_finding,
    units_finding,
)
from explorer.tasks.negation import CLASSES
from tests.words import assert_mentions, assert_states

SUSTAIN, COLLAPSE = CLASSES.index("sustain"), CLASSES.index("collapse")


def make_answer(title: str, *sustain: float) -> ModelAnswer:
    return ModelAnswer(title, "--m-rnn", np.array(sustain))


def ends(**values: list[float]) -> list[tuple[str, ndarray]]:
    return [(title, np.array(accuracies, dtype=float)) for title, accuracies in values.items()]


@pytest.mark.parametrize(
    ("answer", "truth", "note"),
    [
        (make_answer("a", 0.9, 0.8), SUSTAIN, "right in all 2 seeds"),
        (make_answer("a", 0.9, 0.8), COLLAPSE, "wrong in all 2 seeds"),
        (make_answer("a", 0.9, 0.9, 0.1), SUSTAIN, "right in 2 of 3 seeds"),
        (make_answer("a", 0.9, 0.9, 0.1), COLLAPSE, "wrong in 2 of 3 seeds"),
        (make_answer("a", 0.9, 0.45, 0.45), COLLAPSE, "wrong in 1 of 3 seeds"),  # the mean may side with the few
        (make_answer("a", 0.9), SUSTAIN, "right"),
        (make_answer("a", 0.9), COLLAPSE, "wrong"),
        (make_answer("a", 0.9, 0.1, 0.8), None, "2 of 3 seeds say so"),
        (make_answer("a", 0.9), None, "one seed"),
    ],
)
def test_an_answer_notes_in_how_many_seeds_it_is_right_or_wrong(
    answer: ModelAnswer, truth: int | None, note: str
) -> None:
    assert answer.note(truth) == note


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_an_answer_gives_the_likelier_class_and_its_probability(sustain: list[float]) -> None:
    answer = make_answer("a", *sustain)
    assert answer.probability >= 0.5
    assert answer.probability == pytest.approx(answer.mean if answer.answer == SUSTAIN else 1 - answer.mean)
    assert answer.correct_seeds(SUSTAIN) + answer.correct_seeds(COLLAPSE) == len(sustain)


YES, NO = 0.9, 0.1


@pytest.mark.parametrize(
    ("sustain", "truth", "sentence"),
    [
        ([YES, NO, NO, NO], COLLAPSE, "A … sustain … three … collapse, and so does the grammar"),
        ([YES, NO, NO, NO], SUSTAIN, "three … collapse … A … sustain, and so does the grammar"),
        ([NO] * 2 + [YES] * 3, SUSTAIN, "A and B … collapse … three … sustain, and so does the grammar"),
        ([NO, NO, NO, NO], COLLAPSE, "All four say collapse, and so does the grammar."),
        ([NO, NO, NO, NO], SUSTAIN, "All four say collapse; the grammar says sustain."),
        ([YES, NO, YES, NO], COLLAPSE, "A and C … sustain … B and D … collapse, and so does the grammar"),
        ([YES, NO, YES, NO], SUSTAIN, "B and D … collapse … A and C … sustain, and so does the grammar"),
        ([NO, YES], COLLAPSE, "B … sustain … A … collapse, and so does the grammar"),
        ([NO, NO], COLLAPSE, "Both say collapse, and so does the grammar."),
        ([NO], COLLAPSE, "A says collapse, and so does the grammar."),
        ([NO], SUSTAIN, "A says collapse; the grammar says sustain."),
        ([YES, NO, NO], None, "A … sustain … two … collapse … grammar … no sentence like this"),
        ([NO, NO, NO], None, "All three … collapse … grammar … no sentence like this"),
        ([], COLLAPSE, "No model … trained"),
    ],
)
def test_the_headline_names_the_answer_of_every_model(sustain: list[float], truth: int | None, sentence: str) -> None:
    answers = [make_answer(title, p) for title, p in zip("ABCDE", sustain, strict=False)]
    assert_states(answers_finding(answers, truth), sentence)


def test_the_contributions_finding_is_about_not_or_else_the_strongest_word() -> None:
    values = np.array([0.0, 1.25, 0.5])
    assert contributions_finding(("human", "not", "nature"), values).startswith("“not” always adds +1.25, whatever")
    assert contributions_finding(("not", "not", "nature"), -values - 0.1).startswith(
        "“not” always adds −0.10, each time,"
    )
    assert contributions_finding(("human", "destroy", "nature"), -values) == "“destroy” adds most: −1.25."


def test_the_pairs_finding_is_about_the_last_pair_with_not_or_else_the_strongest() -> None:
    values = np.array([0.25, -5.0, -4.0])
    assert pairs_finding(("human not", "not not", "not preserve"), values) == (
        "“not preserve” has a weight of its own: −4.00."
    )
    assert pairs_finding(("<BOS> human", "human preserve", "preserve nature"), values) == (
        "“human preserve” adds most: −5.00."
    )


def test_the_units_finding_names_the_strongest_unit() -> None:
    assert_states(units_finding(("unit 1", "unit 2"), np.array([0.5, -0.75])), "all words … Unit 2 adds most: −0.75.")


def test_the_reading_finding_names_the_largest_change() -> None:
    sentence = reading_finding(("<BOS>", "not", "preserve"), np.array([0.5, 0.45, 0.05]))
    assert_states(sentence, "largest … 0.45 to 0.05 … “preserve”")


def test_uniform_attention_has_no_strongest_token() -> None:
    tokens = ("<BOS>", "not", "preserve", "<PAD>")
    row = np.array([0.3, 0.36, 0.34, np.nan])
    even = attention_finding(tokens, np.stack([row] * 4), 0, 1)
    assert "almost evenly at everything, 0.30 to 0.36" in even
    sharp = np.stack([[0.1, 0.2, 0.7, np.nan], [0.9, 0.1, 0.0, np.nan], row, row])
    assert_states(attention_finding(tokens, sharp, 0, 1), "“<BOS>” … “preserve”: 0.70")
    assert attention_finding(tokens, sharp, 0, 2).startswith("In block 1 of 2, “<BOS>”, which looks hardest")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            ends(Bag=[0.8833, 0.8833], RNN=[1, 1]),
            "RNN … 1.000 in every seed … Bag … 0.883 in every seed … ceiling",
        ),
        (ends(Bag=[0.6667, 0.6667]), "Bag ends at 0.667 in every seed."),
        (ends(Bag=[1, 1], RNN=[1, 1], GRU=[1, 1]), "All three reach 1.000 in every seed."),
        (ends(Bag=[1, 1], RNN=[1, 1]), "Both reach 1.000 in every seed."),
        (ends(RNN=[1, 1]), "RNN reaches 1.000 in every seed."),
        (
            ends(RNN=[1, 1], GRU=[1, 0.9]),
            "RNN … 1.000 in every seed … depends on the seed … right … GRU in 1 of 2 seeds",
        ),
        (
            ends(GRU=[1, 0.9], LSTM=[1, 0.8]),
            "depends on the seed … right … GRU in 1 of 2 seeds … LSTM in 1 of 2 seeds",
        ),
        (ends(RNN=[1 - 1e-7], Bag=[0.8833]), "RNN … 1.000 … Bag … 0.883 … ceiling"),
    ],
)
def test_the_final_accuracies_are_described_as_measured(values: list[tuple[str, ndarray]], sentence: str) -> None:
    assert_states(final_accuracy_finding(values, 0.88333), sentence)


def test_a_model_without_a_solved_seed_is_described_by_its_range() -> None:
    sentence = final_accuracy_finding(ends(Bag=[0.65, 0.7, 0.6667]), 0.8333)
    assert "0 of 3" not in sentence
    assert_states(sentence, "Bag … between 0.650 and 0.700 … seed")


@pytest.mark.parametrize(
    ("ceiling", "lead", "reached", "parts"),
    [
        (
            0.88333,
            0.88333,
            None,
            ["No sum of word weights passes 0.8833 here", "Cross-entropy leads up to the ceiling."],
        ),
        (0.83333, 0.66667, None, ["passes 0.8333", "Training does not even lead there", "gets only 0.6667 right."]),
        (1.0, 1.0, None, ["a sum of word weights is enough: the ceiling is 1.", "leads up to the ceiling."]),
        (0.9, 0.9, [0.9, 0.9], ["ended at 0.9000 in every seed."]),
        (0.9, 0.9, [0.9, 0.75], ["ended at 0.7500 to 0.9000 over its seeds."]),
    ],
)
def test_both_ceilings_of_a_sum_are_described_with_their_numbers(
    ceiling: float, lead: float, reached: list[float] | None, parts: list[str]
) -> None:
    sentence = ceiling_finding(ceiling, lead, None if reached is None else np.array(reached))
    assert [part for part in parts if part not in sentence] == []
    assert ("The bag of words on this page" in sentence) == (reached is not None)
    assert ("does not even" in sentence) == (lead < ceiling)
    assert ("enough" in sentence) == (ceiling == 1)


@pytest.mark.parametrize(
    ("ceiling", "hidden", "sentence"),
    [
        (
            0.88333,
            [1, 1],
            "right on every sentence in 2 of 2 seeds … function of the counts … fails … one weight per word",
        ),
        (0.88333, [1 - 1e-7, 0.9], "right on every sentence in 1 of 2 seeds … function of the counts … fails"),
        (0.88333, [1], "right on every sentence, so … function of the counts"),
        (1.0, [1, 1], "right on every sentence in 2 of 2 seeds … function of the counts, and adding weights is enough"),
        (0.88333, [0.9, 0.8], "reaches up to 0.9000, more than any sum of word weights"),
        (0.88333, [0.88333, 0.65], "reaches at most 0.8833 … not above the ceiling … do not show"),
    ],
)
def test_a_hidden_layer_over_the_counts_shows_what_a_sum_lacks(
    ceiling: float, hidden: list[float], sentence: str
) -> None:
    finding = beyond_sums_finding(ceiling, np.array(hidden, dtype=float))
    assert_states(finding, sentence)
    assert ("function of the counts" in finding) == (max(hidden) > 0.99)
    assert ("What fails" in finding) == (max(hidden) > 0.99 and ceiling < 1)


def test_one_seed_is_not_called_every_seed() -> None:
    assert "every seed" not in ceiling_finding(0.9, 0.9, np.array([0.9]))
    assert "every seed" not in final_accuracy_finding(ends(RNN=[1.0], Bag=[0.9]), 0.9)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            ends(Bag=[0, 0], RNN=[1, 0]),
            "understood … RNN in 1 of 2 seeds … Bag never",
        ),
        (ends(Bag=[0, 0], RNN=[0.5, 0]), "Bag and RNN never"),
        (ends(RNN=[1, 1]), "understood … RNN in 2 of 2 seeds"),
    ],
)
def test_the_held_out_pair_is_described_seed_by_seed(values: list[tuple[str, ndarray]], sentence: str) -> None:
    assert_states(held_out_finding("destroy", values), f"“not destroy” … never … training … {sentence}")


def test_padding_without_effect_is_described_so() -> None:
    same = [make_answer("A", 0.9, 0.8), make_answer("B", 0.2, 0.1)]
    assert_states(padding_finding(same, same, SUSTAIN), "same sentence … same answer, alone or in company")


def test_padding_that_changes_an_answer_is_described_with_both_answers() -> None:
    sentence = padding_finding([make_answer("A", 0.2, 0.1)], [make_answer("A", 0.9, 0.8)], SUSTAIN)
    assert_states(
        sentence, "One sentence, two answers … A … collapse alone, sustain in company … alone … wrong in all 2 seeds"
    )
    assert "wrong" not in padding_finding([make_answer("A", 0.9)], [make_answer("A", 0.2)], SUSTAIN)


def test_padding_that_only_changes_a_probability_is_not_called_two_answers() -> None:
    sentence = padding_finding([make_answer("A", 0.9)], [make_answer("A", 0.8)], SUSTAIN)
    assert "A is 0.90 sure alone, 0.80 in company." in sentence
    assert "two answers" not in sentence


def test_seeds_that_are_right_everywhere_are_compared_by_an_exact_test() -> None:
    right, never, some = [1.0] * 8, [0.883] * 8, [1.0] * 5 + [0.9] * 3
    found = comparison_with_best(ends(GRU=right, RNN=right, Transformer=some, bag=never, n4=[0.9] * 8, n5=never))
    assert_mentions(found, "seeds … every sentence correctly … Worse than GRU: bag with 0 of 8 against 8 of 8 seeds")
    assert_mentions(
        found, "GRU and RNN … same … Cannot tell … Transformer (5 of 8 against 8 of 8 seeds; about 35 seeds"
    )
    assert_mentions(found, "Fisher … 15 comparisons")
    assert "noise" not in found
    assert_mentions(comparison_with_best(ends(GRU=[1.0] * 3, bag=[0.9] * 3)), "Three seeds … too few")
    assert comparison_with_best(ends(GRU=[1.0], bag=[0.9])) == comparison_with_best(ends(GRU=right)) == ""


def test_means_are_compared_where_no_seed_is_right_everywhere() -> None:
    low = np.linspace(0.7, 0.71, 8)
    found = comparison_with_best([("GRU", low + 0.1), ("RNN", low - np.tile([0, 0.002], 4)), ("LSTM", low[::-1] + 0.1)])
    assert_mentions(found, "Worse than GRU: RNN by 0.101 (0.100 to 0.102)")
    assert_mentions(found, "Cannot tell … LSTM")
    assert_mentions(found, "Student … three comparisons")
    assert "every sentence" not in found
