"""Sentences about runs: their budgets, their learning rates, verdicts, and numbers as words."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.experiments.default_runs import negation_runs, text_run
from explorer.experiments.learning_rates import (
    ACCURACIES,
    COMPARISONS,
    SEEDS,
    RateResult,
    RateSearch,
    read_searches,
    searched_rates,
)
from explorer.experiments.recall import VARIANTS
from explorer.inspection.verdicts import compare_with_best, judge, mean_difference, solved_difference
from explorer.number_format import format_duration
from explorer.training.config import with_settings
from explorer.ui.budgets import budget_sentence, examples_read, learning_rates_sentence
from explorer.ui.learning_rates import _row, search_description, search_finding
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, describe_judgement
from explorer.ui.wording import count_seeds, join_words, number_word, original_whitespace, visible_whitespace


def test_runs_with_other_steps_have_other_budgets() -> None:
    runs = {name: VARIANTS[name].config() for name in ("rnn-usual", "lstm-usual", "gru-usual")}
    assert budget_sentence(runs) == (
        "The training budgets differ: 19,200 examples (300 steps of 64) for lstm-usual and gru-usual; "
        "64,000 examples (1,000 steps of 64) for rnn-usual."
    )


def test_runs_with_as_many_examples_have_no_sentence() -> None:
    run = VARIANTS["gru-usual"].config()
    half = with_settings(run, {"batch_size": 32, "iterations": 600})
    assert budget_sentence({"a": run, "b": half}) == budget_sentence({"a": run}) == budget_sentence({}) == ""


def test_epochs_count_the_training_sentences() -> None:
    run = negation_runs()["bag_of_words"]
    assert examples_read(run) == 20 * run.task.train_size  # type: ignore[union-attr]
    assert "for bag_of_words; " in budget_sentence(negation_runs())


def test_texts_are_counted_in_tokens_and_an_ngram_has_no_steps() -> None:
    rnn = text_run("rnn")
    longer = with_settings(rnn, {"context": 128})
    assert examples_read(longer) == 2 * examples_read(rnn) == rnn.steps * rnn.batch_size * 128
    assert "rows) for longer" in budget_sentence({"rnn": rnn, "longer": longer})
    assert budget_sentence({"rnn": rnn, "n-gram": text_run("ngram")}) == ""


def test_the_learning_rates_of_a_comparison_are_named() -> None:
    runs = {name: VARIANTS[name].config() for name in ("rnn-usual", "gru-usual", "transformer-learned")}
    assert learning_rates_sentence(runs).startswith(
        "Learning rates: 0.005 for transformer-learned; 0.01 for rnn-usual and gru-usual. They were set by hand"
    )
    assert learning_rates_sentence({"a": runs["rnn-usual"]}).startswith("Learning rate of all: 0.01, set by hand")
    assert learning_rates_sentence({"n-gram": text_run("ngram")}) == ""


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_every_compared_model_was_searched_at_every_rate_with_other_seeds(comparison: str) -> None:
    searches, configs = read_searches(comparison), COMPARISONS[comparison]()
    assert list(searches) == list(configs)
    for name, search in searches.items():
        assert tuple(search.results) == searched_rates(configs[name].optimiser.learning_rate)
        assert {len(result.loss) for result in search.results.values()} == {len(SEEDS)}
        seeds = {len(SEEDS)} if comparison in ACCURACIES else {0}
        assert {len(result.accuracy) for result in search.results.values()} == seeds
        assert not set(SEEDS) & set(configs[name].seeds)


def rate_search(used: float, **accuracies: float) -> RateSearch:
    """Return a search with one seed; the loss is lowest at the highest rate."""
    results = {
        float(f"0.{rate[1:]}"): RateResult((1 / float(f"0.{rate[1:]}"),), (v,)) for rate, v in accuracies.items()
    }
    return RateSearch(used, results)


def test_the_best_rate_has_the_lowest_loss_of_those_that_all_models_were_given() -> None:
    search = rate_search(0.01, _01=0.5, _03=0.9, _05=0.95)  # 0.05 is not one of them
    assert (search.best, search.accuracy_lost) == (0.03, pytest.approx(0.4))
    assert not search.is_at_edge and rate_search(0.01, _01=0.5, _1=0.9).is_at_edge
    row = {"name": "GRU", "used": "0.01", "best": "0.03", "0.01": "0.500", "0.03": "0.900", "0.05": "0.950"}
    assert _row("GRU", search) == row


def test_models_that_lose_by_their_rate_are_named() -> None:
    lost, even = rate_search(0.01, _01=0.5, _03=0.9), rate_search(0.01, _01=0.9, _03=0.9)
    assert search_finding({"GRU": lost, "RNN": even}) == (
        "In the search, these models are more accurate with another learning rate than the default: GRU with 0.03 "
        "(0.900 instead of 0.500 with 0.01). "
        "The other models are not more accurate with another rate."
    )
    assert search_finding({"RNN": even}).startswith(
        "In the search, no model is more accurate with another learning rate"
    )


def test_the_description_names_defaults_only_where_they_are_not_the_best_rates() -> None:
    tuned = RateSearch(0.03, {0.03: RateResult((1.0,)), 0.01: RateResult((2.0,))})
    assert search_finding({"GRU": tuned}) == ""
    assert search_description("text", {"GRU": tuned}).startswith(
        "The search gives every model the same five rates (0.001, 0.003, 0.01, 0.03 and 0.1), three seeds that the "
        "comparison does not use (100 to 102)"
    )
    assert search_description("recall", {"GRU": rate_search(0.01, _01=0.5, _03=0.9)}).startswith("The default rates")


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


def test_counts_lists_and_durations_are_formatted_as_words() -> None:
    assert [number_word(n) for n in (0, 1, 8, 12, 13, 10_000)] == ["no", "one", "eight", "twelve", "13", "10,000"]
    assert [count_seeds(1), count_seeds(8)] == ["one seed", "eight seeds"]
    assert [join_words(["a"]), join_words(["a", "b"]), join_words(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
    times = [format_duration(seconds) for seconds in (0.42, 9.94, 9.96, 89.0, 91.0, 600.0)]
    assert times == ["0.4 s", "9.9 s", "10 s", "89 s", "2 min", "10 min"]


def test_visible_white_space_is_read_back() -> None:
    text = " a\n\tb "
    assert visible_whitespace(text) == "␣a↵⇥b␣" and original_whitespace("␣a↵⇥b␣") == text
