from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.errors import InvalidSetting
from explorer.training import store
from explorer.training.labelling_runs import CONTESTANTS
from explorer.ui.masks import Masks
from explorer.ui.masks import taken as masks_taken
from explorer.ui.positions import Positions
from explorer.ui.positions import taken as positions_taken


@pytest.mark.parametrize(("state", "task"), [(Masks(), "tale"), (Masks(reads="noise"), "noise"), (Positions(), "echo")])
def test_what_a_newcomer_sees_is_what_ships(state: Masks | Positions, task: str) -> None:
    assert state.configs == {name: CONTESTANTS[f"{task}-{name}"].config() for name in state.who}


@pytest.mark.parametrize(("run", "other"), [("noise-open", "tale"), ("tale-causal", "noise")])
def test_a_run_of_the_masks_page_brings_what_it_reads(run: str, other: str) -> None:
    found = replace(Masks(), reads=other, run=store.find(run).key).with_run()  # type: ignore[arg-type]
    assert found == Masks(reads=run.partition("-")[0])  # type: ignore[arg-type]


def test_a_beginning_is_told_in_letters_that_the_models_know() -> None:
    assert Masks().beginning == ("the old king", [])
    assert Masks(begin="The Wolf.").beginning == ("the wolf.", [])
    known, said = Masks(begin="a 3rd é<b>").beginning
    assert known == "a rd b" and said == [
        "The models know the letters a to z, the space and the full stop; left out: “3”, “é”, “<” and “>”."
    ]
    known, said = Masks(begin=" !").beginning
    assert known == "the old king" and len(said) == 2 and "until then it is “the old king”" in said[1]


def test_a_run_of_the_race_is_shown_in_it_with_its_settings() -> None:
    found = replace(Positions(), who=("none",), run=store.find("echo-rotary").key).with_run()
    assert found.run == "" and found.who == ("rotary", "none") and found.steps == 0


def test_a_run_of_other_settings_stands_beside_it() -> None:
    run = store.find("echo-scaled")
    found = replace(Positions(), run=run.key).with_run()
    assert found.run == run.key and found.longest == run.config.task.longest  # type: ignore[union-attr]
    assert found.contestants[run.key].label == "this run" and found.configs[run.key] == run.config
    assert found.racing(seeds=2).run == ""


def test_a_run_of_another_task_is_said_to_stand_elsewhere() -> None:
    with pytest.raises(InvalidSetting, match="stands on another page: Masks"):
        replace(Positions(), run=store.find("noise-open").key).with_run()


def test_nobody_left_changes_nothing() -> None:
    assert Positions().with_who(()) == Positions()
    assert Positions(seeds=2, place=3).reset() == Positions(place=3)
    assert Positions(seeds=2, place=3).fresh() == Positions(seeds=2)


def test_what_an_instrument_tells_is_taken_and_nonsense_is_not() -> None:
    assert masks_taken(Masks(), '{"side": "left", "causal": false, "shown": 1}') == Masks(
        side="left", causal=False, shown=1
    )
    for nonsense in ("", "[]", '{"side": "up"}', '{"shown": 9}'):
        assert masks_taken(Masks(), nonsense) == Masks()
    assert positions_taken(Positions(), '{"base": 100, "after": false, "width": 16}') == Positions(
        base=100.0, after=False, width=16
    )
    for nonsense in ("x", '{"base": 1}', '{"width": "many"}', "3"):
        assert positions_taken(Positions(), nonsense) == Positions()


def test_an_odd_width_is_made_even_and_too_many_words_are_cut() -> None:
    assert Positions(width=33, turn_width=7).set_here["width"] == 32
    many = Masks(first=" ".join("word" for _ in range(12)))
    assert len(many.batch[0]) == 10 and "12 words" in many.troubles[0]
    assert Masks(first="", second=" ", third="").troubles == [
        "The batch is empty: write a word in one of the three sentences."
    ]
