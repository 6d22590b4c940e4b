"""Sentences on growth, from results that are made up so that the answer is known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from explorer.experiments.growth import SHARES, SIZES, Cell, GrowthResult
from explorer.labs.cost import growth_findings as findings
from explorer.labs.cost.growth_findings import NETWORKS, Results
from tests.words import assert_mentions, assert_states


def results(loss: Callable[[Cell], float], spread: float = 0.01) -> Results:
    """Return results of all runs; their seeds differ by `spread` from the loss."""
    cells = [Cell(model, size, share) for model in SIZES for size in range(len(SIZES[model])) for share in SHARES]
    return {
        cell: GrowthResult(
            1_000 * 4**cell.size,
            1.0,
            (loss(cell) - spread, loss(cell), loss(cell) + spread),
            (0.6 - 0.1 * cell.size,) * 3,
        )
        for cell in cells
    }


def overfitting(cell: Cell) -> float:
    """A loss that falls with the size on the whole text, and rises with it on the smallest share."""
    return 2.0 - 0.1 * cell.size if cell.share == 1 else 2.5 + 0.2 * cell.size * (cell.share == SHARES[0])


def test_a_change_counts_only_if_the_seeds_do_not_overlap() -> None:
    def run(*losses: float) -> GrowthResult:
        return GrowthResult(1, 1.0, losses, losses)

    assert findings.change(run(2.0, 2.1), run(1.8, 1.9)) == "lower"
    assert findings.change(run(1.8, 1.9), run(2.0, 2.1)) == "higher"
    assert findings.change(run(1.8, 2.0), run(1.9, 2.1)) == "unclear"
    assert findings.change(run(2.0), run(2.0)) == "unclear"


def test_the_finding_counts_networks_on_much_and_on_little_text() -> None:
    sentence = findings.all_finding(results(overfitting))
    assert_states(
        sentence, "More parameters lower … five of five networks on the whole text … none of five on 1/64 of it"
    )
    assert len(sentence.split()) <= 24
    notes = findings.all_notes(results(overfitting))
    assert_mentions(notes, "Feedforward, RNN, LSTM, GRU and Transformer … overfits … 3.10 … 0.30")
    assert_mentions(notes, "larger on the whole text than on 1/64 of it for five of five networks")
    assert_mentions(notes, "five of five networks at the smallest size … five of five at the largest")
    assert "Cannot tell" not in notes


def test_overlapping_seeds_cannot_be_told_apart() -> None:
    unclear = results(overfitting, spread=1.0)
    assert_mentions(findings.all_finding(unclear), "none of five … none of five")
    assert_mentions(findings.all_notes(unclear), "Cannot tell … Feedforward … Transformer … overlap")
    assert_mentions(findings.model_finding(unclear, "gru"), "cannot be told from the smallest on the whole text")


@pytest.mark.parametrize("model", NETWORKS)
def test_the_finding_of_one_architecture_states_both_changes(model: str) -> None:
    sentence = findings.model_finding(results(overfitting), model)
    assert_mentions(
        sentence, "lowers the loss by 0.30 nats on the whole text … raises the loss by 0.60 nats on 1/64 of it"
    )
    assert len(sentence.split()) <= 30


def test_the_best_size_on_each_share_is_named() -> None:
    note = findings.model_notes(results(overfitting), "gru")
    assert_mentions(note, "1,000 parameters on 1/64 of the text")
    assert_mentions(note, "; 64,000 parameters on the whole text. Means over three seeds.")
    assert note.endswith("With three seeds each, that also happens in one of ten comparisons of equal models.")
    assert "within the range" in findings.model_notes(results(overfitting, spread=1.0), "gru")
    assert "n-gram has no random numbers" in findings.model_notes(results(overfitting), "ngram")


def test_the_same_change_is_not_named_twice() -> None:
    falling = results(lambda cell: 2.0 - 0.1 * cell.size)
    sentence = findings.model_finding(falling, "gru")
    assert_mentions(sentence, "lowers the loss by 0.30 nats on the whole text and by 0.30 nats on 1/64 of it")
    assert "overfit" not in findings.all_notes(falling)
    assert_mentions(findings.all_notes(falling), "for none of five networks")


def test_a_network_with_a_higher_training_loss_does_not_overfit() -> None:
    results_of_all = results(overfitting)
    worse = {cell: GrowthResult(1, 1.0, each.losses, (float(cell.size),)) for cell, each in results_of_all.items()}
    assert "overfit" not in findings.all_notes(worse)


def test_missing_runs_are_not_counted() -> None:
    some = {cell: each for cell, each in results(overfitting).items() if cell.model in ("rnn", "gru")}
    assert_mentions(findings.all_finding(some), "two of two networks … none of two")
    assert "no runs" in findings.model_finding(some, "lstm")
    assert "yet" in findings.all_finding({})


def test_runs_trained_here_are_counted() -> None:
    assert findings.progress_note(0, 16) == ""
    assert_states(findings.progress_note(3, 16), "Three of 16 runs were trained on this server")


def test_the_page_says_that_it_is_an_experiment_and_no_law() -> None:
    assert_mentions(findings.LIMITS, "experiment, not a law")
    assert_mentions(findings.LIMITS, "Kaplan et al. (2020) and Hoffmann et al. (2022) … power laws")
    assert_mentions(findings.LIMITS, "No line is fitted")
