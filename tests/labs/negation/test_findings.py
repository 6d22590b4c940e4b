"""Every sentence agrees with the numbers that it was made from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import ndarray

from explorer.inspection.words.attending_head import find_attending_head
from explorer.labs.negation.findings import (
    FILE,
    ModelAnswer,
    answers_finding,
    attention_finding,
    attention_title,
    beyond_sums_finding,
    ceiling_finding,
    comparison_with_best,
    contributions_finding,
    cross_entropy_finding,
    file_accuracy_finding,
    final_accuracy_finding,
    held_out_finding,
    padding_finding,
    pairs_finding,
    reading_finding,
    readout_explanation,
    readout_finding,
    units_finding,
    windows_finding,
)
from explorer.tasks.ceiling import LinearReadout
from explorer.tasks.negation import CLASSES
from tests.words import assert_mentions, assert_states

SUSTAIN, COLLAPSE = CLASSES.index("sustain"), CLASSES.index("collapse")


def make_answer(title: str, *sustain: float) -> ModelAnswer:
    return ModelAnswer(title, "--m-rnn", np.array([[1 - p, p] for p in sustain]))


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
    assert answer.probability == pytest.approx(np.mean(sustain) if answer.answer == SUSTAIN else 1 - np.mean(sustain))
    assert answer.correct_seeds(SUSTAIN) + answer.correct_seeds(COLLAPSE) == len(sustain)


YES, NO = 0.9, 0.1


@pytest.mark.parametrize(
    ("sustain", "truth", "sentence"),
    [
        ([YES, NO, NO, NO], COLLAPSE, "A … sustain … three … collapse, and so does the grammar"),
        ([YES, NO, NO, NO], SUSTAIN, "A … sustain, and so does the grammar … three … collapse"),
        ([NO] * 2 + [YES] * 3, SUSTAIN, "A and B … collapse … three … sustain, and so does the grammar"),
        ([NO, NO, NO, NO], COLLAPSE, "All four say collapse, and so does the grammar."),
        ([NO, NO, NO, NO], SUSTAIN, "All four say collapse; the grammar says sustain."),
        ([YES, NO, YES, NO], COLLAPSE, "A and C … sustain … B and D … collapse, and so does the grammar"),
        ([YES, NO, YES, NO], SUSTAIN, "B and D … collapse … A and C … sustain, and so does the grammar"),
        ([NO, YES], COLLAPSE, "B … sustain … A … collapse, and so does the grammar"),
        ([NO, NO], COLLAPSE, "Both say collapse, and so does the grammar."),
        ([NO], COLLAPSE, "A says collapse, and so does the grammar."),
        ([NO], SUSTAIN, "A says collapse; the grammar says sustain."),
        ([YES, NO, NO], None, "A says sustain. The other two say collapse."),
        ([NO, NO, NO], None, "All three say collapse."),
        ([], COLLAPSE, "No model … finished run"),
    ],
)
def test_the_headline_names_the_answer_of_every_model(sustain: list[float], truth: int | None, sentence: str) -> None:
    answers = [make_answer(title, p) for title, p in zip("ABCDE", sustain, strict=False)]
    assert_states(answers_finding(answers, truth), sentence)


@pytest.mark.parametrize("truth", [SUSTAIN, COLLAPSE, None])
def test_a_model_whose_seeds_disagree_gives_no_answer(truth: int | None) -> None:
    split, sure = make_answer("A", YES, YES, NO, NO), [make_answer(title, NO, NO, NO, NO) for title in "BCD"]
    assert answers_finding([split], truth) == "The seeds of A disagree."
    found = answers_finding([split, *sure], truth)
    assert found.startswith("B, C and D say collapse") and found.endswith("The seeds of A disagree.")
    assert ("so does the grammar" in found) == (truth == COLLAPSE)
    assert "The other" not in answers_finding([split, make_answer("E", YES), *sure], truth)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), max_size=6), st.sampled_from([0, 1, None]))
def test_the_headline_is_never_stronger_than_the_answers(sustain: list[list[float]], truth: int | None) -> None:
    answers = [make_answer(f"M{i}", *values) for i, values in enumerate(sustain)]
    found = answers_finding(answers, truth)
    assert ("grammar" in found) <= (truth is not None)
    assert "so does the grammar" not in found or any(a.is_unanimous and a.answer == truth for a in answers)
    for answer in answers:
        if not answer.is_unanimous:
            disagree = found.split(".")[-2]
            assert answer.title in disagree or "models disagree" in disagree


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


def test_the_windows_finding_names_the_words_whose_filters_add_most() -> None:
    found = windows_finding(("human not", "not preserve nature"), np.array([0.5, -0.75]))
    assert_states(found, "counts once … respond most to “not preserve nature” add −0.75.")
    assert (
        windows_finding((), np.array([])) == "No filter responds to this sentence, so the answer is that of the bias."
    )


def test_the_reading_finding_names_the_largest_change() -> None:
    sentence = reading_finding(("<BOS>", "not", "preserve"), np.array([0.5, 0.45, 0.05]))
    assert "changes most at “preserve”, from 0.45 to 0.05. Only the answer after the last token" in sentence
    assert "changes" not in reading_finding(("<BOS>",), np.array([0.5]))


TOKENS = ("<BOS>", "not", "preserve", "<PAD>")
EVEN = np.array([0.3, 0.36, 0.34, np.nan])


def test_uniform_attention_has_no_strongest_token() -> None:
    heads = np.stack([np.stack([EVEN] * 4)])
    assert attention_title(TOKENS, heads[0]) == "The Transformer averages all tokens"
    even = attention_finding(TOKENS, heads, 0, 0, 1, solved=True)
    assert_states(even, "almost evenly, 0.30 to 0.36: an average of the words is enough")
    assert "enough" not in attention_finding(TOKENS, heads, 0, 0, 1, solved=False)


def test_sharp_attention_is_named_with_that_of_another_head() -> None:
    one, other = ([0.1, 0.2, 0.7, np.nan], [0.1, 0.8, 0.1, np.nan])
    heads = np.stack([np.stack([row, EVEN, EVEN, EVEN]) for row in (one, other)])
    assert attention_title(TOKENS, heads[0]) == "The Transformer attends to “preserve”"
    assert_states(
        attention_finding(TOKENS, heads, 0, 0, 1, True), "most to “preserve”, with weight 0.70. Head 2 … “not” … 0.80"
    )
    assert "Head" not in attention_finding(TOKENS, heads[:1], 0, 0, 1, True)
    assert attention_finding(TOKENS, heads, 0, 0, 2, True).startswith("In layer 1 of 2, “<BOS>”. It attends most")


def test_attention_without_a_token_above_one_half_attends_to_several() -> None:
    row = np.array([0.05, 0.45, 0.3, 0.1, 0.05, 0.05])
    assert attention_title(tuple("abcdef"), np.stack([row] * 6)) == "The Transformer attends to several tokens"


def test_the_head_that_is_shown_attends_most_to_not_or_else_to_the_verb_or_a_word() -> None:
    def heads(tokens: tuple[str, ...], *at: int) -> ndarray:
        rows = np.full((len(at), len(tokens), len(tokens)), 0.1)
        for head, key in enumerate(at):
            rows[head, 0, key] = 0.9
        return rows

    tokens = ("<BOS>", "human", "not", "preserve", "nature", "<EOS>")
    assert find_attending_head(tokens, heads(tokens, 3, 1, 2, 5)) == 2
    plain = ("<BOS>", "human", "preserve", "nature", "<EOS>")
    assert find_attending_head(plain, heads(plain, 0, 4, 2, 1)) == 2
    words = ("<BOS>", "human", "<EOS>")
    assert find_attending_head(words, heads(words, 0, 2, 1)) == 2
    assert find_attending_head(("<BOS>", "<EOS>"), heads(("<BOS>", "<EOS>"), 0, 1)) == 0
    assert find_attending_head(tokens, np.where(np.arange(6) < 4, heads(tokens, 3, 2), np.nan)) == 1


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            ends(Bag=[0.8833, 0.8833], RNN=[1, 1]),
            "RNN gets every sentence right with every seed. Bag ends at 0.883, the ceiling of a sum of word weights.",
        ),
        (ends(Bag=[0.6667, 0.6667]), "Bag ends at 0.667."),
        (ends(Bag=[1, 1], RNN=[1, 1], GRU=[1, 1]), "All three models get every sentence right with every seed."),
        (ends(Bag=[1, 1], RNN=[1, 1]), "Both get every sentence right with every seed."),
        (ends(RNN=[1]), "RNN gets every sentence right."),
        (
            ends(RNN=[1, 1], GRU=[1, 0.9]),
            "RNN gets every sentence right with every seed. GRU does so with only 1 of 2 seeds.",
        ),
        (ends(Bag=[0.65, 0.7]), "Bag ends between 0.650 and 0.700."),
        (ends(A=[0.6], B=[0.7], C=[0.8]), "A ends at 0.600. B ends at 0.700. The table has the others."),
        (
            ends(RNN=[1], GRU=[1], A=[1], B=[0.7]),
            "Three of four models get every sentence right. B ends at 0.700.",
        ),
        (
            ends(RNN=[1 - 1e-7], Bag=[0.8833]),
            "RNN gets every sentence right. Bag ends at 0.883, the ceiling of a sum of word weights.",
        ),
        (ends(GRU=[1, 0.9]), "GRU gets every sentence right with only 1 of 2 seeds."),
    ],
)
def test_the_final_accuracies_are_described_as_measured(values: list[tuple[str, ndarray]], sentence: str) -> None:
    assert final_accuracy_finding(values, 0.88333) == sentence
    assert len(sentence.split()) <= 20


def test_the_ceiling_of_a_sum_is_described_with_its_number() -> None:
    assert_states(ceiling_finding(0.88333), "No sum … more than 0.8833 … right")
    assert_states(ceiling_finding(1.0), "can get every sentence right")


@pytest.mark.parametrize(
    ("lead", "reached", "sentence"),
    [
        (0.9, None, "The minimum of the cross-entropy reaches this value."),
        (0.66667, None, "Training does not lead there … gets only 0.6667 right"),
        (0.9, [0.9, 0.9], "ended at 0.9000 with every seed"),
        (0.9, [0.9], "ended at 0.9000."),
        (0.9, [0.9, 0.75], "ended at 0.7500 to 0.9000 over its seeds"),
    ],
)
def test_where_cross_entropy_leads_is_described_with_its_numbers(
    lead: float, reached: list[float] | None, sentence: str
) -> None:
    found = cross_entropy_finding(0.9, lead, None if reached is None else np.array(reached))
    assert_states(found, sentence)
    assert ("The bag of words on this page" in found) == (reached is not None)


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


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (ends(Bag=[0, 0], RNN=[1, 0]), "RNN gets it right with 1 of 2 seeds; one of two models never does."),
        (ends(Bag=[0, 0], RNN=[0.5, 0]), "No model gets it right with any seed."),
        (ends(RNN=[1, 1]), "RNN gets it right with 2 of 2 seeds."),
        (ends(RNN=[1, 1], GRU=[1, 1], LSTM=[1, 0]), "RNN and GRU get it right with 2 of 2 seeds."),
        (ends(A=[1], B=[1], C=[1], D=[0], E=[0]), "Three models get it right; two of five models never do."),
        (ends(A=[0]), "No model gets it right."),
    ],
)
def test_the_held_out_pair_is_described_by_its_best_models(values: list[tuple[str, ndarray]], sentence: str) -> None:
    assert held_out_finding("destroy", values) == f"Training never shows “not destroy”. {sentence}"


def test_the_effect_of_padding_is_described_by_the_models_that_it_changes() -> None:
    same = [make_answer("A", 0.9, 0.8), make_answer("B", 0.2, 0.1)]
    assert_states(padding_finding(same, same), "answers are the same")
    changed = padding_finding([make_answer("A", 0.2, 0.1)], [make_answer("A", 0.9, 0.8)])
    assert changed == "The padding changes the answer of A (collapse, then sustain)."
    assert_states(padding_finding([make_answer("A", 0.9)], [make_answer("A", 0.8)]), "probability, but no answer: A")


def test_seeds_that_are_right_everywhere_are_compared_by_an_exact_test() -> None:
    right, never, some = [1.0] * 8, [0.883] * 8, [1.0] * 5 + [0.9] * 3
    found = comparison_with_best(ends(GRU=right, RNN=right, Transformer=some, bag=never, n4=[0.9] * 8, n5=never))
    assert_mentions(found, "seeds … every sentence correctly … Worse than GRU: bag (0 of 8 against 8 of 8 seeds)")
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


# a visitor's file


def test_the_accuracies_on_a_file_are_compared_by_their_medians() -> None:
    ends = [("A", np.array([0.5, 0.6, 0.9])), ("B", np.array([0.9, 1.0, 0.95])), ("C", np.array([0.55] * 3))]
    assert file_accuracy_finding(ends) == (
        "B gets 95.0\u00a0% of the held-out sentences right, the highest accuracy; C gets 55.0\u00a0%, the lowest "
        "(median of the seeds)."
    )
    assert "Every model gets 55.0" in file_accuracy_finding([ends[2], ("D", np.array([0.55] * 3))])
    assert file_accuracy_finding([("A", np.array([1.0]))]).endswith("right (one seed).")


def test_what_a_linear_programme_shows_is_said_and_no_more() -> None:
    assert "was not found" in readout_finding(None, 160)
    assert readout_finding(LinearReadout(1.0, 0.5, True), 160).startswith("A sum of word weights can get all")
    assert readout_finding(LinearReadout(0.7, 0.5, False), 160).startswith("No sum of word weights gets all")
    assert "at least 70.0" in readout_finding(LinearReadout(0.7, 0.5, None), 160)
    assert "not that every sum of word weights" in readout_explanation(LinearReadout(1.0, 0.5, True))
    assert "at least as many right" in readout_explanation(LinearReadout(0.7, 0.5, False))


def test_the_headline_names_every_answer_of_several_classes() -> None:
    def answer(title: str, index: int) -> ModelAnswer:
        return ModelAnswer(title, "--m-rnn", np.eye(3)[[index, index]], ("a", "b", "c"))

    answers = [answer("X", 0), answer("Y", 1), answer("Z", 1), answer("V", 1)]
    assert answers_finding(answers, 1, FILE) == "X says a. The other three say b, and so does your file."
    assert answers_finding(answers, 2, FILE).endswith("Your file says c.")
    three = [answer("X", 0), answer("Y", 1), answer("Z", 2)]
    assert answers_finding(three, 0, FILE).count(" says ") == 3
