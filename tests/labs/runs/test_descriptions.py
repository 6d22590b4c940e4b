from __future__ import annotations

import datetime
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.labs.runs import descriptions
from explorer.labs.runs.descriptions import describe_end, display_name, find_score, format_age, run_facts
from explorer.number_format import format_bytes
from explorer.run_store import index, operations, store
from explorer.training.config import branch_from, key
from explorer.training.machine import machine_kind
from explorer.training.recorder import record_run
from tests.export.alike import short_config
from tests.labs.runs.stored import SMALL

NOW = datetime.datetime(2026, 5, 1, tzinfo=datetime.UTC)


@cache
def entry(name: str = "negation-half-rnn") -> index.Entry:
    return next(e for e in index.search() if e.folder == name)


def test_sentences(snapshot: SnapshotAssertion) -> None:
    branch = replace(entry(), key="branchbranch", parent="abcdefghijkl")
    unknown = replace(entry(), key="unknownunkno", settings={"no_such": 1})
    run = replace(entry(), step=1200, steps=2000)
    best = entry("text-best")
    assert [
        display_name(entry()),
        display_name(entry(), with_task=False),
        *(display_name(each) for each in (replace(entry(), name="mine"), branch, unknown)),
        *(describe_end(each) for each in (run, replace(run, state="stopped"), replace(run, state="diverged"))),
        *(format_bytes(count) for count in [0, 1234567, 2000000000]),
        find_score(best).text,
        descriptions.describe_measurement(best),
        descriptions.describe_measurement(entry("text-gru")),
        descriptions.describe_measurement(entry("text-assignment")),
        descriptions.describe_measurement(entry()),
    ] == snapshot


def test_the_score_is_the_median_of_the_seeds_with_its_name() -> None:
    cases: list[tuple[Any, str, int]] = [
        ({"exact_accuracy": {"values": [1.0, 0.5, 0.9]}}, "accuracy 0.900", 3),
        ({"exact": {"values": [None, 0.5]}, "loss": {"values": [0.1]}}, "exact match 0.500", 1),
        ({"loss": {"values": [0.25, None, 0.75]}}, "0.500 nats", 0),
        ({"loss": {"values": [None]}}, "–", 0),
        ({}, "–", 0),
    ]
    scores = [find_score(replace(entry(), metrics=metrics)) for metrics, _, _ in cases]
    assert [(score.text, len(score.values)) for score in scores] == [(text, seeds) for _, text, seeds in cases]


def test_an_age_is_formatted_in_its_largest_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return NOW

    monkeypatch.setattr(descriptions.datetime, "datetime", Clock)
    ages = {-5: "just now", 59: "just now", 61: "1 minute ago", 7_300: "2 hours ago", 86_500: "1 day ago"}
    for seconds, text in (ages | {9_000_000: "104 days ago"}).items():
        assert format_age(NOW - datetime.timedelta(seconds=seconds)) == text


def test_the_facts_of_a_run_are_those_of_its_card() -> None:
    config = branch_from(short_config("bag_of_words", replicas=2, **SMALL), 0, {"learning_rate": 0.5})
    record = replace(record_run(short_config("bag_of_words", replicas=2, **SMALL)), config=config)
    run = store.save_run(record, store.run_folder(config))
    facts = dict(run_facts(run))
    assert facts["seeds"] == "0 to 1" and facts["steps"] == "1 of 1" and facts["learning rate"] == "0.5"
    assert facts["parameters"] == f"{run.card.parameters:,}"
    assert facts["kind of machine"] == machine_kind()
    assert key(config) == run.key
    assert operations.may_change(run, "", True)


def test_the_facts_of_a_run_on_text_state_the_context_of_its_loss() -> None:
    facts = dict(run_facts(store.find("text-best")))
    assert facts["context of the loss"] == "blocks of 128 tokens without earlier context"
    assert facts["held-out loss"].endswith(" nats a character")
    assert "context of the loss" not in dict(run_facts(store.find("negation-half-rnn")))
