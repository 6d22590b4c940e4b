"""Tests of the job service once more, as that of a server whose jobs have rows in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from explorer.database import servers
from explorer.jobs import shared_jobs
from tests import needs
from tests.jobs import test_scheduler
from tests.jobs.shared_server import shorten_periods
from tests.jobs.test_scheduler import executor, fast_scheduling, make_executor, service  # noqa: F401  # fixtures

pytestmark = [needs.postgresql, pytest.mark.parametrize("database", ["postgresql"], indirect=True)]
for _name in (
    "a_job_trains_and_stores_the_run",
    "a_stopped_run_is_stored_and_resumed_to_the_equal_curve",
    "a_job_that_somebody_wants_to_its_end_goes_on",
    "a_stopped_job_never_replaces_a_finished_run",
    "a_paused_job_can_be_stopped_and_is_stored",
    "each_visitors_first_job_comes_before_anyones_second",
    "a_stopped_branch_resumes_even_without_its_parent",
    "a_finished_run_that_cannot_be_stored_is_kept_and_stored_later",
    "a_lost_worker_costs_the_steps_since_the_last_checkpoint",
    "after_two_crashes_at_one_checkpoint_a_job_waits_for_its_owner",
    "a_failing_training_is_logged_and_reported_and_the_others_continue",
):
    globals()[f"test_{_name}"] = getattr(test_scheduler, f"test_{_name}")


@pytest.fixture(autouse=True)
def server(
    database: str,
    fast_scheduling: None,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> Iterator[None]:
    """Let this process be a server of the database, which reads its tables often and without an error."""
    shorten_periods(monkeypatch)
    servers.start("test", "1.0")
    yield
    servers.stop()
    assert not [record for record in caplog.get_records("call") if record.name == shared_jobs.__name__]
