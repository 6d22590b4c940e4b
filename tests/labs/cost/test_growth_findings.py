"""Sentences on growth, from results that are made up so that the answer is known."""

from __future__ import annotations

from collections.abc import Callable

from syrupy.assertion import SnapshotAssertion

from explorer.experiments.growth import SHARES, SIZES, Cell, GrowthResult
from explorer.labs.cost import growth_findings as findings
from explorer.labs.cost.growth_findings import NETWORKS, Results


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


def test_sentences(snapshot: SnapshotAssertion) -> None:

    def run(*losses: float) -> GrowthResult:
        return GrowthResult(1, 1.0, losses, losses)

    unclear = results(overfitting, spread=1.0)
    falling = results(lambda cell: 2.0 - 0.1 * cell.size)
    results_of_all = results(overfitting)
    worse = {cell: GrowthResult(1, 1.0, each.losses, (float(cell.size),)) for cell, each in results_of_all.items()}
    some = {cell: each for cell, each in results(overfitting).items() if cell.model in ("rnn", "gru")}
    assert [
        findings.change(run(2.0, 2.1), run(1.8, 1.9)),
        findings.change(run(1.8, 1.9), run(2.0, 2.1)),
        findings.change(run(1.8, 2.0), run(1.9, 2.1)),
        findings.change(run(2.0), run(2.0)),
        findings.all_finding(results(overfitting)),
        findings.all_notes(results(overfitting)),
        findings.all_finding(unclear),
        findings.all_notes(unclear),
        findings.model_finding(unclear, "gru"),
        *(findings.model_finding(results(overfitting), model) for model in NETWORKS),
        findings.model_notes(results(overfitting), "gru"),
        findings.model_notes(results(overfitting, spread=1.0), "gru"),
        findings.model_notes(results(overfitting), "ngram"),
        findings.model_finding(falling, "gru"),
        findings.all_notes(falling),
        findings.all_notes(worse),
        findings.all_finding(some),
        findings.model_finding(some, "lstm"),
        findings.all_finding({}),
        findings.progress_note(0, 16),
        findings.progress_note(3, 16),
        findings.LIMITS,
    ] == snapshot
