"""Sentences about runs: their budgets, their learning rates, verdicts, and numbers as words."""

from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from benchmarks.learning_rates import ACCURACIES, searched_rates
from explorer.experiments import learning_rates
from explorer.experiments.default_runs import negation_runs, text_run
from explorer.experiments.recall import VARIANTS
from explorer.inspection.verdicts import compare_with_best, judge, mean_difference, solved_difference
from explorer.number_format import format_duration
from explorer.training.config import with_settings
from explorer.ui.budgets import budget_sentence, examples_read, learning_rates_sentence
from explorer.ui.document import Document
from explorer.ui.learning_rates import _search_view, search_description, search_finding
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, describe_judgement
from explorer.ui.wording import count_seeds, join_words, number_word, original_whitespace, visible_whitespace

STEADY = np.array([0.01, -0.01, 0.02, -0.02, 0.01, -0.01, 0.0, 0.0])


def test_sentences(snapshot: SnapshotAssertion) -> None:
    runs = {name: VARIANTS[name].config() for name in ("rnn-usual", "gru-usual", "transformer-learned")}
    rnn, ngram = text_run("rnn"), text_run("ngram")
    gru = runs["gru-usual"]
    half = with_settings(gru, {"batch_size": 32, "iterations": 600})
    lost, even = rate_search(0.01, {0.01: 0.5, 0.03: 0.9}), rate_search(0.01, {0.01: 0.9, 0.03: 0.9})
    tuned = learning_rates.RateSearch(
        0.03, {0.03: learning_rates.RateResult((1.0,)), 0.01: learning_rates.RateResult((2.0,))}
    )
    top = 1 + STEADY
    values = {"GRU": 0.5 - STEADY, "LSTM": top, "RNN": top, "n-gram": top - 0.001 - STEADY / 9}
    values["Transformer"] = top[::-1] * 0.98
    every = compare_with_best(values, paired=True)
    three = compare_with_best({"GRU": STEADY[:3], "RNN": STEADY[:3] - 0.1 - STEADY[1:4] / 9}, paired=True)
    counts = {"Transformer": np.arange(8) < 4, "feedforward": np.arange(8) < 6, "RNN": np.arange(8) < 0}
    solved = compare_with_best(counts, paired=False)
    wide = mean_difference(STEADY, STEADY[::-1] * 3 + 0.01, paired=True)
    same = mean_difference(STEADY, STEADY, paired=True)
    few = solved_difference(np.zeros(3, bool), np.ones(3, bool))
    assert wide is not None and same is not None
    assert [
        budget_sentence({name: VARIANTS[name].config() for name in ("rnn-usual", "lstm-usual", "gru-usual")}),
        *(budget_sentence(each) for each in ({"a": gru, "b": half}, {"a": gru}, {}, {"rnn": rnn, "n-gram": ngram})),
        budget_sentence(negation_runs()),
        budget_sentence({"rnn": rnn, "longer": with_settings(rnn, {"context": 128})}),
        *(learning_rates_sentence(each) for each in (runs, {"a": runs["rnn-usual"]}, {"n-gram": ngram})),
        *(search_finding(each) for each in ({"GRU": lost, "RNN": even}, {"RNN": even}, {"GRU": tuned})),
        search_description("text", {"GRU": tuned}),
        search_description("recall", {"GRU": lost}),
        comparison_finding(every, digits=3, unit="bits"),
        *(comparison_finding(each) for each in (three, None, solved)),
        *(comparison_note(each) for each in (every, three, None, solved)),
        *(describe_judgement(judge([each])[0]) for each in (wide, same, few)),
        [number_word(n) for n in (0, 1, 8, 12, 13, 10_000)],
        [count_seeds(1), count_seeds(8)],
        [join_words(list(words)) for words in ("a", "ab", "abc")],
        [format_duration(seconds) for seconds in (0.42, 9.94, 9.96, 89.0, 91.0, 600.0)],
    ] == snapshot


def test_examples_are_sentences_of_all_epochs_or_tokens_of_all_steps() -> None:
    run, rnn = negation_runs()["bag_of_words"], text_run("rnn")
    assert examples_read(run) == 20 * run.task.train_size  # type: ignore[union-attr]
    longer = with_settings(rnn, {"context": 128})
    assert examples_read(longer) == 2 * examples_read(rnn) == rnn.steps * rnn.batch_size * 128


@pytest.mark.parametrize("comparison", learning_rates.COMPARISONS)
def test_every_compared_model_was_searched_at_every_rate_with_other_seeds(comparison: str) -> None:
    searches, configs = learning_rates.read_searches(comparison), learning_rates.COMPARISONS[comparison]()
    assert list(searches) == list(configs)
    for name, search in searches.items():
        assert tuple(search.results) == searched_rates(comparison, configs[name].optimiser.learning_rate)
        assert {len(result.loss) for result in search.results.values()} == {len(learning_rates.SEEDS)}
        seeds = {len(learning_rates.SEEDS)} if comparison in ACCURACIES else {0}
        assert {len(result.accuracy) for result in search.results.values()} == seeds
        assert not set(learning_rates.SEEDS) & set(configs[name].seeds)


def rate_search(used: float, accuracies: dict[float, float]) -> learning_rates.RateSearch:
    """Return a search with one seed; the loss is lowest at the highest rate."""
    results = {rate: learning_rates.RateResult((1 / rate,), (accuracy,)) for rate, accuracy in accuracies.items()}
    return learning_rates.RateSearch(used, results)


def test_the_best_rate_has_the_lowest_loss_of_those_that_all_models_were_given() -> None:
    search = rate_search(0.01, {0.01: 0.5, 0.03: 0.9, 0.05: 0.95})  # 0.05 is not one of them
    assert (search.best, search.accuracy_lost) == (0.03, pytest.approx(0.4))
    assert not search.is_at_edge and rate_search(0.01, {0.01: 0.5, 0.1: 0.9}).is_at_edge
    row = {"name": "GRU", "used": "0.01", "best": "0.03", "0.01": "0.500", "0.03": "0.900", "0.05": "0.950"}
    document = Document()
    _search_view(document, "negation", {"GRU": search})
    (shown,) = document.blocks[1]["data"]["rows"]  # type: ignore[index]
    assert {name: cell["text"] for name, cell in shown["cells"].items()} == row


def test_visible_white_space_is_read_back() -> None:
    assert (visible_whitespace(" a\n\tb "), original_whitespace("␣a↵⇥b␣")) == ("␣a↵⇥b␣", " a\n\tb ")
