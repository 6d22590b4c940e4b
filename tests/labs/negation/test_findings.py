"""Every sentence agrees with the numbers that it was made from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import ndarray
from syrupy.assertion import SnapshotAssertion

from explorer.inspection.words.attending_head import find_attending_head
from explorer.labs.negation import findings
from explorer.labs.negation.findings import FILE, ModelAnswer
from explorer.tasks.ceiling import LinearReadout
from explorer.tasks.negation import CLASSES

SUSTAIN, COLLAPSE = CLASSES.index("sustain"), CLASSES.index("collapse")


def make_answer(title: str, *sustain: float) -> ModelAnswer:
    return ModelAnswer(title, "--m-rnn", np.array([[1 - p, p] for p in sustain]))


def ends(**values: list[float]) -> list[tuple[str, ndarray]]:
    return [(title, np.array(accuracies, dtype=float)) for title, accuracies in values.items()]


def test_sentences(snapshot: SnapshotAssertion) -> None:
    values = np.array([0.0, 1.25, 0.5])
    pairs = np.array([0.25, -5.0, -4.0])
    heads = np.stack([np.stack([EVEN] * 4)])
    one, other = ([0.1, 0.2, 0.7, np.nan], [0.1, 0.8, 0.1, np.nan])
    sharp = np.stack([np.stack([row, EVEN, EVEN, EVEN]) for row in (one, other)])
    same = [make_answer("A", 0.9, 0.8), make_answer("B", 0.2, 0.1)]
    right, never, some = ([1.0] * 8, [0.883] * 8, [1.0] * 5 + [0.9] * 3)
    low = np.linspace(0.7, 0.71, 8)
    accuracies = [("A", np.array([0.5, 0.6, 0.9])), ("B", np.array([0.9, 1.0, 0.95])), ("C", np.array([0.55] * 3))]

    def answer(title: str, index: int) -> ModelAnswer:
        return ModelAnswer(title, "--m-rnn", np.eye(3)[[index, index]], ("a", "b", "c"))

    answers = [answer("X", 0), answer("Y", 1), answer("Z", 1), answer("V", 1)]
    three = [answer("X", 0), answer("Y", 1), answer("Z", 2)]
    split, sure = make_answer("A", YES, YES, NO, NO), [make_answer(title, NO, NO, NO, NO) for title in "BCD"]
    models = [[split], [split, *sure], [split, make_answer("E", YES), *sure]]
    assert [
        *(
            make_answer("a", *sustain).note(truth)
            for sustain in ([0.9, 0.8], [0.9, 0.9, 0.1], [0.9, 0.45, 0.45], [0.9], [0.9, 0.1, 0.8])
            for truth in (SUSTAIN, COLLAPSE, None)
        ),
        findings.contributions_finding("bag_of_words", ("human", "not", "nature"), values),
        findings.contributions_finding("bag_of_words", ("human", "destroy", "nature"), -values),
        findings.contributions_finding("bag_of_bigrams", ("human not", "not not", "not preserve"), pairs),
        findings.contributions_finding("bag_of_words_hidden", ("unit 1", "unit 2"), np.array([0.5, -0.75])),
        findings.contributions_finding("convolution", ("human not", "not preserve nature"), np.array([0.5, -0.75])),
        findings.contributions_finding("convolution", (), np.array([])),
        findings.reading_finding(("<BOS>", "not", "preserve"), np.array([0.5, 0.45, 0.05])),
        findings.reading_finding(("<BOS>",), np.array([0.5])),
        findings.attention_title(TOKENS, heads[0]),
        findings.attention_finding(TOKENS, heads, 0, 0, 1),
        findings.attention_title(TOKENS, sharp[0]),
        findings.attention_finding(TOKENS, sharp, 0, 0, 1),
        findings.attention_finding(TOKENS, sharp[:1], 0, 0, 1),
        findings.attention_finding(TOKENS, sharp, 0, 0, 2),
        findings.ceiling_finding(0.88333),
        findings.ceiling_finding(1.0),
        *(
            findings.cross_entropy_finding(0.9, None if reached is None else np.array(reached))
            for reached in (None, [0.9, 0.9], [0.9], [0.9, 0.75])
        ),
        *(
            findings.beyond_sums_finding(0.88333, np.array(hidden))
            for hidden in ([1.0, 1.0], [1 - 1e-07, 0.9], [1.0], [0.9, 0.8], [0.88333, 0.65])
        ),
        *(
            findings.held_out_finding("destroy", values)
            for values in [
                ends(Bag=[0, 0], RNN=[1, 0]),
                ends(Bag=[0, 0], RNN=[0.5, 0]),
                ends(RNN=[1, 1]),
                ends(RNN=[1, 1], GRU=[1, 1], LSTM=[1, 0]),
                ends(A=[1], B=[1], C=[1], D=[0], E=[0]),
                ends(A=[0]),
            ]
        ),
        findings.padding_finding(same, same),
        findings.padding_finding([make_answer("A", 0.2, 0.1)], [make_answer("A", 0.9, 0.8)]),
        findings.padding_finding([make_answer("A", 0.9)], [make_answer("A", 0.8)]),
        findings.comparison_with_best(ends(GRU=right, RNN=right, Transformer=some, bag=never, n4=[0.9] * 8, n5=never)),
        findings.comparison_with_best(ends(GRU=[1.0] * 3, bag=[0.9] * 3)),
        findings.comparison_with_best(ends(GRU=[1.0], bag=[0.9])),
        findings.comparison_with_best(ends(GRU=right)),
        findings.comparison_with_best(
            [("GRU", low + 0.1), ("RNN", low - np.tile([0, 0.002], 4)), ("LSTM", low[::-1] + 0.1)]
        ),
        *(
            findings.file_accuracy_finding(each)
            for each in (accuracies, [accuracies[2], ("D", np.array([0.55] * 3))], [("A", np.array([1.0]))])
        ),
        findings.readout_finding(None, 160),
        findings.readout_finding(LinearReadout(1.0, 0.5, True), 160),
        findings.readout_finding(LinearReadout(0.7, 0.5, False), 160),
        findings.readout_finding(LinearReadout(0.7, 0.5, None), 160),
        findings.readout_explanation(LinearReadout(1.0, 0.5, True)),
        findings.readout_explanation(LinearReadout(0.7, 0.5, False)),
        findings.answers_finding(answers, 1, FILE),
        findings.answers_finding(answers, 2, FILE),
        findings.answers_finding(three, 0, FILE),
        *(findings.answers_finding(answers, truth) for truth in (SUSTAIN, COLLAPSE, None) for answers in models),
    ] == snapshot


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_an_answer_gives_the_likelier_class_and_its_probability(sustain: list[float]) -> None:
    answer = make_answer("a", *sustain)
    assert answer.probability >= 0.5
    assert answer.probability == pytest.approx(np.mean(sustain) if answer.answer == SUSTAIN else 1 - np.mean(sustain))
    assert answer.correct_seeds(SUSTAIN) + answer.correct_seeds(COLLAPSE) == len(sustain)


YES, NO = 0.9, 0.1


def test_the_headline_names_the_answer_of_every_model(snapshot: SnapshotAssertion) -> None:
    """A letter for each model: s if it says sustain, c if collapse."""
    cases = [(says, truth) for says in ("sccc", "cccc", "scsc", "c") for truth in (COLLAPSE, SUSTAIN)]
    cases += [("ccsss", SUSTAIN), ("cs", COLLAPSE), ("cc", COLLAPSE), ("", COLLAPSE)]
    found = {}
    for says, truth in [*cases, ("scc", None), ("ccc", None)]:
        answers = [make_answer(title, YES if one == "s" else NO) for title, one in zip("ABCDE", says, strict=False)]
        found[f"{says} {'' if truth is None else CLASSES[truth]}"] = findings.answers_finding(answers, truth)
    assert found == snapshot


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), max_size=6), st.sampled_from([0, 1, None]))
def test_the_headline_is_never_stronger_than_the_answers(sustain: list[list[float]], truth: int | None) -> None:
    answers = [make_answer(f"M{i}", *values) for i, values in enumerate(sustain)]
    found = findings.answers_finding(answers, truth)
    assert ("grammar" in found) <= (truth is not None)
    assert "so does the grammar" not in found or any(a.is_unanimous and a.answer == truth for a in answers)
    for answer in answers:
        if not answer.is_unanimous:
            disagree = found.split(".")[-2]
            assert answer.title in disagree or "models disagree" in disagree


TOKENS = ("<BOS>", "not", "preserve", "<PAD>")
EVEN = np.array([0.3, 0.36, 0.34, np.nan])


def test_the_head_that_is_shown_attends_most_to_not_or_else_to_the_verb_or_a_word() -> None:
    def heads(tokens: tuple[str, ...], *at: int) -> ndarray:
        rows = np.full((len(at), len(tokens), len(tokens)), 0.1)
        rows[range(len(at)), 0, at] = 0.9
        return rows

    tokens = ("<BOS>", "human", "not", "preserve", "nature", "<EOS>")
    plain, words, none = (
        ("<BOS>", "human", "preserve", "nature", "<EOS>"),
        ("<BOS>", "human", "<EOS>"),
        ("<BOS>", "<EOS>"),
    )
    for read, at, head in (
        (tokens, (3, 1, 2, 5), 2),
        (plain, (0, 4, 2, 1), 2),
        (words, (0, 2, 1), 2),
        (none, (0, 1), 0),
    ):
        assert find_attending_head(read, heads(read, *at)) == head
    assert find_attending_head(tokens, np.where(np.arange(6) < 4, heads(tokens, 3, 2), np.nan)) == 1


def test_the_final_accuracies_are_described_as_measured(snapshot: SnapshotAssertion) -> None:
    cases: list[dict[str, list[float]]] = [
        {"Bag": [0.8833, 0.8833], "RNN": [1, 1]},
        {"Bag": [0.6667, 0.6667]},
        {"Bag": [1, 1], "RNN": [1, 1], "GRU": [1, 1]},
        {"Bag": [1, 1], "RNN": [1, 1]},
        {"RNN": [1]},
        {"RNN": [1, 1], "GRU": [1, 0.9]},
        {"Bag": [0.65, 0.7]},
        {"A": [0.6], "B": [0.7], "C": [0.8]},
        {"RNN": [1], "GRU": [1], "A": [1], "B": [0.7]},
        {"RNN": [1 - 1e-7], "Bag": [0.8833]},
        {"GRU": [1, 0.9]},
    ]
    sentences = [findings.final_accuracy_finding(ends(**case), 0.88333) for case in cases]
    assert sentences == snapshot and all(len(sentence.split()) <= 20 for sentence in sentences)


def test_the_model_that_is_compared_in_english_is_chosen_on_validation_sentences() -> None:
    ends = {
        "Bag of words": {"val_error": np.array([0.3, 0.3]), "reviews": np.array([0.78, 0.8]), "negated": np.zeros(2)},
        "GRU": {"val_error": np.array([0.1, 0.1]), "reviews": np.array([0.81, 0.81]), "negated": np.array([0.9, 1.0])},
        "LSTM": {"val_error": np.array([0.2, 0.2]), "reviews": np.ones(2), "negated": np.ones(2)},
    }
    assert findings.english_finding(ends, {"Bag of words": 12_002, "GRU": 310_018, "LSTM": None}) == (
        "Right on reviews that no model has seen, and on sentences that a negation turns round: Bag of words "
        "(12,002 parameters) 79\xa0% and 0\xa0%; GRU (310,018 parameters) 81\xa0% and 95\xa0% (medians over 2 seeds)."
    )
