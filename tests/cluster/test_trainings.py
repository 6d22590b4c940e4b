"""Trainings of several servers in a Ray cluster of a head and a node on this machine, which all tests share."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from explorer.cluster import connection, scheduler
from explorer.cluster.connection import placement
from explorer.cluster.scheduler import ClusterScheduler
from explorer.database.engine import close_database
from explorer.errors import InvalidSetting, StoreError
from explorer.jobs.job import Job
from explorer.jobs.remembered_jobs import RememberedJobs
from explorer.jobs.service import JobService
from explorer.run_store import store
from explorer.sweeps import stored
from explorer.sweeps.driver import carry_out
from explorer.sweeps.space import make_sweep, trials
from explorer.tasks.text import corpora
from explorer.training.config import RunConfig
from explorer.training.recorder import record_run
from tests import needs
from tests.export.alike import assert_records_equal, short_config
from tests.training.objectives.test_text import short as short_text
from tests.waiting import wait_until

pytestmark = [
    needs.ray,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # Ray leaves files open
]
LONG = {"epochs": 500, "snapshots": 3}  # of some seconds, with a checkpoint each 0.2 s
CPU, GPUS, DEAD = {"CPU": 16.0}, {"CPU": 4.0, "GPU": 2.0}, {"CPU": 64.0, "GPU": 8.0}


@pytest.fixture(scope="module")
def home_of_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster that any server of this machine finds."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patched.delenv("LINEAGE_HOME")  # the settings of a node come before those of a server
        options = {"object_store_memory": 100_000_000}
        ray = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **options})
        ray.add_node(num_cpus=2, **options)
        yield ray
        connection.disconnect("ray")
        ray.shutdown()
    for each in gc.get_objects():  # those of Ray, which has ended them and does not wait: a later test would be warned
        if issubclass(type(each), subprocess.Popen):
            each.wait(120)


@pytest.fixture(autouse=True)
def settings(home_of_all: Path, monkeypatch: pytest.MonkeyPatch, included_folder: Path) -> Iterator[None]:
    """The same for all tests, because the actors of the cluster have those of the first one."""
    for name, value in {
        "HOME": str(home_of_all / "home"),
        "EXECUTOR": "ray",
        "JOBS_AT_ONCE": "2",
        "CHECKPOINT_SECONDS": "0.2",
        "MOST_STEPS": "10000",
    }.items():
        monkeypatch.setenv(f"LINEAGE_{name}", value)
    monkeypatch.setattr(scheduler, "_PAUSE_SECONDS", 0.05)
    yield
    close_database()


@pytest.fixture
def make_service(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], JobService]]:
    """Make job services, each as that of a server."""
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    services: list[JobService] = []

    def make() -> JobService:
        services.append(JobService())
        services[-1].jobs.tab_opened("ada")
        services[-1].prepare()
        return services[-1]

    yield make
    for service in services:
        service.close()


def has_begun(job: Job) -> bool:
    view = job.view()
    return view.step > 0 and view.curves is not None


def wait_for_end(*jobs: Job) -> None:
    # Some processes start one after the other, each in 12 seconds on an idle machine.
    wait_until(lambda: all(job.view().done for job in jobs), seconds=1_200)
    assert {(job.view().state, job.view().problem, job.view().saved) for job in jobs} == {("finished", "", True)}


def assert_equals_uninterrupted(config: RunConfig) -> None:
    assert_records_equal(store.load(store.run_folder(config)).record(), record_run(config), from_disk=True)


def processes(name: str) -> list[psutil.Process]:
    """Return the processes of actors of this class."""
    found = psutil.Process().children(recursive=True)
    return [each for each in found if each.is_running() and f"ray::{name}" in " ".join(each.cmdline())]


def test_two_servers_share_a_training_that_outlives_them_and_a_killed_worker(
    make_service: Callable[[], JobService],
) -> None:
    config = short_config("rnn", **LONG)
    first, second = make_service(), make_service()
    job = first.submit(config, "ada")
    wait_until(lambda: second.find(job.key))
    same = second.submit(config, "bob")
    wait_until(lambda: has_begun(job) and has_begun(same) and first.requesters(job.key) == {"ada", "bob"})
    assert len(processes("Training")) == 1
    first.close()
    (worker,) = processes("Training")
    worker.kill()
    wait_for_end(same)
    assert_equals_uninterrupted(config)
    assert store.find(job.key).card.owner == "ada"


def test_waiting_and_running_trainings_survive_the_controller(make_service: Callable[[], JobService]) -> None:
    service = make_service()
    configs = [short_config("rnn", seed=seed, **LONG) for seed in (1, 2, 3)]  # one of them waits
    jobs = [service.submit(config, "ada") for config in configs]
    wait_until(lambda: sum(has_begun(job) for job in jobs) >= 2)  # or all, if one has ended
    (controller,) = processes("Controller")
    controller.kill()
    wait_for_end(*jobs)
    for config in configs:
        assert_equals_uninterrupted(config)


def test_a_training_is_stopped_and_goes_on_where_it_was(make_service: Callable[[], JobService]) -> None:
    service, other = make_service(), make_service()
    config = short_config("gru", **LONG)
    job = service.submit(config, "ada")
    wait_until(lambda: has_begun(job) and other.find(job.key))
    other.stop(job.key, "ada")
    wait_until(lambda: all(each.find(job.key).view().done for each in (service, other)))  # type: ignore[union-attr]
    assert (job.view().state, job.view().saved) == ("stopped", True)
    assert 0 < job.view().step < config.steps
    again = other.resume(job.key, "ada")
    assert again is not job
    wait_for_end(again)
    assert_equals_uninterrupted(config)


def test_the_controller_carries_a_sweep_out_that_a_terminal_starts(make_service: Callable[[], JobService]) -> None:
    make_service()
    sweep = make_sweep(short_config("rnn", epochs=4), {"learning_rate": [1e-4, 1e-3]}, seeds=2, finalists=0)
    assert carry_out(sweep).finished
    wait_until(lambda: stored.find(sweep.key).state == "finished")
    assert any(store.find(trial.key).card.finished for trial in trials(sweep))


def test_a_text_of_a_visitor_stays_at_the_server_and_a_limit_of_the_cluster_is_named(
    make_service: Callable[[], JobService], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make_service()
    text = corpora.store_text("to be or not to be, that is the question. " * 40, "ada")
    job = service.submit(short_text("gru", corpus="own", text=text), "ada")
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "100000")
    refused = service.submit(short_config("rnn", epochs=2_000, batch_size=32), "ada")
    wait_until(lambda: job.view().done and refused.view().done)
    assert job.view().state == "finished" and job.record is not None
    assert (refused.view().state, "10,000" in refused.view().problem) == ("failed", True)


def test_without_the_package_or_a_place_for_runs_a_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidSetting, match="needs LINEAGE_RUNS"):
        ClusterScheduler(RememberedJobs(), "ray://cluster:10001")
    ClusterScheduler(RememberedJobs(), "ray://127.0.0.1:10001")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidSetting, match=r"needs the package ray\. Install it with pip install 'ray\[client\]'"):
        ClusterScheduler(RememberedJobs(), "ray")


def test_a_cluster_that_does_not_answer_takes_no_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise StoreError("The Ray cluster does not answer.")

    monkeypatch.setattr(connection, "connect", fail)
    service = JobService()
    job = service.submit(short_config(), "ada")
    monkeypatch.setattr(scheduler, "_UNREACHABLE_SECONDS", 0.0)
    with pytest.raises(StoreError, match="the Ray cluster does not answer"):
        service.submit(short_config("gru"), "ada")
    assert job.view().state == "waiting"
    service.close()


def test_how_a_cluster_is_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    calls: list[str] = []

    def connect(name: str, problem: Exception | None = None) -> list[str]:
        def init(address: str, **options: object) -> None:
            calls.append(address)
            if problem and address != "local":
                raise problem

        calls.clear()
        ray = SimpleNamespace(is_initialized=lambda: False, init=init, shutdown=lambda: None)
        monkeypatch.setattr(connection, "import_ray", lambda _: ray)
        connection.connect(name)
        return calls

    assert connect("ray") == ["auto"]
    assert connect("ray", ConnectionError("there is none")) == ["auto", "local"]
    assert connect("ray://cluster") == ["ray://cluster:10001"]
    assert connect("ray://cluster:5") == ["ray://cluster:5"]
    with pytest.raises(StoreError, match="does not answer"):  # it is tried again
        connect("ray://cluster", RuntimeError("Starting Ray client server failed. See the log."))
    with pytest.raises(InvalidSetting, match="Python minor versions differ"):
        connect("ray://cluster", RuntimeError("Python minor versions differ: 3.11 and 3.12"))
    monkeypatch.setenv("RAY_ADDRESS", "ray://there:1")
    assert connect("ray") == ["ray://there:1"]
    with pytest.raises(StoreError, match="does not answer"):
        connect("ray", ConnectionError("no answer"))


@pytest.mark.parametrize(
    ("machines", "device", "at_once", "expected"),
    [
        ([CPU], "cpu", 12, ({"num_cpus": 1.0}, "cpu")),
        ([{"CPU": 4.0}], "auto", 12, ({"num_cpus": 0.3333}, "cpu")),
        ([], "cpu", 12, ({"num_cpus": 1.0}, "cpu")),  # a cluster that starts machines when they are asked for
        ([CPU, GPUS], "cpu", 40, ({"num_cpus": 0.5}, "cpu")),
        ([CPU, GPUS], "auto", 4, ({"num_cpus": 1.0, "num_gpus": 0.5}, "cuda")),
        ([CPU, GPUS], "cuda:1", 5, ({"num_cpus": 0.8, "num_gpus": 0.3333}, "cuda")),  # no share spans two GPUs
        ([CPU], "cuda", 12, ({"num_cpus": 1.0, "num_gpus": 0.0833}, "cuda")),  # it waits for a machine with a GPU
    ],
)
def test_all_trainings_at_once_share_the_cores_and_gpus(
    machines: list[dict[str, float]], device: str, at_once: int, expected: tuple[dict[str, float], str]
) -> None:
    nodes = [{"Alive": each is not DEAD, "Resources": each} for each in (*machines, DEAD)]
    assert placement(nodes, device, at_once) == expected


def test_actors_have_the_settings_of_the_server_but_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_SECRET", "0123456789abcdef")
    monkeypatch.setenv("LINEAGE_MOST_STEPS", "7")
    given = connection.settings_for_actors()
    assert given["LINEAGE_MOST_STEPS"] == "7" and Path(given["LINEAGE_HOME"]).is_absolute()
    assert not {"LINEAGE_SECRET", "LINEAGE_EXECUTOR"} & given.keys()
    monkeypatch.setenv("LINEAGE_RUNS", "runs")
    assert Path(connection.settings_for_actors()["LINEAGE_RUNS"]).is_absolute()
    assert "LINEAGE_HOME" not in connection.settings_for_actors()
    with pytest.raises(RuntimeError, match=r"the server has 0\.9\.0\. Install version 0\.9\.0 on all machines"):
        connection.take_over({}, "0.9.0")
