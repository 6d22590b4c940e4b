"""The choices of the search for good settings."""

from __future__ import annotations

import dataclasses

import pytest

from explorer.catalogue import TASKS
from explorer.errors import InvalidSetting
from explorer.labs.compare.state import Comparison
from explorer.labs.compare.sweep_choices import (
    MOST_SWEEPS,
    chosen_models,
    chosen_sweeps,
    parse_space,
    possible_models,
    searchable_settings,
    with_settings_searched,
    with_task,
    with_values,
    write_space,
)
from explorer.sweeps.space import trials


@pytest.mark.parametrize("task", TASKS)
def test_the_proposed_search_of_every_task_is_possible(task: str) -> None:
    state = with_task(Comparison(), task)
    sweeps = chosen_sweeps(state)
    assert sweeps.keys() == set(chosen_models(state)) and all(sweep.space for sweep in sweeps.values())


@pytest.mark.parametrize(("task", "model"), [("negation", "rnn"), ("text", "gru"), ("recall", "lstm")])
def test_proposed_values_of_every_setting_are_possible(task: str, model: str) -> None:
    state = with_task(Comparison(sweep_models=(model,)), task)
    for name in searchable_settings(task, (model,)):
        one = with_settings_searched(state, [name])
        values = parse_space(one.sweep_space)[name]
        assert len(set(values.split(","))) > 1, f"{name}: {values}"


def test_settings_that_all_models_have() -> None:
    assert "hidden" in searchable_settings("negation", ("rnn",))
    assert "heads" not in searchable_settings("negation", ("rnn", "transformer"))
    assert not {"seed", "replicas", "iterations"} & set(searchable_settings("negation", ("rnn",)))
    assert "ngram" not in possible_models("text")


def test_a_space_is_read_as_it_is_written() -> None:
    space = {"learning_rate": "0.1,0.2", "hidden": "4:8"}
    assert parse_space(write_space(space)) == space
    assert parse_space("") == {} and parse_space(";;=3") == {}
    assert parse_space(write_space({"hidden": "4;x=5"})) == {"hidden": "4,x5"}
    assert with_values(Comparison(sweep_space="hidden=4"), "hidden", "8,16").sweep_space == "hidden=8,16"


def test_what_is_not_possible_names_the_model() -> None:
    with pytest.raises(InvalidSetting, match="Choose at least one setting"):
        chosen_sweeps(Comparison(sweep_space=""))
    with pytest.raises(InvalidSetting, match="RNN: hidden = 0 is not possible"):
        chosen_sweeps(Comparison(sweep_space="hidden=0,2", sweep_models=("rnn",)))


def test_only_what_the_form_shows_is_searched() -> None:
    """The models may have been changed since, and an address may name anything."""
    space = "heads=1,2;learning_rate=0.1,0.2;corpus=own:1,own:2"
    found = chosen_sweeps(Comparison(sweep_space=space, sweep_models=("rnn", "none")))
    assert [sweep.names for sweep in found.values()] == [("learning_rate",)]
    every = Comparison(sweep_models=tuple(possible_models("negation")))
    assert len(possible_models("negation")) > MOST_SWEEPS == len(chosen_models(every))


def test_a_random_search_draws_from_ranges() -> None:
    state = Comparison(sweep_space="learning_rate=0.001:0.1:log", sweep_models=("rnn",))
    with pytest.raises(InvalidSetting, match="RNN: A grid needs a list"):
        chosen_sweeps(state)
    sweep = chosen_sweeps(dataclasses.replace(state, sweep_search="random", sweep_trials=7))["rnn"]
    assert len({trial.key for trial in trials(sweep)}) == 7
