"""The runs among which a visitor chooses."""

from __future__ import annotations

import pytest

from explorer.labs.runs import options
from explorer.labs.runs.options import find_run_options
from explorer.run_store import store
from explorer.training.recorder import record_run
from tests.export.alike import short_config


@pytest.fixture
def runs() -> list[str]:
    records = [record_run(short_config(model, seed=seed)) for model in ("rnn", "gru") for seed in range(2)]
    return [store.save_run(record, store.run_folder(record.config)).key for record in records]


def test_all_runs_are_offered_where_there_are_few(runs: list[str]) -> None:
    found = find_run_options("", runs[:1])
    assert next(iter(found.labels)) == runs[0] and set(runs) < set(found.labels)
    assert len(set(found.labels.values())) == len(found.labels) and not found.searchable and not found.note


def test_the_browser_receives_no_more_than_the_newest_and_the_selected(
    runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "MOST_OPTIONS", 2)
    found = find_run_options("", runs[:1])
    assert found.searchable and len(found.labels) == 3 and "The newest 2 of" in found.note
    found = find_run_options("gru", runs[:1])
    assert all("GRU" in label for key, label in found.labels.items() if key != runs[0])
    found = find_run_options("no such run", runs[:1])
    assert list(found.labels) == runs[:1] and found.note == "No run matches “no such run”."
