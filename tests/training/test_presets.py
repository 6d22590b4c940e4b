from __future__ import annotations

import pytest

from explorer.errors import InvalidSetting
from explorer.tasks.text import TextConfig
from explorer.training import limits
from explorer.training.budget import within
from explorer.training.config import changed, default, key, parse, to_json
from explorer.training.estimate import parameters
from explorer.training.matching import matched
from explorer.training.presets import PRESETS, preset
from tests.training.test_text_lesson import TRAINED, short


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_training_that_this_server_allows(name: str) -> None:
    config = preset(name).config()
    assert limits.check(config) == parse(to_json(config)) == config
    assert key(config) != key(default(preset(name).task, preset(name).model))


def test_the_assignments_protocol_is_in_both_of_its_presets() -> None:
    ours, original = (preset(name).config() for name in ("assignment", "assignment-original"))
    for config in (ours, original):
        task = config.on(TextConfig)
        assert (task.tokenizer, task.vocabulary, task.lower, task.context) == ("bpe", 500, True, 15)
        assert (task.split, task.held_out, task.split_seed) == ("pairs", 0.2, 42)
    assert (ours.on(TextConfig).rows, original.on(TextConfig).rows) == ("sentences", "prefixes")


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(InvalidSetting, match="There is no preset “best”"):
        preset("best")


@pytest.mark.parametrize("model", TRAINED)
@pytest.mark.parametrize("wanted", [2_000, 20_000])
def test_every_model_can_be_given_the_same_budget(model: str, wanted: int) -> None:
    config = matched(changed(default("text", model), {"corpus": "brackets", "size": 2_000}), wanted)
    assert parameters(config) == pytest.approx(wanted, rel=0.1)


def test_a_budget_out_of_reach_is_refused_with_the_nearest() -> None:
    config = changed(default("text", "rnn"), {"corpus": "brackets", "size": 2_000})
    with pytest.raises(InvalidSetting, match="RNN cannot have about 50 parameters; the nearest is "):
        matched(config, 50)


def test_more_time_is_more_steps_and_a_round_number_of_them() -> None:
    few, many = (within(short("feedforward"), seconds).iterations for seconds in (0.5, 20.0))
    assert few < many
    assert str(many)[2:].strip("0") == ""


def test_looks_come_closer_together_where_there_is_little_time() -> None:
    config = changed(short("feedforward"), {"evaluate_every": 5_000})
    assert within(config, 2.0).evaluate_every == 5_000
    brief = within(config, 2.0, looks=10)
    assert brief.evaluate_every == max(1, brief.iterations // 10)
    never = changed(config, {"evaluate_every": 0})
    assert within(never, 2.0, looks=10).evaluate_every == 0


def test_only_steps_can_be_fitted_into_a_time() -> None:
    with pytest.raises(InvalidSetting, match="this task counts in epochs"):
        within(default("negation", "rnn"), 5.0)
    assert within(short("ngram"), 5.0) == short("ngram")
