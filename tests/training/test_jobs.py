"""The job service. Trainings are held at a step while a test arranges what happens there; nothing is left to speed."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import json
import logging
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from explorer.environment import environment
from explorer.errors import InvalidSetting, NotAllowed, StoreError, UnknownRun
from explorer.training import database as db
from explorer.training import index, jobs, library, store
from explorer.training import job as one_job
from explorer.training.adam import Adam
from explorer.training.config import RunConfig, branched, changed, default, key, parse, to_json
from explorer.training.events import Checkpoint, Evaluation, Event, Started, Step
from explorer.training.executor import Executor, InThisProcess
from explorer.training.job import Job
from explorer.training.jobs import JobService
from explorer.training.record import Record
from explorer.training.recorder import Recorder, record_run
from explorer.training.train import train
from tests.training.alike import assert_alike, broken_off, checkpoints, short, whole

FULL = OSError(errno.ENOSPC, "No space left on device")


class Held(InThisProcess):
    """Trains as ever, but stays where a test holds a training for as long as the service wants nothing of it."""

    def __init__(self) -> None:
        self.service = JobService(self)
        self.begun: list[tuple[str, int | None]] = []  # which trainings, and from which step they went on
        self.holding = False
        self.patient = False  # whether each checkpoint is on disk before the next event
        self._held: dict[str, tuple[type, int]] = {}

    def hold(self, config: RunConfig, step: int = 13, what: type = Step) -> RunConfig:
        """Let a training come to an event of this step, and no further."""
        self._held[key(config)] = what, step
        return config

    def let_go(self, *configs: RunConfig) -> None:
        for config in configs:
            del self._held[key(config)]

    def began(self, config: RunConfig) -> list[int | None]:
        return [step for name, step in self.begun if name == key(config)]

    async def events(self, order: str) -> AsyncIterator[Event]:
        wanted = json.loads(order)
        name = key(parse(wanted["config"]))
        self.begun.append((name, wanted["resume"] and wanted["resume"]["step"]))
        async with aclosing(super().events(order)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event
                while self._is_held(name, event) or (self.patient and self._writes(name)):
                    self.holding = True
                    await asyncio.sleep(0.001)

    def _writes(self, name: str) -> bool:
        job = self.service.find(name)
        return bool(job and job._written and not job._written.done())

    def _is_held(self, name: str, event: Event) -> bool:
        what, step = self._held.get(name, (Step, 10**9))
        job = self.service.find(name)
        return isinstance(event, what) and getattr(event, "step", 0) >= step and job is not None and not job.wish


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Every event is a turn, every turn is shown, and no runs ship with the program: each home would list them."""
    monkeypatch.setattr(one_job, "_TURN", 0.0)
    monkeypatch.setattr(one_job, "_PUBLISH_EVERY", 0.0)
    monkeypatch.setattr(jobs, "_LOOK_EVERY", 0.01)
    monkeypatch.setattr(store, "PRETRAINED", tmp_path / "pretrained")
    store.pretrained.cache_clear()
    yield
    store.pretrained.cache_clear()


@pytest.fixture
def makes() -> Iterator[Callable[[], Held]]:
    """Services, closed at the end of the test."""
    made: list[Held] = []

    def make() -> Held:
        made.append(Held())
        return made[-1]

    yield make
    for held in made:
        held.service.close()
    with suppress(StoreError):
        db.forget()


@pytest.fixture
def held(makes: Callable[[], Held]) -> Held:
    return makes()


@pytest.fixture
def service(held: Held) -> JobService:
    return held.service


def wait(until: Callable[[], object]) -> None:
    for _ in range(6_000):
        if until():
            return
        time.sleep(0.005)
    pytest.fail("waited for 30 s in vain")


def ended(*waited: Job) -> bool:
    return all(job.view().done for job in waited)


def done(service: JobService, config: RunConfig, visitor: str = "") -> Job:
    """A job that has ended."""
    job = service.submit(config, visitor)
    wait(lambda: ended(job))
    return job


def running(job: Job, step: int = 13) -> bool:
    """Whether a job holds a place, and has come to where it is held."""
    return (job.view().state, job.view().step) == ("running", step)


def rests(job: Job) -> bool:
    """Whether a job has given its place back."""
    return (job.view().state, job.view().step, job.wish) == ("waiting", 10, "")


def looked(service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait until the service has looked a few times at who holds a place."""
    looks: list[None] = []
    look = service._look
    monkeypatch.setattr(service, "_look", lambda: (look(), looks.append(None)))
    wait(lambda: len(looks) > 3)


def kept(config: RunConfig) -> store.StoredRun:
    return store.load(environment().runs / key(config))


def under_way() -> list[str]:
    return sorted(folder.name for folder in environment().jobs.glob("*"))


@cache
def alone(config: RunConfig) -> Record:
    """The uninterrupted training."""
    return record_run(config)


def assert_as_if_alone(*configs: RunConfig) -> None:
    for config in configs:
        assert_alike(kept(config).record(), alone(config), from_disk=True)
    assert under_way() == []


# ---- a training


def test_a_job_trains_and_keeps_the_run(service: JobService) -> None:
    config = short(replicas=2)
    job = service.submit(config, "ada")
    wait(lambda: ended(job))
    view = job.view()
    assert (view.state, view.step, view.saved, view.repeated, view.problem) == ("finished", 32, True, None, "")
    assert view.curves is not None
    np.testing.assert_array_equal(view.curves.losses, alone(config).curves.losses)
    assert_as_if_alone(config)
    assert kept(config).card.owner == view.starter == "ada"
    assert [entry.key for entry in index.search(index.Query(shipped=False))] == [key(config)]
    assert service.find(view.key) is job


def test_asking_twice_while_it_runs_is_one_job(held: Held, service: JobService) -> None:
    config = held.hold(short())
    job = service.submit(config, "ada")
    wait(lambda: running(job))
    assert service.submit(config, "bob") is job
    assert (job.starter, service.asked(key(config))) == ("ada", {"ada", "bob"})
    assert service.submit(short("gru")) is not job
    assert len(service.views()) == 2
    held.let_go(config)
    wait(lambda: ended(job))
    assert held.began(config) == [None]
    assert service.submit(config, "bob") is not job


def test_training_again_says_that_the_curve_came_out_equal_and_keeps_what_was_said(service: JobService) -> None:
    first = service.submit(short(), "ada")
    wait(lambda: ended(first))
    library.change(first.key, "ada", False, name="Mine", tags=["good"])
    again = service.submit(short(), "bob")
    wait(lambda: ended(again))
    assert (first.view().repeated, again.view().repeated) == (None, True)
    card = kept(short()).card
    assert (card.name, card.tags, card.owner) == ("Mine", ("good",), "ada")


def test_training_again_says_that_a_stored_curve_was_another_one(service: JobService) -> None:
    other = dataclasses.replace(alone(short(learning_rate=0.01)), config=short())
    store.save_run(other, store.place_of(short()))
    job = service.submit(short())
    wait(lambda: ended(job))
    assert job.view().repeated is False
    assert_as_if_alone(short())


def test_jobs_that_take_turns_are_bit_equal_to_each_alone(service: JobService) -> None:
    models = (("transformer", 3, 1), ("gru", 2, 2), ("rnn", 1, 1))
    configs = [short(model, replicas=replicas, threads=threads) for model, replicas, threads in models]
    submitted = [service.submit(config) for config in configs]
    wait(lambda: ended(*submitted))
    assert_as_if_alone(*configs)


def test_a_short_job_does_not_wait_for_a_long_one(held: Held, service: JobService) -> None:
    long, brief = service.submit(held.hold(short(epochs=100), 390)), service.submit(short())
    wait(lambda: ended(brief) and long.view().state == "running")
    assert (brief.view().state, long.view().done) == ("finished", False)


# ---- what others see


def test_a_view_never_changes(held: Held, service: JobService) -> None:
    job = service.submit(held.hold(short(replicas=2), 9))
    wait(lambda: running(job, 9))
    early = job.view()
    assert early.curves is not None
    losses = early.curves.losses.copy()
    with pytest.raises(dataclasses.FrozenInstanceError):
        early.step = 3  # type: ignore[misc]
    held.let_go(early.config)
    wait(lambda: ended(job))
    assert early.step == len(early.curves.losses) == 9
    np.testing.assert_array_equal(early.curves.losses, losses)


def test_a_running_job_says_its_loss_and_what_is_left(held: Held, service: JobService) -> None:
    job = service.submit(held.hold(short(replicas=2)))
    wait(lambda: running(job))
    view = job.view()
    assert view.loss == pytest.approx(alone(view.config).curves.losses[12].mean())
    assert view.left is not None and 0 < view.left < np.inf
    assert view.parameters == alone(view.config).parameters
    held.let_go(view.config)
    wait(lambda: ended(job))
    assert job.view().left is None


def test_the_newest_job_is_listed_first(held: Held, service: JobService) -> None:
    one, two = short(), short("gru")
    for config in (one, two, one):
        done(service, config)
    assert [view.config for view in service.views()] == [one, two]


# ---- stop, and go on


def test_only_the_starter_and_the_operator_may_stop(held: Held, service: JobService) -> None:
    for seed, (visitor, operator) in enumerate([("ada", False), ("bob", True)]):
        config = held.hold(short(seed=seed))
        job = service.submit(config, "ada")
        service.submit(config, "bob")
        for other in ("bob", "", "nobody"):
            with pytest.raises(NotAllowed):
                service.stop(job.key, other)
        wait(lambda job=job: running(job))  # type: ignore[misc]
        service.stop(job.key, visitor, operator)
        wait(lambda job=job: ended(job))  # type: ignore[misc]
        assert job.view().state == "stopped"
    with pytest.raises(UnknownRun):
        service.stop("aaaaaaaaaaaa", "ada")


def stopped(held: Held, config: RunConfig, visitor: str = "ada") -> Job:
    """A job that was stopped at step 13."""
    job = held.service.submit(held.hold(config), visitor)
    wait(lambda: running(job))
    held.service.stop(job.key, visitor)
    wait(lambda: ended(job))
    held.let_go(config)
    return job


def test_a_stopped_run_is_kept_up_to_its_last_checkpoint(held: Held) -> None:
    config = short(replicas=2)
    view = stopped(held, config).view()
    run = kept(config)
    assert (view.state, view.step, view.saved, view.repeated) == ("stopped", 10, True, None)
    assert (run.card.state, run.card.step, run.card.owner) == ("stopped", 10, "ada")
    assert run.checkpoint_steps() == [0, 1, 3, 10]
    assert view.curves is not None
    for curves in (run.curves, view.curves):
        np.testing.assert_array_equal(curves.losses, alone(config).curves.losses[:10])
    assert under_way() == []


@pytest.mark.parametrize("how", ["submit", "submit of another one", "resume", "resume by the operator"])
def test_a_stopped_run_is_gone_on_with_to_the_uninterrupted_curve(how: str, held: Held, service: JobService) -> None:
    config = short(replicas=2)
    stopped(held, config)
    match how:
        case "submit":
            job = service.submit(config, "ada")
        case "submit of another one":
            job = service.submit(config, "bob")
        case "resume":
            job = service.resume(key(config), "ada")
        case _:
            job = service.resume(key(config), "bob", operator=True)
    wait(lambda: ended(job))
    assert (job.view().state, job.view().repeated, held.began(config)) == ("finished", None, [None, 10])
    assert_as_if_alone(config)
    assert kept(config).card.owner == "ada"


def test_a_run_can_be_stopped_twice(held: Held, service: JobService) -> None:
    config = short(replicas=2)
    stopped(held, config)
    job = service.resume(key(config), "ada") if held.hold(config, 25) else None
    assert job
    wait(lambda: running(job, 25))
    service.stop(job.key, "ada")
    wait(lambda: ended(job))
    assert (job.view().step, kept(config).checkpoint_steps()) == (20, [0, 1, 3, 10, 20])
    held.let_go(config)
    last = service.resume(key(config), "ada")
    wait(lambda: ended(last))
    assert held.began(config) == [None, 10, 20]
    assert_as_if_alone(config)


@pytest.mark.parametrize("forgotten", [False, True])
def test_only_the_starter_and_the_operator_may_resume(forgotten: bool, held: Held, makes: Callable[[], Held]) -> None:
    config = short()
    stopped(held, config)
    service = makes().service if forgotten else held.service
    for other in ("bob", "", "nobody"):
        with pytest.raises(NotAllowed):
            service.resume(key(config), other)
    job = service.resume(key(config), "ada")
    assert job.starter == "ada"
    wait(lambda: ended(job))
    assert_as_if_alone(config)


def test_there_is_nothing_to_resume_of_a_finished_or_unknown_run(
    service: JobService, makes: Callable[[], Held]
) -> None:
    done(service, short(), "ada")
    for one in (service, makes().service):
        with pytest.raises(UnknownRun, match="finished"):
            one.resume(key(short()), "ada")
        with pytest.raises(UnknownRun):
            one.resume("aaaaaaaaaaaa", "ada", operator=True)


def test_a_stopped_job_never_replaces_a_finished_run(held: Held, service: JobService) -> None:
    done(service, short(), "ada")
    before = kept(short()).card
    view = stopped(held, short()).view()
    assert (view.state, view.saved) == ("stopped", False)
    assert kept(short()).card == before
    assert_as_if_alone(short())


def test_a_job_that_waits_can_be_stopped(held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    first, second = service.submit(held.hold(short()), "ada"), service.submit(short("gru"), "ada")
    wait(lambda: running(first))
    service.stop(second.key, "ada")
    wait(lambda: ended(second))
    assert (second.view().state, second.view().saved, first.view().state) == ("stopped", False, "running")
    assert held.began(short("gru")) == []
    assert under_way() == [first.key]
    assert not store.place_of(short("gru")).exists()


def test_a_job_that_rests_can_be_stopped_and_keeps_what_it_had(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [held.hold(short(seed=seed)) for seed in range(3)]
    first, second = service.submit(configs[0], "ada"), service.submit(configs[1], "ada")
    wait(lambda: running(first) and running(second))
    service.submit(configs[2], "bob")
    wait(lambda: rests(second))
    service.stop(second.key, "ada")
    wait(lambda: ended(second))
    assert (second.view().state, second.view().saved, kept(configs[1]).card.step) == ("stopped", True, 10)


def test_a_job_stopped_while_it_gives_its_place_back_is_not_lost(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [held.hold(short(seed=seed)) for seed in range(3)]
    first, second = service.submit(configs[0], "ada"), service.submit(configs[1], "ada")
    wait(lambda: running(first) and running(second))
    leave = Job._leave_checkpoint

    def stop_meanwhile(job: Job, record: Record | None) -> None:
        leave(job, record)
        service.stop(job.key, "ada")

    monkeypatch.setattr(Job, "_leave_checkpoint", stop_meanwhile)
    third = service.submit(configs[2], "bob")
    wait(lambda: ended(second) and running(third))
    assert (second.view().state, kept(configs[1]).card.step) == ("stopped", 10)


@pytest.mark.parametrize("last", [Evaluation, Checkpoint])
def test_a_job_stopped_at_its_start_is_kept_only_if_it_can_be_gone_on_with(
    last: type, held: Held, service: JobService
) -> None:
    before = {Evaluation: Started, Checkpoint: Evaluation}
    job = service.submit(held.hold(short(), 0, before[last]))
    wait(lambda: held.holding)
    service.stop(job.key)
    wait(lambda: ended(job))
    assert (job.view().state, job.view().saved) == ("stopped", last is Checkpoint)
    assert store.place_of(short()).exists() == (last is Checkpoint)


def test_a_job_stopped_before_its_model_stands_is_stopped_and_not_failed(service: JobService) -> None:
    big = {"width": 128, "hidden": 512, "layers": 8, "replicas": 16}  # takes longer to build than a turn
    job = service.submit(changed(default("negation", "transformer"), big))
    service.stop(job.key)
    wait(lambda: ended(job))
    assert job.view().state == "stopped"


# ---- places


def test_a_place_is_taken_back_from_whoever_holds_two(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [held.hold(short(seed=seed)) for seed in range(5)]
    *of_ada, of_bob = configs
    submitted = [service.submit(config, "ada") for config in of_ada]
    first, second, *others = submitted
    wait(lambda: running(first) and running(second))
    wanted = service.submit(of_bob, "bob")
    wait(lambda: running(wanted) and rests(second))
    assert running(first)
    assert {job.view().step for job in others} == {0}
    held.let_go(*configs)
    wait(lambda: ended(wanted, *submitted))
    assert held.began(of_ada[1]) == [None, 10]
    assert held.began(of_ada[0]) == held.began(of_bob) == [None]
    assert_as_if_alone(*configs)


def test_each_visitors_first_job_comes_before_anyones_second(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = {name: held.hold(short(seed=seed)) for seed, name in enumerate(["a1", "a2", "b1", "b2", "c1"])}
    submitted = {name: service.submit(config, name[0]) for name, config in configs.items() if name < "b"}
    wait(lambda: all(running(job) for job in submitted.values()))
    submitted |= {name: service.submit(config, name[0]) for name, config in configs.items() if name > "b"}
    wait(lambda: running(submitted["b1"]) and rests(submitted["a2"]))
    held.let_go(configs["a1"])
    wait(lambda: running(submitted["c1"]))
    names = {key(config): name for name, config in configs.items()}
    assert [names[run] for run, _ in held.begun][2:] == ["b1", "c1"]
    held.let_go(*[config for name, config in configs.items() if name != "a1"])
    wait(lambda: ended(*submitted.values()))
    assert_as_if_alone(*configs.values())


def test_nobody_starves(service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [short(seed=seed) for seed in range(6)]
    submitted = [service.submit(config, visitor) for config, visitor in zip(configs, "aaabbc", strict=True)]
    wait(lambda: ended(*submitted))
    assert_as_if_alone(*configs)


def test_a_visitor_with_a_place_does_not_take_another_ones(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [held.hold(short(seed=seed)) for seed in range(3)]
    first, second, third = (service.submit(config, visitor) for config, visitor in zip(configs, "aba", strict=True))
    wait(lambda: running(first) and running(second))
    looked(service, monkeypatch)
    assert (first.wish, second.wish, third.view().state) == ("", "", "waiting")


# ---- visitors who left


@pytest.fixture
def one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """One training at a time, and who leaves is gone at once."""
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    monkeypatch.setenv("LINEAGE_GRACE_SECONDS", "0")


@pytest.mark.usefixtures("one_place")
def test_a_job_of_a_vanished_visitor_gives_its_place_up_and_goes_on_later(held: Held, service: JobService) -> None:
    one, two = held.hold(short()), held.hold(short("gru"))
    for visitor in ("ada", "bob"):
        service.arrive(visitor)
    first = service.submit(one, "ada")
    wait(lambda: running(first))
    second = service.submit(two, "bob")
    service.leave("ada")
    wait(lambda: running(second) and rests(first))
    held.let_go(one, two)
    wait(lambda: ended(first, second))
    assert (held.began(one), held.began(two)) == ([None, 10], [None])
    assert_as_if_alone(one, two)


@pytest.mark.usefixtures("one_place")
def test_a_job_of_a_vanished_visitor_keeps_its_place_while_nobody_present_waits(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.arrive("ada")
    first = service.submit(held.hold(short()), "ada")
    wait(lambda: running(first))
    service.leave("ada")
    looked(service, monkeypatch)
    second = service.submit(short("gru"), "vanished too")
    looked(service, monkeypatch)
    assert running(first)
    assert (first.wish, second.view().state) == ("", "waiting")


@pytest.mark.usefixtures("one_place")
@pytest.mark.parametrize("how", ["watch", "join"])
def test_a_job_that_somebody_present_looks_at_or_joined_keeps_its_place(
    how: str, held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for visitor in ("ada", "bob", "eve"):
        service.arrive(visitor)
    first = service.submit(held.hold(short()), "ada")
    wait(lambda: running(first))
    if how == "watch":
        service.watch(first.key, "eve")
    else:
        service.submit(short(), "eve")
    second = service.submit(short("gru"), "bob")
    service.leave("ada")
    looked(service, monkeypatch)
    assert running(first)
    assert (first.wish, second.view().state) == ("", "waiting")
    service.leave("eve")
    wait(lambda: ended(second))
    assert rests(first) or running(first)
    assert len(held.began(short())) <= 2


@pytest.mark.usefixtures("one_place")
def test_a_visitor_is_here_while_one_of_two_windows_is_open(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    for visitor in ("ada", "ada", "bob"):
        service.arrive(visitor)
    first = service.submit(held.hold(short()), "ada")
    wait(lambda: running(first))
    second = service.submit(held.hold(short("gru")), "bob")
    service.leave("ada")
    looked(service, monkeypatch)
    assert running(first) and first.wish == ""
    service.leave("ada")
    wait(lambda: running(second) and rests(first))


@pytest.mark.usefixtures("one_place")
def test_the_terminal_never_vanishes(held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    first = service.submit(held.hold(short()))
    wait(lambda: running(first))
    service.arrive("bob")
    second = service.submit(short("gru"), "bob")
    looked(service, monkeypatch)
    assert running(first)
    assert (first.wish, second.view().state) == ("", "waiting")


@pytest.mark.usefixtures("one_place")
def test_a_visitor_who_comes_back_in_time_has_never_vanished(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_GRACE_SECONDS", "1000")
    for visitor in ("ada", "bob"):
        service.arrive(visitor)
    first = service.submit(held.hold(short()), "ada")
    wait(lambda: running(first))
    service.leave("ada")
    second = service.submit(short("gru"), "bob")
    looked(service, monkeypatch)
    assert running(first)
    assert (first.wish, second.view().state) == ("", "waiting")


# ---- the process ends, and another one begins


def test_what_is_under_way_at_the_end_goes_on_in_the_next_process(held: Held, makes: Callable[[], Held]) -> None:
    config = held.hold(short(replicas=2))
    job = held.service.submit(config, "ada")
    wait(lambda: running(job))
    held.service.submit(config, "bob")
    held.service.watch(key(config), "eve")
    held.service.close()
    assert (job.view().state, under_way()) == ("stopped", [key(config)])
    assert not store.place_of(config).exists()
    after = makes()
    after.service.restore()
    again = after.service.find(key(config))
    assert again and again.starter == "ada"
    assert after.service.asked(key(config)) == {"ada", "bob"}
    wait(lambda: ended(again))
    assert after.began(config) == [10]
    assert_as_if_alone(config)
    assert kept(config).card.owner == "ada"


def test_what_waits_at_the_end_goes_on_in_the_next_process(
    held: Held, makes: Callable[[], Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")
    configs = [held.hold(short(seed=seed)) for seed in range(3)]
    submitted = [held.service.submit(config, "ada") for config in configs]
    wait(lambda: running(submitted[0]))
    held.service.submit(configs[2], "bob")
    held.service.close()
    assert {job.view().state for job in submitted} == {"stopped"}
    after = makes()
    after.service.restore()
    assert len(after.service.views()) == 3
    assert after.service.asked(key(configs[2])) == {"ada", "bob"}
    wait(lambda: all(view.done for view in after.service.views()))
    assert_as_if_alone(*configs)


DAMAGED_ORDERS: dict[str, str] = {
    "empty": "",
    "half": '{"config": ',
    "a list": "[]",
    "no order": "{}",
    "deep": "[" * 100_000,
    "no number": '{"config": NaN}',
}


def told(config: RunConfig, /, **changes: object) -> str:
    return json.dumps({"config": to_json(config), "starter": "ada", "asked": ["ada"], **changes})


@pytest.mark.parametrize(
    "order",
    [
        *DAMAGED_ORDERS.values(),
        told(short(seed=5)),
        told(short(), config=to_json(short()) | {"epochs": -1}),
        told(short(), asked=3),
    ],
    ids=[*DAMAGED_ORDERS, "another run's", "an impossible setting", "interested in nothing"],
)
def test_a_damaged_order_is_removed_and_everything_else_is_taken_up(
    order: str, home: Path, service: JobService, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = home / "jobs" / key(short()), home / "jobs" / key(short("gru"))
    for folder, text in ((bad, order), (good, told(short("gru")))):
        folder.mkdir(parents=True)
        (folder / "job.json").write_text(text)
    with caplog.at_level(logging.CRITICAL, "explorer.training"):
        service.restore()
    assert [view.config for view in service.views()] == [short("gru")]
    assert not bad.exists()
    wait(lambda: service.views()[0].done)
    assert_as_if_alone(short("gru"))


def checkpointed(config: RunConfig, folder: Path | None = None) -> Path:
    """The folder of a training under way, at step 10."""
    folder = folder or environment().jobs / key(config)
    record = broken_off(Recorder(config), whole(config), 10)
    store.write(dataclasses.replace(record, state="running"), folder, "ada")
    (folder / "job.json").write_text(told(config))
    return folder


GARBAGE = ["card.json", "config.json", "events.parquet", "snapshots/00000010.safetensors"]
GARBAGE += ["optimiser/00000010.safetensors"]


@pytest.mark.parametrize("file", GARBAGE)
def test_a_checkpoint_of_garbage_is_trained_anew(file: str, held: Held) -> None:
    config = short(replicas=2)
    (checkpointed(config) / file).write_bytes(b"garbage")
    held.service.restore()
    wait(lambda: held.service.views()[0].done)
    assert (held.service.views()[0].state, held.began(config)) == ("finished", [None])
    assert_as_if_alone(config)


@pytest.mark.parametrize("file", GARBAGE)
def test_garbage_beside_a_stopped_run_does_not_spoil_it(file: str, held: Held) -> None:
    config = short(replicas=2)
    stopped(held, config)
    (checkpointed(config) / file).write_bytes(b"garbage")
    job = held.service.submit(config, "ada")
    wait(lambda: ended(job))
    assert (job.view().state, held.began(config)) == ("finished", [None, 10])
    assert_as_if_alone(config)


def test_a_crash_before_a_finished_run_is_in_its_place_loses_nothing(
    held: Held, makes: Callable[[], Held], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = short(replicas=2)
    keep = library.keep

    def crash(folder: Path) -> store.StoredRun:
        shutil.copytree(home, tmp_path / "after")  # what a crash here leaves
        return keep(folder)

    monkeypatch.setattr(library, "keep", crash)
    job = held.service.submit(config, "ada")
    wait(lambda: ended(job))
    monkeypatch.undo()
    monkeypatch.setenv("LINEAGE_HOME", str(tmp_path / "after"))
    assert under_way() == [key(config)]
    after = makes()
    after.service.restore()
    wait(lambda: all(view.done for view in after.service.views()))
    assert_as_if_alone(config)
    assert kept(config).card.owner == "ada"
    assert [file.name for file in kept(config).folder.glob("job.json")] == []


def test_a_crash_at_any_moment_ends_with_the_equal_curve(
    held: Held, makes: Callable[[], Held], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_CHECKPOINT_SECONDS", "0")
    config, put, moments = short(replicas=2), store.put, []

    def crash(file: Path, content: bytes) -> None:
        if home / "jobs" in file.parents:
            place = tmp_path / f"moment-{len(moments)}"
            shutil.copytree(home / "jobs", place / "jobs") if (home / "jobs").exists() else None
            moments.append(place)
        put(file, content)

    monkeypatch.setattr(store, "put", crash)
    held.patient = True
    job = held.service.submit(config, "ada")
    wait(lambda: ended(job))
    held.service.close()
    monkeypatch.setattr(store, "put", put)
    went_on = set()
    for place in [*moments[1 : -1 : len(moments) // 7], moments[-1]]:
        monkeypatch.setenv("LINEAGE_HOME", str(place))
        after = makes()
        after.service.restore()
        (view,) = after.service.views()
        wait(lambda after=after: after.service.views()[0].done)  # type: ignore[misc]
        went_on |= set(after.began(view.config))
        assert_as_if_alone(config)
    assert len(went_on - {None}) > 2, "from checkpoints, not from the start each time"


def test_closing_stops_what_runs_and_what_waits(held: Held, service: JobService) -> None:
    submitted = [service.submit(held.hold(short(seed=seed))) for seed in range(13)]
    wait(lambda: submitted[0].view().state == "running")
    service.close()
    assert {job.view().state for job in submitted} == {"stopped"}
    assert under_way() == sorted(job.key for job in submitted)


def test_a_closed_service_can_be_used_again(held: Held, service: JobService) -> None:
    service.close()
    job = service.submit(held.hold(short()))
    wait(lambda: running(job))
    service.close()
    held.let_go(short())
    again = service.submit(short())
    assert again is not job
    wait(lambda: ended(again))
    assert held.began(short()) == [None, 10]
    assert_as_if_alone(short())


# ---- branches


def parent_of_a_branch() -> RunConfig:
    parent = short(replicas=2)
    store.save_run(alone(parent), store.place_of(parent))
    return parent


def assert_branched(branch: RunConfig, parent: RunConfig) -> None:
    """The branch came out as trained in one go from its parent's checkpoint."""
    assert branch.branch
    events = [e for e in train(branch, checkpoints(whole(parent))[branch.branch.step]) if isinstance(e, Step)]
    np.testing.assert_array_equal(kept(branch).curves.losses, np.stack([e.losses.numpy() for e in events]))


def test_a_branch_is_trained_from_its_parents_checkpoint(service: JobService) -> None:
    parent = parent_of_a_branch()
    branch = branched(parent, 10, {"order": 1})
    job = service.submit(branch)
    wait(lambda: ended(job))
    before, after = kept(parent).curves, kept(branch).curves
    assert (job.view().state, after.first, after.step) == ("finished", 10, 32)
    assert (after.tokens[0], after.seconds[0]) == (before.tokens[10], before.seconds[10])
    assert kept(branch).card.seconds == pytest.approx(after.seconds[-1] - after.seconds[0], abs=0.001)
    assert_branched(branch, parent)


@pytest.mark.parametrize("parent_stays", [True, False])
def test_a_branch_that_was_stopped_goes_on_even_without_its_parent(
    parent_stays: bool, held: Held, service: JobService
) -> None:
    parent = parent_of_a_branch()
    branch = held.hold(branched(parent, 3, {"order": 1}), 25)  # its checkpoints: 3, 4, 13, 23
    job = service.submit(branch)
    wait(lambda: running(job, 25))
    service.stop(job.key)
    wait(lambda: ended(job))
    held.let_go(branch)
    if not parent_stays:
        store.remove(store.place_of(parent))
    again = service.submit(branch)
    wait(lambda: ended(again))
    assert (again.view().state, held.began(branch)[1] == job.view().step > 10) == ("finished", True)
    assert_branched(branch, parent)


def test_a_branch_without_its_parents_checkpoint_fails_in_a_sentence(service: JobService) -> None:
    nowhere = branched(short(seed=77), 10, {})
    parent = alone(short(seed=78))
    weights_only = {step: dataclasses.replace(kept, optimiser=None) for step, kept in parent.snapshots.items()}
    store.save_run(dataclasses.replace(parent, snapshots=weights_only), store.PRETRAINED / "shipped")
    shipped = branched(parent.config, 10, {"epochs": 9})
    submitted = [service.submit(config) for config in (shipped, nowhere, short())]
    wait(lambda: ended(*submitted))
    assert [job.view().state for job in submitted] == ["failed", "failed", "finished"]
    assert "keeps nothing to go on from at step 10" in submitted[0].view().problem
    assert "There is no run" in submitted[1].view().problem
    assert_as_if_alone(short())


# ---- what goes wrong


def test_a_training_that_diverges_says_where_and_why_and_is_kept(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Adam.step

    def explode(optimiser: Adam) -> None:
        step(optimiser)
        if optimiser.learning_rate == 0.3 and optimiser.steps == 14:
            optimiser.weights.fill_(np.nan)

    monkeypatch.setattr(Adam, "step", explode)
    config = short(replicas=2, learning_rate=0.3)
    job, next_one = service.submit(config, "ada"), service.submit(short())
    wait(lambda: ended(job, next_one))
    view, run = job.view(), kept(config)
    assert (view.state, view.step, view.saved, view.repeated) == ("diverged", 10, True, None)
    assert "diverged by step 16" in view.problem and "the learning rate of 0.3 is 100 times the usual" in view.problem
    assert (run.card.state, run.card.problem, run.card.step) == ("diverged", view.problem, 10)
    assert_as_if_alone(short())


def test_a_full_disk_does_not_disturb_a_training(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LINEAGE_CHECKPOINT_SECONDS", "0")
    tried, write = [], store.write

    def full(record: Record, folder: Path, owner: str = "") -> None:
        if record.state == "running":
            tried.append(record)
            raise FULL
        write(record, folder, owner)

    monkeypatch.setattr(store, "write", full)
    job = service.submit(held.hold(short()))
    with caplog.at_level(logging.CRITICAL, "explorer.training"):
        wait(lambda: running(job) and tried)
        held.let_go(short())
        wait(lambda: ended(job))
    assert (job.view().state, job.view().saved) == ("finished", True)
    assert_as_if_alone(short())


def full(*_: object) -> None:
    raise FULL


@pytest.mark.parametrize("where", ["write", "put"])
def test_a_run_that_the_full_disk_does_not_take_is_finished_but_not_saved(
    where: str, service: JobService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store, where, full)
    with caplog.at_level(logging.CRITICAL):
        job = service.submit(short())
        wait(lambda: ended(job))
    view = job.view()
    assert (view.state, view.saved, view.problem) == ("finished", False, "The server's disk took no more.")
    assert view.curves is not None
    np.testing.assert_array_equal(view.curves.losses, alone(short()).curves.losses)
    assert under_way() == []


def test_a_home_that_is_no_folder_does_not_disturb_a_training(
    service: JobService, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home.write_text("a file where the folder of runs should be")
    with caplog.at_level(logging.CRITICAL):
        job = service.submit(short())
        wait(lambda: ended(job))
    assert (job.view().state, job.view().saved) == ("finished", False)


def test_a_run_without_room_in_the_store_says_so(service: JobService, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(folder: Path) -> None:
        raise StoreError("There is no room.")

    monkeypatch.setattr(library, "keep", no_room)
    job = service.submit(short())
    wait(lambda: ended(job))
    assert (job.view().state, job.view().saved, job.view().problem) == ("finished", False, "There is no room.")
    assert under_way() == []


def test_a_place_is_given_back_although_the_disk_is_full(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "2")
    configs = [held.hold(short(seed=seed)) for seed in range(3)]
    first, second = (service.submit(config, "ada") for config in configs[:2])
    wait(lambda: running(first) and running(second))
    with caplog.at_level(logging.CRITICAL, "explorer.training"), monkeypatch.context() as patched:
        patched.setattr(store, "write", full)
        third = service.submit(configs[2], "bob")
        wait(lambda: running(third) and rests(second))
    held.let_go(*configs)
    wait(lambda: ended(first, second, third))
    assert held.began(configs[1]) == [None, None]
    assert_as_if_alone(*configs)


def test_a_training_that_fails_is_logged_and_said_and_the_others_go_on(
    held: Held, service: JobService, caplog: pytest.LogCaptureFixture
) -> None:
    impossible = RunConfig(short().task, short().model, short().optimiser, epochs=8, threads=-1)  # past the door
    with caplog.at_level(logging.CRITICAL, "explorer.training"):
        failing, next_one = service.submit(impossible), service.submit(short())
        wait(lambda: ended(failing, next_one))
        again = service.submit(impossible)
        wait(lambda: ended(again))
    assert (failing.view().state, next_one.view().state) == ("failed", "finished")
    assert again is not failing
    assert_as_if_alone(short())


# ---- another executor


class Elsewhere:
    """Trains what comes over a wire; tensors would follow the same way."""

    async def events(self, order: str) -> AsyncIterator[Event]:
        wanted = json.loads(json.dumps(json.loads(order)))
        if wanted["config"]["seed"] == 3:
            raise RuntimeError("the cluster is on fire")
        assert wanted["resume"] is None
        for event in train(parse(wanted["config"])):
            await asyncio.sleep(0)
            yield event


def test_another_executor_works_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    assert isinstance(Elsewhere(), Executor)
    service = JobService(Elsewhere())
    try:
        good, bad, other = (service.submit(short(seed=seed)) for seed in (2, 3, 4))
        wait(lambda: ended(good, bad, other))
    finally:
        service.close()
        db.forget()
    assert [job.view().state for job in (good, bad, other)] == ["finished", "failed", "finished"]
    assert "server's log" in bad.view().problem and "on fire" not in bad.view().problem
    (logged,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert logged.exc_info and "on fire" in str(logged.exc_info[1])
    assert_as_if_alone(short(seed=2), short(seed=4))


# ---- limits


def test_a_training_above_a_limit_is_refused_and_leaves_nothing(
    service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "31")
    with pytest.raises(InvalidSetting, match="LINEAGE_MOST_STEPS"):
        service.submit(short(), "ada")
    assert (service.views(), service.find(key(short())), under_way()) == ([], None, [])


def test_one_job_too_many_is_refused_and_leaves_nothing(
    held: Held, service: JobService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MOST_JOBS", "2")
    configs = [held.hold(short(seed=seed)) for seed in range(2)]
    submitted = [service.submit(config, "ada") for config in configs]
    wait(lambda: all(running(job) for job in submitted))
    with pytest.raises(NotAllowed, match="You have 2 trainings under way"):
        service.submit(short(seed=2), "ada")
    assert service.find(key(short(seed=2))) is None
    assert len(service.views()) == len(under_way()) == 2
    assert service.submit(configs[0], "ada") is submitted[0], "joining is no other job"
    held.let_go(*configs)
    submitted += [service.submit(short(seed=2), "bob"), service.submit(short(seed=3))]
    wait(lambda: ended(*submitted))
    assert service.submit(short(seed=4), "ada").starter == "ada"
