"""A training on a visitor's own text: seen by them, on no disk, gone when they are, kept if they save it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.environment import environment
from explorer.errors import UnknownRun
from explorer.tasks import corpora
from explorer.training import database as db
from explorer.training import jobs, store
from explorer.training.config import RunConfig, key
from explorer.training.jobs import JobService
from tests.training.test_text_lesson import short

TEXT = "to be or not to be, that is the question. " * 40


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[JobService]:
    monkeypatch.setattr(jobs, "_LOOK_EVERY", 0.01)
    made = JobService()
    yield made
    made.close()
    db.forget()


def private(**changes: Any) -> RunConfig:
    return short("gru", corpus="own", size=100_000, text=corpora.keep(TEXT), **changes)


def wait(until: Callable[[], object]) -> None:
    for _ in range(4_000):
        if until():
            return
        time.sleep(0.005)
    pytest.fail("waited for 20 s in vain")


def files() -> list[Path]:
    return [file for file in environment().home.rglob("*") if file.is_file()]


def test_it_is_seen_by_whoever_asked_and_leaves_nothing_on_disk(service: JobService) -> None:
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


def test_whoever_brings_the_same_text_joins_it(service: JobService) -> None:
    config = private()
    assert service.submit(config, "ada") is service.submit(config, "bob")
    assert len(service.views("bob")) == 1
    wait(lambda: service.views("bob")[0].done)


def test_saved_it_is_a_run_like_any_other(service: JobService) -> None:
    config = private(sample=20)
    job = service.submit(config, "ada")
    wait(lambda: job.view().done)
    with pytest.raises(UnknownRun, match="nothing of run"):
        service.save(key(config), "bob")
    kept = service.save(key(config), "ada")
    assert (kept.config, kept.card.owner, kept.card.state) == (config, "ada", "finished")
    assert store.find(key(config)).curves.samples == kept.curves.samples
    assert job.view().saved


def test_a_stopped_one_keeps_what_it_has_and_can_be_saved(service: JobService) -> None:
    config = private(iterations=20_000)
    job = service.submit(config, "ada")
    wait(lambda: job.view().step > 300)
    service.stop(key(config), "ada")
    wait(lambda: job.view().done)
    assert job.view().state == "stopped"
    assert service.save(key(config), "ada").card.state == "stopped"


def test_it_ends_when_everybody_who_asked_for_it_has_gone(service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_GRACE_SECONDS", "0.05")
    service.arrive("ada")
    long, done = private(iterations=20_000), private()
    running, over = service.submit(long, "ada"), service.submit(done, "ada")
    wait(lambda: over.view().done and running.view().step > 10)
    assert len(service.views("ada")) == 2
    service.leave("ada")
    wait(lambda: not service.views("ada"))
    assert running.view().done
    assert not files()


def test_it_ends_with_the_process_and_nothing_of_it_is_taken_up(service: JobService) -> None:
    job = service.submit(private(iterations=20_000), "ada")
    wait(lambda: job.view().step > 10)
    service.close()
    assert job.view().state == "stopped"
    assert not files()
    after = JobService()
    after.restore()
    assert after.views("ada") == []
