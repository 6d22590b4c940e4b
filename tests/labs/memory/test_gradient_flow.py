from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from explorer.experiments.gradient_clipping import CLIPPING_CELLS, GAINS
from explorer.experiments.recall import VARIANTS
from explorer.jobs.job import JobView
from explorer.labs.memory import exploding_gradients, gate_viewer, gradient_flow
from explorer.labs.memory.gradient_flow import GradientHistory, norms_at_steps, playback_steps
from explorer.labs.memory.state import MemoryState
from explorer.tasks.recall import RecallConfig
from explorer.training.record import Curves
from explorer.training.recorder import record_run
from explorer.ui.training.run_view import RunView

TINY = {"length": 5, "iterations": 4, "replicas": 2, "snapshots": 3, "evaluate_every": 4}


@cache
def view(name: str) -> RunView:
    config = VARIANTS[name].config(**TINY)
    return RunView(config, None, None, private=record_run(config))


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
        run = view(name)
        found = gradient_flow.compute_gradients(run)
        assert found.steps == run.config.snapshot_steps and found.norms.shape == (len(found.steps), 2, 5)
        assert not np.array_equal(found.norms[0], found.norms[-1])
        assert (found.shares is not None, found.radii is not None) == (gated, plain)


def test_the_default_is_the_first_variant_with_gates() -> None:
    stored = {name: view(name) for name in ("rnn-usual", "gru-chrono")}
    for inside, variant in (("", "gru-chrono"), ("rnn-usual", "rnn-usual"), ("lstm-usual", "gru-chrono")):
        assert gate_viewer.selected_variant(replace(MemoryState(), inside=inside), stored) == variant
    assert gate_viewer.selected_variant(MemoryState(), {"rnn-usual": stored["rnn-usual"]}) == "rnn-usual"
    assert gate_viewer.selected_step(MemoryState(), [0, 5, 300]) == 300
    for at, steps, step in ((17, [0, 5, 300], 5), (0, [0, 5, 300], 0), (1, [4, 300], 4)):
        assert gate_viewer.selected_step(replace(MemoryState(), at=at), steps) == step


def test_the_sequence_is_the_typed_one_or_a_random_one() -> None:
    task = RecallConfig(5, 2)
    assert gate_viewer._sequence_ids("abb", task) == (0, 1, 1)
    assert len(gate_viewer._sequence_ids("", task)) == 5
    assert gate_viewer._sequence_ids("a❤bc", task) == (0, 1)
    assert len(gate_viewer._sequence_ids("", RecallConfig(1_000, 2))) == 200


def test_half_lives_of_all_seeds_are_compared_with_the_other_initialization() -> None:
    gru, usual = view("gru-chrono"), view("gru-usual")
    reading = gate_viewer._compute_gates("open", gru, 0, 1, "abb", {"usual": usual})
    assert list(reading.half_lives) == ["open", "usual"]
    assert reading.half_lives["open"].shape == (2, 16)
    assert np.median(reading.half_lives["open"]) > np.median(reading.half_lives["usual"])
    rnn = gate_viewer._compute_gates("RNN", view("rnn-usual"), 4, 0, "ab", {})
    assert rnn.half_lives == {}
    assert [part.title for part in rnn.reading.traces] == ["hidden state"]


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
        assert len({tuple(panel.figure.layout.yaxis.range) for panel in row}) == 1
    assert [len(panel.figure.data[2].x) for panel in panels[:2]] == [6, 0], "nobody has trained the second yet"
