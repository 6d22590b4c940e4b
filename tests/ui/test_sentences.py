"""Sentences about runs: their budgets, their learning rates, verdicts, and numbers as words."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.experiments.compared_groups import RateSearch, compared_groups
from explorer.experiments.default_runs import negation_runs, text_run
from explorer.experiments.learning_rates import read_search
from explorer.experiments.recall import VARIANTS
from explorer.inspection.verdicts import compare_with_best, judge, mean_difference, solved_difference
from explorer.number_format import format_duration
from explorer.training.config import RunConfig, with_settings
from explorer.ui.budgets import budget_sentence, examples_read
from explorer.ui.document import Document
from explorer.ui.learning_rates import _search_view, learning_rates_sentence, search_description
from explorer.ui.training.learning_chart import conditions_sentence
from explorer.ui.training.run_view import RunView
from explorer.ui.verdict_sentences import comparison_finding, comparison_note, describe_judgement
from explorer.ui.wording import count_seeds, join_words, number_word, original_whitespace, visible_whitespace

STEADY = np.array([0.01, -0.01, 0.02, -0.02, 0.01, -0.01, 0.0, 0.0])


def test_sentences(snapshot: SnapshotAssertion) -> None:
    runs = {name: VARIANTS[name].config() for name in ("rnn-usual", "gru-usual", "transformer-learned")}
    rnn, ngram = text_run("rnn"), text_run("ngram")
    gru = runs["gru-usual"]
    half = with_settings(gru, {"batch_size": 32, "iterations": 600})
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
        *(learning_rates_sentence(each) for each in (runs.values(), [rnn], [rnn, half], [])),
        *(
            search_description({"GRU": RateSearch(compared_groups()[group], losses)})
            for group in ("growth", "recall", "sentiment")
            for losses in ({0.01: 2.0, 0.03: 1.0, 0.1: 3.0}, {0.01: 2.0, 0.03: 3.0})
        ),
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
    assert examples_read(run) == 40 * run.task.train_size  # type: ignore[union-attr]
    longer = with_settings(rnn, {"context": 128})
    assert examples_read(longer) == 2 * examples_read(rnn) == rnn.steps * rnn.batch_size * 128


def test_the_table_of_a_search_has_the_loss_at_every_rate() -> None:
    name, config = "place-turns-rnn", compared_groups()["place-turns"].runs["place-turns-rnn"]
    losses = read_search(name)
    document = Document()
    _search_view(document, {"RNN": RateSearch(compared_groups()["place-turns"], losses)})
    (shown,) = document.blocks[-1]["data"]["rows"]  # type: ignore[index]
    cells = {column: cell["text"] for column, cell in shown["cells"].items()}
    assert cells["best"] == f"{config.optimiser.learning_rate:g}" and len(cells) == 2 + len(losses)
    assert all(float(cells[f"{rate:g}"]) == pytest.approx(loss, abs=6e-4) for rate, loss in losses.items())


def test_conditions_of_a_comparison_are_said() -> None:
    def view(config: RunConfig, parameters: int) -> RunView:
        stored = Mock(curves=Mock(), card=Mock(parameters=parameters))
        return RunView(config, stored, None)

    runs = compared_groups()["place-turns"].runs.values()
    equal = [view(config, 1_000 + i) for i, config in enumerate(runs)]
    longer = with_settings(next(iter(runs)), {"iterations": 1_000, "learning_rate": 0.5})
    assert conditions_sentence(equal) == (
        "All models read the same number of examples, in 500 steps. Each has its own learning rate, the best of five "
        "in a search."
    )
    assert conditions_sentence([*equal, view(longer, 2_000)]) == (
        "All models read 16,000 to 32,000 examples. Learning rate: 0.01 to 0.5, not searched for each model with these "
        "settings. They have 1,000 to 2,000 parameters."
    )
    assert conditions_sentence(equal[:1]) == ""


def test_visible_white_space_is_read_back() -> None:
    assert (visible_whitespace(" a\n\tb "), original_whitespace("␣a↵⇥b␣")) == ("␣a↵⇥b␣", " a\n\tb ")
