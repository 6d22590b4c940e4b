"""Trainings in a Ray cluster that is started here; all tests share it.

What takes most of their time are the starts of workers. One follows each worker that is killed, so few tests kill one.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import Future
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from explorer.errors import InvalidSetting
from explorer.jobs import messages, ray_executor
from explorer.jobs.executor import ExecutorUnusable, MachineLost, WorkerLost
from explorer.jobs.order import Order, decode
from explorer.jobs.ray_executor import RayExecutor, capacity, placement, usable_resources
from explorer.jobs.service import JobService
from explorer.run_store import store
from explorer.training.events import Started, Step
from explorer.training.recorder import record_run
from explorer.training.slices import Slice
from tests import needs
from tests.export.alike import full_training, short_config
from tests.jobs.test_executor import events, order_to_resume, step_of, without_replaced
from tests.training.objectives.test_text import short as short_text

pytestmark = [
    needs.ray,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # Ray leaves files open
]
LONG = short_config(epochs=2_000)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayExecutor]:
    executor = RayExecutor()
    yield executor
    executor.close()
    for each in gc.get_objects():  # those of Ray, which has ended them and does not wait: a later test would be warned
        if issubclass(type(each), subprocess.Popen):
            each.wait(120)


@pytest.fixture(autouse=True)
def one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEAGE_JOBS_AT_ONCE", "1")  # and no second worker is kept ready


def process_of(executor: RayExecutor) -> psutil.Process:
    """Return the process of the worker that trains."""
    (worker,) = executor._busy
    return psutil.Process(decode(worker.hello.result())[0]["pid"])


def wait_for_end(process: psutil.Process) -> None:
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidSetting, match=r"needs the package ray\. Install it with pip install 'ray\[client\]'"):
        RayExecutor("ray://cluster:10001")


@pytest.mark.parametrize(
    ("resources", "at_once", "device", "taken", "room"),
    [
        ({"CPU": 64.0}, 12, "cpu", {"num_cpus": 1.0}, 12),
        ({"CPU": 4.0}, 12, "cpu", {"num_cpus": 0.3333}, 12),
        ({"CPU": 2.0}, 2, "cpu", {"num_cpus": 1.0}, 2),
        ({}, 12, "cpu", {"num_cpus": 1.0}, 0),  # a cluster that starts machines when they are asked for
        ({"CPU": 64.0, "GPU": 1.0}, 12, "cuda", {"num_cpus": 1.0, "num_gpus": 0.0833}, 12),
        ({"CPU": 64.0, "GPU": 2.0}, 5, "cuda", {"num_cpus": 1.0, "num_gpus": 0.3333}, 5),  # no share spans two GPUs
        ({"CPU": 64.0, "GPU": 8.0}, 4, "cuda", {"num_cpus": 1.0, "num_gpus": 1.0}, 4),
        ({"CPU": 64.0, "GPU": 0.0}, 12, "cuda", {"num_cpus": 1.0, "num_gpus": 0.0833}, 0),
    ],
)
def test_all_trainings_at_once_share_the_cores_and_gpus(
    resources: Mapping[str, float], at_once: int, device: str, taken: Mapping[str, float], room: int
) -> None:
    assert placement(resources, at_once, device) == taken
    assert capacity(resources, at_once, device) == room


def test_trainings_are_placed_on_machines_with_the_device() -> None:
    nodes = [
        {"Alive": True, "Resources": {"CPU": 16.0, "memory": 8e9}},
        {"Alive": True, "Resources": {"CPU": 4.0, "GPU": 2.0}},
        {"Alive": False, "Resources": {"CPU": 4.0, "GPU": 2.0}},
    ]
    for device in ("cpu", "mps"):
        assert usable_resources(nodes, device) == ({"CPU": 20.0, "GPU": 2.0, "memory": 8e9}, device)
    for device in ("cuda", "cuda:1", "auto"):
        assert usable_resources(nodes, device) == ({"CPU": 4.0, "GPU": 2.0}, "cuda")
    assert usable_resources(nodes[:1], "auto") == ({"CPU": 16.0, "memory": 8e9}, "cpu")
    assert usable_resources(nodes[:1], "cuda") == ({}, "cuda"), "they wait for a machine with a GPU"


def test_a_worker_with_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ray_executor._check_hello(messages.encode_hello(1, "machine")) == "machine"
    monkeypatch.setattr(messages, "VERSION", "0.9.0")
    with pytest.raises(ExecutorUnusable, match=r"has version 0\.9\.0 of this program, this server has"):
        ray_executor._check_hello(messages.encode_hello(1))


def test_a_cluster_that_is_not_reached_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    executor, tries = RayExecutor(), []

    def fail(_: RayExecutor) -> None:
        tries.append(1)
        raise ConnectionError("no answer")

    monkeypatch.setattr(RayExecutor, "_connect", fail)
    monkeypatch.setattr(ray_executor, "_RETRY_SECONDS", 0.05)
    monkeypatch.setattr(ray_executor, "_IDLE_SECONDS", 0.01)
    service = JobService(executor)
    job = service.submit(short_config(), "ada")
    while len(tries) < 3 or not job.view().problem:
        time.sleep(0.01)
    assert (job.view().state, job.view().problem) == ("waiting", "It waits for a connection to the Ray cluster.")
    service.close()


def test_a_waiting_future_yields_until_it_has_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_executor, "_PATIENCE_SECONDS", 0.0)
    future: Future[int] = Future()
    yielded: list[str] = []

    async def collect() -> None:
        async for overdue in ray_executor._while_pending(future, "a GPU"):
            yielded.append(overdue)
            if len(yielded) == 2:
                future.set_result(3)

    asyncio.run(collect())
    assert yielded == ["a GPU", ""], "what it waits for is yielded and logged once"


def test_the_loss_of_a_machine_is_told_from_that_of_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray import exceptions

    monkeypatch.setattr(ray_executor, "_LOSS_SECONDS", 0.05)
    monkeypatch.setattr(ray_executor, "_IDLE_SECONDS", 0.01)
    ended, unreachable = exceptions.ActorDiedError(), exceptions.GetTimeoutError("no sign of life")
    worker = SimpleNamespace(node="machine", actor=SimpleNamespace(hello=SimpleNamespace(remote=lambda: None)))
    calls: list[str] = []

    def describe(error: Exception, answers: bool, machines: Mapping[str, bool] | Exception) -> type[WorkerLost]:
        """Return what a worker counts as that fails with this error, and then answers or not."""

        def get(*_: object, **__: object) -> None:
            if not answers:
                raise unreachable

        def nodes() -> list[dict[str, object]]:
            if isinstance(machines, Exception):
                raise machines
            return [{"NodeID": name, "Alive": alive} for name, alive in machines.items()]

        executor = RayExecutor()
        executor._connected = True
        executor._ray = SimpleNamespace(  # type: ignore[assignment]
            exceptions=exceptions, get=get, nodes=nodes, shutdown=lambda: calls.append("left")
        )
        return type(executor._describe_loss(worker, error))  # type: ignore[arg-type]

    assert describe(ended, False, {"machine": True}) is WorkerLost
    assert describe(ended, False, {"machine": False}) is MachineLost
    assert describe(ended, False, {"another": True}) is MachineLost
    assert describe(unreachable, False, {"machine": True}) is MachineLost
    assert describe(unreachable, True, {"machine": True}) is MachineLost
    assert calls == []
    assert describe(unreachable, False, ConnectionError()) is MachineLost
    assert calls == ["left"]


def test_an_executor_connects_once_to_a_cluster_or_starts_one_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    calls: list[tuple[str, object]] = []

    def connect(address: str, problem: str = "") -> None:
        def init(at: str, **options: object) -> None:
            if problem:
                raise RuntimeError(problem)
            calls.append((at, options.get("include_dashboard")))

        executor = RayExecutor(address)
        executor._ray = SimpleNamespace(is_initialized=lambda: False, init=init)  # type: ignore[assignment]
        executor._connect()
        executor._connect()

    for address, variable, expected in (
        ("ray", "", ("local", False)),
        ("ray", "ray://there:1", ("ray://there:1", None)),
        ("ray://cluster", "", ("ray://cluster:10001", None)),
        ("ray://cluster:5", "", ("ray://cluster:5", None)),
    ):
        monkeypatch.setenv("RAY_ADDRESS", variable)
        connect(address)
        assert calls.pop() == expected and not calls
    with pytest.raises(ConnectionError, match="Starting Ray client server failed"):  # it is tried again
        connect("ray://cluster", "Starting Ray client server failed. See ray_client_server.err for detailed logs.")
    with pytest.raises(ExecutorUnusable, match="Python minor versions differ"):
        connect("ray://cluster", "Python minor versions differ between client and server: 3.11 and 3.12")


def test_a_worker_sends_the_same_events(cluster: RayExecutor, tmp_path: Path) -> None:
    config = short_config("lstm", replicas=2, threads=2)
    assert without_replaced(events(Order(config), cluster)) == without_replaced(full_training(config))
    (first,) = {decode(worker.hello.result())[0]["pid"] for worker in cluster._spares if worker.node}
    again = events(order_to_resume(config, tmp_path, 10), cluster)
    assert without_replaced(again) == without_replaced(event for event in full_training(config) if step_of(event) > 10)
    assert psutil.Process(first).is_running(), "a worker takes one order after the other"


class Killing(RayExecutor):
    """Kills the worker of its first order after step 13."""

    def __init__(self, cluster: RayExecutor) -> None:
        self.cluster, self.starts, self.losses = cluster, list[int](), list[type[WorkerLost]]()

    async def slices(self, order: Order) -> AsyncIterator[Slice]:
        self.starts.append(order.step)
        try:
            async with aclosing(self.cluster.slices(order)) as slices:  # type: ignore[type-var]
                async for part in slices:
                    yield part
                    if len(self.starts) == 1 and any(isinstance(e, Step) and e.step >= 13 for e, _ in part.events):
                        process_of(self.cluster).kill()
        except WorkerLost as error:
            self.losses.append(type(error))
            raise

    def start(self) -> None: ...

    def close(self) -> None: ...


def test_a_training_whose_worker_is_killed_goes_on_to_the_same_curve(cluster: RayExecutor) -> None:
    config = short_config("rnn", epochs=400, snapshots=3)
    executor = Killing(cluster)
    service = JobService(executor)
    job = service.submit(config, "ada")
    while not job.view().done:
        time.sleep(0.01)
    service.close()
    assert (job.view().state, job.view().problem) == ("finished", "")
    first, again = executor.starts
    assert first == 0 < again
    assert executor.losses == [WorkerLost], "an ended worker is not a lost machine: it counts against the order"
    stored, undisturbed = store.find(job.key), record_run(config)
    assert np.array_equal(stored.curves.losses, undisturbed.curves.losses)
    assert all(np.array_equal(value, undisturbed.weights()[name]) for name, value in stored.weights().items())


def test_the_text_of_a_visitor_travels_with_the_order_and_ends_with_the_worker(cluster: RayExecutor) -> None:
    text = "to be or not to be, that is the question. " * 40
    config = short_text("gru", corpus="own", iterations=50_000, text=hashlib.sha256(text.encode()).hexdigest())

    async def begin() -> tuple[Started, psutil.Process]:
        async with aclosing(cluster.slices(Order(config, text=text))) as slices:  # type: ignore[type-var]
            async for part in slices:
                for event, _ in part.events:
                    if isinstance(event, Started):
                        return event, process_of(cluster)
        raise AssertionError("no event arrived")

    started, process = asyncio.run(begin())  # and close the iterator
    assert "q" in started.tokenizer
    wait_for_end(process)
    servers = [child for child in psutil.Process().children(recursive=True) if child.name() in ("raylet", "gcs_server")]
    assert servers
    cluster.close()
    for process in servers:
        wait_for_end(process)
