"""Sweeps that really train: in this process, interrupted and continued, and by the thread of the server."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from pandas import DataFrame
from pandas.testing import assert_frame_equal

from explorer import cores
from explorer.errors import InvalidSetting, NotAllowed, StoreError, UnknownSweep
from explorer.jobs import scheduler
from explorer.jobs.executor import Executor, InProcessExecutor, WorkerLost
from explorer.jobs.job import MAX_CRASHES
from explorer.jobs.order import Order
from explorer.jobs.scheduler import LocalScheduler
from explorer.jobs.service import JobService
from explorer.run_store import store
from explorer.sweeps import driver, stored
from explorer.sweeps.controller import Plan
from explorer.sweeps.driver import SweepDriver, carry_out, check_limits, estimated_seconds, look_at
from explorer.sweeps.results import results_table
from explorer.sweeps.space import make_sweep, trials
from explorer.sweeps.stored import StoredSweep
from explorer.training.config import default_config, key, with_settings
from explorer.training.slices import Slice

BASE = with_settings(default_config("negation", "rnn"), {"epochs": 4, "hidden": 4})
SWEEP = make_sweep(BASE, {"learning_rate": [1e-4, 1e-3, 1e-2, 1e-1]}, seeds=2)
VISITOR = "v" * 32


def service_with(executor: Executor) -> JobService:
    return JobService(lambda jobs: LocalScheduler(jobs, executor))


def table(plan: Plan) -> DataFrame:
    """Return what does not depend on the time that something took."""
    return results_table(SWEEP, plan).drop(columns="seconds")


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def short_periods(monkeypatch: pytest.MonkeyPatch, included_folder: Path) -> None:
    monkeypatch.setattr(driver, "_POLL_SECONDS", 0.01)
    monkeypatch.setattr(driver, "_DRIVER_SECONDS", 0.01)
    monkeypatch.setattr(scheduler, "_SCHEDULE_SECONDS", 0.01)


@pytest.fixture
def service() -> Iterator[JobService]:
    service = service_with(InProcessExecutor())
    yield service
    service.close()


def test_a_sweep_trains_its_runs_and_stores_them() -> None:
    plan = carry_out(SWEEP)
    assert plan.finished and stored.find(SWEEP.key).state == "finished"
    assert len(SWEEP.rungs) == 1
    states = [status.state for status in plan.trials]
    assert sorted(states) == ["finished", "finished", "given up", "given up"]
    for status in plan.trials:
        run = store.find(status.trial.key)
        assert run.card.finished or status.state == "given up"  # a slice of time may reach the end of one given up
        assert run.card.step >= status.step
    assert {status.trial.number for status in plan.finalists} == {
        status.trial.number for status in plan.trials if status.state == "finished"
    }
    again = carry_out(SWEEP)
    assert_frame_equal(table(again), table(plan))


def test_an_interrupted_sweep_ends_with_the_same_table(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    interruptions = 0

    def interrupt(plan: Plan) -> None:
        nonlocal interruptions
        if sum(status.run.state == "running" for status in (*plan.trials, *plan.finalists)) and interruptions < 4:
            interruptions += 1
            raise KeyboardInterrupt

    while True:
        try:
            plan = carry_out(SWEEP, on_progress=interrupt)
            break
        except KeyboardInterrupt:  # its last training may have ended before it was stopped
            has_finished = look_at(SWEEP, service_with(InProcessExecutor())).finished
            assert stored.find(SWEEP.key).state == ("finished" if has_finished else "stopped")
    assert plan.finished
    monkeypatch.setenv("LINEAGE_HOME", f"{tmp_path}/another")
    assert_frame_equal(table(plan), table(carry_out(SWEEP)))


def test_another_process_that_carries_the_sweep_out_is_respected(service: JobService) -> None:
    stored.start(SWEEP, "")
    with stored.hold(SWEEP.key) as is_free:
        assert is_free
        with pytest.raises(NotAllowed, match="another process"):
            carry_out(SWEEP)
        SweepDriver(service).turn()
    assert service.views() == []
    SweepDriver(service).turn()
    assert service.views()


def test_the_server_carries_sweeps_out_and_continues_them_after_a_restart(service: JobService) -> None:
    first = service_with(InProcessExecutor())
    stored.start(SWEEP, VISITOR)
    sweeps = SweepDriver(first)
    wait_for(lambda: sweeps.turn() or any(s.step for s in look_at(SWEEP, first, VISITOR).trials))
    sweeps.close()
    first.close()
    service.restore()
    sweeps = SweepDriver(service)
    sweeps.start()
    sweeps.wake()
    try:
        wait_for(lambda: stored.find(SWEEP.key).state == "finished")
    finally:
        sweeps.close()
    plan = look_at(SWEEP, service, VISITOR)
    assert plan.finished
    assert {store.find(status.trial.key).card.owner for status in plan.trials} == {VISITOR}


class CrashingExecutor(InProcessExecutor):
    """Crashes at the first attempts of every order, before it trains."""

    def __init__(self, crashes: int) -> None:
        super().__init__()
        self.crashes, self.attempts = crashes, Counter[str]()

    async def slices(self, order: Order) -> AsyncIterator[Slice]:
        self.attempts[key(order.config)] += 1
        if self.attempts[key(order.config)] <= self.crashes:
            raise WorkerLost("it was killed")
        async for part in super().slices(order):
            yield part


@pytest.mark.parametrize(
    ("crashes", "state", "attempts"),
    [(MAX_CRASHES + 1, "finished", MAX_CRASHES + 2), (1_000, "failed", MAX_CRASHES * (1 + driver._MOST_REPEATS))],
)
def test_a_run_that_crashed_too_often_for_a_visitor_is_trained_again_by_its_sweep_some_times(
    crashes: int, state: str, attempts: int
) -> None:
    sweep = make_sweep(BASE, {"learning_rate": [1e-3, 1e-2]}, finalists=0, halving=False)
    executor = CrashingExecutor(crashes)
    service = service_with(executor)
    try:
        stored.start(sweep, VISITOR)
        sweeps = SweepDriver(service)
        wait_for(lambda: sweeps.turn() or stored.find(sweep.key).state == "finished")
        plan = look_at(sweep, service, VISITOR)
    finally:
        service.close()
    assert [status.state for status in plan.trials] == [state, state]
    assert set(executor.attempts.values()) == {attempts}


def test_only_the_owner_stops_a_sweep_and_its_runs(service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    long = make_sweep(with_settings(BASE, {"epochs": 2_000}), {"learning_rate": [1e-3, 1e-2]}, seeds=1)
    sweeps = SweepDriver(service)
    stored.start(long, VISITOR)
    sweeps.turn()
    assert [view.key for view in service.views()] == [trial.key for trial in reversed(trials(long))]
    with pytest.raises(NotAllowed, match="only they can stop it"):
        stored.stop(long.key, "somebody else")
    stored.stop(long.key, VISITOR)

    def fail(key: str) -> StoredSweep:
        raise StoreError("The database does not answer.")

    with monkeypatch.context() as broken, pytest.raises(StoreError):
        broken.setattr(stored, "find", fail)
        sweeps.turn()
    sweeps.turn()  # it is tried again
    wait_for(lambda: all(view.state == "stopped" for view in service.views()))
    sweeps.turn()
    assert all(view.state == "stopped" for view in service.views())


def test_who_continues_a_stopped_sweep_can_stop_it() -> None:
    stored.start(SWEEP, VISITOR)
    assert stored.start(SWEEP, "w" * 32).owner == VISITOR
    stored.stop(SWEEP.key, VISITOR)
    assert stored.start(SWEEP, "w" * 32).owner == "w" * 32
    with pytest.raises(NotAllowed):
        stored.stop(SWEEP.key, VISITOR)
    stored.stop(SWEEP.key, "w" * 32)


def test_a_visitor_has_no_more_trainings_than_allowed(service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_MOST_JOBS", "4")
    driver.advance(SWEEP, service, VISITOR)
    assert len(service.views()) == 2


def test_limits_are_checked_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_MOST_WIDTH", "8")
    sweep = make_sweep(BASE, {"hidden": [4, 8, 16]})
    with pytest.raises(InvalidSetting, match=r"Trial 3 \(hidden 16\) is too large"):
        check_limits(sweep)
    with pytest.raises(InvalidSetting):
        carry_out(sweep)
    with pytest.raises(UnknownSweep):
        stored.find(sweep.key)


def test_halving_is_estimated_to_be_shorter() -> None:
    rates = [10 ** (-i / 4) for i in range(18)]
    with_it, without = (make_sweep(BASE, {"learning_rate": rates}, finalists=0, halving=h) for h in (True, False))
    assert 0 < estimated_seconds(with_it) < estimated_seconds(without) / 2


@pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")
def test_only_a_long_sweep_without_a_chosen_executor_trains_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINEAGE_EXECUTOR", raising=False)
    monkeypatch.setattr(cores, "physical_cores", lambda: 2)
    for seconds, expected in ((9.0, ""), (11.0, "processes")):
        monkeypatch.setattr(driver, "estimated_seconds", lambda _, seconds=seconds: seconds)
        assert driver.default_executor(SWEEP) == expected
    monkeypatch.setenv("LINEAGE_EXECUTOR", "here")
    assert driver.default_executor(SWEEP) == ""
