from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from explorer.errors import InvalidSetting
from explorer.tasks.recall import RecallConfig
from explorer.training.exploding_runs import GAINS, GROUNDS
from explorer.training.recall_runs import CONTESTANTS
from explorer.training.recorder import record_run
from explorer.ui import memory_exploding, memory_gates, memory_why
from explorer.ui.memory import Memory
from explorer.ui.memory_why import Through, at_stops, stops_of
from explorer.ui.runs import Lane

TINY = {"length": 5, "iterations": 4, "replicas": 2, "snapshots": 3, "evaluate_every": 4}


def lane(name: str) -> Lane:
    config = CONTESTANTS[name].config(**TINY)
    return Lane(config, None, None, private=record_run(config))


def made(steps: tuple[int, ...]) -> Through:
    return Through(steps, np.array(steps, float)[:, None, None] * np.ones((1, 2, 3)), None, None)


# ---- the gradient through training


def test_all_trainings_stop_at_the_same_steps_and_an_ended_one_stays() -> None:
    found = {"long": made((0, 2, 9)), "short": made((0, 3))}
    stops = stops_of(found)
    assert stops == [0, 2, 3, 9]
    assert at_stops(found["long"], stops)[:, 0, 0].tolist() == [0, 2, 2, 9]
    assert at_stops(found["short"], stops)[:, 0, 0].tolist() == [0, 0, 3, 3]
    many = stops_of({"many": made(tuple(range(100)))})
    assert (many[0], many[-1], len(many)) == (0, 99, memory_why.MOST_STOPS)


@pytest.mark.parametrize(("name", "gated", "plain"), [("gru-chrono", True, False), ("rnn-usual", False, True)])
def test_a_run_is_asked_at_each_of_its_snapshots(name: str, gated: bool, plain: bool) -> None:
    asked = lane(name)
    found = memory_why.through(asked)
    assert found.steps == asked.config.snapshot_steps
    assert found.norms.shape == (len(found.steps), 2, 5)
    assert not np.array_equal(found.norms[0], found.norms[-1])
    assert (found.shares is not None, found.radii is not None) == (gated, plain)
    transformer = memory_why.through(lane("transformer-learned"))
    assert (transformer.shares, transformer.radii) == (None, None)


# ---- gates


def test_the_first_with_gates_is_looked_into_until_somebody_asks_for_another() -> None:
    known = {name: lane(name) for name in ("rnn-usual", "gru-chrono")}
    assert memory_gates.chosen(Memory(), known) == "gru-chrono"
    assert memory_gates.chosen(replace(Memory(), inside="rnn-usual"), known) == "rnn-usual"
    assert memory_gates.chosen(replace(Memory(), inside="lstm-usual"), known) == "gru-chrono"
    assert memory_gates.chosen(Memory(), {"rnn-usual": known["rnn-usual"]}) == "rnn-usual"


def test_a_step_between_snapshots_means_the_one_before() -> None:
    assert memory_gates.step_of(Memory(), [0, 5, 300]) == 300
    assert memory_gates.step_of(replace(Memory(), at=17), [0, 5, 300]) == 5
    assert memory_gates.step_of(replace(Memory(), at=0), [0, 5, 300]) == 0
    assert memory_gates.step_of(replace(Memory(), at=1), [4, 300]) == 4


def test_what_is_read_is_what_was_written_or_drawn() -> None:
    task = RecallConfig(5, 2)
    assert memory_gates._read("abb", task) == (0, 1, 1)
    assert len(memory_gates._read("", task)) == 5
    with pytest.raises(InvalidSetting, match="no symbol of this task"):
        memory_gates._read("abc", task)
    assert len(memory_gates._read("", RecallConfig(1_000, 2))) == 200


def test_half_lives_of_all_seeds_stand_beside_those_of_the_other_start() -> None:
    gru, usual = lane("gru-chrono"), lane("gru-usual")
    looked = memory_gates._looked("open", gru, 0, 1, (0, 1, 1), {"usual": usual})
    assert list(looked.lives) == ["open", "usual"]
    assert looked.lives["open"].shape == (2, 16)
    assert np.median(looked.lives["open"]) > np.median(looked.lives["usual"])
    rnn = memory_gates._looked("RNN", lane("rnn-usual"), 4, 0, (0, 1), {})
    assert rnn.lives == {}
    assert [part.title for part in rnn.reading.parts] == ["hidden state"]


# ---- clipping


def test_the_slider_stands_at_the_gain_that_is_nearest() -> None:
    assert GAINS[memory_exploding._nearest(1.0)] == 1.0
    assert GAINS[memory_exploding._nearest(2.96)] == 3.0


def lanes(names: tuple[str, ...]) -> dict[str, Lane]:
    found = {}
    for ground in GROUNDS:
        for which, config in ground.runs().items():
            name = f"{ground.name}-{which}"
            short = replace(config, iterations=6, snapshots=2)
            found[name] = Lane(config, None, None, stopped=None)
            if name in names:
                found[name] = _Trained(config, record_run(short).curves)
    return found


class _Trained(Lane):
    """A lane with curves and no run on disk."""

    def __init__(self, config: object, known: object) -> None:
        object.__setattr__(self, "config", config)
        object.__setattr__(self, "known", known)

    @property
    def curves(self) -> object:  # type: ignore[override]
        return self.known  # type: ignore[attr-defined]

    result = curves  # type: ignore[assignment]


def test_a_ground_counts_once_both_its_runs_are_there_and_sees_that_they_are_the_same() -> None:
    known = lanes(("small-none", "small-clip", "large-none"))
    (small,) = memory_exploding._outcomes(known)
    assert small.words == "at a radius of 0.7"
    assert small.same
    assert small.longest < 1.0
    large, fast = (memory_exploding._outcomes(lanes((f"{name}-none", f"{name}-clip")))[0] for name in ("large", "fast"))
    assert large.longest > 1.0
    assert not large.same
    assert not fast.same


def test_every_ground_has_a_panel_of_each_look_on_one_axis() -> None:
    panels = memory_exploding._panels(lanes(("small-none", "small-clip")))
    assert len(panels) == 2 * len(GROUNDS)
    for row in (panels[:3], panels[3:]):
        assert len({tuple(panel.figure.layout.yaxis.range) for panel in row}) == 1
    assert len(panels[0].figure.data[2].x) == 6
    assert len(panels[1].figure.data[2].x) == 0  # nobody has trained it yet
