"""The job service. An executor holds trainings at a step while a test acts, so that no test depends on speed."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import json
import logging
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.database import engine as db
from explorer.environment import environment
from explorer.errors import InvalidSetting, NeedsText, NotAllowed, StoreError, UnknownRun
from explorer.jobs import executor as executor_module
from explorer.jobs import job as one_job
from explorer.jobs import scheduler
from explorer.jobs.executor import Executor, InProcessExecutor, MachineLost, WorkerLost
from explorer.jobs.job import Job
from explorer.jobs.order import Order, decode_order, encode_order
from explorer.jobs.scheduler import JobService
from explorer.run_store import index, operations, store
from explorer.tasks.own_sentences import own_task
from explorer.tasks.text import corpora
from explorer.training.adam import Adam
from explorer.training.config import RunConfig, branch_from, default_config, key, to_json, with_settings
from explorer.training.events import Checkpoint, Evaluation, Event, Started, Step
from explorer.training.machine import machine_kind
from explorer.training.record import Record
from explorer.training.recorder import Recorder, record_run
from explorer.training.slices import Slice, in_slices
from explorer.training.train import train
from tests.export.alike import assert_records_equal, checkpoints, full_training, interrupt_training, short_config
from tests.training.objectives.test_text import short as short_text

OWN_TEXT = "to be or not to be, that is the question. " * 40
DISK_FULL = OSError(errno.ENOSPC, "No space left on device")


class HoldingExecutor(InProcessExecutor):
    """Trains as usual, but holds a training at a step until the test releases it or the service requests an action."""

    def __init__(self) -> None:
        super().__init__()
        self.service = JobService(self)
        self.started: list[tuple[str, int | None]] = []  # trainings, and the step from which each resumed
        self.holding = False
        self.waits_for_checkpoints = False  # whether each checkpoint is on disk before the next event
        self._held: dict[str, tuple[type, int]] = {}

    def hold(self, config: RunConfig, step: int = 13, what: type = Step) -> RunConfig:
        """Hold a training at an event of this step."""
        self._held[key(config)] = what, step
        return config

    def release(self, *configs: RunConfig) -> None:
        for config in configs:
            del self._held[key(config)]

    def start_steps(self, config: RunConfig) -> list[int | None]:
        return [step for name, step in self.started if name == key(config)]

    async def slices(self, order: Order) -> AsyncIterator[Slice]:
        name = key(order.config)
        self.started.append((name, order.step if order.snapshot else None))
        async with aclosing(super().slices(order)) as slices:  # type: ignore[type-var]
            async for part in slices:
                yield part
                for event, _ in part.events:
                    while self._is_held(name, event) or (self.waits_for_checkpoints and self._writes(name)):
                        self.holding = True
                        await asyncio.sleep(0.001)

    def _writes(self, name: str) -> bool:
        job = self.service.find(name)
        return bool(job and job._checkpoint_task and not job._checkpoint_task.done())

    def _is_held(self, name: str, event: Event) -> bool:
        what, step = self._held.get(name, (Step, 10**9))
        job = self.service.find(name)
        return (
            isinstance(event, what)
            and getattr(event, "step", 0) >= step
            and job is not None
            and not job.requested_action
        )


@pytest.fixture(autouse=True)
def fast_scheduling(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Every event ends a time slice and is published, and no runs ship, because each home would list them."""
    monkeypatch.setattr(executor_module, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(one_job, "_PUBLISH_SECONDS", 0.0)
    monkeypatch.setattr(scheduler, "_SCHEDULE_SECONDS", 0.01)
    monkeypatch.setattr(store, "PRETRAINED", tmp_path / "pretrained")
    store.reset(shipped=True)
    yield
    store.reset(shipped=True)


@pytest.fixture
def make_executor() -> Iterator[Callable[[], HoldingExecutor]]:
    """Make executors, whose services are closed at the end of the test."""
    made: list[HoldingExecutor] = []

    def make() -> HoldingExecutor:
        made.append(HoldingExecutor())
        return made[-1]

    yield make
    for executor in made:
        executor.service.close()
    with suppress(StoreError):
        db.close_database()


@pytest.fixture
def executor(make_executor: Callable[[], HoldingExecutor]) -> HoldingExecutor:
    return make_executor()


@pytest.fixture
def service(executor: HoldingExecutor) -> JobService:
    return executor.service


def wait(until: Callable[[], object]) -> None:
    for _ in range(6_000):
        if until():
            return
        time.sleep(0.005)
    pytest.fail("no success within 30 s")


def all_done(*waited: Job) -> bool:
    return all(job.view().done for job in waited)


def submit_and_wait(service: JobService, config: RunConfig, visitor: str = "") -> Job:
    """A job that has ended."""
    job = service.submit(config, visitor)
    wait(lambda: all_done(job))
    return job


def is_running(job: Job, step: int = 13) -> bool:
    """Whether a job has a slot and has reached the step where it is held."""
    return (job.view().state, job.view().step) == ("running", step)


def is_paused(job: Job) -> bool:
    """Whether a job has given up its slot."""
    return (job.view().state, job.view().step, job.requested_action) == ("waiting", 10, "")


def wait_for_scheduling(service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait until the service has scheduled a few times."""
    calls: list[None] = []
    schedule = service._schedule
    monkeypatch.setattr(service, "_schedule", lambda: (schedule(), calls.append(None)))
    wait(lambda: len(calls) > 3)


def stored_run(config: RunConfig) -> store.StoredRun:
    return store.load(environment().runs / key(config))


def job_folders() -> list[str]:
    return sorted(folder.name for folder in environment().jobs.glob("*"))


@cache
def uninterrupted(config: RunConfig) -> Record:
    """The uninterrupted training."""
    return record_run(config)


def assert_equals_uninterrupted(*configs: RunConfig) -> None:
    for config in configs:
        assert_records_equal(stored_run(config).record(), uninterrupted(config), from_disk=True)
    assert job_folders() == []


# ---- one job


def test_a_job_trains_and_stores_the_run(service: JobService) -> None:
    config = short_config(replicas=2)
    job = service.submit(config, "ada")
    wait(lambda: all_done(job))
    view = job.view()
    assert (view.state, view.step, view.saved, view.repeated, view.problem) == ("finished", 32, True, None, "")
    assert view.curves is not None
    np.testing.assert_array_equal(view.curves.losses, uninterrupted(config).curves.losses)
    assert_equals_uninterrupted(config)
    assert stored_run(config).card.owner == view.starter == "ada"
    assert [entry.key for entry in index.search(index.Query(shipped=False))] == [key(config)]
    assert service.find(view.key) is job


def test_submitting_a_running_configuration_joins_its_job(executor: HoldingExecutor, service: JobService) -> None:
    config = executor.hold(short_config())
    job = service.submit(config, "ada")
    wait(lambda: is_running(job))
    assert service.submit(config, "bob") is job
    assert (job.starter, service.requesters(key(config))) == ("ada", {"ada", "bob"})
    assert service.submit(short_config("gru")) is not job
    assert len(service.views()) == 2
    executor.release(config)
    wait(lambda: all_done(job))
    assert executor.start_steps(config) == [None]
    assert service.submit(config, "bob") is not job


def test_training_again_reports_an_equal_curve_and_keeps_name_tags_and_owner(service: JobService) -> None:
    first = service.submit(short_config(), "ada")
    wait(lambda: all_done(first))
    operations.edit_card(first.key, "ada", False, name="Mine", tags=["good"])
    again = service.submit(short_config(), "bob")
    wait(lambda: all_done(again))
    assert (first.view().repeated, again.view().repeated) == (None, True)
    card = stored_run(short_config()).card
    assert (card.name, card.tags, card.owner) == ("Mine", ("good",), "ada")


def test_training_again_reports_a_different_stored_curve(service: JobService) -> None:
    other = dataclasses.replace(uninterrupted(short_config(learning_rate=0.01)), config=short_config())
    store.save_run(other, store.run_folder(short_config()))
    job = service.submit(short_config())
    wait(lambda: all_done(job))
    assert job.view().repeated is False
    assert_equals_uninterrupted(short_config())


@pytest.mark.parametrize("machines", [(), ("arm64, Another processor, torch 2.13.0",)])
def test_a_curve_of_another_kind_of_machine_is_never_called_equal(
    machines: tuple[str, ...], service: JobService
) -> None:
    before = uninterrupted(short_config())
    losses = before.curves.losses.copy()
    losses[3] += 0.5
    other = dataclasses.replace(before, machines=machines, curves=dataclasses.replace(before.curves, losses=losses))
    store.save_run(other, store.run_folder(short_config()))
    job = service.submit(short_config())
    wait(lambda: all_done(job))
    assert (job.view().repeated, job.view().difference) == (None, pytest.approx(0.5))


def test_a_run_that_went_on_elsewhere_names_both_kinds_of_machine(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = short_config()
    stop_at_step_13(executor, config)
    here = stored_run(config).card.machines
    monkeypatch.setattr("explorer.training.train.machine_kind", lambda device: "another kind")
    job = service.submit(config, "ada")
    wait(lambda: all_done(job))
    assert here == (machine_kind(),) and stored_run(config).card.machines == (*here, "another kind")


@pytest.mark.slow
def test_alternating_jobs_are_bit_equal_to_each_alone(service: JobService) -> None:
    models = (("transformer", 3, 1), ("gru", 2, 2), ("rnn", 1, 1))
    configs = [short_config(model, replicas=replicas, threads=threads) for model, replicas, threads in models]
    submitted = [service.submit(config) for config in configs]
    wait(lambda: all_done(*submitted))
    assert_equals_uninterrupted(*configs)


def test_a_short_job_does_not_wait_for_a_long_one(executor: HoldingExecutor, service: JobService) -> None:
    long, brief = service.submit(executor.hold(short_config(epochs=100), 390)), service.submit(short_config())
    wait(lambda: all_done(brief) and long.view().state == "running")
    assert (brief.view().state, long.view().done) == ("finished", False)


# ---- views


def test_a_view_never_changes(executor: HoldingExecutor, service: JobService) -> None:
    job = service.submit(executor.hold(short_config(replicas=2), 9))
    wait(lambda: is_running(job, 9))
    early = job.view()
    assert early.curves is not None
    losses = early.curves.losses.copy()
    with pytest.raises(dataclasses.FrozenInstanceError):
        early.step = 3  # type: ignore[misc]
    executor.release(early.config)
    wait(lambda: all_done(job))
    assert early.step == len(early.curves.losses) == 9
    np.testing.assert_array_equal(early.curves.losses, losses)


def test_the_view_of_a_running_job_has_its_loss_and_remaining_time(
    executor: HoldingExecutor, service: JobService
) -> None:
    job = service.submit(executor.hold(short_config(replicas=2)))
    wait(lambda: is_running(job))
    view = job.view()
    assert view.loss == pytest.approx(uninterrupted(view.config).curves.losses[12].mean())
    assert view.left is not None and 0 < view.left < np.inf
    assert view.parameters == uninterrupted(view.config).parameters
    executor.release(view.config)
    wait(lambda: all_done(job))
    assert job.view().left is None


def test_the_newest_job_is_listed_first(executor: HoldingExecutor, service: JobService) -> None:
    one, two = short_config(), short_config("gru")
    for config in (one, two, one):
        submit_and_wait(service, config)
    assert [view.config for view in service.views()] == [one, two]


# ---- stop and resume


def test_only_the_starter_and_the_operator_may_stop(executor: HoldingExecutor, service: JobService) -> None:
    for seed, (visitor, operator) in enumerate([("ada", False), ("bob", True)]):
        config = executor.hold(short_config(seed=seed))
        job = service.submit(config, "ada")
        service.submit(config, "bob")
        for other in ("bob", "", "nobody"):
            with pytest.raises(NotAllowed):
                service.stop(job.key, other)
        wait(lambda job=job: is_running(job))  # type: ignore[misc]
        service.stop(job.key, visitor, operator)
        wait(lambda job=job: all_done(job))  # type: ignore[misc]
        assert job.view().state == "stopped"
    with pytest.raises(UnknownRun):
        service.stop("aaaaaaaaaaaa", "ada")


def stop_at_step_13(executor: HoldingExecutor, config: RunConfig, visitor: str = "ada") -> Job:
    """A job that was stopped at step 13."""
    job = executor.service.submit(executor.hold(config), visitor)
    wait(lambda: is_running(job))
    executor.service.stop(job.key, visitor)
    wait(lambda: all_done(job))
    executor.release(config)
    return job


def test_a_stopped_run_is_stored_up_to_its_last_checkpoint(executor: HoldingExecutor) -> None:
    config = short_config(replicas=2)
    view = stop_at_step_13(executor, config).view()
    run = stored_run(config)
    assert (view.state, view.step, view.saved, view.repeated) == ("stopped", 10, True, None)
    assert (run.card.state, run.card.step, run.card.owner) == ("stopped", 10, "ada")
    assert run.checkpoint_steps() == [0, 1, 3, 10]
    assert view.curves is not None
    for curves in (run.curves, view.curves):
        np.testing.assert_array_equal(curves.losses, uninterrupted(config).curves.losses[:10])
    assert job_folders() == []


@pytest.mark.parametrize("how", ["submit", "submit of another one", "resume", "resume by the operator"])
def test_a_stopped_run_is_resumed_to_the_uninterrupted_curve(
    how: str, executor: HoldingExecutor, service: JobService
) -> None:
    config = short_config(replicas=2)
    stop_at_step_13(executor, config)
    match how:
        case "submit":
            job = service.submit(config, "ada")
        case "submit of another one":
            job = service.submit(config, "bob")
        case "resume":
            job = service.resume(key(config), "ada")
        case _:
            job = service.resume(key(config), "bob", operator=True)
    wait(lambda: all_done(job))
    assert (job.view().state, job.view().repeated, executor.start_steps(config)) == ("finished", None, [None, 10])
    assert_equals_uninterrupted(config)
    assert stored_run(config).card.owner == "ada"


def test_a_run_stops_at_a_given_step_and_goes_on_from_there(service: JobService) -> None:
    config = short_config()
    until = config.snapshot_steps[-2]
    job = service.submit(config, until=until)
    wait(lambda: all_done(job))
    assert (job.view().state, stored_run(config).card.state) == ("stopped", "stopped")
    assert until <= stored_run(config).card.step < config.steps
    submit_and_wait(service, config)
    assert_equals_uninterrupted(config)


def test_a_job_that_somebody_wants_to_its_end_does_not_stop_before(
    executor: HoldingExecutor, service: JobService
) -> None:
    config = executor.hold(short_config(), step=8)
    job = service.submit(config, "ada", until=config.snapshot_steps[-2])
    wait(lambda: is_running(job, 8))
    assert service.submit(config, "bob") is job
    executor.release(config)
    wait(lambda: all_done(job))
    assert job.view().state == "finished"


def test_a_restored_job_stops_at_its_step(executor: HoldingExecutor, service: JobService) -> None:
    config = executor.hold(short_config(), step=8)
    job = service.submit(config, until=config.snapshot_steps[-2])
    wait(lambda: is_running(job, 8))
    service.close()
    other = JobService(InProcessExecutor())
    try:
        other.restore()
        wait(lambda: all_done(*filter(None, [other.find(key(config))])))
        assert stored_run(config).card.state == "stopped"
    finally:
        other.close()


def test_a_run_can_be_stopped_twice(executor: HoldingExecutor, service: JobService) -> None:
    config = short_config(replicas=2)
    stop_at_step_13(executor, config)
    job = service.resume(key(config), "ada") if executor.hold(config, 25) else None
    assert job
    wait(lambda: is_running(job, 25))
    service.stop(job.key, "ada")
    wait(lambda: all_done(job))
    assert (job.view().step, stored_run(config).checkpoint_steps()) == (20, [0, 1, 3, 10, 20])
    executor.release(config)
    last = service.resume(key(config), "ada")
    wait(lambda: all_done(last))
    assert executor.start_steps(config) == [None, 10, 20]
    assert_equals_uninterrupted(config)


@pytest.mark.parametrize("forgotten", [False, True])
def test_only_the_starter_and_the_operator_may_resume(
    forgotten: bool, executor: HoldingExecutor, make_executor: Callable[[], HoldingExecutor]
) -> None:
    config = short_config()
    stop_at_step_13(executor, config)
    service = make_executor().service if forgotten else executor.service
    for other in ("bob", "", "nobody"):
        with pytest.raises(NotAllowed):
            service.resume(key(config), other)
    job = service.resume(key(config), "ada")
    assert job.starter == "ada"
    wait(lambda: all_done(job))
    assert_equals_uninterrupted(config)


def test_there_is_nothing_to_resume_of_a_finished_or_unknown_run(
    service: JobService, make_executor: Callable[[], HoldingExecutor]
) -> None:
    submit_and_wait(service, short_config(), "ada")
    for one in (service, make_executor().service):
        with pytest.raises(UnknownRun, match="finished"):
            one.resume(key(short_config()), "ada")
        with pytest.raises(UnknownRun):
            one.resume("aaaaaaaaaaaa", "ada", operator=True)


def test_a_stopped_job_never_replaces_a_finished_run(executor: HoldingExecutor, service: JobService) -> None:
    submit_and_wait(service, short_config(), "ada")
    before = stored_run(short_config()).card
    view = stop_at_step_13(executor, short_config()).view()
    assert (view.state, view.saved) == ("stopped", False)
    assert stored_run(short_config()).card == before
    assert_equals_uninterrupted(short_config())


def test_a_waiting_job_can_be_stopped(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    first, second = service.submit(executor.hold(short_config()), "ada"), service.submit(short_config("gru"), "ada")
    wait(lambda: is_running(first))
    service.stop(second.key, "ada")
    wait(lambda: all_done(second))
    assert (second.view().state, second.view().saved, first.view().state) == ("stopped", False, "running")
    assert executor.start_steps(short_config("gru")) == []
    assert job_folders() == [first.key]
    assert not store.run_folder(short_config("gru")).exists()


def test_a_paused_job_can_be_stopped_and_its_checkpoint_is_stored(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(3)]
    first, second = service.submit(configs[0], "ada"), service.submit(configs[1], "ada")
    wait(lambda: is_running(first) and is_running(second))
    service.submit(configs[2], "bob")
    wait(lambda: is_paused(second))
    service.stop(second.key, "ada")
    wait(lambda: all_done(second))
    assert (second.view().state, second.view().saved, stored_run(configs[1]).card.step) == ("stopped", True, 10)


def test_a_job_stopped_while_it_pauses_is_not_lost(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(3)]
    first, second = service.submit(configs[0], "ada"), service.submit(configs[1], "ada")
    wait(lambda: is_running(first) and is_running(second))
    pause = Job._pause

    def stop_meanwhile(job: Job, record: Record | None) -> None:
        pause(job, record)
        service.stop(job.key, "ada")

    monkeypatch.setattr(Job, "_pause", stop_meanwhile)
    third = service.submit(configs[2], "bob")
    wait(lambda: all_done(second) and is_running(third))
    assert (second.view().state, stored_run(configs[1]).card.step) == ("stopped", 10)


@pytest.mark.parametrize("last", [Evaluation, Checkpoint])
def test_a_job_stopped_at_its_start_is_stored_only_if_it_can_be_resumed(
    last: type, executor: HoldingExecutor, service: JobService
) -> None:
    before = {Evaluation: Started, Checkpoint: Evaluation}
    job = service.submit(executor.hold(short_config(), 0, before[last]))
    wait(lambda: executor.holding)
    service.stop(job.key)
    wait(lambda: all_done(job))
    assert (job.view().state, job.view().saved) == ("stopped", last is Checkpoint)
    assert store.run_folder(short_config()).exists() == (last is Checkpoint)


def test_a_job_stopped_before_its_model_is_built_is_stopped_and_not_failed(service: JobService) -> None:
    big = {"width": 128, "hidden": 512, "layers": 8, "replicas": 12}  # takes longer to build than a turn
    job = service.submit(with_settings(default_config("negation", "transformer"), big))
    service.stop(job.key)
    wait(lambda: all_done(job))
    assert job.view().state == "stopped"


# ---- places


def test_a_visitor_with_two_slots_gives_one_to_a_waiting_visitor(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(5)]
    *of_ada, of_bob = configs
    submitted = [service.submit(config, "ada") for config in of_ada]
    first, second, *others = submitted
    wait(lambda: is_running(first) and is_running(second))
    job_of_bob = service.submit(of_bob, "bob")
    wait(lambda: is_running(job_of_bob) and is_paused(second))
    assert is_running(first)
    assert {job.view().step for job in others} == {0}
    executor.release(*configs)
    wait(lambda: all_done(job_of_bob, *submitted))
    assert executor.start_steps(of_ada[1]) == [None, 10]
    assert executor.start_steps(of_ada[0]) == executor.start_steps(of_bob) == [None]
    assert_equals_uninterrupted(*configs)


def test_each_visitors_first_job_comes_before_anyones_second(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = {name: executor.hold(short_config(seed=seed)) for seed, name in enumerate(["a1", "a2", "b1", "b2", "c1"])}
    submitted = {name: service.submit(config, name[0]) for name, config in configs.items() if name < "b"}
    wait(lambda: all(is_running(job) for job in submitted.values()))
    submitted |= {name: service.submit(config, name[0]) for name, config in configs.items() if name > "b"}
    wait(lambda: is_running(submitted["b1"]) and is_paused(submitted["a2"]))
    executor.release(configs["a1"])
    wait(lambda: is_running(submitted["c1"]))
    names = {key(config): name for name, config in configs.items()}
    assert [names[run] for run, _ in executor.started][2:] == ["b1", "c1"]
    executor.release(*[config for name, config in configs.items() if name != "a1"])
    wait(lambda: all_done(*submitted.values()))
    assert_equals_uninterrupted(*configs.values())


def test_every_visitor_gets_a_slot_eventually(service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [short_config(seed=seed) for seed in range(6)]
    submitted = [service.submit(config, visitor) for config, visitor in zip(configs, "aaabbc", strict=True)]
    wait(lambda: all_done(*submitted))
    assert_equals_uninterrupted(*configs)


def test_a_visitor_with_a_slot_does_not_take_that_of_another(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(3)]
    first, second, third = (service.submit(config, visitor) for config, visitor in zip(configs, "aba", strict=True))
    wait(lambda: is_running(first) and is_running(second))
    wait_for_scheduling(service, monkeypatch)
    assert (first.requested_action, second.requested_action, third.view().state) == ("", "", "waiting")


# ---- visitors who left


@pytest.fixture
def one_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """One training at a time, and who leaves is gone at once."""
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    monkeypatch.setenv("LINEAGE_GRACE_SECONDS", "0")


@pytest.mark.usefixtures("one_slot")
def test_an_abandoned_job_gives_up_its_slot_and_resumes_later(executor: HoldingExecutor, service: JobService) -> None:
    one, two = executor.hold(short_config()), executor.hold(short_config("gru"))
    for visitor in ("ada", "bob"):
        service.tab_opened(visitor)
    first = service.submit(one, "ada")
    wait(lambda: is_running(first))
    second = service.submit(two, "bob")
    service.tab_closed("ada")
    wait(lambda: is_running(second) and is_paused(first))
    executor.release(one, two)
    wait(lambda: all_done(first, second))
    assert (executor.start_steps(one), executor.start_steps(two)) == ([None, 10], [None])
    assert_equals_uninterrupted(one, two)


@pytest.mark.usefixtures("one_slot")
def test_an_abandoned_job_keeps_its_slot_while_no_present_visitor_waits(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.tab_opened("ada")
    first = service.submit(executor.hold(short_config()), "ada")
    wait(lambda: is_running(first))
    service.tab_closed("ada")
    wait_for_scheduling(service, monkeypatch)
    second = service.submit(short_config("gru"), "vanished too")
    wait_for_scheduling(service, monkeypatch)
    assert is_running(first)
    assert (first.requested_action, second.view().state) == ("", "waiting")


@pytest.mark.usefixtures("one_slot")
@pytest.mark.parametrize("how", ["watch", "join"])
def test_a_job_watched_or_joined_by_a_present_visitor_keeps_its_slot(
    how: str, executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for visitor in ("ada", "bob", "eve"):
        service.tab_opened(visitor)
    first = service.submit(executor.hold(short_config()), "ada")
    wait(lambda: is_running(first))
    if how == "watch":
        service.add_watcher(first.key, "eve")
    else:
        service.submit(short_config(), "eve")
    second = service.submit(short_config("gru"), "bob")
    service.tab_closed("ada")
    wait_for_scheduling(service, monkeypatch)
    assert is_running(first)
    assert (first.requested_action, second.view().state) == ("", "waiting")
    service.tab_closed("eve")
    wait(lambda: all_done(second))
    assert is_paused(first) or is_running(first)
    assert len(executor.start_steps(short_config())) <= 2


@pytest.mark.usefixtures("one_slot")
def test_a_visitor_is_present_while_one_of_two_tabs_is_open(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for visitor in ("ada", "ada", "bob"):
        service.tab_opened(visitor)
    first = service.submit(executor.hold(short_config()), "ada")
    wait(lambda: is_running(first))
    second = service.submit(executor.hold(short_config("gru")), "bob")
    service.tab_closed("ada")
    wait_for_scheduling(service, monkeypatch)
    assert is_running(first) and first.requested_action == ""
    service.tab_closed("ada")
    wait(lambda: is_running(second) and is_paused(first))


@pytest.mark.usefixtures("one_slot")
def test_jobs_of_the_terminal_are_never_abandoned(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = service.submit(executor.hold(short_config()))
    wait(lambda: is_running(first))
    service.tab_opened("bob")
    second = service.submit(short_config("gru"), "bob")
    wait_for_scheduling(service, monkeypatch)
    assert is_running(first)
    assert (first.requested_action, second.view().state) == ("", "waiting")


@pytest.mark.usefixtures("one_slot")
def test_jobs_of_a_visitor_who_returns_in_time_are_not_abandoned(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_GRACE_SECONDS", "1000")
    for visitor in ("ada", "bob"):
        service.tab_opened(visitor)
    first = service.submit(executor.hold(short_config()), "ada")
    wait(lambda: is_running(first))
    service.tab_closed("ada")
    second = service.submit(short_config("gru"), "bob")
    wait_for_scheduling(service, monkeypatch)
    assert is_running(first)
    assert (first.requested_action, second.view().state) == ("", "waiting")


# ---- the process ends, and another one begins


def test_running_jobs_resume_in_the_next_process(
    executor: HoldingExecutor, make_executor: Callable[[], HoldingExecutor]
) -> None:
    config = executor.hold(short_config(replicas=2))
    job = executor.service.submit(config, "ada")
    wait(lambda: is_running(job))
    executor.service.submit(config, "bob")
    executor.service.add_watcher(key(config), "eve")
    executor.service.close()
    assert (job.view().state, job_folders()) == ("stopped", [key(config)])
    assert not store.run_folder(config).exists()
    after = make_executor()
    after.service.restore()
    again = after.service.find(key(config))
    assert again and again.starter == "ada"
    assert after.service.requesters(key(config)) == {"ada", "bob"}
    wait(lambda: all_done(again))
    assert after.start_steps(config) == [10]
    assert_equals_uninterrupted(config)
    assert stored_run(config).card.owner == "ada"


def test_waiting_jobs_are_restored_in_the_next_process(
    executor: HoldingExecutor, make_executor: Callable[[], HoldingExecutor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(3)]
    submitted = [executor.service.submit(config, "ada") for config in configs]
    wait(lambda: is_running(submitted[0]))
    executor.service.submit(configs[2], "bob")
    executor.service.close()
    assert {job.view().state for job in submitted} == {"stopped"}
    after = make_executor()
    after.service.restore()
    assert len(after.service.views()) == 3
    assert after.service.requesters(key(configs[2])) == {"ada", "bob"}
    wait(lambda: all(view.done for view in after.service.views()))
    assert_equals_uninterrupted(*configs)


DAMAGED_JOB_FILES: dict[str, str] = {
    "empty": "",
    "half": '{"config": ',
    "a list": "[]",
    "no configuration": "{}",
    "deep": "[" * 100_000,
    "no number": '{"config": NaN}',
}


def job_file(config: RunConfig, /, **changes: object) -> str:
    return json.dumps({"config": to_json(config), "starter": "ada", "asked": ["ada"], **changes})


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "job_file_text",
    [
        *DAMAGED_JOB_FILES.values(),
        job_file(short_config(seed=5)),
        job_file(short_config(), config=to_json(short_config()) | {"epochs": -1}),
        job_file(short_config(), asked=3),
    ],
    ids=[*DAMAGED_JOB_FILES, "another run's", "an impossible_values setting", "interested in nothing"],
)
def test_a_damaged_job_file_is_removed_and_all_others_are_restored(
    job_file_text: str, home: Path, service: JobService, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = home / "jobs" / key(short_config()), home / "jobs" / key(short_config("gru"))
    for folder, text in ((bad, job_file_text), (good, job_file(short_config("gru")))):
        folder.mkdir(parents=True)
        (folder / "job.json").write_text(text)
    with caplog.at_level(logging.CRITICAL, "explorer.jobs"):
        service.restore()
    assert [view.config for view in service.views()] == [short_config("gru")]
    assert not bad.exists()
    wait(lambda: service.views()[0].done)
    assert_equals_uninterrupted(short_config("gru"))


def write_checkpointed_job(config: RunConfig, folder: Path | None = None) -> Path:
    """Write the folder of a running job at step 10."""
    folder = folder or environment().jobs / key(config)
    record = interrupt_training(Recorder(config), full_training(config), 10)
    store.write_run(dataclasses.replace(record, state="running"), folder, "ada")
    (folder / "job.json").write_text(job_file(config))
    return folder


GARBAGE = ["card.json", "config.json", "events.parquet", "snapshots/00000010.safetensors"]
GARBAGE += ["optimiser/00000010.safetensors"]


@pytest.mark.parametrize("file", GARBAGE)
def test_a_job_with_a_damaged_checkpoint_starts_again(file: str, executor: HoldingExecutor) -> None:
    config = short_config(replicas=2)
    (write_checkpointed_job(config) / file).write_bytes(b"garbage")
    executor.service.restore()
    wait(lambda: executor.service.views()[0].done)
    assert (executor.service.views()[0].state, executor.start_steps(config)) == ("finished", [None])
    assert_equals_uninterrupted(config)


@pytest.mark.parametrize("file", GARBAGE)
def test_a_damaged_checkpoint_does_not_spoil_the_stopped_run(file: str, executor: HoldingExecutor) -> None:
    config = short_config(replicas=2)
    stop_at_step_13(executor, config)
    (write_checkpointed_job(config) / file).write_bytes(b"garbage")
    job = executor.service.submit(config, "ada")
    wait(lambda: all_done(job))
    assert (job.view().state, executor.start_steps(config)) == ("finished", [None, 10])
    assert_equals_uninterrupted(config)


@pytest.mark.slow
def test_a_crash_before_a_finished_run_is_stored_loses_nothing(
    executor: HoldingExecutor,
    make_executor: Callable[[], HoldingExecutor],
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = short_config(replicas=2)
    keep = operations.add_run

    def crash(folder: Path, *rest: Any) -> store.StoredRun:
        shutil.copytree(home, tmp_path / "after")  # the files that a crash here leaves
        return keep(folder, *rest)

    monkeypatch.setattr(operations, "add_run", crash)
    job = executor.service.submit(config, "ada")
    wait(lambda: all_done(job))
    monkeypatch.undo()
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "after"))
    assert job_folders() == [key(config)]
    after = make_executor()
    after.service.restore()
    wait(lambda: all(view.done for view in after.service.views()))
    assert_equals_uninterrupted(config)
    assert stored_run(config).card.owner == "ada"
    assert [file.name for file in stored_run(config).folder.glob("job.json")] == []


@pytest.mark.slow
def test_a_crash_at_any_moment_ends_with_the_equal_curve(
    executor: HoldingExecutor,
    make_executor: Callable[[], HoldingExecutor],
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LINEAGE_CHECKPOINT_SECONDS", "0")
    config, put, moments = short_config(replicas=2), store.write_file, []

    def crash(file: Path, content: bytes) -> None:
        if home / "jobs" in file.parents:
            place = tmp_path / f"moment-{len(moments)}"
            shutil.copytree(home / "jobs", place / "jobs") if (home / "jobs").exists() else None
            moments.append(place)
        put(file, content)

    monkeypatch.setattr(store, "write_file", crash)
    executor.waits_for_checkpoints = True
    job = executor.service.submit(config, "ada")
    wait(lambda: all_done(job))
    executor.service.close()
    monkeypatch.setattr(store, "write_file", put)
    went_on = set()
    for place in [*moments[1 : -1 : len(moments) // 7], moments[-1]]:
        monkeypatch.setenv("LINEAGE_HOME", str(place))
        after = make_executor()
        after.service.restore()
        (view,) = after.service.views()
        wait(lambda after=after: after.service.views()[0].done)  # type: ignore[misc]
        went_on |= set(after.start_steps(view.config))
        assert_equals_uninterrupted(config)
    assert len(went_on - {None}) > 2, "from checkpoints, not from the start each time"


def test_closing_stops_running_and_waiting_jobs(executor: HoldingExecutor, service: JobService) -> None:
    submitted = [service.submit(executor.hold(short_config(seed=seed))) for seed in range(13)]
    wait(lambda: submitted[0].view().state == "running")
    service.close()
    assert {job.view().state for job in submitted} == {"stopped"}
    assert job_folders() == sorted(job.key for job in submitted)


def test_a_closed_service_can_be_used_again(executor: HoldingExecutor, service: JobService) -> None:
    service.close()
    job = service.submit(executor.hold(short_config()))
    wait(lambda: is_running(job))
    service.close()
    executor.release(short_config())
    again = service.submit(short_config())
    assert again is not job
    wait(lambda: all_done(again))
    assert executor.start_steps(short_config()) == [None, 10]
    assert_equals_uninterrupted(short_config())


# ---- branches


def parent_of_a_branch() -> RunConfig:
    parent = short_config(replicas=2)
    store.save_run(uninterrupted(parent), store.run_folder(parent))
    return parent


def assert_branched(branch: RunConfig, parent: RunConfig) -> None:
    """The branch came out as trained in one go from its parent's checkpoint."""
    assert branch.branch
    events = [e for e in train(branch, checkpoints(full_training(parent))[branch.branch.step]) if isinstance(e, Step)]
    np.testing.assert_array_equal(stored_run(branch).curves.losses, np.stack([e.losses.numpy() for e in events]))


def test_a_branch_is_trained_from_its_parents_checkpoint(service: JobService) -> None:
    parent = parent_of_a_branch()
    branch = branch_from(parent, 10, {"order": 1})
    job = service.submit(branch)
    wait(lambda: all_done(job))
    before, after = stored_run(parent).curves, stored_run(branch).curves
    assert (job.view().state, after.first, after.step) == ("finished", 10, 32)
    assert (after.tokens[0], after.seconds[0]) == (before.tokens[10], before.seconds[10])
    assert stored_run(branch).card.seconds == pytest.approx(after.seconds[-1] - after.seconds[0], abs=0.001)
    assert_branched(branch, parent)


@pytest.mark.parametrize("parent_stays", [True, False])
def test_a_stopped_branch_resumes_even_without_its_parent(
    parent_stays: bool, executor: HoldingExecutor, service: JobService
) -> None:
    parent = parent_of_a_branch()
    branch = executor.hold(branch_from(parent, 3, {"order": 1}), 25)  # its checkpoints: 3, 4, 13, 23
    job = service.submit(branch)
    wait(lambda: is_running(job, 25))
    service.stop(job.key)
    wait(lambda: all_done(job))
    executor.release(branch)
    if not parent_stays:
        store.remove_folder(store.run_folder(parent))
    again = service.submit(branch)
    wait(lambda: all_done(again))
    assert (again.view().state, executor.start_steps(branch)[1] == job.view().step > 10) == ("finished", True)
    assert_branched(branch, parent)


def test_a_branch_without_its_parents_checkpoint_fails_in_one_sentence(service: JobService) -> None:
    nowhere = branch_from(short_config(seed=77), 10, {})
    parent = uninterrupted(short_config(seed=78))
    weights_only = {step: dataclasses.replace(snapshot, optimiser=None) for step, snapshot in parent.snapshots.items()}
    store.save_run(dataclasses.replace(parent, snapshots=weights_only), store.PRETRAINED / "shipped")
    shipped = branch_from(parent.config, 10, {"epochs": 9})
    submitted = [service.submit(config) for config in (shipped, nowhere, short_config())]
    wait(lambda: all_done(*submitted))
    assert [job.view().state for job in submitted] == ["failed", "failed", "finished"]
    assert "stores no optimizer state for step 10" in submitted[0].view().problem
    assert "There is no run" in submitted[1].view().problem
    assert_equals_uninterrupted(short_config())


# ---- failures


def test_a_diverged_training_names_step_and_cause_and_is_stored(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Adam.step

    def explode(optimiser: Adam) -> None:
        step(optimiser)
        if optimiser.learning_rate == 0.3 and optimiser.steps == 14:
            optimiser.weights.fill_(np.nan)

    monkeypatch.setattr(Adam, "step", explode)
    config = short_config(replicas=2, learning_rate=0.3)
    job, next_one = service.submit(config, "ada"), service.submit(short_config())
    wait(lambda: all_done(job, next_one))
    view, run = job.view(), stored_run(config)
    assert (view.state, view.step, view.saved, view.repeated) == ("diverged", 10, True, None)
    assert "diverged by step 16" in view.problem and "the learning rate of 0.3 is 100 times the usual" in view.problem
    assert (run.card.state, run.card.problem, run.card.step) == ("diverged", view.problem, 10)
    assert_equals_uninterrupted(short_config())


def test_a_full_disk_does_not_disturb_a_training(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LINEAGE_CHECKPOINT_SECONDS", "0")
    tried, write = [], store.write_run

    def raise_disk_full(record: Record, folder: Path, owner: str = "") -> None:
        if record.state == "running":
            tried.append(record)
            raise DISK_FULL
        write(record, folder, owner)

    monkeypatch.setattr(store, "write_run", raise_disk_full)
    job = service.submit(executor.hold(short_config()))
    with caplog.at_level(logging.CRITICAL, "explorer.jobs"):
        wait(lambda: is_running(job) and tried)
        executor.release(short_config())
        wait(lambda: all_done(job))
    assert (job.view().state, job.view().saved) == ("finished", True)
    assert_equals_uninterrupted(short_config())


def raise_disk_full(*_: object) -> None:
    raise DISK_FULL


READ_ONLY = OSError(errno.EROFS, "Read-only file system")


@pytest.mark.parametrize(
    ("error", "cause"),
    [(DISK_FULL, "disk is full"), (READ_ONLY, "Read-only file system")],
    ids=["full", "read-only"],
)
@pytest.mark.parametrize("where", ["write_run", "install_run"])
def test_a_finished_run_that_cannot_be_stored_is_kept_and_stored_later(
    where: str,
    error: OSError,
    cause: str,
    service: JobService,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(scheduler, "_STORE_SECONDS", 0.01)

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched, caplog.at_level(logging.CRITICAL):
        patched.setattr(store, where, fail)
        job = service.submit(short_config())
        wait(lambda: all_done(job))
        assert (job.view().state, job.view().saved, job.unstored) == ("finished", False, True)
        assert cause in job.view().problem and "stored as soon as that is possible" in job.view().problem
        assert service.submit(short_config(), "ada") is job, "it need not be trained again"
    wait(lambda: job.view().saved)
    assert (job.view().problem, job.unstored, job.record) == ("", False, None)
    assert_equals_uninterrupted(short_config())


def test_while_too_many_runs_wait_for_space_nothing_else_is_trained(
    service: JobService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(scheduler, "_MOST_UNSTORED", 1)
    monkeypatch.setattr(store, "write_run", raise_disk_full)
    with caplog.at_level(logging.CRITICAL):
        job = service.submit(short_config())
        wait(lambda: all_done(job))
    with pytest.raises(StoreError, match=r"1 finished runs wait to be stored.* is full"):
        service.submit(short_config("gru"))


def test_a_complete_run_without_room_is_kept_over_a_restart(
    executor: HoldingExecutor, make_executor: Callable[[], HoldingExecutor], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> None:
        raise StoreError("There is no room.")

    monkeypatch.setattr(scheduler, "_STORE_SECONDS", 0.01)
    with monkeypatch.context() as patched:
        patched.setattr(operations, "add_run", no_room)
        job = executor.service.submit(short_config(), "ada")
        wait(lambda: all_done(job))
        assert job.record is None, "its weights are on disk"
        executor.service.close()
        after = make_executor()
        after.service.restore()
        (view,) = after.service.views()
        assert (view.state, view.step, view.saved) == ("finished", 32, False) and "There is no room" in view.problem
    wait(lambda: after.service.views()[0].saved)
    assert after.started == []
    assert_equals_uninterrupted(short_config())


def test_without_room_on_the_disk_a_training_is_not_started(
    service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", raise_disk_full)
    job = service.submit(short_config())
    wait(lambda: all_done(job))
    assert job.view().state == "failed"
    assert "was not started, because its result needs" in job.view().problem
    assert "the disk is full" in job.view().problem
    assert job_folders() == []


def test_room_is_kept_while_a_training_runs(executor: HoldingExecutor, service: JobService) -> None:
    config = executor.hold(short_config())
    job = service.submit(config)
    wait(lambda: is_running(job))
    reserved = job.folder / "reserved"
    assert reserved.stat().st_blocks * 512 > 100_000
    executor.release(config)
    wait(lambda: all_done(job))
    assert_equals_uninterrupted(config)
    assert store.folder_size(stored_run(config).folder) < 2 * 100_000, "the reserved file is not stored"


# ---- crashes


class CrashingExecutor(HoldingExecutor):
    """Loses what carries out an order after the step that `step` returns for the first one."""

    def __init__(
        self,
        crashes: int,
        step: Callable[[int], int] = lambda first: first + 13,
        error: type[WorkerLost] = WorkerLost,
    ) -> None:
        super().__init__()
        self.crashes, self.step, self.error = crashes, step, error

    async def slices(self, order: Order) -> AsyncIterator[Slice]:
        async with aclosing(super().slices(order)) as slices:  # type: ignore[type-var]
            async for part in slices:
                yield part
                last = self.step(order.step)
                if self.crashes and any(isinstance(e, Step) and e.step == last for e, _ in part.events):
                    self.crashes -= 1
                    raise self.error("killed")


@pytest.mark.parametrize("private", [False, True])
def test_a_lost_worker_costs_the_steps_since_the_last_checkpoint(
    private: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = CrashingExecutor(1)
    config = short_text("gru", corpus="own", text=corpora.store_text(OWN_TEXT, "ada")) if private else short_config()
    job = executor.service.submit(config, "ada")
    wait(lambda: all_done(job))
    executor.service.close()
    assert (job.view().state, job.view().problem) == ("finished", "")
    assert executor.start_steps(config) == [None, 10]
    if private:
        assert job.record
        corpora.reader.set("ada")
        assert_records_equal(job.record, uninterrupted(config))
        corpora.reader.set("")
    else:
        assert_equals_uninterrupted(config)


@pytest.mark.parametrize(
    ("step", "error", "starts"),
    [(lambda first: first + 12, WorkerLost, [10, 20]), (lambda _: 2, MachineLost, [1, 1, 1])],
)
def test_neither_a_crash_after_a_new_checkpoint_counts_nor_a_lost_machine(
    step: Callable[[int], int], error: type[WorkerLost], starts: list[int]
) -> None:
    executor = CrashingExecutor(len(starts), step, error)
    config = short_config()
    job = executor.service.submit(config, "ada")
    wait(lambda: all_done(job))
    executor.service.close()
    assert (job.view().state, job.view().problem, job.crashes) == ("finished", "", 0)
    assert executor.start_steps(config) == [None, *starts]
    assert_equals_uninterrupted(config)


def test_a_checkpoint_on_disk_ends_the_count_of_crashes(
    executor: HoldingExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_CHECKPOINT_SECONDS", "0")
    executor.waits_for_checkpoints = True
    job = executor.service.submit(executor.hold(short_config(), 25))
    wait(lambda: is_running(job, 25))
    assert json.loads((job.folder / "job.json").read_text())["crashes"] == 0


def test_after_two_crashes_at_one_checkpoint_a_job_waits_for_its_owner() -> None:
    executor = CrashingExecutor(3, lambda _: 13)
    config = short_config()
    job = executor.service.submit(config, "ada")
    wait(lambda: all_done(job))
    view = job.view()
    assert (view.state, view.saved, view.step) == ("stopped", True, 10)
    assert "ended unexpectedly twice" in view.problem and "Press Go on" in view.problem
    again = executor.service.resume(job.key, "ada")
    wait(lambda: all_done(again))
    executor.service.close()
    assert (again.view().state, executor.start_steps(config)) == ("finished", [None, 10, 10, 10])
    assert_equals_uninterrupted(config)


def test_a_job_during_which_the_process_ended_twice_is_not_restored_by_itself(
    executor: HoldingExecutor, home: Path
) -> None:
    folder = write_checkpointed_job(short_config())
    (folder / "job.json").write_text(job_file(short_config(), crashes=2))
    executor.service.restore()
    (view,) = executor.service.views()
    assert (view.state, view.saved, view.step) == ("stopped", True, 10) and "twice" in view.problem
    again = executor.service.resume(view.key, "ada")
    wait(lambda: all_done(again))
    assert executor.start_steps(short_config()) == [10]
    assert_equals_uninterrupted(short_config())


def test_the_file_of_a_running_job_counts_a_crash_until_it_pauses(executor: HoldingExecutor) -> None:
    job = executor.service.submit(executor.hold(short_config()))
    wait(lambda: is_running(job))
    assert json.loads((job.folder / "job.json").read_text())["crashes"] == 1
    executor.service.close()
    assert json.loads((job.folder / "job.json").read_text())["crashes"] == 0


# ---- turns and memory


def test_a_visitor_without_a_slot_gets_that_of_another_after_some_seconds(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    long, brief = executor.hold(short_config(), 5), short_config("gru")
    first = service.submit(long, "ada")
    wait(lambda: is_running(first, 5))
    second = service.submit(brief, "bob")
    wait_for_scheduling(service, monkeypatch)
    assert not first.pauses_at_checkpoint, "the first one has had no time yet"
    monkeypatch.setattr(scheduler, "_TURN_SECONDS", 0.0)
    wait(lambda: first.pauses_at_checkpoint)
    executor.release(long)
    wait(lambda: all_done(first, second))
    assert executor.start_steps(long)[:2] == [None, 10], "it pauses at the next checkpoint"
    assert_equals_uninterrupted(long, brief)


def test_jobs_run_side_by_side_only_if_their_memory_suffices(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_MEMORY", "1")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(2)]
    first, second = (service.submit(config, "ada") for config in configs)
    wait(lambda: is_running(first))
    wait_for_scheduling(service, monkeypatch)
    assert second.view().state == "waiting"
    executor.release(*configs)
    wait(lambda: all_done(first, second))
    assert_equals_uninterrupted(*configs)


def test_a_home_that_is_no_folder_does_not_disturb_a_training(
    service: JobService, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.write_text("a file where the folder of runs should be", encoding="utf-8")
    with caplog.at_level(logging.CRITICAL):
        job = service.submit(short_config())
        wait(lambda: all_done(job))
    assert (job.view().state, job.view().saved) == ("finished", False)


def test_a_job_pauses_although_the_disk_is_full(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(3)]
    first, second = (service.submit(config, "ada") for config in configs[:2])
    wait(lambda: is_running(first) and is_running(second))
    with caplog.at_level(logging.CRITICAL, "explorer.jobs"), monkeypatch.context() as patched:
        patched.setattr(store, "write_run", raise_disk_full)
        third = service.submit(configs[2], "bob")
        wait(lambda: is_running(third) and is_paused(second))
    executor.release(*configs)
    wait(lambda: all_done(first, second, third))
    assert executor.start_steps(configs[1]) == [None, 10], "its checkpoint stays in memory"
    assert_equals_uninterrupted(*configs)


def test_a_failing_training_is_logged_and_reported_and_the_others_continue(
    executor: HoldingExecutor, service: JobService, caplog: pytest.LogCaptureFixture
) -> None:
    impossible_values = RunConfig(
        short_config().task, short_config().model, short_config().optimiser, epochs=8, threads=-1
    )  # not validated
    with caplog.at_level(logging.CRITICAL, "explorer.jobs"):
        failing, next_one = service.submit(impossible_values), service.submit(short_config())
        wait(lambda: all_done(failing, next_one))
        again = service.submit(impossible_values)
        wait(lambda: all_done(again))
    assert (failing.view().state, next_one.view().state) == ("failed", "finished")
    assert again is not failing
    assert_equals_uninterrupted(short_config())


# ---- another executor


class RemoteExecutor:
    """Carries out an order as if it had come over a network."""

    async def slices(self, order: Order) -> AsyncIterator[Slice]:
        received = decode_order(encode_order(order))
        if received.config.seed == 3:
            raise RuntimeError("the cluster is on fire")
        assert received.snapshot is None
        for part in in_slices(train(received.config), 0.01):
            await asyncio.sleep(0)
            yield part

    def start(self) -> None: ...

    def close(self) -> None: ...


def test_another_executor_works_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(RemoteExecutor(), Executor)
    service = JobService(RemoteExecutor())
    try:
        good, bad, other = (service.submit(short_config(seed=seed)) for seed in (2, 3, 4))
        wait(lambda: all_done(good, bad, other))
    finally:
        service.close()
        db.close_database()
    assert [job.view().state for job in (good, bad, other)] == ["finished", "failed", "finished"]
    assert "server's log" in bad.view().problem and "on fire" not in bad.view().problem
    (logged,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert logged.exc_info and "on fire" in str(logged.exc_info[1])
    assert_equals_uninterrupted(short_config(seed=2), short_config(seed=4))


# ---- limits


def test_a_training_above_a_limit_is_rejected_and_leaves_nothing(
    service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "31")
    with pytest.raises(InvalidSetting, match="LINEAGE_MOST_STEPS"):
        service.submit(short_config(), "ada")
    assert (service.views(), service.find(key(short_config())), job_folders()) == ([], None, [])


def test_one_job_too_many_is_rejected_and_leaves_nothing(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MOST_JOBS", "2")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(2)]
    submitted = [service.submit(config, "ada") for config in configs]
    wait(lambda: all(is_running(job) for job in submitted))
    with pytest.raises(NotAllowed, match="You have 2 trainings under way"):
        service.submit(short_config(seed=2), "ada")
    assert service.find(key(short_config(seed=2))) is None
    assert len(service.views()) == len(job_folders()) == 2
    assert service.submit(configs[0], "ada") is submitted[0], "joining is no other job"
    executor.release(*configs)
    submitted += [service.submit(short_config(seed=2), "bob"), service.submit(short_config(seed=3))]
    wait(lambda: all_done(*submitted))
    assert service.submit(short_config(seed=4), "ada").starter == "ada"


def test_a_training_that_takes_many_times_too_long_is_stopped_and_stored(
    executor: HoldingExecutor, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = service.submit(executor.hold(short_config()), "ada")
    wait(lambda: is_running(job))
    monkeypatch.setattr(one_job, "_TIME_LIMIT", 0)
    executor.release(short_config())
    wait(lambda: all_done(job))
    assert (job.view().state, job.view().step, job.view().saved) == ("stopped", 10, True)
    assert "LINEAGE_MOST_SECONDS" in job.view().problem


def test_a_job_above_a_limit_that_was_lowered_waits_for_its_owner(
    executor: HoldingExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_checkpointed_job(short_config())
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "31")
    executor.service.restore()
    (view,) = executor.service.views()
    assert (view.state, view.step, executor.started) == ("stopped", 10, [])
    assert "LINEAGE_MOST_STEPS" in view.problem and "ended unexpectedly" not in view.problem


def test_a_training_on_own_sentences_is_charged_for_its_file_and_not_for_the_largest_one(service: JobService) -> None:
    table = "text,label\n" + "".join(f"word{i} is {label},{label}\n" for i in range(6) for label in ("red", "blue"))
    sha = corpora.store_text(table, "ada")
    config = with_settings(default_config("negation", "bag_of_bigrams"), {"epochs": 1, "replicas": 32})
    with corpora.read_as("ada"):
        config = dataclasses.replace(config, task=own_task(sha))
    assert corpora.reader.get() == ""
    job = submit_and_wait(service, config, "ada")  # with 1,000 words its table of pairs would need too much memory
    assert job.view().state == "finished"
    assert job.peak_bytes < 200_000_000
    with pytest.raises(NeedsText):
        service.submit(config, "bob")
