from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from explorer.catalogue import MODELS
from explorer.errors import InvalidSetting
from explorer.models.configs import TransformerEncoderConfig
from explorer.training.config import MOST_STEPS, RunConfig, changed, default, key, parse, to_json, validated

KEYS = {
    "bag_of_words": "v5xroqb65wqw",
    "feedforward": "sde7fmiocjxw",
    "rnn": "72dry5wn6nrg",
    "lstm": "f3wvqyt2p22e",
    "gru": "36p27lbeq7ev",
    "transformer": "7undsppk6bcr",
}


def fields(config: RunConfig) -> dict[str, tuple[Any, dataclasses.Field[Any]]]:
    """Every setting of a run: its type and its field."""
    return {
        f.name: (get_type_hints(type(part))[f.name], f)
        for part in (config, config.task, config.model, config.optimiser)
        for f in dataclasses.fields(part)
        if "help" in f.metadata
    }


def value_of(hint: Any, field: dataclasses.Field[Any]) -> st.SearchStrategy[Any]:
    low, high = field.metadata["low"], field.metadata["high"]
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if hint is bool:
        return st.booleans()
    return st.integers(low, high) if hint is int else st.floats(low, high)


@st.composite
def configs(draw: st.DrawFn) -> RunConfig:
    """Any run that the door lets in."""
    usual = default("negation", draw(st.sampled_from(sorted(MODELS))))
    every = fields(usual)
    chosen = draw(st.sets(st.sampled_from(sorted(every))))
    changes = {name: draw(value_of(*every[name])) for name in sorted(chosen)}
    try:
        return changed(usual, changes)
    except InvalidSetting:
        assume(False)
        raise


def test_defaults_are_the_notebooks() -> None:
    for name, epochs, rate in [("bag_of_words", 20, 1e-2), ("feedforward", 25, 3e-3), ("transformer", 30, 3e-3)]:
        config = default("negation", name)
        assert (config.epochs, config.optimiser.learning_rate, config.batch_size) == (epochs, rate, 64)
        assert (config.task.p_not, config.task.train_size, config.task.test_size) == (0.35, 800, 200)
        assert config.steps == epochs * 13


@pytest.mark.parametrize("name", MODELS)
def test_keys_of_the_defaults_are_the_same_for_ever(name: str) -> None:
    assert key(default("negation", name)) == KEYS[name]


def test_key_of_a_changed_run_is_the_same_for_ever() -> None:
    changes = {"replicas": 8, "p_not": 0.5, "padding": "eos", "learning_rate": 0.01, "hidden": 7}
    assert key(changed(default("negation", "rnn"), changes)) == "7efv5zghhuz4"


@pytest.mark.parametrize("name", MODELS)
def test_key_changes_with_every_setting(name: str) -> None:
    usual = default("negation", name)
    keys = {key(usual)}
    for setting, (hint, field) in fields(usual).items():
        owner = next(p for p in (usual, usual.task, usual.model, usual.optimiser) if hasattr(p, setting))
        value = getattr(owner, setting)
        if get_origin(hint) is Literal:
            other = next(v for v in get_args(hint) if v != value)
        elif hint is bool:
            other = not value
        else:
            other = value + 1 if value + 1 <= field.metadata["high"] else value / 2
        keys.add(key(changed(usual, {setting: other})))
    assert len(keys) == 1 + len(fields(usual))


def test_key_does_not_depend_on_a_field_given_its_default() -> None:
    usual = default("negation", "transformer")
    given = {"p_not": "0.35", "layers": 1, "learning_rate": "3e-3", "fresh_data": "true", "seed": "0", "epochs": 30}
    assert key(changed(usual, given)) == key(usual)
    whole = to_json(usual)
    del whole["model"]["start"], whole["task"]["padding"], whole["threads"]  # fields that came later
    assert parse(whole) == usual


@given(configs())
def test_parsing_gives_the_written_configuration_back(config: RunConfig) -> None:
    assert parse(to_json(config)) == config
    assert parse(json.loads(json.dumps(to_json(config)))) == config


@given(configs())
def test_key_is_twelve_letters_and_follows_from_the_configuration(config: RunConfig) -> None:
    assert len(key(config)) == 12
    assert set(key(config)) <= set("abcdefghijklmnopqrstuvwxyz234567")
    assert key(parse(to_json(config))) == key(config)


def impossible(hint: Any, field: dataclasses.Field[Any]) -> list[object]:
    low, high = field.metadata["low"], field.metadata["high"]
    nonsense: list[object] = [None, "", "nonsense", [], {}, math.nan, math.inf, -math.inf, "nan", "-inf", "9" * 5_000]
    if get_origin(hint) is Literal or hint is bool:
        return [*nonsense, 7]
    return [*nonsense, low - 1, high + 1, str(high * 10), *([low + 0.5] if hint is int else [])]


@pytest.mark.parametrize("name", MODELS)
def test_a_value_that_is_not_possible_is_refused_by_name(name: str) -> None:
    usual = default("negation", name)
    for setting, (hint, field) in fields(usual).items():
        for value in impossible(hint, field):
            with pytest.raises(InvalidSetting) as raised:
                changed(usual, {setting: value})
            message = str(raised.value)
            assert message.startswith(f"{setting} = "), message
            assert "Give " in message
            assert "\n" not in message
            assert len(message) < 200


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_as_a_setting_is_taken_or_refused_in_one_sentence(name: str, value: str) -> None:
    usual = default("negation", "gru")
    for setting in (name, "p_not", "hidden", "fresh_data", "padding"):
        try:
            assert isinstance(changed(usual, {setting: value}), RunConfig)
        except InvalidSetting as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("setting", "near"),
    [("p_nott", "p_not"), ("learnin_rate", "learning_rate"), ("replica", "replicas"), ("hiden", "hidden")],
)
def test_an_unknown_setting_gets_a_suggestion(setting: str, near: str) -> None:
    with pytest.raises(InvalidSetting, match=rf"no setting “{setting}”. Nearest: {near}"):
        changed(default("negation", "rnn"), {setting: 1})


def test_unknown_names_get_suggestions() -> None:
    with pytest.raises(InvalidSetting, match=r"no model “transformr”. Nearest: transformer"):
        default("negation", "transformr")
    with pytest.raises(InvalidSetting, match=r"no task “negatoin”. Nearest: negation"):
        default("negatoin", "rnn")
    with pytest.raises(InvalidSetting, match=r"no model “xyz”. There is bag_of_words, "):
        default("negation", "xyz")


def test_a_setting_may_say_where_it_belongs() -> None:
    config = changed(
        default("negation", "rnn"), {"task.p_not": 0.5, "model.hidden": "7", "optimiser.learning_rate": 0.1}
    )
    assert (config.task.p_not, config.model.hidden, config.optimiser.learning_rate) == (0.5, 7, 0.1)
    with pytest.raises(InvalidSetting, match=r"no setting “model\.p_not”"):
        changed(config, {"model.p_not": 0.5})


def test_two_settings_that_do_not_fit_are_refused_together() -> None:
    with pytest.raises(InvalidSetting, match=r"heads = 3 does not divide width = 16. Change one of the two\."):
        changed(default("negation", "transformer"), {"heads": 3})
    with pytest.raises(InvalidSetting, match="p_not = 1 leaves nothing"):
        changed(default("negation", "rnn"), {"p_not": 1, "held_out": "consume"})
    assert validated(TransformerEncoderConfig, {"heads": 3, "width": 15}).heads == 3


def test_too_many_steps_are_refused() -> None:
    with pytest.raises(InvalidSetting, match=f"at most {MOST_STEPS:,} are possible"):
        changed(default("negation", "rnn"), {"epochs": 2000, "batch_size": 1})


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "text",
        7,
        {},
        {"task": "negation", "model": "rnn", "optimiser": "adam"},
        {"task": {}, "model": {}, "optimiser": {}},
        {"task": {"name": "negation"}, "model": {"name": ["rnn"]}, "optimiser": {}},
        {**to_json(default("negation", "rnn")), "colour": "red"},
        {**to_json(default("negation", "rnn")), "epochs": None},
        {**to_json(default("negation", "rnn")), "optimiser": {"name": "sgd"}},
        {**to_json(default("negation", "rnn")), "model": {"name": "rnn", "version": 2}},
        {**to_json(default("negation", "rnn")), "model": {"name": "rnn", "version": 1, "heads": 2}},
        {**to_json(default("negation", "rnn")), "task": {"name": "negation", "version": 1, "p_not": math.nan}},
    ],
    ids=range(14),
)
def test_what_is_no_configuration_is_refused(data: object) -> None:
    with pytest.raises(InvalidSetting) as raised:
        parse(data)
    assert "\n" not in str(raised.value)


def test_an_older_version_is_named() -> None:
    old = to_json(default("negation", "rnn"))
    old["model"]["version"] = 0
    with pytest.raises(InvalidSetting, match="made with version 0 of “rnn”; this program has version 1"):
        parse(old)


def test_replicas_have_seeds_in_a_row() -> None:
    assert list(changed(default("negation", "rnn"), {"seed": 5, "replicas": 3}).seeds) == [5, 6, 7]


def test_more_sentences_than_memory_holds_are_refused() -> None:
    with pytest.raises(InvalidSetting, match="2,000 epochs of 20,000 sentences"):
        changed(default("negation", "rnn"), {"epochs": 2000, "train_size": 20_000, "batch_size": 2048})
