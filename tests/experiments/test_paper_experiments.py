"""The experiments say what they vary, and vary nothing else."""

from __future__ import annotations

import math

import pytest

from explorer.experiments.learning_rates import searched_rate
from explorer.experiments.paper_experiments import (
    EXPERIMENTS,
    UNIFORM_BITS,
    Experiment,
    shipped_configs,
)
from explorer.experiments.pretraining import shipped_configs as shipped
from explorer.jobs import limits
from explorer.tasks.text import corpora
from explorer.tasks.text.config import TextConfig
from explorer.training.config import key, with_settings
from tests import needs

EVERY = pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))


@EVERY
def test_every_run_is_one_that_this_server_trains_with_several_seeds_on_characters(experiment: Experiment) -> None:
    for trial in experiment.trials:
        config = limits.check(trial.config)
        task = config.task_as(TextConfig)
        seeds = 8 if experiment.name == "window" else 3
        assert (config.model_name, config.seed, config.replicas) == (experiment.model, 0, seeds)
        assert (task.corpus, task.tokenizer, task.split) == ("tinyshakespeare", "char", "end")


@EVERY
def test_runs_differ_in_what_the_experiment_says_and_in_nothing_else(experiment: Experiment) -> None:
    first = experiment.trials[0]
    for trial in experiment.trials:
        own = {**trial.panel.settings, **trial.condition.settings, experiment.setting: trial.value}
        same = {**first.panel.settings, **first.condition.settings, experiment.setting: first.value}
        assert set(own) == set(same)
        own = {**searched_rate(f"{experiment.name}-{trial.value:g}"), **own}
        assert with_settings(first.config, own) == trial.config
    assert len({key(trial.config) for trial in experiment.trials}) == len(experiment.trials)
    assert len(experiment.trials) == len(experiment.conditions) * sum(len(part.values) for part in experiment.panels)


def test_names_of_shipped_runs_are_valid_folder_names() -> None:
    names = shipped_configs()
    assert {"text-window-1", "text-batchnorm-bn-0.3", "text-clipping-descent-none-1", "text-warmup-post-warm-0.1"} <= {
        *names
    }
    assert len(names) == sum(len(each.trials) for each in EXPERIMENTS.values())
    assert len(set(names.values())) == len(names)
    assert names.items() <= shipped().items()
    assert all(name.replace("-", "").replace(".", "").isalnum() and name.islower() for name in names)


@needs.tiny_shakespeare
def test_uniform_bits_follow_from_the_number_of_characters() -> None:
    text = corpora.load_text(TextConfig())
    assert math.log2(len(set(text))) == UNIFORM_BITS
