from __future__ import annotations

import pytest

from explorer.errors import InvalidSetting
from explorer.experiments.parameter_matching import match_parameters
from explorer.experiments.presets import PRESETS, preset
from explorer.jobs import limits
from explorer.jobs.limits import fit_to_seconds
from explorer.tasks.text.config import TextConfig
from explorer.training.config import default_config, key, parse_config, to_json, with_settings
from explorer.training.model_factory import count_parameters
from tests.training.objectives.test_text import TRAINED, short


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_training_that_this_server_allows(name: str) -> None:
    config = preset(name).config()
    assert limits.check(config) == parse_config(to_json(config)) == config
    assert key(config) != key(default_config(preset(name).task, preset(name).model))


def test_the_assignments_protocol_is_in_both_of_its_presets() -> None:
    ours, original = (preset(name).config() for name in ("assignment", "assignment-original"))
    for config in (ours, original):
        task = config.task_as(TextConfig)
        assert (task.tokenizer, task.vocabulary, task.lower, task.context) == ("bpe", 500, True, 15)
        assert (task.split, task.held_out, task.split_seed) == ("pairs", 0.2, 42)
    assert (ours.task_as(TextConfig).rows, original.task_as(TextConfig).rows) == ("sentences", "prefixes")


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(InvalidSetting, match="There is no preset “best”"):
        preset("best")


@pytest.mark.parametrize("model", TRAINED)
@pytest.mark.parametrize("target", [2_000, 20_000])
def test_every_model_can_be_given_the_same_number_of_parameters(model: str, target: int) -> None:
    config = match_parameters(
        with_settings(default_config("text", model), {"corpus": "brackets", "size": 2_000}), target
    )
    assert count_parameters(config) == pytest.approx(target, rel=0.1)


def test_a_parameter_count_out_of_reach_is_rejected_with_the_nearest() -> None:
    config = with_settings(default_config("text", "rnn"), {"corpus": "brackets", "size": 2_000})
    with pytest.raises(InvalidSetting, match="RNN cannot have about 50 parameters; the nearest is "):
        match_parameters(config, 50)


def test_the_steps_fit_into_a_time_and_evaluations_become_more_frequent() -> None:
    config = with_settings(short("feedforward"), {"evaluate_every": 5_000})
    few, many = (fit_to_seconds(config, seconds) for seconds in (0.5, 20.0))
    assert few.iterations < many.iterations
    assert str(many.iterations)[2:].strip("0") == ""
    assert many.evaluate_every == 5_000
    brief = fit_to_seconds(config, 2.0, min_evaluations=10)
    assert brief.evaluate_every == max(1, brief.iterations // 10)
    never = with_settings(config, {"evaluate_every": 0})
    assert fit_to_seconds(never, 2.0, min_evaluations=10).evaluate_every == 0
    with pytest.raises(InvalidSetting, match="this task counts in epochs"):
        fit_to_seconds(default_config("negation", "rnn"), 5.0)
    assert fit_to_seconds(short("ngram"), 5.0) == short("ngram")
