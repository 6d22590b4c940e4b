from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from explorer.training import store
from explorer.training.config import RunConfig, changed, default, key
from explorer.training.jobs import Job, JobService
from explorer.training.recorder import record_run

SHORT = changed(default("negation", "rnn"), {"epochs": 3, "train_size": 211, "test_size": 53, "replicas": 2})
LONG = changed(SHORT, {"epochs": 2_000, "train_size": 197, "batch_size": 8})  # 50,000 steps: no test waits for them


@pytest.fixture
def service() -> Iterator[JobService]:
    service = JobService()
    yield service
    service.close()


def wait(until: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if until():
            return
        time.sleep(0.01)
    pytest.fail("waited for 30 s in vain")


def ended(job: Job) -> bool:
    return job.view().done


def test_a_job_trains_and_keeps_the_run(service: JobService, home: Path) -> None:
    job = service.submit(SHORT)
    wait(lambda: ended(job))
    view = job.view()
    assert (view.state, view.step, view.saved, view.repeated) == ("finished", 12, True, None)
    assert view.curves is not None
    np.testing.assert_array_equal(view.curves.losses, record_run(SHORT).curves.losses)
    assert store.load(home / "runs" / key(SHORT)).config == SHORT
    assert service.find(view.key) is job


def test_asking_twice_while_it_runs_is_one_job(service: JobService) -> None:
    job = service.submit(LONG)
    assert service.submit(LONG) is job
    assert service.submit(SHORT) is not job
    wait(lambda: job.view().state == "running")
    assert service.submit(LONG) is job


def test_training_again_says_that_the_curve_came_out_equal(service: JobService) -> None:
    first = service.submit(SHORT)
    wait(lambda: ended(first))
    again = service.submit(SHORT)
    assert again is not first
    wait(lambda: ended(again))
    assert (first.view().repeated, again.view().repeated) == (None, True)


def test_training_again_says_that_a_stored_curve_was_another_one(service: JobService) -> None:
    other = record_run(changed(SHORT, {"learning_rate": 0.01}))
    store.save(type(other)(SHORT, *list(vars(other).values())[1:]), store.runs_folder() / key(SHORT))
    job = service.submit(SHORT)
    wait(lambda: ended(job))
    assert job.view().repeated is False


def test_a_stopped_job_keeps_its_curves_and_no_folder(service: JobService) -> None:
    job = service.submit(LONG)
    wait(lambda: job.view().state == "running")
    job.stop()
    wait(lambda: ended(job))
    view = job.view()
    assert (view.state, view.saved, view.repeated) == ("stopped", False, None)
    assert 0 < view.step < LONG.steps
    assert view.curves is not None
    assert len(view.curves.losses) == view.step
    assert not (store.runs_folder() / key(LONG)).exists()


def test_a_view_never_changes(service: JobService) -> None:
    job = service.submit(LONG)
    wait(lambda: job.view().state == "running")
    early = job.view()
    assert early.curves is not None
    step, losses = early.step, early.curves.losses.copy()
    wait(lambda: job.view().step > step)
    assert early.step == len(early.curves.losses) == step
    np.testing.assert_array_equal(early.curves.losses, losses)


def test_the_thirteenth_long_job_waits_until_one_of_the_twelve_is_over(service: JobService) -> None:
    *places, waiting = [service.submit(changed(LONG, {"seed": seed})) for seed in range(13)]
    wait(lambda: all(job.view().state == "running" for job in places))
    steps = places[11].view().step
    wait(lambda: places[11].view().step > steps)  # by now each has had many turns
    assert waiting.view().state == "waiting"
    places[5].stop()
    wait(lambda: waiting.view().state == "running")
    assert places[5].view().state == "stopped"


def test_a_job_that_waits_can_be_stopped(service: JobService) -> None:
    job = service.submit(LONG)
    job.stop()
    wait(lambda: ended(job))
    assert job.view().state == "stopped"


def test_a_short_job_does_not_wait_for_a_long_one(service: JobService) -> None:
    long, short = service.submit(LONG), service.submit(SHORT)
    wait(lambda: ended(short))
    assert (short.view().state, long.view().done) == ("finished", False)


def test_jobs_that_take_turns_are_bit_equal_to_each_alone(service: JobService) -> None:
    configs = [
        changed(default("negation", model), {"epochs": 5, "replicas": replicas})
        for model, replicas in (("transformer", 3), ("gru", 2), ("lstm", 1))
    ]
    alone = [record_run(config).curves.losses for config in configs]
    jobs = [service.submit(config) for config in configs]
    wait(lambda: all(ended(job) for job in jobs))
    for job, losses in zip(jobs, alone, strict=True):
        curves = job.view().curves
        assert curves is not None
        np.testing.assert_array_equal(curves.losses, losses)


def test_each_job_trains_with_its_own_number_of_threads(service: JobService) -> None:
    one = changed(default("negation", "transformer"), {"epochs": 5})  # ends elsewhere with two threads
    two = changed(one, {"threads": 2})
    expected = record_run(one).curves.losses, record_run(two).curves.losses
    jobs = service.submit(one), service.submit(two)
    wait(lambda: all(ended(job) for job in jobs))
    for job, losses in zip(jobs, expected, strict=True):
        curves = job.view().curves
        assert curves is not None
        np.testing.assert_array_equal(curves.losses, losses)


def test_a_run_that_cannot_be_written_is_finished_but_not_saved(
    service: JobService, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.write_text("a file where the folder of runs should be")
    job = service.submit(SHORT)
    with caplog.at_level(logging.CRITICAL):
        wait(lambda: ended(job))
    assert (job.view().state, job.view().saved) == ("finished", False)
    assert job.view().curves is not None


def test_a_training_that_fails_is_said_and_the_next_one_works(
    service: JobService, caplog: pytest.LogCaptureFixture
) -> None:
    impossible = RunConfig(SHORT.task, SHORT.model, SHORT.optimiser, epochs=3, threads=-1)  # past the door
    with caplog.at_level(logging.CRITICAL, "explorer.training.jobs"):
        failing, next_one = service.submit(impossible), service.submit(SHORT)
        wait(lambda: ended(failing) and ended(next_one))
        again = service.submit(impossible)
        wait(lambda: ended(again))
    assert (failing.view().state, next_one.view().state) == ("failed", "finished")
    assert again is not failing


def test_closing_stops_what_runs_and_what_waits(service: JobService) -> None:
    jobs = [service.submit(changed(LONG, {"seed": seed})) for seed in range(13)]
    wait(lambda: jobs[0].view().state == "running")
    service.close()
    assert [job.view().state for job in jobs] == ["stopped"] * 13


def test_a_closed_service_can_be_used_again(service: JobService) -> None:
    service.close()
    job = service.submit(SHORT)
    wait(lambda: ended(job))
    assert job.view().state == "finished"


def test_what_a_close_stopped_can_be_asked_for_again(service: JobService) -> None:
    stopped = service.submit(SHORT)
    service.close()
    again = service.submit(SHORT)
    assert again is not stopped
    wait(lambda: ended(again))
    assert again.view().state == "finished"


def test_a_job_stopped_before_its_model_stands_is_stopped_and_not_failed(service: JobService) -> None:
    big = {"width": 128, "hidden": 512, "layers": 8, "replicas": 16}  # takes longer to build than a turn
    job = service.submit(changed(default("negation", "transformer"), big))
    job.stop()
    service.close()
    assert job.view().state == "stopped"
