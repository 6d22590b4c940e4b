"""Tests of the job service once more, as that of a server whose jobs have rows in a PostgreSQL database."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.database import servers
from explorer.database.engine import run_transaction
from explorer.jobs import shared_jobs
from explorer.jobs.scheduler import JobService
from explorer.training.config import RunConfig
from tests.jobs import test_scheduler
from tests.jobs.test_scheduler import executor, fast_scheduling, make_executor, one_slot, service  # noqa: F401  # fixtures

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
_REPEATED = (
    "a_job_trains_and_stores_the_run",
    "submitting_a_running_configuration_joins_its_job",
    "training_again_reports_an_equal_curve_and_keeps_name_tags_and_owner",
    "only_the_starter_and_the_operator_may_stop",
    "a_stopped_run_is_stored_up_to_its_last_checkpoint",
    "a_stopped_run_is_resumed_to_the_uninterrupted_curve",
    "a_run_stops_at_a_given_step_and_goes_on_from_there",
    "a_job_that_somebody_wants_to_its_end_does_not_stop_before",
    "a_stopped_job_never_replaces_a_finished_run",
    "a_waiting_job_can_be_stopped",
    "a_paused_job_can_be_stopped_and_its_checkpoint_is_stored",
    "a_job_stopped_while_it_pauses_is_not_lost",
    "a_visitor_with_two_slots_gives_one_to_a_waiting_visitor",
    "each_visitors_first_job_comes_before_anyones_second",
    "every_visitor_gets_a_slot_eventually",
    "an_abandoned_job_gives_up_its_slot_and_resumes_later",
    "a_stopped_branch_resumes_even_without_its_parent",
    "a_finished_run_that_cannot_be_stored_is_kept_and_stored_later",
    "a_lost_worker_costs_the_steps_since_the_last_checkpoint",
    "after_two_crashes_at_one_checkpoint_a_job_waits_for_its_owner",
    "a_job_during_which_the_process_ended_twice_is_not_restored_by_itself",
    "a_failing_training_is_logged_and_reported_and_the_others_continue",
)
for _name in _REPEATED:
    globals()[f"test_{_name}"] = getattr(test_scheduler, f"test_{_name}")


@pytest.fixture(autouse=True)
def server(
    database: str, home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> Iterator[None]:
    """Let this process be a server of the database, which reads its tables often and without an error."""
    monkeypatch.setattr(shared_jobs, "_SYNC_SECONDS", 0.02)
    monkeypatch.setattr(shared_jobs, "_LEAST_SECONDS", 0.01)
    servers.start("test", "1.0")
    yield
    servers.stop()
    assert not [record for record in caplog.get_records("call") if record.name == shared_jobs.__name__]


def test_a_job_that_is_given_back_is_not_taken_for_lost(
    executor: test_scheduler.HoldingExecutor,  # noqa: F811
    service: JobService,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def commit_slowly(*arguments: Any, **more: Any) -> Any:
        """Let the thread that exchanges rows see a row as this server has just written it, but does not know yet."""
        result = run_transaction(*arguments, **more)
        if threading.current_thread().name != "jobs":
            time.sleep(0.2)
        return result

    monkeypatch.setattr(shared_jobs, "run_transaction", commit_slowly)
    test_scheduler.test_a_visitor_with_two_slots_gives_one_to_a_waiting_visitor(executor, service, monkeypatch)


def test_a_job_that_was_paused_waits_behind_the_others_after_a_change_elsewhere(
    executor: test_scheduler.HoldingExecutor,  # noqa: F811
    service: JobService,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = executor.release

    def change_and_release(*configs: RunConfig) -> None:
        service._on_shared_change()
        release(*configs)

    monkeypatch.setattr(executor, "release", change_and_release)
    test_scheduler.test_each_visitors_first_job_comes_before_anyones_second(executor, service, monkeypatch)


def test_a_job_that_is_submitted_while_the_rows_are_read_is_remembered_once(
    executor: test_scheduler.HoldingExecutor,  # noqa: F811
    service: JobService,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = threading.Event()

    def read_slowly(*arguments: Any, **more: Any) -> Any:
        """Let the thread that exchanges rows read them only some time after it has listed the jobs."""
        if threading.current_thread().name == "jobs":
            listed.set()
            time.sleep(0.2)
        return run_transaction(*arguments, **more)

    monkeypatch.setattr(shared_jobs, "run_transaction", read_slowly)
    service.prepare()
    listed.wait(30)
    config = executor.hold(test_scheduler.short_config())
    job = service.submit(config, "ada")
    test_scheduler.wait(lambda: test_scheduler.is_running(job))
    time.sleep(0.5)  # the rows were read at least once more
    assert service.find(job.key) is job
    executor.release(config)
    test_scheduler.wait(lambda: test_scheduler.all_done(job))
