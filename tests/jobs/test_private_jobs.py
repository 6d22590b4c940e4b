"""Trainings on a visitor's own text: private, not on disk, ended when the visitor leaves, stored if saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.database import engine as db
from explorer.environment import environment
from explorer.errors import NeedsText, UnknownRun
from explorer.jobs import scheduler
from explorer.jobs.scheduler import JobService
from explorer.run_store import store
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig, key
from tests.training.objectives.test_text import short

TEXT = "to be or not to be, that is the question. " * 40


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[JobService]:
    monkeypatch.setattr(scheduler, "_SCHEDULE_SECONDS", 0.01)
    made = JobService()
    yield made
    made.close()
    db.close_database()


def private(**changes: Any) -> RunConfig:
    for owner in ("ada", "bob"):
        corpora.store_text(TEXT, owner)
    return short("gru", corpus="own", size=100_000, text=corpora.store_text(TEXT, "ada"), **changes)


def wait(until: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not until():
        assert time.monotonic() < deadline, "no success in time"
        time.sleep(0.002)


def files() -> list[Path]:
    return [file for file in environment().home.rglob("*") if file.is_file()]


def test_a_private_job_is_visible_to_its_requester_and_leaves_nothing_on_disk(service: JobService) -> None:
    config = private()
    job = service.submit(config, "ada")
    wait(lambda: job.view().done)
    assert (job.view().state, job.view().saved) == ("finished", False)
    assert job.record and job.record.finished
    assert [view.key for view in service.views("ada")] == [key(config)]
    assert service.find(key(config), "ada") is job
    assert service.views("bob") == service.views() == []
    assert service.find(key(config), "bob") is None
    assert not files()


def test_only_a_visitor_with_the_same_text_may_train_on_it_and_join_its_training(service: JobService) -> None:
    config = private()
    with pytest.raises(NeedsText, match="needs your text"):
        service.submit(config, "eve")
    job = service.submit(config, "ada")
    assert service.submit(config, "bob") is job
    assert len(service.views("bob")) == 1
    with pytest.raises(NeedsText, match="needs your text"):
        service.submit(config, "eve")
    wait(lambda: job.view().done)


def test_a_saved_private_run_is_a_run_like_any_other(service: JobService) -> None:
    config = private(sample=20)
    job = service.submit(config, "ada")
    wait(lambda: job.view().done)
    with pytest.raises(UnknownRun, match="nothing of run"):
        service.save(key(config), "bob")
    saved = service.save(key(config), "ada")
    assert (saved.config, saved.card.owner, saved.card.state) == (config, "ada", "finished")
    assert store.find(key(config)).curves.samples == saved.curves.samples
    assert job.view().saved


def test_a_stopped_private_job_can_be_saved(service: JobService) -> None:
    config = private(iterations=50_000)
    job = service.submit(config, "ada")
    wait(lambda: job.view().step > 10)
    service.stop(key(config), "ada")
    wait(lambda: job.view().done)
    assert job.view().state == "stopped"
    assert service.save(key(config), "ada").card.state == "stopped"


def test_a_private_job_ends_when_all_its_requesters_have_left(
    service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_GRACE_SECONDS", "0.05")
    service.tab_opened("ada")
    long, done = private(iterations=50_000), private()
    running, over = service.submit(long, "ada"), service.submit(done, "ada")
    wait(lambda: over.view().done and running.view().step > 10)
    assert len(service.views("ada")) == 2
    service.tab_closed("ada")
    wait(lambda: not service.views("ada"))
    assert running.view().done
    assert not files()


def test_a_private_job_ends_with_the_process_and_is_not_restored(service: JobService) -> None:
    job = service.submit(private(iterations=50_000), "ada")
    wait(lambda: job.view().step > 10)
    service.close()
    assert job.view().state == "stopped"
    assert not files()
    after = JobService()
    after.restore()
    assert after.views("ada") == []
