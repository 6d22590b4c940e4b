from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from explorer.experiments.gradient_clipping import CLIPPING_CELLS, GAINS
from explorer.experiments.recall import VARIANTS
from explorer.inspection.recurrent.gates import measure_gates
from explorer.inspection.recurrent.input_gradients import GradientHistory, gradient_history
from explorer.jobs.job import JobView
from explorer.labs.memory import exploding_gradients, gate_viewer, gradient_flow
from explorer.labs.memory.gradient_flow import (
    MAX_POSITIONS,
    GradientLine,
    gradient_charts,
    norms_at_steps,
    playback_steps,
)
from explorer.labs.memory.state import MemoryState
from explorer.training.record import Curves, Record
from explorer.training.recorder import record_run
from explorer.ui.training.run_view import RunView
from tests.charts.figures import figure_of

TINY = {"length": 5, "iterations": 4, "replicas": 2, "snapshots": 3, "evaluate_every": 4}


@cache
def run(name: str) -> Record:
    return record_run(VARIANTS[name].config(**TINY))


def make_history(steps: tuple[int, ...]) -> GradientHistory:
    return GradientHistory(steps, np.array(steps, float)[:, None, None] * np.ones((1, 2, 3)), None, None)


def test_all_runs_share_the_playback_steps_and_a_finished_run_keeps_its_last_norms() -> None:
    found = {"long": make_history((0, 2, 9)), "short": make_history((0, 3))}
    stops = playback_steps(found)
    assert stops == [0, 2, 3, 9]
    assert norms_at_steps(found["long"], stops)[:, 0, 0].tolist() == [0, 2, 2, 9]
    assert norms_at_steps(found["short"], stops)[:, 0, 0].tolist() == [0, 0, 3, 3]
    many = playback_steps({"many": make_history(tuple(range(100)))})
    assert (many[0], many[-1], len(many)) == (0, 99, gradient_flow.MAX_STOPS)


def test_gradients_are_computed_at_every_snapshot() -> None:
    for name, gated, plain in (
        ("gru-chrono", True, False),
        ("rnn-usual", False, True),
        ("transformer-learned", False, False),
    ):
        found = gradient_history(run(name))
        assert found.steps == run(name).config.snapshot_steps and found.norms.shape == (len(found.steps), 2, 5)
        assert not np.array_equal(found.norms[0], found.norms[-1])
        assert (found.shares is not None, found.radii is not None) == (gated, plain)


def test_the_default_is_the_first_variant_with_gates() -> None:
    stored = {name: run(name) for name in ("rnn-usual", "gru-chrono")}
    for inside, variant in (("", "gru-chrono"), ("rnn-usual", "rnn-usual"), ("lstm-usual", "gru-chrono")):
        assert gate_viewer.selected_variant(replace(MemoryState(), inside=inside), stored) == variant
    assert gate_viewer.selected_variant(MemoryState(), {"rnn-usual": stored["rnn-usual"]}) == "rnn-usual"
    assert gate_viewer.selected_step(MemoryState(), [0, 5, 300]) == 300
    for at, steps, step in ((17, [0, 5, 300], 5), (0, [0, 5, 300], 0), (1, [4, 300], 4)):
        assert gate_viewer.selected_step(replace(MemoryState(), at=at), steps) == step


def test_the_sequence_is_the_typed_one_or_a_random_one() -> None:
    assert gate_viewer.read_symbols("a❤bc", 2).text == "ab"
    runs = [("open", run("gru-chrono"))]
    assert measure_gates(runs, 0, 0, "abb", 200).reading.ids == (0, 1, 1)
    assert len(measure_gates(runs, 0, 0, "", 200).reading.ids) == 5
    assert len(measure_gates(runs, 0, 0, "", 3).reading.ids) == 3


def test_half_lives_of_all_seeds_are_compared_with_the_other_initialization() -> None:
    found = measure_gates([("open", run("gru-chrono")), ("usual", run("gru-usual"))], 0, 1, "abb", 200)
    assert list(found.half_lives) == ["open", "usual"]
    assert found.half_lives["open"].shape == (2, 16)
    assert np.median(found.half_lives["open"]) > np.median(found.half_lives["usual"])
    rnn = measure_gates([("RNN", run("rnn-usual"))], 4, 0, "ab", 200)
    assert rnn.half_lives == {}
    assert [part.title for part in rnn.reading.traces] == ["hidden state"]


def test_gradient_lines_are_medians_between_the_extreme_seeds_in_every_frame() -> None:
    decay = np.stack([0.1 * 10.0 ** np.linspace(-power, 0, 5) for power in (16, 17, 18)])  # three seeds, five symbols
    flat = np.full((3, 5), 0.1)
    lines = [
        GradientLine("RNN usual", "RNN", "--m-rnn", "6px,4px", np.stack([decay, flat])),
        GradientLine("Transformer none", "T", "--m-transformer", "solid", np.stack([flat] * 2)),
    ]
    frames = gradient_charts("Gradients.", lines)
    first, second = (chart.traces() for chart in frames)
    low, high, median, _, *_, other = first
    assert [trace["y"][0] for trace in (low, high, median)] == pytest.approx([1e-18, 1e-16, 1e-17], rel=1e-6, abs=0.0)
    assert (median["x"], median["line"]["dash"]) == ([1, 2, 3, 4, 5], "6px,4px")
    assert len(first) == len(second) == 8 and second[2]["y"] == [1.0] * 5
    assert [readout["trace"] for readout in frames[0].readouts] == [2, 6]
    axis = figure_of(frames[0]).layout.yaxis
    assert -18 < axis.range[0] < -17 and -1 < axis.range[1] < 1, "the middle seed; a band may leave the figure"
    assert len(axis.tickvals) <= 5 and axis.ticktext[0] == "10⁻¹⁵"
    assert other["text"] == ["<b>Transformer</b>&nbsp;&nbsp;<br><b>none</b>&nbsp;&nbsp;"]
    heights = [[frame[i]["y"][0] for i in (3, 7)] for frame in (first, second)]
    assert heights[0][0] == pytest.approx(1e-17, rel=0.5, abs=0.0)
    assert abs(np.log10(heights[1][0]) - np.log10(heights[1][1])) > 1, "both lines are at 1"


def test_long_sequences_are_thinned_and_a_gradient_of_zero_is_a_gap() -> None:
    norms = np.full((1, 2, 400), 1e-3)
    norms[:, :, 0] = 0.0
    (chart,) = gradient_charts("Gradients.", [GradientLine("a", "a", "--m-gru", "solid", norms)])
    median = chart.traces()[2]
    assert (len(median["x"]), median["x"][0], median["x"][-1], median["y"][0]) == (MAX_POSITIONS, 1, 400, None)


def test_the_slider_shows_the_nearest_gain() -> None:
    assert [GAINS[exploding_gradients._nearest_gain(gain)] for gain in (1.0, 2.96)] == [1.0, 3.0]


@cache
def clipping_curves(name: str) -> Curves:
    configs = {f"{cell.name}-{which}": c for cell in CLIPPING_CELLS for which, c in cell.configs().items()}
    return record_run(replace(configs[name], iterations=6, snapshots=2, replicas=2)).curves


def views(*names: str) -> dict[str, RunView]:
    """Return a view of every run of the experiment, of which these are trained."""
    found = {}
    for cell in CLIPPING_CELLS:
        for which, config in cell.configs().items():
            name = f"{cell.name}-{which}"
            job = JobView(config, "", "finished", 6, curves=clipping_curves(name)) if name in names else None
            found[name] = RunView(config, None, job)
    return found


def test_a_cell_has_a_result_once_both_runs_are_finished() -> None:
    (small,) = exploding_gradients._clipping_results(views("small-none", "small-clip", "large-none"))
    assert small.words == "at a radius of 0.7" and small.same and small.longest < 1.0
    (large,) = exploding_gradients._clipping_results(views("large-none", "large-clip"))
    assert large.longest > 1.0 and not large.same


def test_every_cell_has_a_panel_of_each_quantity_on_a_shared_axis() -> None:
    panels = exploding_gradients._panels(views("small-none", "small-clip"))
    assert len(panels) == 2 * len(CLIPPING_CELLS)
    for row in (panels[:3], panels[3:]):
        assert len({tuple(figure_of(panel.chart).layout.yaxis.range) for panel in row}) == 1
    assert [len(panel.chart.traces()[2]["x"]) for panel in panels[:2]] == [6, 0], "nobody has trained the second yet"
