"""The URL codec of the negation page."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from explorer.catalogue import MODELS as ROWS
from explorer.catalogue import models_of
from explorer.errors import InvalidSetting
from explorer.experiments.default_runs import NEGATION_MODELS
from explorer.labs.negation.state import MAX_URL_TEXT, NegationLab
from explorer.run_store import store
from explorer.tasks.negation import NegationConfig
from explorer.training.config import Optimiser, RunConfig
from explorer.ui.state.url_codec import read, write
from tests.words import assert_mentions

MODELS = models_of("negation")


def values_of(kind: type[Any], name: str) -> SearchStrategy[Any]:
    """Return a strategy for all values within the limits of a setting."""
    limits = next(f for f in dataclasses.fields(kind) if f.name == name).metadata
    hint = get_type_hints(kind)[name]
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if hint is bool:
        return st.booleans()
    return (st.integers if hint is int else st.floats)(limits["low"], limits["high"])


def config_with(name: str, model: str | None) -> type[Any]:
    """Return the configuration class that has this setting."""
    kinds = [ROWS[model].by_task["negation"].config, Optimiser, RunConfig] if model else [NegationConfig, RunConfig]
    return next(kind for kind in kinds if name in {f.name for f in dataclasses.fields(kind)})


SHARED_CHANGES = {name: values_of(config_with(name, None), name) for name in NegationLab.SHARED}
OWN_CHANGES = {
    model: {name: values_of(config_with(name, model), name) for name in NegationLab.own_settings(model)}
    for model in MODELS
}


CHANGES = st.sampled_from([None, *MODELS]).flatmap(
    lambda model: st.sampled_from(list(OWN_CHANGES[model] if model else SHARED_CHANGES)).flatmap(
        lambda name: st.tuples(st.just(model), st.just(name), (OWN_CHANGES[model] if model else SHARED_CHANGES)[name])
    )
)


def try_change(lab: NegationLab, model: str | None, name: str, value: object) -> NegationLab:
    """Return the lab with a change, or unchanged if the change is invalid."""
    try:
        return lab.with_own(model, **{name: value}) if model else lab.with_shared(**{name: value})
    except InvalidSetting:
        return lab


@settings(deadline=None, max_examples=60)
@given(
    st.lists(CHANGES, max_size=6),
    st.sets(st.sampled_from(list(MODELS)), min_size=1),
    st.text(max_size=MAX_URL_TEXT),
    st.sampled_from(["accuracy", "loss"]),
    st.tuples(st.integers(0, 31), st.integers(0, 7), st.integers(0, 15)),
)
def test_a_lab_round_trips_through_the_url(
    changes: list[tuple[str | None, str, object]], models: set[str], say: str, metric: str, view: tuple[int, int, int]
) -> None:
    lab = NegationLab()
    for change in changes:
        lab = try_change(lab, *change)
    try:
        lab = lab.with_models(models)
    except InvalidSetting:  # a model that was not chosen before would exceed a limit of the server
        reject()
    counts = (lab.value("replicas"), lab.value("layers", "transformer"), lab.value("heads", "transformer"))
    look, layer, head = (index % count for index, count in zip(view, counts, strict=True))
    lab = replace(lab.with_sentence(say), metric=metric, look=look, layer=layer, head=head)
    assert read(NegationLab, write(lab)) == (lab, ())


NAMES = [
    *NegationLab.SHARED,
    *(f"{model}.{name}" for model in MODELS for name in (*NegationLab.own_settings(model), "seed", "p_not", "x")),
]
NAMES += ["say", "models", "metric", "look", "layer", "head", "run", "lock", "", ".", "rnn.", ".rnn"]
VALUES = ["0", "1", "2", "5", "-1", "0.5", "1e9", "nan", "inf", "1_0", "٣", "0" * 12 + "99", "0" * 4400, "9" * 4400]
VALUES += ["true", "destroy", "eos", "loss", "rnn,gru", "negation-single-rnn", "../../etc/passwd", "<script>"]


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(NAMES) | st.text(), st.sampled_from(VALUES) | st.text(), max_size=8))
@example({"look": "0" * 4400})
@example({"look": "000000000099"})
@example({"rnn.hidden": "3", "rnn.p_not": "0.5"})
@example({"train_size": "20000", "batch_size": "8", "transformer.epochs": "1"})
@example({"rnn.hidden": "3", "rnn.replicas": "2"})
@example({"replicas": "3", "look": "5", "transformer.heads": "2", "transformer.layers": "3", "head": "7", "layer": "2"})
def test_any_url_gives_a_valid_lab(params: dict[str, str]) -> None:
    lab, problems = read(NegationLab, params)
    task = lab.task
    for model in MODELS:
        config = lab.config(model)
        assert (config.task, config.replicas, config.seed) == (task, lab.value("replicas"), lab.value("seed"))
    assert lab.models
    assert 0 <= lab.look < lab.value("replicas")
    assert 0 <= lab.layer < lab.value("layers", "transformer")
    assert lab.head is None or 0 <= lab.head < lab.value("heads", "transformer")
    assert len(problems) <= len(params)
    assert all(0 < len(problem) < 400 and problem.isprintable() for problem in problems)


ATTENDING = {"width": 32, "heads": 8, "start": 0.5}
RELEASED = {"width": 16, "heads": 1, "start": 0.1}


@pytest.mark.parametrize(
    ("params", "settings", "canonical"),
    [
        ({}, ATTENDING, {}),
        ({"p_not": "0.5"}, ATTENDING, {"p_not": "0.5"}),
        ({"transformer.heads": "2"}, {**RELEASED, "heads": 2}, {"transformer.heads": "2"}),
        ({"transformer.start": "1.0"}, {**RELEASED, "start": 1.0}, {"transformer.start": "1.0"}),
        ({"transformer.start": "0.1"}, RELEASED, {"transformer.start": "0.1"}),
        ({"transformer.heads": "1"}, RELEASED, {"transformer.start": "0.1"}),
        ({"transformer.heads": "8"}, {**RELEASED, "heads": 8}, {"transformer.heads": "8"}),
        ({"transformer.heads": "x"}, ATTENDING, {}),
        ({f"transformer.{name}": str(value) for name, value in ATTENDING.items()}, ATTENDING, {}),
        ({"run": "negation-single-transformer"}, RELEASED, {"run": "negation-single-transformer"}),
        ({"run": "negation-half-transformer-attending"}, ATTENDING, {"run": "negation-half-transformer-attending"}),
        ({"run": "negation-single-rnn"}, ATTENDING, {"run": "negation-single-rnn"}),
        (
            {"run": "negation-half-transformer-attending", "transformer.epochs": "4"},
            {**ATTENDING, "epochs": 4},
            {
                "p_not": "0.5",
                **{f"transformer.{name}": str(value) for name, value in ATTENDING.items()},
                "transformer.epochs": "4",
            },
        ),
    ],
)
def test_an_address_without_a_setting_of_the_transformer_shows_the_preset_and_any_other_the_released_defaults(
    params: dict[str, str], settings: dict[str, object], canonical: dict[str, str]
) -> None:
    lab, _ = read(NegationLab, params)
    assert {name: lab.value(name, "transformer") for name in settings} == settings
    assert write(lab) == canonical
    assert read(NegationLab, canonical)[0].configs == lab.configs


def test_a_change_on_the_page_keeps_the_other_settings_of_the_preset() -> None:
    lab = NegationLab().with_own("transformer", heads=4)
    assert [lab.value(name, "transformer") for name in ATTENDING] == [32, 4, 0.5]
    assert read(NegationLab, write(lab)) == (lab, ())
    assert lab.with_own("transformer", heads=8) == NegationLab()


def test_settings_above_a_limit_are_reported_with_advice() -> None:
    lab, problems = read(NegationLab, {"train_size": "20000", "batch_size": "1"})
    assert len(problems) == 1
    assert_mentions(problems[0], "allows 50,000 (LINEAGE_MOST_STEPS) … fewer epochs")
    assert lab.value("train_size") == 20_000


def test_the_key_and_the_name_of_a_shipped_run_select_its_settings() -> None:
    run = store.find("negation-half-gru")
    for name in (run.key, "negation-half-gru"):
        lab, problems = read(NegationLab, {"run": name, "say": "human destroy nature"})
        assert problems == ()
        assert set(lab.models) == {*NEGATION_MODELS, "gru"}
        assert lab.config("gru") == run.config
        assert write(lab) == {"run": name, "say": "human destroy nature"}


@pytest.mark.parametrize("name", ["abcdefgh2345", "../../etc/passwd", "/etc", "..", "", "nonsense " * 99])
def test_a_missing_run_is_reported_by_name(name: str) -> None:
    lab, problems = read(NegationLab, {"run": name})
    assert lab == NegationLab()
    short = name if len(name) <= 40 else name[:39] + "…"
    assert problems == (
        f"Run “{short}” is not on this machine: it was deleted, or trained elsewhere. Import its zip on the Runs page, "
        "or train its settings again.",
    )


def test_only_changed_settings_are_written() -> None:
    assert write(NegationLab()) == {}
    lab = (
        NegationLab()
        .with_shared(p_not=0.5, fresh_data=False)
        .with_own("rnn", hidden=12)
        .with_models([*NEGATION_MODELS, "gru"])
    )
    lab = replace(lab, metric="loss", look=3)
    assert write(lab) == {
        "models": "bag_of_words,bag_of_words_hidden,bag_of_bigrams,feedforward,rnn,gru,transformer",
        "metric": "loss",
        "look": "3",
        "p_not": "0.5",
        "fresh_data": "false",
        "rnn.hidden": "12",
    }
    assert write(lab.with_shared(p_not=0.35, fresh_data=True).with_own("rnn", hidden=24)) == {
        "models": "bag_of_words,bag_of_words_hidden,bag_of_bigrams,feedforward,rnn,gru,transformer",
        "metric": "loss",
        "look": "3",
    }


def test_fewer_seeds_layers_and_heads_limit_the_selection() -> None:
    lab = replace(NegationLab().with_own("transformer", layers=3, heads=4), look=7, layer=2, head=3)
    fewer = lab.with_shared(replicas=2).with_own("transformer", layers=1, heads=2)
    assert (fewer.look, fewer.layer, fewer.head) == (1, 0, 1)


def test_an_invalid_change_raises_an_error_with_the_reason() -> None:
    with pytest.raises(InvalidSetting, match="at least one model"):
        NegationLab().with_models([])
    with pytest.raises(InvalidSetting, match="leaves nothing to train"):
        NegationLab().with_shared(p_not=1.0, held_out="destroy")


@settings(deadline=None, max_examples=8)
@given(
    st.lists(CHANGES, max_size=3),
    st.sets(st.sampled_from(list(MODELS)), min_size=1),
    st.sampled_from(["negation-half-gru", "negation-single-rnn", "negation-held-out-transformer-usual-start"]),
)
def test_a_url_with_a_run_round_trips_to_the_same_runs(
    changes: list[tuple[str | None, str, object]], models: set[str], name: str
) -> None:
    lab, _ = read(NegationLab, {"run": store.find(name).key})
    for change in changes:
        lab = try_change(lab, *change)
    lab = lab.with_models(models)
    again, problems = read(NegationLab, write(lab))
    assert problems == ()
    assert again.configs == lab.configs
    assert ("run" in write(lab)) == lab.shows_requested_run
