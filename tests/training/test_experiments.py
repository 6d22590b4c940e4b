"""The experiments say what they vary, and vary nothing else."""

from __future__ import annotations

import math

import pytest

from explorer.errors import CorpusMissing
from explorer.seeds import generator
from explorer.tasks import corpora
from explorer.tasks.text import TextConfig
from explorer.training import limits
from explorer.training.config import changed, key
from explorer.training.experiments import BLIND, CLAIMED, EXPERIMENTS, Experiment, recipes
from explorer.training.pretraining import recipes as shipped
from explorer.training.text_lesson import TextLesson

EVERY = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))


@EVERY
def test_every_run_is_one_that_this_server_trains_with_three_seeds_on_characters(experiment: Experiment) -> None:
    for trial in experiment.trials:
        config = limits.check(trial.config)
        task = config.on(TextConfig)
        assert (config.model_name, config.seed, config.replicas) == (experiment.model, 0, 3)
        assert (task.corpus, task.tokenizer, task.split) == ("tinyshakespeare", "char", "end")


@EVERY
def test_runs_differ_in_what_the_experiment_says_and_in_nothing_else(experiment: Experiment) -> None:
    first = experiment.trials[0]
    for trial in experiment.trials:
        own = {**trial.field.settings, **trial.line.settings, experiment.setting: trial.value}
        same = {**first.field.settings, **first.line.settings, experiment.setting: first.value}
        assert set(own) == set(same)
        assert changed(first.config, own) == trial.config
    assert len({key(trial.config) for trial in experiment.trials}) == len(experiment.trials)
    assert len(experiment.trials) == len(experiment.lines) * sum(len(part.values) for part in experiment.fields)


@EVERY
def test_with_and_without_start_from_the_same_weights_and_read_the_same_text(experiment: Experiment) -> None:
    """A seed is compared with itself."""
    assert len({trial.config.task for trial in experiment.trials}) == 1
    assert {tuple(trial.config.seeds) for trial in experiment.trials} == {(0, 1, 2)}


def test_they_ship_under_names_of_folders() -> None:
    names = recipes()
    assert {"text-window-1", "text-batchnorm-bn-0.3", "text-clipping-descent-none-1", "text-warmup-post-warm-0.1"} <= {
        *names
    }
    assert len(names) == sum(len(each.trials) for each in EXPERIMENTS.values())
    assert len(set(names.values())) == len(names)
    assert names.items() <= shipped().items()
    assert all(name.replace("-", "").replace(".", "").isalnum() and name.islower() for name in names)


def test_their_final_weights_take_less_than_three_megabytes() -> None:
    taken = 0
    for config in recipes().values():
        model = TextLesson.build(config, generator(0, "a test"), vocabulary=65)
        taken += 4 * config.replicas * sum(value.numel() for value in model.state_dict().values())
    assert 1e6 < taken < 3e6


def test_what_is_claimed_of_a_window_is_among_those_asked() -> None:
    window = EXPERIMENTS["window"]
    assert CLAIMED in window.fields[0].values[1:]
    assert str(CLAIMED) in window.said


def test_blind_guessing_is_among_the_characters_of_the_text() -> None:
    try:
        text = corpora.text_of(TextConfig())
    except CorpusMissing:
        pytest.skip("Tiny Shakespeare is not here.")
    assert math.log2(len(set(text))) == BLIND
