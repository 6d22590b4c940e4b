from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.errors import InvalidSetting
from explorer.experiments.growth import SHARES, SIZES, Cell, GrowthResult
from explorer.inspection.transformer.cost_formulas import PARTS, MeasuredCosts
from explorer.labs.cost import findings, growth_findings
from explorer.labs.cost.findings import SweepResult
from explorer.labs.cost.growth_findings import NETWORKS, Results
from explorer.labs.cost.parameter_count import parameter_chart, sized_config
from explorer.labs.cost.state import HEADS, LENGTHS, SWEEPS, WIDTHS, CostState, Sweep
from explorer.labs.cost.sweeps import Measurement, read_reference, sweep_result, sweep_view
from explorer.ui.document import Document
from tests.charts.figures import figure_of


def results_of_all_parts(sweep: Sweep, seconds: dict[str, float], power: float = 1.0) -> dict[str, SweepResult]:
    """Return results in which each part takes its seconds at size 1 and grows with a power of the size."""
    state, x = CostState(), np.array(SWEEPS[sweep], dtype=float)
    found = {}
    for part in PARTS:
        line = seconds.get(part, 1e-6) * x**power
        found[part] = sweep_result(part, sweep, state.sizes(sweep, part), MeasuredCosts(line, 2 * line, x))
    return found


def test_sentences(snapshot: SnapshotAssertion) -> None:
    found = results_of_all_parts("length", {"feedforward": 1e-09})
    flat, steep = (
        findings.width_finding(results_of_all_parts("width", {}, power), CostState()) for power in (1.0, 2.0)
    )
    fast = results_of_all_parts("length", {"gru": 2e-05, "lstm": 1e-06})
    slow = results_of_all_parts("length", {"gru": 6e-06, "lstm": 8e-06})
    slow_step = results_of_all_parts("length", {"gru": 3e-5, "feedforward": 1e-6}, 1.0)
    fast_step = results_of_all_parts("length", {"gru": 1e-7, "feedforward": 1e-6}, 1.5)
    notes = [findings.sweep_note(results, CostState(way="forward"), "length") for results in (slow_step, fast_step)]
    memory = results_of_all_parts("length", {})
    for part, each in list(memory.items()):
        wrong = 2.5 if part == "lstm" else 1.0
        costs = MeasuredCosts(each.forward, each.forward_backward, wrong * each.bytes_by_formula)
        memory[part] = sweep_result(part, "length", CostState().sizes("length", part), costs)
    crossing = results_of_all_parts("length", {"feedforward": 0.0001})
    x = np.array(SWEEPS["length"], dtype=float)
    for of_part, at in (("attention", 256.0), ("fused", 1024.0)):
        seconds = 1e-4 * x**2 / at
        crossing[of_part] = sweep_result(
            of_part, "length", CostState().sizes("length", of_part), MeasuredCosts(seconds, seconds, x)
        )
    assert [
        findings.length_finding(results_of_all_parts("length", {"feedforward": 0.001}), CostState(width=32)),
        findings.length_finding(found, CostState()),
        findings.fused_note(found, CostState(width=32)),
        flat,
        steep,
        findings.layers_finding(results_of_all_parts("layers", {}, 1.0), CostState()),
        findings.sweep_note(results_of_all_parts("layers", {}, 1.0), CostState(), "layers"),
        findings.sweep_note(results_of_all_parts("width", {}, 0.5), CostState(), "width"),
        findings.kernel_note(fast, CostState()),
        findings.kernel_note(slow, CostState()),
        findings.sweep_note(slow, CostState(), "length"),
        findings.layer_name("blocks[0–3].attention.project"),
        findings.layer_name("decoder[0–1].cross.key"),
        findings.layer_name("encoder.recurrent"),
        findings.layer_name("embedding"),
        findings.layer_name("summary.squeeze"),
        findings.parameters_finding("RNN", [("a", 60), ("b", 40)], 100),
        findings.parameters_finding("RNN", [("a", 40), ("b", 40), ("c", 20)], 100),
        findings.source_caption({"rnn": "this server", "gru": "this server"}),
        findings.source_caption({"rnn": "this server", "gru": "that one", "lstm": "that one"}),
        *(note.split("\n\n")[1] for note in notes),
        findings.memory_note(memory),
        findings.memory_note({"gru": memory["gru"]}),
        findings.length_finding(crossing, CostState(way="forward")),
        findings.fused_note(crossing, CostState(way="forward")),
    ] == snapshot


def test_a_sweep_is_drawn_as_measurements_and_formulas() -> None:
    state, document = CostState(), Document()
    latest = {part: Measurement(costs_of(each), "here") for part, each in results_of_all_parts("length", {}).items()}
    sweep_view(document, {"stored": latest}, state, "length")
    frame, table = [block["data"] for block in document.blocks if block["kind"] == "component"]
    seconds, kept = frame["figures"]
    assert len(seconds["plot"]["data"]) == len(kept["plot"]["data"]) == 2 * len(PARTS) == 2 * len(table["rows"])
    formula, measured = seconds["plot"]["data"][:2]
    assert (formula["name"], measured["name"]) == ("attention, formula", "attention")
    assert [track["trace"] for track in seconds["tracks"]] == list(range(1, 2 * len(PARTS), 2))
    assert "formula" not in seconds["alt"] and "attention from 0.064 to 4.1; fused attention" in seconds["alt"]
    hollow = [trace["marker"]["line"]["width"] > 0 for trace in seconds["plot"]["data"][1::2]]
    assert hollow == [part == "fused" for part in PARTS], "a second line of the same colour has hollow dots"


def costs_of(each: SweepResult) -> MeasuredCosts:
    return MeasuredCosts(each.forward, each.forward_backward, each.bytes_kept)


def test_parameters_are_bars_from_the_largest_on_with_their_formulas() -> None:
    chart = parameter_chart("a model", [("expand", 4096, "= d m"), ("<b>", 12, "= d")], "--m-transformer")
    layout = figure_of(chart).layout
    assert layout.yaxis.range[0] > layout.yaxis.range[1], "the first part stands on top"
    assert "4,096" in layout.annotations[0].text and "<b>&lt;b&gt;</b>" in layout.annotations[1].text
    assert chart.text == "Parameters of a model: expand 4,096; <b> 12."


def test_the_reference_has_every_size_that_the_page_offers() -> None:
    _, costs = read_reference()
    for width, length, heads, sweep, part in product(WIDTHS, LENGTHS, HEADS, SWEEPS, PARTS):
        sizes = CostState(width=width, length=length, heads=heads).sizes(sweep, part)
        assert all((part, size) in costs for size in sizes), "run python -m benchmarks.reference_costs"


def test_selected_sizes_are_those_of_the_model() -> None:
    assert sized_config(CostState(d=128, layers=2)).model.width == 128  # type: ignore[union-attr]
    assert sized_config(CostState(who="negation-bag_of_words", d=12)).model_name == "bag_of_words"
    with pytest.raises(InvalidSetting):
        sized_config(CostState(d=63))  # four heads do not share it
    assert CostState(d=128, layers=2).with_model("text-gru") == CostState(who="text-gru")


def growth_results(loss: Callable[[Cell], float], spread: float = 0.01) -> Results:
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


def test_sentences_on_growth(snapshot: SnapshotAssertion) -> None:

    def run(*losses: float) -> GrowthResult:
        return GrowthResult(1, 1.0, losses, losses)

    unclear = growth_results(overfitting, spread=1.0)
    falling = growth_results(lambda cell: 2.0 - 0.1 * cell.size)
    results_of_all = growth_results(overfitting)
    worse = {cell: GrowthResult(1, 1.0, each.losses, (float(cell.size),)) for cell, each in results_of_all.items()}
    some = {cell: each for cell, each in growth_results(overfitting).items() if cell.model in ("rnn", "gru")}
    assert [
        growth_findings.change(run(2.0, 2.1), run(1.8, 1.9)),
        growth_findings.change(run(1.8, 1.9), run(2.0, 2.1)),
        growth_findings.change(run(1.8, 2.0), run(1.9, 2.1)),
        growth_findings.change(run(2.0), run(2.0)),
        growth_findings.all_finding(growth_results(overfitting)),
        growth_findings.all_notes(growth_results(overfitting)),
        growth_findings.all_finding(unclear),
        growth_findings.all_notes(unclear),
        growth_findings.model_finding(unclear, "gru"),
        *(growth_findings.model_finding(growth_results(overfitting), model) for model in NETWORKS),
        growth_findings.model_notes(growth_results(overfitting), "gru"),
        growth_findings.model_notes(growth_results(overfitting, spread=1.0), "gru"),
        growth_findings.model_notes(growth_results(overfitting), "ngram"),
        growth_findings.model_finding(falling, "gru"),
        growth_findings.all_notes(falling),
        growth_findings.all_notes(worse),
        growth_findings.all_finding(some),
        growth_findings.model_finding(some, "lstm"),
        growth_findings.all_finding({}),
        growth_findings.progress_note(0, 16),
        growth_findings.progress_note(3, 16),
        growth_findings.LIMITS,
    ] == snapshot
