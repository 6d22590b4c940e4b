"""The sentence about the budgets of compared runs."""

from __future__ import annotations

from explorer.experiments.default_runs import negation_runs, text_run
from explorer.experiments.recall import VARIANTS
from explorer.training.config import with_settings
from explorer.ui.budgets import budget_sentence, examples_read, learning_rates_sentence


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
