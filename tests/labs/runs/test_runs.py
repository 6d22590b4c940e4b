from __future__ import annotations

import datetime
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.experiments.pretraining import shipped_configs
from explorer.labs.runs import descriptions
from explorer.labs.runs.descriptions import (
    describe_end,
    display_name,
    find_run_options,
    find_score,
    format_age,
    run_facts,
)
from explorer.labs.runs.findings import filtered_finding, overview_finding
from explorer.labs.runs.state import RunsState, build_query, search_runs
from explorer.labs.runs.table import sort_entries
from explorer.number_format import format_bytes
from explorer.run_store import index, operations, store
from explorer.training.config import branch_from, key
from explorer.training.machine import machine_kind
from explorer.training.recorder import record_run
from explorer.web.visitors import Visitor
from tests.export.alike import short_config
from tests.labs.runs.stored import SMALL, save_small_run

ADA, BOB = Visitor("ada"), Visitor("bob")


def test_filters_become_a_query() -> None:
    for whose, owner, shipped in (("everybody's", None, True), ("mine", "ada", False), ("shipped", "", True)):
        query = build_query(RunsState(whose=whose), ADA)  # type: ignore[arg-type]
        assert (query.owner, query.shipped) == (owner, shipped)
    query = build_query(RunsState(models=("rnn", "markov"), tasks=("chess",), tags=("a",)), ADA)
    assert (query.text, query.models, query.tasks, query.tags) == ("", ("rnn",), (), ("a",)), (
        "unknown ones are left out"
    )
    for when, days in (("today", 1), ("this week", 7), ("this month", 31)):
        since = build_query(RunsState(when=when), ADA).since  # type: ignore[arg-type]
        assert since is not None
        assert datetime.timedelta(0) <= datetime.datetime.now(datetime.UTC) - since - datetime.timedelta(days=days)
    assert build_query(RunsState(), ADA).since is None


def test_shipped_runs_own_runs_and_the_operators_runs_are_distinguished() -> None:
    mine, terminal = save_small_run("ada"), save_small_run("", seed=1)
    ships = len(shipped_configs())
    assert len(search_runs(RunsState(), ADA)) == ships + 2
    assert [entry.key for entry in search_runs(RunsState(whose="mine"), ADA)] == [mine]
    assert search_runs(RunsState(whose="mine"), BOB) == []
    shipped = search_runs(RunsState(whose="shipped"), ADA)
    assert len(shipped) == ships and terminal not in {entry.key for entry in shipped}


def test_shipped_runs_are_found_by_folder_name_and_by_tag() -> None:
    assert [entry.folder for entry in search_runs(RunsState(text="text-BEST"), ADA)] == ["text-best-seeds", "text-best"]
    window = {name for name in shipped_configs() if name.startswith("text-window-")}
    assert {entry.folder for entry in search_runs(RunsState(tags=("window",)), ADA)} == window != set()


@pytest.fixture
def stored_runs() -> list[str]:
    records = [record_run(short_config(model, seed=seed)) for model in ("rnn", "gru") for seed in range(2)]
    return [store.save_run(record, store.run_folder(record.config)).key for record in records]


def test_all_runs_are_offered_where_there_are_few(stored_runs: list[str]) -> None:
    found = find_run_options("", stored_runs[:1])
    assert next(iter(found.labels)) == stored_runs[0] and set(stored_runs) < set(found.labels)
    assert len(set(found.labels.values())) == len(found.labels) and not found.searchable and not found.note


def test_the_browser_receives_no_more_than_the_newest_and_the_selected(
    stored_runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptions, "MOST_OPTIONS", 2)
    found = find_run_options("", stored_runs[:1])
    assert found.searchable and len(found.labels) == 3 and "The newest 2 of" in found.note
    found = find_run_options("gru", stored_runs[:1])
    assert all("GRU" in label for key, label in found.labels.items() if key != stored_runs[0])
    found = find_run_options("no such run", stored_runs[:1])
    assert list(found.labels) == stored_runs[:1] and found.note == "No run matches “no such run”."


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
        ({"test_accuracy": {"values": [0.95], "baseline": 0.95}}, "accuracy 0.950, most frequent class 0.950", 1),
        ({"val_loss": {"values": [1.0]}, "bits_per_byte": {"values": [2.0, 3.0]}}, "2.500 bits per byte", 0),
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

    facts = dict(run_facts(store.find("text-best")))
    assert facts["context of the loss"] == "blocks of 128 tokens without earlier context"
    assert facts["held-out loss"].endswith(" nats a character")
    assert "context of the loss" not in dict(run_facts(store.find("negation-half-rnn")))


SHIPPED = [entry for entry in index.search() if entry.task in ("negation", "recall")][:5]
MINE = replace(SHIPPED[0], shipped=False, owner="ada", key="a" * 12)
OTHER = replace(SHIPPED[1], shipped=False, owner="bob", key="b" * 12)


def test_runs_are_counted_by_their_owner(snapshot: SnapshotAssertion) -> None:
    assert [
        *(overview_finding(each, "ada") for each in ([], [SHIPPED[0]], [MINE, OTHER, *SHIPPED])),
        filtered_finding([], "ada"),
        filtered_finding([MINE], "ada"),
        filtered_finding([MINE, OTHER, SHIPPED[0]], "ada"),
    ] == snapshot


def test_own_runs_come_first_and_runs_without_a_score_last() -> None:
    ada = Visitor("ada")
    assert sort_entries([SHIPPED[0], OTHER, MINE], "", ada)[:2] == [MINE, OTHER]
    without = replace(SHIPPED[2], metrics={})
    for sort in ("accuracy", "-accuracy"):
        assert sort_entries([without, MINE, OTHER], sort, ada)[-1] == without
    assert sort_entries(SHIPPED, "no such column", ada) == SHIPPED
    ten, two = (replace(SHIPPED[0], name=name, key=name) for name in ("run 10", "run 2"))
    assert sort_entries([ten, two], "title", ada) == [two, ten], "numbers are sorted as numbers"
