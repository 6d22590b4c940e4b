from __future__ import annotations

import dataclasses
import json
import math
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from explorer.catalogue import models_of
from explorer.errors import InvalidSetting
from explorer.models.configs import TransformerEncoderConfig
from explorer.training.config import (
    BRANCH_SETTINGS,
    Branch,
    Optimiser,
    RunConfig,
    branch_from,
    default_config,
    key,
    parse_config,
    to_json,
    validate,
    with_settings,
)

MODELS = models_of("negation")

KEYS = {
    "bag_of_words": "eccas73xnenq",
    "bag_of_words_hidden": "flrvsglc3pcp",
    "bag_of_bigrams": "v4zz7hswhkzk",
    "feedforward": "hvri2g663mss",
    "rnn": "lxcurxkm6ubn",
    "lstm": "4hdkd6twvvgn",
    "gru": "frdxchnraxkd",
    "transformer": "ggsvhae4piuu",
}


_OTHERS = {
    "iterations",  # the length of a negation run is given in epochs
    *("corpus", "text", "classes"),  # only together: tests/tasks/test_own_sentences.py
}


def fields(config: RunConfig) -> dict[str, tuple[Any, dataclasses.Field[Any]]]:
    """Every setting of a run: its type and its field."""
    return {
        f.name: (get_type_hints(type(part))[f.name], f)
        for part in (config, config.task, config.model, config.optimiser)
        for f in dataclasses.fields(part)
        if "help" in f.metadata and f.name not in _OTHERS
    }


def test_defaults_are_the_notebooks() -> None:
    for name, epochs, rate in [("bag_of_words", 20, 1e-2), ("feedforward", 25, 3e-3), ("transformer", 30, 3e-3)]:
        config = default_config("negation", name)
        assert (config.epochs, config.optimiser.learning_rate, config.batch_size) == (epochs, rate, 64)
        assert (config.task.p_not, config.task.train_size, config.task.test_size) == (0.35, 800, 200)
        assert config.steps == epochs * 13


@pytest.mark.parametrize("name", KEYS)  # the key of a newer model is that of its included runs
def test_keys_of_the_defaults_never_change(name: str) -> None:
    assert key(default_config("negation", name)) == KEYS[name]


def test_the_key_of_a_run_with_other_settings_never_changes() -> None:
    changes = {"replicas": 8, "p_not": 0.5, "padding": "eos", "learning_rate": 0.01, "hidden": 7}
    assert key(with_settings(default_config("negation", "rnn"), changes)) == "e7mamwavwext"


@pytest.mark.parametrize("name", MODELS)
def test_key_changes_with_every_setting(name: str) -> None:
    default = default_config("negation", name)
    keys = {key(default)}
    for setting, (hint, field) in fields(default).items():
        owner = next(p for p in (default, default.task, default.model, default.optimiser) if hasattr(p, setting))
        value = getattr(owner, setting)
        if get_origin(hint) is Literal:
            other_value = next(v for v in get_args(hint) if v != value)
        elif hint is bool:
            other_value = not value
        else:
            other_value = value + 1 if value + 1 <= field.metadata["high"] else value / 2 or 0.5
        changed = with_settings(default, {setting: other_value})
        assert parse_config(json.loads(json.dumps(to_json(changed)))) == changed
        keys.add(key(changed))
    assert len(keys) == 1 + len(fields(default))
    assert {len(each) for each in keys} == {12} and set().union(*keys) <= set("abcdefghijklmnopqrstuvwxyz234567")


def test_the_key_does_not_depend_on_whether_a_default_is_given() -> None:
    default = default_config("negation", "transformer")
    explicit_defaults = {"p_not": "0.35", "layers": 1, "learning_rate": "3e-3", "fresh_data": "true", "seed": "0"}
    explicit_defaults |= {"epochs": 30, "order": 0, "snapshots": "12", "schedule": "constant", "warmup": "0"}
    assert key(with_settings(default, explicit_defaults)) == key(default)
    data = to_json(default)
    del data["model"]["start"], data["task"]["padding"], data["threads"]  # fields that older files do not have
    del data["order"], data["snapshots"], data["optimiser"]["schedule"], data["optimiser"]["warmup"]
    assert parse_config(data) == default


def impossible_values(hint: Any, field: dataclasses.Field[Any]) -> list[object]:
    low, high = field.metadata["low"], field.metadata["high"]
    nonsense: list[object] = [None, "", "nonsense", [], math.nan, -math.inf, "9" * 5_000]
    if get_origin(hint) is Literal or hint is bool:
        return [*nonsense, 7]
    return [*nonsense, low - 1, high + 1, str(high * 10), *([low + 0.5] if hint is int else [])]


@pytest.mark.parametrize("name", MODELS)
def test_an_impossible_value_is_rejected_with_the_name_of_its_setting(name: str) -> None:
    default = default_config("negation", name)
    for setting, (hint, field) in fields(default).items():
        for value in impossible_values(hint, field):
            with pytest.raises(InvalidSetting) as raised:
                with_settings(default, {setting: value})
            message = str(raised.value)
            assert message.startswith(f"{setting} = "), message
            assert "Give " in message
            assert "\n" not in message
            assert len(message) < 200


def test_unknown_names_get_suggestions() -> None:
    for setting, suggestion in (("p_nott", "p_not"), ("learnin_rate", "learning_rate"), ("hiden", "hidden")):
        with pytest.raises(InvalidSetting, match=rf"no setting “{setting}”. Nearest: {suggestion}"):
            with_settings(default_config("negation", "rnn"), {setting: 1})
    for task, model, message in (
        ("negation", "transformr", r"no model “transformr”. Nearest: transformer"),
        ("negatoin", "rnn", r"no task “negatoin”. Nearest: negation"),
        ("negation", "xyz", r"no model “xyz”. There is bag_of_words, "),
    ):
        with pytest.raises(InvalidSetting, match=message):
            default_config(task, model)


def test_a_setting_may_name_its_section() -> None:
    config = with_settings(
        default_config("negation", "rnn"), {"task.p_not": 0.5, "model.hidden": "7", "optimiser.learning_rate": 0.1}
    )
    assert (config.task.p_not, config.model.hidden, config.optimiser.learning_rate) == (0.5, 7, 0.1)
    assert list(with_settings(config, {"seed": 5, "replicas": 3}).seeds) == [5, 6, 7]
    with pytest.raises(InvalidSetting, match=r"no setting “model\.p_not”"):
        with_settings(config, {"model.p_not": 0.5})


def test_two_settings_that_contradict_each_other_are_rejected() -> None:
    with pytest.raises(InvalidSetting, match=r"heads = 3 does not divide width = 16. Change one of the two\."):
        with_settings(default_config("negation", "transformer"), {"heads": 3})
    with pytest.raises(InvalidSetting, match="p_not = 1 leaves nothing"):
        with_settings(default_config("negation", "rnn"), {"p_not": 1, "held_out": "consume"})
    assert validate(TransformerEncoderConfig, {"heads": 3, "width": 15}).heads == 3


RNN = to_json(default_config("negation", "rnn"))
BRANCH = {"parent": "a" * 12, "step": 3}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "names no task, model and optimiser"),
        ({"task": "negation", "model": "rnn", "optimiser": "adam"}, "names no task, model and optimiser"),
        ({"task": {}, "model": {}, "optimiser": {}}, "no task “None”"),
        ({"task": {"name": "negation"}, "model": {"name": ["rnn"]}, "optimiser": {}}, "no model"),
        (RNN | {"colour": "red"}, "no setting “colour”"),
        (RNN | {"epochs": None}, "epochs = None is not possible"),
        (RNN | {"optimiser": {"name": "lion"}}, "method = lion"),
        (RNN | {"model": {"name": "rnn", "version": 0}}, "made with version 0 of “rnn”; this program has version 2"),
        (RNN | {"model": {"name": "rnn", "version": 2, "heads": 2}}, "no setting “model.heads”"),
        *(
            (RNN | {"branch": branch}, "A branch names its")
            for branch in ({}, False, ["a"], BRANCH | {"colour": "red"})
        ),
        *(
            (RNN | {"branch": {"parent": parent, "step": 3}}, "is no run's key")
            for parent in (7, "a" * 11, "a" * 13, "A" * 12, "a" * 12 + "\n", "é" * 12)
        ),
    ],
    ids=range(19),
)
def test_data_that_is_no_configuration_is_rejected(data: object, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message) as raised:
        parse_config(data)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 250


def test_snapshot_steps_equal_those_computed_by_hand() -> None:
    config = with_settings(
        default_config("negation", "rnn"), {"epochs": 16, "train_size": 64, "snapshots": 6, "batch_size": 4}
    )
    assert config.snapshot_steps == (0, 1, 4, 16, 64, 256)
    assert with_settings(config, {"snapshots": 2}).snapshot_steps == (0, 256)
    assert with_settings(config, {"snapshots": 3}).snapshot_steps == (0, 1, 256)
    assert branch_from(config, 240, {"snapshots": 6}).snapshot_steps == (240, 241, 242, 244, 248, 256)
    assert branch_from(config, 255, {}).snapshot_steps == (255, 256)


@pytest.mark.parametrize(
    ("schedule", "first", "middle", "last"),
    [("constant", 0.5, 0.5, 0.5), ("linear", 0.5, 0.25, 0.005), ("cosine", 0.5, 0.25, 0.5 * 0.00024671981713)],
)
def test_a_schedule_starts_at_the_learning_rate_and_ends_near_its_goal(
    schedule: Any, first: float, middle: float, last: float
) -> None:
    optimiser = Optimiser(learning_rate=0.5, schedule=schedule)
    assert 0.5 * optimiser.schedule_factor(1, 100) == first
    assert 0.5 * optimiser.schedule_factor(51, 100) == pytest.approx(middle)
    assert 0.5 * optimiser.schedule_factor(100, 100) == pytest.approx(last)


def test_warmup_is_linear() -> None:
    optimiser = Optimiser(learning_rate=0.5, warmup=4)
    assert [0.5 * optimiser.schedule_factor(step, 100) for step in range(1, 8)] == pytest.approx(
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5]
    )
    assert Optimiser(schedule="linear", end=0.2).schedule_factor(51, 100) == pytest.approx(0.6)
    assert Optimiser(schedule="linear", warmup=4).schedule_factor(3, 100) == pytest.approx(0.98 * 0.6)


# 65 steps
PARENT = with_settings(default_config("negation", "rnn"), {"replicas": 3, "epochs": 5, "learning_rate": 0.01})


def test_a_branch_continues_the_step_count_of_its_parent() -> None:
    branch = branch_from(PARENT, 26, {"epochs": "7", "schedule": "cosine"})
    assert branch.branch == Branch(key(PARENT), 26)
    assert (branch.first_step, branch.steps) == (26, 7 * 13)
    assert (PARENT.first_step, PARENT.branch) == (0, None)
    assert (branch.task, branch.model, branch.seeds) == (PARENT.task, PARENT.model, PARENT.seeds)
    assert (branch.optimiser.learning_rate, branch.optimiser.schedule) == (0.01, "cosine")


def test_a_branch_goes_through_json_and_back() -> None:
    branch = branch_from(branch_from(PARENT, 26, {"order": 1}), 39, {})
    data = to_json(branch)
    assert data["branch"] == {"parent": key(branch_from(PARENT, 26, {"order": 1})), "step": 39}
    assert parse_config(json.loads(json.dumps(data))) == branch
    assert "branch" not in to_json(PARENT)
    assert parse_config(to_json(PARENT) | {"branch": None}) == PARENT


def test_a_branch_has_a_key_of_its_own() -> None:
    other = with_settings(PARENT, {"seed": 1})
    branches = [branch_from(PARENT, step, {}) for step in (0, 1, 26)] + [branch_from(PARENT, 0, {"order": 1})]
    alike = parse_config(to_json(PARENT) | {"branch": {"parent": key(other), "step": 0}})
    assert len({key(config) for config in [PARENT, other, alike, *branches]}) == 7
    assert key(branch_from(PARENT, 26, {"order": 0, "epochs": 5, "snapshots": "12"})) == key(branches[2])
    assert key(branches[2]) == "3ein35qxbhy3"  # must never change


def test_a_branch_keeps_task_model_and_seeds_of_its_parent() -> None:
    rejected_names = [name for name in fields(PARENT) if name not in BRANCH_SETTINGS]
    assert {"p_not", "train_size", "hidden", "width", "seed", "replicas", "batch_size", "threads"} <= {*rejected_names}
    for name in [*rejected_names, "task.p_not", "branch", "nonsense", "x" * 500]:
        with pytest.raises(InvalidSetting, match="A branch keeps the task, the model and the seeds") as raised:
            branch_from(PARENT, 26, {name: 1})
        assert "\n" not in str(raised.value)
        assert len(str(raised.value)) < 250
    for name in BRANCH_SETTINGS:
        assert name == "iterations" or name in fields(PARENT)
    with pytest.raises(InvalidSetting, match=r"epochs = 0 is not possible\. Give a whole number from 1 to 2,000"):
        branch_from(PARENT, 26, {"epochs": 0})


@pytest.mark.parametrize("step", [-1, 65, 10**30, True, None, 1.0, "3", []])
def test_a_branch_from_an_impossible_step_is_rejected(step: Any) -> None:
    with pytest.raises(InvalidSetting, match="whole number from 0 to 64, or more epochs"):
        parse_config(to_json(PARENT) | {"branch": {"parent": key(PARENT), "step": step}})


def test_a_branch_with_other_settings_stays_a_branch_and_must_end_after_its_step() -> None:
    branch = branch_from(PARENT, 26, {})
    assert with_settings(branch, {"epochs": 3}).branch == branch.branch
    with pytest.raises(InvalidSetting, match=r"branch from step 26 is not possible\. Give a whole number from 0 to 25"):
        with_settings(branch, {"epochs": 2})
