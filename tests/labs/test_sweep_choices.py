"""The choices of the search for good settings."""

from __future__ import annotations

import dataclasses

import pytest

from explorer.catalogue import TASKS
from explorer.errors import InvalidSetting
from explorer.labs.compare import sweep_choices
from explorer.labs.compare.state import Comparison
from explorer.sweeps.space import trials


@pytest.mark.parametrize("task", TASKS)
def test_the_proposed_search_of_every_task_is_possible(task: str) -> None:
    state = sweep_choices.with_task(Comparison(), task)
    sweeps = sweep_choices.chosen_sweeps(state)
    assert sweeps.keys() == set(sweep_choices.chosen_models(state)) and all(sweep.space for sweep in sweeps.values())


@pytest.mark.parametrize(("task", "model"), [("negation", "rnn"), ("text", "gru"), ("recall", "lstm")])
def test_proposed_values_of_every_setting_are_possible(task: str, model: str) -> None:
    state = sweep_choices.with_task(Comparison(sweep_models=(model,)), task)
    for name in sweep_choices.searchable_settings(task, (model,)):
        one = sweep_choices.with_settings_searched(state, [name])
        values = sweep_choices.parse_space(one.sweep_space)[name]
        assert len(set(values.split(","))) > 1, f"{name}: {values}"


def test_settings_that_all_models_have() -> None:
    assert "hidden" in sweep_choices.searchable_settings("negation", ("rnn",))
    assert "heads" not in sweep_choices.searchable_settings("negation", ("rnn", "transformer"))
    assert not {"seed", "replicas", "iterations"} & set(sweep_choices.searchable_settings("negation", ("rnn",)))
    assert "ngram" not in sweep_choices.possible_models("text")


def test_a_space_is_read_as_it_is_written() -> None:
    space = {"learning_rate": "0.1,0.2", "hidden": "4:8"}
    assert sweep_choices.parse_space(sweep_choices.write_space(space)) == space
    assert sweep_choices.parse_space("") == {} and sweep_choices.parse_space(";;=3") == {}
    assert sweep_choices.parse_space(sweep_choices.write_space({"hidden": "4;x=5"})) == {"hidden": "4,x5"}
    assert sweep_choices.with_values("hidden", Comparison(sweep_space="hidden=4"), "8,16").sweep_space == "hidden=8,16"


def test_what_is_not_possible_names_the_model() -> None:
    with pytest.raises(InvalidSetting, match="Choose at least one setting"):
        sweep_choices.chosen_sweeps(Comparison(sweep_space=""))
    with pytest.raises(InvalidSetting, match="RNN: hidden = 0 is not possible"):
        sweep_choices.chosen_sweeps(Comparison(sweep_space="hidden=0,2", sweep_models=("rnn",)))


def test_only_what_the_form_shows_is_searched() -> None:
    """The models may have been changed since, and an address may name anything."""
    space = "heads=1,2;learning_rate=0.1,0.2;corpus=own:1,own:2"
    found = sweep_choices.chosen_sweeps(Comparison(sweep_space=space, sweep_models=("rnn", "none")))
    assert [sweep.names for sweep in found.values()] == [("learning_rate",)]
    every = Comparison(sweep_models=tuple(sweep_choices.possible_models("negation")))
    assert (
        len(sweep_choices.possible_models("negation"))
        > sweep_choices.MOST_SWEEPS
        == len(sweep_choices.chosen_models(every))
    )


def test_a_random_search_draws_from_ranges() -> None:
    state = Comparison(sweep_space="learning_rate=0.001:0.1:log", sweep_models=("rnn",))
    with pytest.raises(InvalidSetting, match="RNN: A grid needs a list"):
        sweep_choices.chosen_sweeps(state)
    sweep = sweep_choices.chosen_sweeps(dataclasses.replace(state, sweep_search="random", sweep_trials=7))["rnn"]
    assert len({trial.key for trial in trials(sweep)}) == 7
