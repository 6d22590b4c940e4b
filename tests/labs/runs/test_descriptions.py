from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import pytest

from explorer.labs.runs import descriptions
from explorer.labs.runs.descriptions import (
    describe_end,
    display_name,
    find_score,
    format_age,
    run_facts,
)
from explorer.number_format import format_bytes
from explorer.run_store import index, operations, store
from explorer.training.config import branch_from, key
from explorer.training.machine import machine_kind
from explorer.training.recorder import record_run
from tests.export.alike import short_config
from tests.labs.runs.stored import SMALL

NOW = datetime.datetime(2026, 5, 1, tzinfo=datetime.UTC)


def entry(name: str = "negation-half-rnn") -> index.Entry:
    return next(e for e in index.search() if e.folder == name)


def test_a_run_is_named_by_its_settings_or_by_its_visitor() -> None:
    assert display_name(entry()) == "Negation: RNN, “not” with probability 0.5, 8 seeds"
    assert display_name(entry(), with_task=False) == "RNN, “not” with probability 0.5, 8 seeds"
    assert display_name(replace(entry(), name="mine")) == "mine"
    branch = replace(entry(), key="branchbranch", parent="abcdefghijkl")
    assert display_name(branch).endswith("branch of abcdefghijkl")
    unknown = replace(entry(), key="unknownunkno", settings={"no_such": 1})
    assert display_name(unknown) == "RNN", "a run of another version of the program"


@pytest.mark.parametrize(
    ("metrics", "text", "seeds"),
    [
        ({"exact_accuracy": {"values": [1.0, 0.5, 0.9]}}, "accuracy 0.900", 3),
        ({"exact": {"values": [None, 0.5]}, "loss": {"values": [0.1]}}, "exact match 0.500", 1),
        ({"loss": {"values": [0.25, None, 0.75]}}, "0.500 nats", 0),
        ({"loss": {"values": [None]}}, "–", 0),
        ({}, "–", 0),
    ],
)
def test_the_score_is_the_median_of_the_seeds_with_its_name(metrics: Any, text: str, seeds: int) -> None:
    score = find_score(replace(entry(), metrics=metrics))
    assert (score.text, len(score.values)) == (text, seeds)


def test_the_end_of_a_run_is_described_only_if_it_did_not_finish() -> None:
    run = replace(entry(), step=1_200, steps=2_000)
    assert describe_end(run) == ""
    assert describe_end(replace(run, state="stopped")) == "stopped at step 1,200 of 2,000"
    assert describe_end(replace(run, state="diverged")) == "diverged by step 1,200 of 2,000"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "just now"),
        (59, "just now"),
        (61, "1 minute ago"),
        (7_300, "2 hours ago"),
        (86_500, "1 day ago"),
        (9e6, "104 days ago"),
    ],
)
def test_an_age_is_formatted_in_its_largest_unit(monkeypatch: pytest.MonkeyPatch, seconds: float, text: str) -> None:
    class Clock(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return NOW

    monkeypatch.setattr(descriptions.datetime, "datetime", Clock)
    assert format_age(NOW - datetime.timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0.0 MB"), (1_234_567, "1.2 MB"), (2_000_000_000, "2.00 GB")])
def test_a_size_is_formatted_in_megabytes_or_gigabytes(count: int, text: str) -> None:
    assert format_bytes(count) == text


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


def test_a_loss_on_text_is_shown_with_its_tokens_and_its_context() -> None:
    best = entry("text-best")
    assert find_score(best).text.endswith(" nats a character")
    assert descriptions.describe_measurement(best) == "characters, blocks of 128"
    assert descriptions.describe_measurement(entry("text-gru")) == "characters, reading on"
    assert descriptions.describe_measurement(entry("text-assignment")) == "BPE tokens (500), lower case, single lines"
    assert descriptions.describe_measurement(entry()) == ""


def test_the_facts_of_a_run_on_text_state_the_context_of_its_loss() -> None:
    facts = dict(run_facts(store.find("text-best")))
    assert facts["context of the loss"] == "blocks of 128 tokens without earlier context"
    assert facts["held-out loss"].endswith(" nats a character")
    assert "context of the loss" not in dict(run_facts(store.find("negation-half-rnn")))
