"""The URL codec of pages with settings of models: the negation page and the page on language models."""

from __future__ import annotations

import contextlib
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
from explorer.labs.text.state import TextLab
from explorer.run_store import store
from explorer.training.config import Optimiser, RunConfig
from explorer.ui.state.open_experiment import AnyExperiment
from explorer.ui.state.url_codec import read, write
from tests.words import assert_mentions

MODELS = models_of("negation")


def values_of(kind: type[AnyExperiment], name: str, model: str | None) -> SearchStrategy[Any]:
    """Return a strategy for all values within the limits of a setting."""
    own = [ROWS[model].by_task[kind.TASK].config] if model else []
    of_name = next(each for each in (*own, Optimiser, RunConfig, type(kind().task)) if name in get_type_hints(each))
    limits = next(f for f in dataclasses.fields(of_name) if f.name == name).metadata
    hint = get_type_hints(of_name)[name]
    if get_origin(hint) is Literal:
        return st.sampled_from([value for value in get_args(hint) if value != "own"])
    if hint is bool:
        return st.booleans()
    return (st.integers if hint is int else st.floats)(limits["low"], limits["high"])


def changes_of(kind: type[AnyExperiment], most: int) -> SearchStrategy[list[tuple[str | None, str, object]]]:
    """Return a strategy for changes of shared settings, which have no model, and of the models' own ones."""
    names: list[tuple[str | None, str]] = [(None, name) for name in kind.SHARED if name != "text"]
    names += [(model, name) for model in models_of(kind.TASK) for name in kind.own_settings(model)]
    one = st.sampled_from(names).flatmap(lambda each: st.tuples(*map(st.just, each), values_of(kind, *reversed(each))))
    return st.lists(one, max_size=most)


def try_changes(lab: AnyExperiment, changes: list[tuple[str | None, str, object]]) -> AnyExperiment:
    """Return the lab with those changes that are valid."""
    for model, name, value in changes:
        with contextlib.suppress(InvalidSetting):
            lab = lab.with_own(model, **{name: value}) if model else lab.with_shared(**{name: value})
    return lab


@settings(deadline=None, max_examples=20)
@given(
    changes_of(TextLab, 6),
    st.sets(st.sampled_from(models_of("text")), min_size=1),
    st.sampled_from(["loss", "perplexity", "bits"]),
    st.sampled_from(["step", "tokens", "seconds"]),
)
def test_a_lab_of_texts_round_trips_through_the_url(
    changes: list[tuple[str | None, str, object]], models: set[str], unit: Any, along: Any
) -> None:
    lab = replace(try_changes(TextLab(), changes).with_models(models), unit=unit, along=along)
    assert read(TextLab, write(lab)) == (lab, ())


@settings(deadline=None, max_examples=60)
@given(
    changes_of(NegationLab, 6),
    st.sets(st.sampled_from(list(MODELS)), min_size=1),
    st.text(max_size=MAX_URL_TEXT),
    st.sampled_from(["accuracy", "loss"]),
    st.tuples(st.integers(0, 31), st.integers(0, 7), st.integers(0, 15)),
)
def test_a_lab_round_trips_through_the_url(
    changes: list[tuple[str | None, str, object]], models: set[str], say: str, metric: str, view: tuple[int, int, int]
) -> None:
    lab = try_changes(NegationLab(), changes)
    try:
        lab = lab.with_models(models)
    except InvalidSetting:  # a model that was not chosen before would exceed a limit of the server
        reject()
    counts = (lab.value("replicas"), lab.value("layers", "transformer"), lab.value("heads", "transformer"))
    look, layer, head = (index % count for index, count in zip(view, counts, strict=True))
    lab = replace(lab, say=say, metric=metric, look=look, layer=layer, head=head)
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
    for model in MODELS:
        config = lab.config(model)
        assert (config.task, config.replicas, config.seed) == (lab.task, lab.value("replicas"), lab.value("seed"))
    assert lab.models
    assert 0 <= lab.look < lab.value("replicas")
    assert 0 <= lab.layer < lab.value("layers", "transformer")
    assert lab.head is None or 0 <= lab.head < lab.value("heads", "transformer")
    assert len(problems) <= len(params)
    assert all(0 < len(problem) < 400 and problem.isprintable() for problem in problems)


ATTENDING = {"width": 32, "heads": 8, "start": 0.5}
RELEASED = {"width": 16, "heads": 1, "start": 0.1}
PRESET = {f"transformer.{name}": str(value) for name, value in ATTENDING.items()}


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
        (PRESET, ATTENDING, PRESET),  # with the released number of epochs
        ({"run": "negation-single-transformer"}, RELEASED, {"run": "negation-single-transformer"}),
        ({"run": "negation-half-transformer-attending"}, ATTENDING, {"run": "negation-half-transformer-attending"}),
        ({"run": "negation-single-rnn"}, ATTENDING, {"run": "negation-single-rnn"}),
        (
            {"run": "negation-half-transformer-attending", "transformer.epochs": "4"},
            {**ATTENDING, "epochs": 4},
            {"p_not": "0.5", **PRESET, "transformer.epochs": "4"},
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
    assert_mentions(problems[0], "allows 50,000 … fewer epochs")
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
    views = {"models": "bag_of_words,bag_of_words_hidden,bag_of_bigrams,feedforward,rnn,gru,transformer"}
    views |= {"metric": "loss", "look": "3"}
    assert write(lab) == {**views, "p_not": "0.5", "fresh_data": "false", "rnn.hidden": "12", "rnn.epochs": "40"}
    assert write(lab.with_shared(p_not=0.35, fresh_data=True).with_own("rnn", hidden=24)) == views


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
    changes_of(NegationLab, 3),
    st.sets(st.sampled_from(list(MODELS)), min_size=1),
    st.sampled_from(["negation-half-gru", "negation-single-rnn", "negation-held-out-transformer-usual-start"]),
)
def test_a_url_with_a_run_round_trips_to_the_same_runs(
    changes: list[tuple[str | None, str, object]], models: set[str], name: str
) -> None:
    lab, _ = read(NegationLab, {"run": store.find(name).key})
    with pytest.MonkeyPatch.context() as patched:
        for limit in ("STEPS", "DRAWS", "SECONDS", "MEMORY"):  # what a server allows is no part of an address
            patched.setenv(f"LINEAGE_MOST_{limit}", str(10**15))
        lab = try_changes(lab, changes).with_models(models)
        again, problems = read(NegationLab, write(lab))
    assert problems == ()
    assert again.configs == lab.configs
    assert ("run" in write(lab)) == lab.shows_requested_run
