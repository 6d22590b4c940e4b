from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.errors import InvalidSetting
from explorer.experiments.labelling import VARIANTS
from explorer.labs.masks.state import MasksState
from explorer.labs.masks.state import apply_event as masks_taken
from explorer.labs.positions.state import PositionsState
from explorer.labs.positions.state import apply_event as positions_taken
from explorer.run_store import store


@pytest.mark.parametrize(
    ("state", "task"), [(MasksState(), "tale"), (MasksState(reads="noise"), "noise"), (PositionsState(), "echo")]
)
def test_what_a_newcomer_sees_is_what_ships(state: MasksState | PositionsState, task: str) -> None:
    assert state.configs == {name: VARIANTS[f"{task}-{name}"].config() for name in state.who}


@pytest.mark.parametrize(("run", "other"), [("noise-open", "tale"), ("tale-causal", "noise")])
def test_a_run_of_the_masks_page_brings_what_it_reads(run: str, other: str) -> None:
    found = replace(MasksState(), reads=other, run=store.find(run).key).with_run()  # type: ignore[arg-type]
    assert found == MasksState(reads=run.partition("-")[0])  # type: ignore[arg-type]


def test_a_beginning_is_told_in_letters_that_the_models_know() -> None:
    assert MasksState().prompt == ("the old king", [])
    assert MasksState(begin="The Wolf.").prompt == ("the wolf.", [])
    known, said = MasksState(begin="a 3rd é<b>").prompt
    assert known == "a rd b" and said == [
        "The models know the letters a to z, the space and the full stop; left out: “3”, “é”, “<” and “>”."
    ]
    known, said = MasksState(begin=" !").prompt
    assert known == "the old king" and len(said) == 2 and "until then it is “the old king”" in said[1]


def test_a_run_of_the_race_is_shown_in_it_with_its_settings() -> None:
    found = replace(PositionsState(), who=("none",), run=store.find("echo-rotary").key).with_run()
    assert found.run == "" and found.who == ("rotary", "none") and found.steps == 0


def test_a_run_of_other_settings_stands_beside_it() -> None:
    run = store.find("echo-scaled")
    found = replace(PositionsState(), run=run.key).with_run()
    assert found.run == run.key and found.longest == run.config.task.longest  # type: ignore[union-attr]
    assert found.variants[run.key].label == "this run" and found.configs[run.key] == run.config
    assert found.with_training_settings(seeds=2).run == ""


def test_a_run_of_another_task_is_said_to_stand_elsewhere() -> None:
    with pytest.raises(InvalidSetting, match="stands on another page: Masks"):
        replace(PositionsState(), run=store.find("noise-open").key).with_run()


def test_nobody_left_changes_nothing() -> None:
    assert PositionsState().with_models(()) == PositionsState()
    assert PositionsState(seeds=2, place=3).reset() == PositionsState(place=3)
    assert PositionsState(seeds=2, place=3).with_defaults() == PositionsState(seeds=2)


def test_what_an_instrument_tells_is_taken_and_nonsense_is_not() -> None:
    assert masks_taken(MasksState(), '{"side": "left", "causal": false, "shown": 1}') == MasksState(
        side="left", causal=False, shown=1
    )
    for nonsense in ("", "[]", '{"side": "up"}', '{"shown": 9}'):
        assert masks_taken(MasksState(), nonsense) == MasksState()
    assert positions_taken(PositionsState(), '{"base": 100, "after": false, "width": 16}') == PositionsState(
        base=100.0, after=False, width=16
    )
    for nonsense in ("x", '{"base": 1}', '{"width": "many"}', "3"):
        assert positions_taken(PositionsState(), nonsense) == PositionsState()


def test_an_odd_width_is_made_even_and_too_many_words_are_cut() -> None:
    assert PositionsState(width=33, turn_width=7).component_state["width"] == 32
    many = MasksState(first=" ".join("word" for _ in range(12)))
    assert len(many.batch[0]) == 10 and "12 words" in many.input_problems[0]
    assert MasksState(first="", second=" ", third="").input_problems == [
        "The batch is empty: write a word in one of the three sentences."
    ]
