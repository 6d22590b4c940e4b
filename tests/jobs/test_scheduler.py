"""The job service. An executor holds trainings at a step while a test acts, so that no test depends on speed."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import json
import logging
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, aclosing, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import Mock

import numpy as np
import pytest

from explorer.database import engine as db
from explorer.environment import environment
from explorer.errors import InvalidSetting, NeedsText, NotAllowed, StoreError, UnknownRun
from explorer.jobs import executor as executor_module
from explorer.jobs import job as one_job
from explorer.jobs import scheduler
from explorer.jobs import service as service_module
from explorer.jobs.executor import InProcessExecutor, WorkerLost
from explorer.jobs.job import Job
from explorer.jobs.order import Order
from explorer.jobs.remembered_jobs import RememberedJobs
from explorer.jobs.scheduler import LocalScheduler
from explorer.jobs.service import JobService
from explorer.run_store import index, operations, store
from explorer.tasks.own_sentences import own_task
from explorer.tasks.text import corpora
from explorer.training.adam import Adam
from explorer.training.config import RunConfig, branch_from, default_config, key, to_json, with_settings
from explorer.training.events import Evaluation, Event, Started, Step
from explorer.training.record import Record
from explorer.training.recorder import Recorder, record_run
from explorer.training.slices import Slice
from explorer.training.train import train
from tests.export.alike import assert_records_equal, checkpoints, full_training, interrupt_training, short_config
from tests.training.objectives.test_text import short as short_text
from tests.waiting import wait_until

Patch = pytest.MonkeyPatch
OWN_TEXT = "to be or not to be, that is the question. " * 40
DISK_FULL = OSError(errno.ENOSPC, "No space left on device")


class HoldingExecutor(InProcessExecutor):
    """Trains as usual, but holds a training at a step until the test releases it or the service requests an action."""

    def __init__(self) -> None:
        super().__init__()
        self.service = JobService(self._make_scheduler)
        self.started: list[tuple[str, int | None]] = []  # trainings, and the step from which each resumed
        self.holding = False
        self.waits_for_checkpoints = False  # whether each checkpoint is on disk before the next event
        self._held: dict[str, tuple[type, int]] = {}

    def _make_scheduler(self, jobs: RememberedJobs) -> LocalScheduler:
        self.jobs, self.scheduler = jobs, LocalScheduler(jobs, self)
        return self.scheduler

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
        job = self.jobs.find(name)  # private ones, too
        return bool(job and job._checkpoint_task and not job._checkpoint_task.done())

    def _is_held(self, name: str, event: Event) -> bool:
        what, step = self._held.get(name, (Step, 10**9))
        job = self.jobs.find(name)  # private ones, too
        is_there = isinstance(event, what) and getattr(event, "step", 0) >= step
        return is_there and job is not None and not job.requested_action


@pytest.fixture(autouse=True)
def fast_scheduling(monkeypatch: Patch, included_folder: Path) -> Iterator[None]:
    """Every event ends a time slice and is published, and no runs ship, because each home would list them."""
    monkeypatch.setattr(executor_module, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(one_job, "_PUBLISH_SECONDS", 0.0)
    monkeypatch.setattr(scheduler, "_SCHEDULE_SECONDS", 0.01)
    monkeypatch.setattr(scheduler, "_STORE_SECONDS", 0.01)
    yield
    with suppress(StoreError):
        db.close_database()


wait = partial(wait_until, interval=0.002)
MakeExecutor: TypeAlias = Callable[[], HoldingExecutor]


@pytest.fixture
def make_executor() -> Iterator[MakeExecutor]:
    """Make executors, whose services are closed at the end of the test."""
    with ExitStack() as services:

        def make() -> HoldingExecutor:
            executor = HoldingExecutor()
            services.callback(executor.service.close)
            return executor

        yield make


@pytest.fixture
def executor(make_executor: MakeExecutor) -> HoldingExecutor:
    return make_executor()


@pytest.fixture
def service(executor: HoldingExecutor) -> JobService:
    return executor.service


def wait_for_end(*jobs: Job) -> None:
    wait(lambda: all(job.view().done for job in jobs))


def submit_and_wait(service: JobService, config: RunConfig, visitor: str = "") -> Job:
    """A job that has ended."""
    job = service.submit(config, visitor)
    wait_for_end(job)
    return job


def is_running(job: Job, step: int = 13) -> bool:
    """Whether a job has a slot and has reached the step where it is held."""
    return (job.view().state, job.view().step) == ("running", step)


def is_paused(job: Job) -> bool:
    """Whether a job has given up its slot."""
    return (job.view().state, job.view().step, job.requested_action) == ("waiting", 10, "")


def submit_held(executor: HoldingExecutor, config: RunConfig, visitor: str = "", step: int = 13) -> Job:
    """A job that is held at a step."""
    job = executor.service.submit(executor.hold(config, step), visitor)
    wait(lambda: is_running(job, step))
    return job


def wait_for_scheduling(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    """Wait until the slots have been given a few times."""
    calls: list[None] = []
    schedule = executor.scheduler._schedule
    monkeypatch.setattr(executor.scheduler, "_schedule", lambda: (schedule(), calls.append(None)))
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


def test_a_job_trains_and_stores_the_run(service: JobService) -> None:
    config = short_config(replicas=2)
    job = submit_and_wait(service, config, "ada")
    view = job.view()
    assert (view.state, view.step, view.saved, view.repeated, view.problem) == ("finished", 32, True, None, "")
    assert view.curves is not None
    np.testing.assert_array_equal(view.curves.losses, uninterrupted(config).curves.losses)
    assert_equals_uninterrupted(config)
    assert stored_run(config).card.owner == view.starter == "ada"
    assert [entry.key for entry in index.search(index.Query(shipped=False))] == [key(config)]
    assert service.find(view.key) is job


def test_submitting_a_running_configuration_joins_its_job(executor: HoldingExecutor, service: JobService) -> None:
    config = short_config()
    job = submit_held(executor, config, "ada")
    assert service.submit(config, "bob") is job
    assert (job.starter, service.requesters(key(config))) == ("ada", {"ada", "bob"})
    other = submit_and_wait(service, short_config("gru"))  # a short job does not wait for a long one
    assert other is not job and is_running(job)
    executor.release(config)
    wait_for_end(job)
    assert executor.start_steps(config) == [None]
    again = submit_and_wait(service, config, "bob")
    assert again is not job
    assert (job.view().repeated, again.view().repeated) == (None, True)
    assert [view.config for view in service.views()] == [config, short_config("gru")], "the newest first"


def test_only_a_curve_of_the_same_kind_of_machine_is_called_equal_or_different(service: JobService) -> None:
    before = uninterrupted(short_config())
    losses = before.curves.losses.copy()
    losses[3] += 0.5
    other = dataclasses.replace(before, curves=dataclasses.replace(before.curves, losses=losses))
    for machines, repeated, difference in (
        (before.machines, False, None),
        ((), None, pytest.approx(0.5)),  # an unknown machine
        (("arm64, Another processor, torch 2.13.0",), None, pytest.approx(0.5)),
    ):
        store.save_run(dataclasses.replace(other, machines=machines), store.run_folder(short_config()))
        view = submit_and_wait(service, short_config()).view()
        assert (view.repeated, view.difference) == (repeated, difference)
        assert_equals_uninterrupted(short_config())


def test_the_view_of_a_running_job_never_changes(executor: HoldingExecutor) -> None:
    config = short_config(replicas=2)
    job = submit_held(executor, config)
    early, expected = job.view(), uninterrupted(config)
    assert early.curves is not None
    assert early.loss == pytest.approx(expected.curves.losses[12].mean())
    assert early.left is not None and 0 < early.left < np.inf
    assert early.parameters == expected.parameters
    executor.release(config)
    wait_for_end(job)
    assert job.view().left is None
    assert early.step == 13
    np.testing.assert_array_equal(early.curves.losses, expected.curves.losses[:13])


def stop_at_step_13(executor: HoldingExecutor, config: RunConfig, visitor: str = "ada", step: int = 13) -> Job:
    """A job that was stopped at step 13."""
    job = submit_held(executor, config, visitor, step)
    executor.service.stop(job.key, visitor)
    wait_for_end(job)
    executor.release(config)
    return job


@pytest.mark.parametrize(
    ("takes_turns", "cores", "at_once", "expected"),
    [(False, 2, 12, [12, 12, 12])] + [(*case, [12, 18, 24]) for case in ((False, 1, 12), (False, 2, 1), (True, 2, 12))],
)
def test_cores_divide_the_time_of_several_trainings_but_not_of_one(
    takes_turns: bool, cores: int, at_once: int, expected: list[int], monkeypatch: Patch
) -> None:
    one, other = short_config(seed=1), short_config(seed=2)
    monkeypatch.setattr(service_module, "expected_seconds", lambda config, on_cores=None: 12 if config == one else 6)
    monkeypatch.setattr(service_module, "physical_cores", lambda: cores)
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", str(at_once))
    service = JobService(lambda _: Mock(takes_turns=takes_turns))
    several = [one], [one, other], [one, other, other]
    assert [service.estimate_seconds(configs, "ada") for configs in several] == expected


def test_a_stopped_run_is_stored_and_resumed_to_the_equal_curve(executor: HoldingExecutor, service: JobService) -> None:
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
    job = submit_and_wait(service, config, "bob")
    assert (job.view().state, job.view().repeated, executor.start_steps(config)) == ("finished", None, [None, 10])
    assert_equals_uninterrupted(config)
    assert stored_run(config).card.owner == "ada"


def test_a_run_stops_at_a_given_step_and_goes_on_there(executor: HoldingExecutor, make_executor: MakeExecutor) -> None:
    config = executor.hold(short_config(), step=8)
    until = config.snapshot_steps[-2]
    job = executor.service.submit(config, until=until)
    wait(lambda: is_running(job, 8))
    executor.service.close()
    service = make_executor().service
    service.restore()
    (restored,) = filter(None, [service.find(key(config))])
    wait_for_end(restored)
    card = stored_run(config).card
    assert (restored.view().state, card.state) == ("stopped", "stopped")
    assert until <= card.step < config.steps
    submit_and_wait(service, config)
    assert_equals_uninterrupted(config)


def test_a_job_that_somebody_wants_to_its_end_goes_on(executor: HoldingExecutor, service: JobService) -> None:
    config = executor.hold(short_config(), step=8)
    job = service.submit(config, "ada", until=config.snapshot_steps[-2])
    wait(lambda: is_running(job, 8))
    assert service.submit(config, "bob") is job
    executor.release(config)
    wait_for_end(job)
    assert job.view().state == "finished"


@pytest.mark.parametrize(("forgotten", "visitor", "operator"), [(False, "ada", False), (True, "bob", True)])
def test_only_the_starter_and_the_operator_may_stop_a_job_and_resume_its_run(
    forgotten: bool, visitor: str, operator: bool, executor: HoldingExecutor, make_executor: MakeExecutor
) -> None:
    config = short_config()
    job = submit_held(executor, config, "ada")
    executor.service.submit(config, "bob")
    for other in ("bob", "", "nobody"):
        with pytest.raises(NotAllowed):
            executor.service.stop(job.key, other)
    executor.service.stop(job.key, visitor, operator)
    wait_for_end(job)
    assert job.view().state == "stopped"
    executor.release(config)
    service = make_executor().service if forgotten else executor.service
    for other in ("bob", "", "nobody"):
        with pytest.raises(NotAllowed):
            service.resume(key(config), other)
    job = service.resume(key(config), visitor, operator)
    assert job.starter == "ada"
    wait_for_end(job)
    assert_equals_uninterrupted(config)
    for each in (service, make_executor().service):
        with pytest.raises(UnknownRun, match="finished"):
            each.resume(key(config), "ada")
        for change in (each.stop, each.resume):
            with pytest.raises(UnknownRun):
                change("aaaaaaaaaaaa", "ada", operator=True)


def test_a_stopped_job_never_replaces_a_finished_run(executor: HoldingExecutor, service: JobService) -> None:
    submit_and_wait(service, short_config(), "ada")
    before = stored_run(short_config()).card
    view = stop_at_step_13(executor, short_config()).view()
    assert (view.state, view.saved) == ("stopped", False)
    assert stored_run(short_config()).card == before
    again = submit_and_wait(service, short_config(), "ada").view()
    assert (again.state, again.repeated) == ("finished", True)
    assert executor.start_steps(short_config()) == [None, None, 10], "it goes on where it was stopped"
    assert_equals_uninterrupted(short_config())
    stop_at_step_13(executor, short_config())
    service.restore()
    assert job_folders() == [], "after a restart the finished run is all there is"


def test_a_waiting_job_can_be_stopped(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    first = submit_held(executor, short_config(), "ada")
    second = executor.service.submit(short_config("gru"), "ada")
    executor.service.stop(second.key, "ada")
    wait_for_end(second)
    assert (second.view().state, second.view().saved, first.view().state) == ("stopped", False, "running")
    assert executor.start_steps(short_config("gru")) == []
    assert job_folders() == [first.key]
    assert not store.run_folder(short_config("gru")).exists()


@pytest.mark.parametrize("when", ["it has paused", "it pauses"])
def test_a_paused_job_can_be_stopped_and_is_stored(when: str, executor: HoldingExecutor, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(3)]
    _, second = (submit_held(executor, config, "ada") for config in configs[:2])
    pause = Job._pause

    def stop_meanwhile(job: Job, record: Record | None) -> None:
        pause(job, record)
        executor.service.stop(job.key, "ada")

    if when == "it pauses":
        monkeypatch.setattr(Job, "_pause", stop_meanwhile)
    third = executor.service.submit(configs[2], "bob")
    if when == "it has paused":
        wait(lambda: is_paused(second))
        executor.service.stop(second.key, "ada")
    wait(lambda: second.view().done and is_running(third))
    assert (second.view().state, second.view().saved, stored_run(configs[1]).card.step) == ("stopped", True, 10)


@pytest.mark.parametrize("last", [Started, Evaluation])
def test_a_job_stopped_at_its_start_is_stored_only_if_it_can_be_resumed(last: type, executor: HoldingExecutor) -> None:
    job = executor.service.submit(executor.hold(short_config(), 0, last))
    wait(lambda: executor.holding)
    executor.service.stop(job.key)
    wait_for_end(job)
    assert (job.view().state, job.view().saved) == ("stopped", last is Evaluation)  # a checkpoint follows it
    assert store.run_folder(short_config()).exists() == (last is Evaluation)


def test_each_visitors_first_job_comes_before_anyones_second(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = {name: executor.hold(short_config(seed=seed)) for seed, name in enumerate(["a1", "a2", "b1", "b2", "c1"])}
    submitted = {name: executor.service.submit(config, name[0]) for name, config in configs.items() if name < "b"}
    wait(lambda: all(is_running(job) for job in submitted.values()))
    submitted |= {name: executor.service.submit(config, name[0]) for name, config in configs.items() if name > "b"}
    wait(lambda: is_running(submitted["b1"]) and is_paused(submitted["a2"]))
    executor.release(configs["a1"])
    wait(lambda: is_running(submitted["c1"]))
    names = {key(config): name for name, config in configs.items()}
    assert [names[run] for run, _ in executor.started][2:] == ["b1", "c1"]
    executor.release(*[config for name, config in configs.items() if name != "a1"])
    wait_for_end(*submitted.values())
    assert executor.start_steps(configs["a1"]) == executor.start_steps(configs["b1"]) == [None]
    assert executor.start_steps(configs["a2"]) == [None, 10]
    assert_equals_uninterrupted(*configs.values())


def test_only_a_visitor_without_a_slot_gets_that_of_another(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    monkeypatch.setattr(scheduler, "_TURN_SECONDS", 0.0)
    long, held, third, brief = (short_config(seed=seed) for seed in range(4))
    jobs = [
        submit_held(executor, long, "ada", 5),
        submit_held(executor, held, "bob"),
        executor.service.submit(third, "ada"),
    ]
    wait_for_scheduling(executor, monkeypatch)
    assert [(job.requested_action, job.pauses_at_checkpoint) for job in jobs] == [("", False)] * 3
    assert jobs[2].view().state == "waiting", "ada has a slot already"
    monkeypatch.setattr(scheduler, "_TURN_SECONDS", 1_000.0)
    jobs.append(executor.service.submit(brief, "eve"))
    wait_for_scheduling(executor, monkeypatch)
    assert not jobs[0].pauses_at_checkpoint, "the first one has had no time yet"
    monkeypatch.setattr(scheduler, "_TURN_SECONDS", 0.0)
    wait(lambda: jobs[0].pauses_at_checkpoint)
    executor.release(long)
    wait(lambda: jobs[3].view().done)
    assert executor.start_steps(long)[:2] == [None, 10], "it pauses at the next checkpoint"
    executor.release(held)
    wait_for_end(*jobs)
    assert_equals_uninterrupted(long, held, third, brief)


def test_jobs_run_side_by_side_only_if_their_memory_suffices(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    configs = [executor.hold(short_config(seed=seed)) for seed in range(3)]
    first = submit_held(executor, configs[0], "ada")
    monkeypatch.setenv("LINEAGE_JOBS_MEMORY", str(2 * first.peak_bytes))
    second, third = submit_held(executor, configs[1], "ada"), executor.service.submit(configs[2], "ada")
    wait_for_scheduling(executor, monkeypatch)
    assert third.view().state == "waiting"
    executor.release(*configs)
    wait_for_end(first, second, third)
    assert_equals_uninterrupted(*configs)


@pytest.mark.parametrize(
    "why", ["a second tab", "a watcher", "another requester", "nobody waits", "the terminal", "a return in time"]
)
def test_a_job_keeps_its_slot_until_all_have_left(why: str, executor: HoldingExecutor, monkeypatch: Patch) -> None:
    service = executor.service
    for visitor in ("ada", "ada", "bob", "eve")[why != "a second tab" :]:
        service.jobs.tab_opened(visitor)
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    monkeypatch.setenv("LINEAGE_GRACE_SECONDS", "1000" if why == "a return in time" else "0")
    first = submit_held(executor, short_config(), "" if why == "the terminal" else "ada")
    if why == "a watcher":
        service.add_watcher(first.key, "eve")
    if why == "another requester":
        service.submit(short_config(), "eve")
    waiting = "vanished too" if why == "nobody waits" else "bob"
    second = service.submit(executor.hold(short_config("gru")), waiting)
    service.jobs.tab_closed("ada")
    wait_for_scheduling(executor, monkeypatch)
    assert is_running(first)
    assert (first.requested_action, second.view().state) == ("", "waiting")
    if why in ("the terminal", "a return in time"):
        return
    service.jobs.tab_closed("ada" if why == "a second tab" else "eve")
    service.jobs.tab_opened(waiting)
    wait(lambda: is_running(second) and is_paused(first))
    executor.release(short_config(), short_config("gru"))
    wait_for_end(first, second)
    assert executor.start_steps(short_config()) == [None, 10]
    assert_equals_uninterrupted(short_config(), short_config("gru"))


def test_running_and_waiting_jobs_go_on_in_the_next_process(make_executor: MakeExecutor, monkeypatch: Patch) -> None:
    executor = make_executor()
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(3)]
    submitted = [executor.service.submit(config, "ada") for config in configs]
    wait(lambda: is_running(submitted[0]))
    for config in configs[::2]:
        executor.service.submit(config, "bob")
    executor.service.add_watcher(key(configs[0]), "eve")
    executor.service.close()
    assert {job.view().state for job in submitted} == {"stopped"}
    assert job_folders() == sorted(map(key, configs))
    assert not store.run_folder(configs[0]).exists()
    after = make_executor()
    after.service.restore()
    assert len(after.service.views()) == 3
    for config, requesters in zip(configs, ({"ada", "bob"}, {"ada"}, {"ada", "bob"}), strict=True):
        job = after.service.find(key(config))
        assert job and (job.starter, after.service.requesters(job.key)) == ("ada", requesters)
    wait(lambda: all(view.done for view in after.service.views()))
    assert [after.start_steps(config) for config in configs] == [[10], [None], [None]]
    assert_equals_uninterrupted(*configs)
    assert stored_run(configs[0]).card.owner == "ada"


def test_two_crashes_give_up_only_the_training_that_was_running(
    make_executor: MakeExecutor, monkeypatch: Patch
) -> None:
    """All of these jobs have a slot, but only the first one has had a turn when the server crashes."""
    executor, turns, has_crashed = make_executor(), list[object](), False

    async def wait_for_turn(_: object, turn: object) -> None:
        turns.append(turn)
        while turn is not turns[0] and not has_crashed:
            await asyncio.sleep(0.001)

    monkeypatch.setattr(executor_module._Turns, "wait", wait_for_turn)
    configs = [executor.hold(short_config(seed=seed), 0, Evaluation) for seed in range(3)]
    for config in configs:
        executor.service.submit(config, "ada")
    wait(lambda: executor.holding and len(executor.started) == 3)
    files = [environment().jobs / key(config) / "job.json" for config in configs]
    crashes = sorted(json.loads(file.read_text())["crashes"] for file in files)
    has_crashed = True  # the test ends
    assert crashes == [0, 0, 1]


def job_file(config: RunConfig, /, **changes: object) -> str:
    return json.dumps({"config": to_json(config), "starter": "ada", "asked": ["ada"], **changes})


def test_damaged_job_files_are_removed_and_others_restored(service: JobService) -> None:
    good, *bad = (short_config(seed=seed) for seed in range(6))
    damaged = ['{"config": ', "[]", "[" * 100_000, job_file(good), job_file(bad[4], asked=3)]  # the 4th: of another run
    for config, text in zip((good, *bad), (job_file(good), *damaged), strict=True):
        folder = environment().jobs / key(config)
        folder.mkdir(parents=True)
        (folder / "job.json").write_text(text)
    service.restore()
    assert [view.config for view in service.views()] == [good]
    wait(lambda: service.views()[0].done)
    assert_equals_uninterrupted(good)


def write_checkpointed_job(config: RunConfig, **job: object) -> Path:
    """Write the folder of a running job at step 10."""
    folder = environment().jobs / key(config)
    record = interrupt_training(Recorder(config), full_training(config), 10)
    store.write_run(dataclasses.replace(record, state="running"), folder, "ada")
    (folder / "job.json").write_text(job_file(config, **job))
    return folder


@pytest.mark.parametrize("file", ["card.json", "events.parquet", "snapshots/00000010.safetensors"])
def test_a_damaged_checkpoint_is_not_used_nor_spoils_the_stopped_run(file: str, executor: HoldingExecutor) -> None:
    config, other = short_config(replicas=2), short_config(seed=1)
    stop_at_step_13(executor, other)
    for each in (config, other):
        (write_checkpointed_job(each) / file).write_bytes(b"garbage")
    executor.service.restore()
    wait(lambda: all(view.done for view in executor.service.views()))
    assert executor.start_steps(config) == [None], "it starts again"
    assert executor.start_steps(other) == [None, 10]
    assert_equals_uninterrupted(config, other)


def test_a_crash_at_any_moment_ends_with_the_equal_curve(
    executor: HoldingExecutor, make_executor: MakeExecutor, home: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("LINEAGE_CHECKPOINT_SECONDS", "0")
    config, put, add, moments = short_config(replicas=2), store.write_file, operations.add_run, list[Path]()

    def copy_home() -> None:
        """Keep the files that a crash here leaves."""
        moments.append(tmp_path / f"moment-{len(moments)}")
        shutil.copytree(home, moments[-1])

    def put_later(file: Path, content: bytes) -> None:
        if home / "jobs" in file.parents:
            copy_home()
        put(file, content)

    def add_later(*arguments: Any) -> store.StoredRun:
        copy_home()  # the finished run is written, and not yet stored
        return add(*arguments)

    executor.waits_for_checkpoints = True
    home.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(store, "write_file", put_later)
        patched.setattr(operations, "add_run", add_later)
        submit_and_wait(executor.service, config, "ada")
        executor.service.close()
    went_on = set()
    for moment in [*moments[1 : -2 : len(moments) // 5], *moments[-2:]]:
        monkeypatch.setenv("LINEAGE_HOME", str(moment))
        assert job_folders() == [key(config)]
        after = make_executor()
        after.service.restore()
        wait(lambda after=after: all(view.done for view in after.service.views()))  # type: ignore[misc]
        went_on |= set(after.start_steps(config))
        assert_equals_uninterrupted(config)
        assert stored_run(config).card.owner == "ada"
        assert not (stored_run(config).folder / "job.json").exists()
    assert after.started == [], "a finished run is only stored"
    assert len(went_on - {None}) > 2, "from checkpoints, not from the start each time"


def test_a_closed_service_can_be_used_again(executor: HoldingExecutor, service: JobService) -> None:
    service.close()
    job = submit_held(executor, short_config())
    service.close()
    executor.release(short_config())
    again = submit_and_wait(service, short_config())
    assert again is not job
    assert executor.start_steps(short_config()) == [None, 10]
    assert_equals_uninterrupted(short_config())


def test_a_stopped_branch_resumes_even_without_its_parent(executor: HoldingExecutor, service: JobService) -> None:
    parent = short_config(replicas=2)
    before = store.save_run(uninterrupted(parent), store.run_folder(parent)).curves
    branch = branch_from(parent, 3, {"order": 1})  # its checkpoints: 3, 4, 13, 23
    job = stop_at_step_13(executor, branch, step=25)
    store.remove_folder(store.run_folder(parent))
    again = submit_and_wait(service, branch, "ada")
    assert (again.view().state, executor.start_steps(branch)) == ("finished", [3, 23])
    after = stored_run(branch).curves
    assert (job.view().step, after.first, after.step) == (23, 3, 32)
    assert (after.tokens[0], after.seconds[0]) == (before.tokens[3], before.seconds[3])
    assert stored_run(branch).card.seconds == pytest.approx(after.seconds[-1] - after.seconds[0], abs=0.001)
    events = [e for e in train(branch, checkpoints(full_training(parent))[3]) if isinstance(e, Step)]
    np.testing.assert_array_equal(after.losses, np.stack([e.losses.numpy() for e in events]))


def test_a_branch_without_its_parents_checkpoint_fails_in_one_sentence(service: JobService) -> None:
    nowhere = branch_from(short_config(seed=77), 10, {})
    parent = uninterrupted(short_config(seed=78))
    weights_only = {step: dataclasses.replace(snapshot, optimiser=None) for step, snapshot in parent.snapshots.items()}
    store.save_run(dataclasses.replace(parent, snapshots=weights_only), store.PRETRAINED / "shipped")
    shipped = branch_from(parent.config, 10, {"epochs": 9})
    submitted = [service.submit(config) for config in (shipped, nowhere, short_config())]
    wait_for_end(*submitted)
    assert [job.view().state for job in submitted] == ["failed", "failed", "finished"]
    assert "stores no optimizer state for step 10" in submitted[0].view().problem
    assert "There is no run" in submitted[1].view().problem
    assert_equals_uninterrupted(short_config())


def test_a_diverged_training_names_step_and_cause_and_is_stored(service: JobService, monkeypatch: Patch) -> None:
    step = Adam.step

    def explode(optimiser: Adam) -> None:
        step(optimiser)
        if optimiser.learning_rate == 0.3 and optimiser.steps == 14:
            optimiser.weights.fill_(np.nan)

    monkeypatch.setattr(Adam, "step", explode)
    config = short_config(replicas=2, learning_rate=0.3)
    job, next_one = service.submit(config, "ada"), service.submit(short_config())
    wait_for_end(job, next_one)
    view, run = job.view(), stored_run(config)
    assert (view.state, view.step, view.saved, view.repeated) == ("diverged", 10, True, None)
    assert "diverged by step 16" in view.problem and "the learning rate of 0.3 is 100 times the usual" in view.problem
    assert (run.card.state, run.card.problem, run.card.step) == ("diverged", view.problem, 10)
    assert_equals_uninterrupted(short_config())


def test_a_failing_training_is_logged_and_reported_and_the_others_continue(
    service: JobService, caplog: pytest.LogCaptureFixture
) -> None:
    impossible = dataclasses.replace(short_config(), threads=-1)  # not validated
    failing, next_one = service.submit(impossible), service.submit(short_config())
    wait_for_end(failing, next_one)
    again = submit_and_wait(service, impossible)
    assert (failing.view().state, next_one.view().state) == ("failed", "finished")
    assert "server's log" in failing.view().problem
    logged = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(logged) == 2 and all(record.exc_info for record in logged)
    assert again is not failing
    assert_equals_uninterrupted(short_config())


def test_a_full_disk_disturbs_neither_checkpoints_nor_a_pause(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LINEAGE_CHECKPOINT_SECONDS", "0")
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [executor.hold(short_config(seed=seed)) for seed in range(3)]
    with monkeypatch.context() as patched:
        patched.setattr(store, "write_run", write_run := Mock(side_effect=DISK_FULL))
        first, second = (submit_held(executor, config, "ada") for config in configs[:2])
        wait(lambda: write_run.called)
        third = executor.service.submit(configs[2], "bob")
        wait(lambda: is_running(third) and is_paused(second))
    executor.release(*configs)
    wait_for_end(first, second, third)
    assert executor.start_steps(configs[1]) == [None, 10], "its checkpoint stays in memory"
    assert all((job.view().state, job.view().saved) == ("finished", True) for job in (first, second, third))
    assert_equals_uninterrupted(*configs)


@pytest.mark.parametrize("where", ["write_run", "keep_entered_on"])
def test_a_finished_run_that_cannot_be_stored_is_kept_and_stored_later(
    where: str, service: JobService, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    read_only = OSError(errno.EROFS, "Read-only file system")
    error, cause = (DISK_FULL, "disk is full") if where == "write_run" else (read_only, "Read-only file system")
    with monkeypatch.context() as patched, caplog.at_level(logging.CRITICAL):
        patched.setattr(store, where, Mock(side_effect=error))
        job = submit_and_wait(service, short_config())
        assert (job.view().state, job.view().saved, job.unstored) == ("finished", False, True)
        assert cause in job.view().problem and "stored as soon as that is possible" in job.view().problem
        assert service.submit(short_config(), "ada") is job, "it need not be trained again"
        patched.setattr(service_module, "_MOST_UNSTORED", 1)
        with pytest.raises(StoreError, match=r"1 finished runs wait to be stored.*" + cause):
            service.submit(short_config("gru"))
    wait(lambda: job.view().saved)
    assert (job.view().problem, job.unstored, job.record) == ("", False, None)
    assert_equals_uninterrupted(short_config())


def test_a_complete_run_without_room_is_kept_over_a_restart(make_executor: MakeExecutor, monkeypatch: Patch) -> None:
    executor = make_executor()
    with monkeypatch.context() as patched:
        patched.setattr(operations, "add_run", Mock(side_effect=StoreError("There is no room.")))
        job = submit_and_wait(executor.service, short_config(), "ada")
        assert job.record is None, "its weights are on disk"
        executor.service.close()
        after = make_executor()
        after.service.restore()
        (view,) = after.service.views()
        assert (view.state, view.step, view.saved) == ("finished", 32, False) and "There is no room" in view.problem
    wait(lambda: after.service.views()[0].saved)
    assert after.started == []
    assert_equals_uninterrupted(short_config())


def test_without_room_on_the_disk_no_training_is_started(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    held = submit_held(executor, short_config())
    assert (held.folder / "reserved").stat().st_blocks * 512 > 100_000
    monkeypatch.setattr(os, "posix_fallocate", Mock(side_effect=DISK_FULL))
    job = submit_and_wait(executor.service, short_config("gru"))
    assert job.view().state == "failed"
    assert "was not started, because its result needs" in job.view().problem
    assert "the disk is full" in job.view().problem
    executor.release(short_config())
    wait_for_end(held)
    assert_equals_uninterrupted(short_config())
    assert store.folder_size(stored_run(short_config()).folder) < 2 * 100_000, "the reserved file is not stored"


class CrashingExecutor(HoldingExecutor):
    """Loses what carries out an order after the step that `step` returns for the first one."""

    def __init__(self, crashes: int, step: Callable[[int], int] = lambda _: 13) -> None:
        super().__init__()
        self.crashes, self.step = crashes, step

    async def slices(self, order: Order) -> AsyncIterator[Slice]:
        async with aclosing(super().slices(order)) as slices:  # type: ignore[type-var]
            async for part in slices:
                yield part
                last = self.step(order.step)
                if self.crashes and any(isinstance(e, Step) and e.step == last for e, _ in part.events):
                    self.crashes -= 1
                    raise WorkerLost("killed")


@pytest.mark.parametrize("private", [False, True])
def test_a_lost_worker_costs_the_steps_since_the_last_checkpoint(private: bool) -> None:
    executor = CrashingExecutor(1)
    config = short_text("gru", corpus="own", text=corpora.store_text(OWN_TEXT, "ada")) if private else short_config()
    job = submit_and_wait(executor.service, config, "ada")
    executor.service.close()
    assert (job.view().state, job.view().problem) == ("finished", "")
    assert executor.start_steps(config) == [None, 10]
    if private:
        assert job.record
        with corpora.read_as("ada"):
            assert_records_equal(job.record, uninterrupted(config))
    else:
        assert_equals_uninterrupted(config)


def test_a_crash_after_a_new_checkpoint_does_not_count() -> None:
    executor, config = CrashingExecutor(2, lambda first: first + 12), short_config()
    job = submit_and_wait(executor.service, config, "ada")
    executor.service.close()
    assert (job.view().state, job.view().problem, job.crashes) == ("finished", "", 0)
    assert executor.start_steps(config) == [None, 10, 20]
    assert_equals_uninterrupted(config)


def test_after_two_crashes_at_one_checkpoint_a_job_waits_for_its_owner() -> None:
    executor = CrashingExecutor(3)
    view = submit_and_wait(executor.service, short_config(), "ada").view()
    assert (view.state, view.saved, view.step) == ("stopped", True, 10)
    assert "ended unexpectedly twice" in view.problem and "Press Go on" in view.problem
    wait_for_end(executor.service.resume(view.key, "ada"))
    executor.service.close()
    assert executor.start_steps(short_config()) == [None, 10, 10, 10]
    assert_equals_uninterrupted(short_config())


def test_a_job_that_crashed_twice_or_exceeds_a_limit_stays(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    crashed, large = short_config(), short_config(epochs=9)
    write_checkpointed_job(crashed, crashes=2)
    write_checkpointed_job(large)
    with monkeypatch.context() as patched:
        patched.setenv("LINEAGE_MOST_STEPS", "35")
        executor.service.restore()
    views = {view.config: view for view in executor.service.views()}
    assert all((view.state, view.saved, view.step) == ("stopped", True, 10) for view in views.values())
    assert "ended unexpectedly twice" in views[crashed].problem
    assert (
        "optimiser steps; this server allows 35" in views[large].problem and "unexpectedly" not in views[large].problem
    )
    wait_for_end(executor.service.resume(key(crashed), "ada"))
    assert executor.started == [(key(crashed), 10)]
    assert_equals_uninterrupted(crashed)


@pytest.mark.parametrize("with_checkpoints", [False, True])
def test_a_running_job_counts_a_crash(with_checkpoints: bool, executor: HoldingExecutor, monkeypatch: Patch) -> None:
    if with_checkpoints:
        monkeypatch.setenv("LINEAGE_CHECKPOINT_SECONDS", "0")
        executor.waits_for_checkpoints = True
    job = submit_held(executor, short_config(), step=25)
    assert json.loads((job.folder / "job.json").read_text())["crashes"] == (0 if with_checkpoints else 1)
    executor.service.close()
    assert json.loads((job.folder / "job.json").read_text())["crashes"] == 0


def test_a_training_above_a_limit_is_rejected_leaving_nothing(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    service = executor.service
    with (
        monkeypatch.context() as patched,
        pytest.raises(InvalidSetting, match="optimiser steps; this server allows 31"),
    ):
        patched.setenv("LINEAGE_MOST_STEPS", "31")
        service.submit(short_config(), "ada")
    assert (service.views(), service.find(key(short_config())), job_folders()) == ([], None, [])
    monkeypatch.setenv("LINEAGE_MOST_JOBS", "2")
    configs = [short_config(seed=seed) for seed in range(2)]
    submitted = [submit_held(executor, config, "ada") for config in configs]
    with pytest.raises(NotAllowed, match="You have 2 trainings under way"):
        service.submit(short_config(seed=2), "ada")
    assert service.find(key(short_config(seed=2))) is None
    assert len(service.views()) == len(job_folders()) == 2
    assert service.submit(configs[0], "ada") is submitted[0], "joining is no other job"
    executor.release(*configs)
    wait_for_end(*submitted, service.submit(short_config(seed=2), "bob"), service.submit(short_config(seed=3)))
    assert service.submit(short_config(seed=4), "ada").starter == "ada"


def test_a_training_that_takes_far_too_long_is_stopped(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    job = submit_held(executor, short_config(), "ada")
    monkeypatch.setattr(one_job, "_TIME_LIMIT", 0)
    executor.release(short_config())
    wait_for_end(job)
    assert (job.view().state, job.view().step, job.view().saved) == ("stopped", 10, True)
    assert "several times as long as one training may take" in job.view().problem


def test_a_training_on_own_sentences_is_charged_for_its_file_and_not_for_the_largest_one(service: JobService) -> None:
    table = "text,label\n" + "".join(f"word{i} is {label},{label}\n" for i in range(6) for label in ("red", "blue"))
    sha = corpora.store_text(table, "ada")
    config = with_settings(default_config("negation", "bag_of_bigrams"), {"epochs": 1, "replicas": 32})
    with corpora.read_as("ada"):
        config = dataclasses.replace(config, task=own_task(sha))
    job = submit_and_wait(service, config, "ada")  # with 1,000 words its table of pairs would need too much memory
    assert job.view().state == "finished"
    assert job.peak_bytes < 200_000_000
    with pytest.raises(NeedsText):
        service.submit(config, "bob")


def private(**changes: object) -> RunConfig:
    for owner in ("ada", "bob"):
        sha = corpora.store_text(OWN_TEXT, owner)
    return short_text("gru", corpus="own", size=100_000, text=sha, **changes)


def files() -> list[Path]:
    # A thread of an earlier test may open the database of this one.
    return [each for each in environment().home.rglob("*") if each.is_file() and not each.name.startswith("index.")]


def test_a_private_job_is_visible_to_those_who_have_its_text_and_leaves_nothing_on_disk(service: JobService) -> None:
    config = private(sample=20)
    for _ in range(2):
        with pytest.raises(NeedsText, match="needs your text"):
            service.submit(config, "eve")
        job = service.submit(config, "ada")
    assert service.submit(config, "bob") is job
    wait_for_end(job)
    assert (job.view().state, job.view().saved) == ("finished", False)
    assert job.record and job.record.finished
    for visitor, seen in (("ada", job), ("bob", job), ("eve", None), ("", None)):
        assert [view.key for view in service.views(visitor)] == ([job.key] if seen else [])
        assert service.find(job.key, visitor) is seen
    assert not files()
    with pytest.raises(UnknownRun, match="nothing of run"):
        service.save(job.key, "eve")
    saved = service.save(job.key, "ada")
    assert (saved.config, saved.card.owner, saved.card.state) == (config, "ada", "finished")
    assert store.find(job.key).curves.samples == saved.curves.samples
    assert job.view().saved


def test_a_stopped_private_job_can_be_saved_an_abandoned_ends(executor: HoldingExecutor, monkeypatch: Patch) -> None:
    service = executor.service
    stopped, left, over = private(), private(seed=1), private(seed=2)
    assert (stop_at_step_13(executor, stopped).view().state, files()) == ("stopped", [])
    service.jobs.tab_opened("bob")
    running, ended = submit_held(executor, left, "bob"), submit_and_wait(service, over, "bob")
    assert {view.key for view in service.views("bob")} == {running.key, ended.key}
    monkeypatch.setenv("LINEAGE_GRACE_SECONDS", "0.05")
    service.jobs.tab_opened("ada")
    service.jobs.tab_closed("bob")
    wait(lambda: not service.views("bob"))
    assert running.view().done and not files()
    assert service.save(key(stopped), "ada").card.state == "stopped"


def test_a_private_job_ends_with_the_process(executor: HoldingExecutor, make_executor: MakeExecutor) -> None:
    job = submit_held(executor, private(), "ada")
    executor.service.close()
    assert job.view().state == "stopped"
    assert not files()
    after = make_executor().service
    after.restore()
    assert after.views("ada") == []
