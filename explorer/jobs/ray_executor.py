"""Trainings in a Ray cluster: `LINEAGE_EXECUTOR=ray://HOST:PORT`, or `ray` for one that is started here.

Workers are actors (`ray_worker.py`). One or two have imported everything and wait for an order; when the last one is
taken, another is started. The server requests the next message of a worker, and always one more than it has received,
so that the worker trains while a message travels. All of this is possible with Ray Client (`ray://`) as well.

A worker whose training was stopped, failed, or read a visitor's own text is killed, in the middle of a step if need be.
After any other training it takes the next order.

Ray is called on threads of this executor only, because its calls wait while a connection is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import ModuleType
from typing import Any

from explorer.environment import environment
from explorer.errors import InvalidSetting
from explorer.jobs import messages
from explorer.jobs.executor import ExecutorUnusable, MachineLost, WorkerLost
from explorer.jobs.order import Order, decode, encode_order
from explorer.jobs.ray_worker import RayWorker
from explorer.program_files import PACKAGE, VERSION
from explorer.training.slices import Slice

log = logging.getLogger(__name__)
_FEWEST_SPARES, _MOST_SPARES = 1, 2  # workers that wait for an order, each with about 260 MB
_IDLE_SECONDS = 0.1  # seconds without a message after which an empty slice is yielded
_REQUESTS = 2  # messages that are requested at once
_ATTEMPTS = 5  # to give an order to a worker; those that waited may have ended with their machine
_RETRY_SECONDS = 5.0  # between two attempts to reach the cluster
_LOSS_SECONDS = 3.0  # without a connection to a worker before its machine counts as lost
_PATIENCE_SECONDS = 30.0  # without a free worker before that is logged
_THREADS = 8  # that call Ray
_CLIENT_PORT = 10001  # Ray's own default
_BUSY_MESSAGE = "Starting Ray client server failed"  # of the cluster's head if it takes longer than Ray waits
_OBJECT_STORE_BYTES = 200_000_000  # of a cluster that is started here; messages of more than 100 kB pass through it


class _Worker:
    """An actor.

    awaited: what it waits for until it starts
    hello: its first message, which arrives when everything is imported
    """

    def __init__(self, actor: Any, awaited: str) -> None:
        self.actor, self.awaited = actor, awaited
        self.hello = _call(actor.hello)
        self.node = ""  # the id of its machine

    @property
    def has_failed(self) -> bool:
        return self.hello.done() and self.hello.exception() is not None


class RayExecutor:
    """Carries out each order in an actor of a Ray cluster.

    address: `ray` for the cluster that RAY_ADDRESS names, and without this variable for one that is started here; or
        `ray://HOST[:PORT]`
    """

    def __init__(self, address: str = "ray") -> None:
        try:
            import ray
        except ImportError:
            raise InvalidSetting(
                f"LINEAGE_EXECUTOR = {address} needs the package ray. Install it with pip install 'ray[client]', in "
                "the version of the cluster, or choose another executor: here, processes."
            ) from None
        self._ray: ModuleType = ray
        self._address = address
        self._lock = threading.RLock()  # held while the fields below change
        self._threads: ThreadPoolExecutor | None = None
        self._connected = False
        self._shares_connection = False  # whether this process had connected to a cluster before
        self._spares: list[_Worker] = []
        self._busy: set[_Worker] = set()

    # ---- called by the job service ----

    def start(self) -> None:
        """Connect to the cluster and start the first workers, in the background."""
        self._run(self._start_spares, _MOST_SPARES)

    def close(self) -> None:
        """End all workers and leave the cluster. A cluster that was started here ends."""
        with self._lock:
            threads, self._threads = self._threads, None
            self._disconnect()
        if threads:
            threads.shutdown(cancel_futures=True)

    async def slices(self, order: Order) -> AsyncIterator[Slice]:
        failures = 0
        problem: Exception | None = None
        while failures < _ATTEMPTS:
            hired = self._run(self._hire)
            worker: _Worker | None = None
            began, reusable, seconds = False, True, 0.0
            try:
                async for _ in _while_pending(hired):
                    yield Slice((), seconds)  # whoever waits may close this iterator now
                worker = hired.result()
                async for awaited in _while_pending(worker.hello, worker.awaited):
                    yield Slice((), seconds, awaited)
                worker.node = _check_hello(worker.hello.result())
                content = await asyncio.to_thread(encode_order, order)
                reusable = False
                requests: deque[Future[Any]] = deque()
                async for _ in self._request(requests, worker.actor.begin, content):
                    yield Slice((), seconds)
                async for _ in _while_pending(requests[0]):
                    yield Slice((), seconds)
                requests.popleft().result()
                began = True
                self._run(self._start_spares, _FEWEST_SPARES)
                part: Slice | None = Slice((), seconds)
                while part is not None:
                    seconds = part.seconds
                    while len(requests) < _REQUESTS:
                        async for _ in self._request(requests, worker.actor.next_message):
                            yield Slice((), seconds)
                    yield part
                    async for _ in _while_pending(requests[0]):
                        yield Slice((), seconds)
                    part = messages.to_slice(*decode(requests.popleft().result()))
                reusable = not order.text
                return
            except (self._ray.exceptions.RayError, ConnectionError) as error:
                reusable = False
                if worker and began:
                    raise await asyncio.to_thread(self._describe_loss, worker, error) from error
                problem = error
                failures += worker is not None  # without a connection to the cluster, the order waits for one
                log.warning("no worker of the Ray cluster has begun the training: %s", _last_line(error))
            finally:
                hired.add_done_callback(partial(self._release_soon, reusable))
            tries_again_at = time.monotonic() + _RETRY_SECONDS
            while worker is None and time.monotonic() < tries_again_at:
                await asyncio.sleep(_IDLE_SECONDS)
                yield Slice((), seconds, "a connection to the Ray cluster")
        raise ExecutorUnusable(
            f"No worker could be started in the Ray cluster: {_last_line(problem)}. Version {VERSION} of this "
            "program must be installed on all of its machines."
        )

    # ---- on threads of this executor ----

    def _run(self, work: Any, *arguments: Any) -> Future[Any]:
        """Run a function on a thread of this executor."""
        with self._lock:
            self._threads = self._threads or ThreadPoolExecutor(_THREADS, "ray")
            return self._threads.submit(work, *arguments)

    async def _request(self, requests: deque[Future[Any]], method: Any, *arguments: object) -> AsyncIterator[None]:
        """Call a method of an actor, and append the future of its result. Yields while the call is not yet sent.

        Calls of one actor are carried out in the order in which they are sent, so this ends when it is sent.
        """
        sent = self._run(_call, method, *arguments)
        async for _ in _while_pending(sent):
            yield
        requests.append(sent.result())

    def _hire(self) -> _Worker:
        """Return a worker, which may still be starting. Raises ConnectionError, or ExecutorUnusable."""
        with self._lock:
            self._connect()
            self._spares = [worker for worker in self._spares if not worker.has_failed]
            warm = [worker for worker in self._spares if worker.hello.done()]
            worker = (warm or self._spares or [self._new_worker()])[0]
            if worker in self._spares:
                self._spares.remove(worker)
            self._busy.add(worker)
            return worker

    def _release_soon(self, reusable: bool, hired: Future[_Worker]) -> None:
        if hired.exception() is None and self._threads:
            self._run(self._release, hired.result(), reusable)

    def _release(self, worker: _Worker, reusable: bool) -> None:
        """Keep a worker for the next order, or kill it."""
        with self._lock:
            if worker not in self._busy:  # the connection is lost
                return
            self._busy.remove(worker)
            if reusable and len(self._spares) < _MOST_SPARES:
                self._spares.append(worker)
                return
        self._kill(worker)
        self._start_spares(_FEWEST_SPARES)

    def _kill(self, worker: _Worker) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError, ConnectionError, ValueError):
            self._ray.kill(worker.actor)

    def _start_spares(self, count: int) -> None:
        """Start workers until so many wait for an order, as far as the cluster has room for them."""
        with self._lock:
            try:
                self._connect()
                resources, device = usable_resources(self._ray.nodes(), environment().device)
                room = capacity(resources, environment().jobs_at_once, device) - len(self._busy)
                self._spares = [worker for worker in self._spares if not worker.has_failed]
                while len(self._spares) < min(count, room):
                    self._spares.append(self._new_worker())
            except (self._ray.exceptions.RayError, ConnectionError, ExecutorUnusable) as error:
                log.warning("the Ray cluster is not ready: %s", _last_line(error))

    def _new_worker(self) -> _Worker:
        """Start an actor. The caller holds the lock."""
        resources, device = usable_resources(self._ray.nodes(), environment().device)
        # Threads that wait leave the core to the other workers.
        variables = {"OMP_WAIT_POLICY": "PASSIVE", "LINEAGE_DEVICE": device}
        if self._is_local:
            variables["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
        options = placement(resources, environment().jobs_at_once, device)
        awaited = "a free worker of the Ray cluster"
        if device == "cuda" and not resources:
            awaited = f"a GPU: the Ray cluster has none, and LINEAGE_DEVICE = {environment().device} needs one"
        actor_class = self._ray.remote(RayWorker).options(
            max_restarts=0, runtime_env={"env_vars": variables}, **options
        )
        return _Worker(actor_class.remote(environment().memory_of_one_job), awaited)

    @property
    def _is_local(self) -> bool:
        return self._address == "ray" and not os.environ.get("RAY_ADDRESS")

    def _connect(self) -> None:
        """Connect to the cluster, or start one. Raises ConnectionError, or ExecutorUnusable."""
        if self._connected:
            return
        self._shares_connection = self._ray.is_initialized()
        if not self._shares_connection:
            options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
            address = os.environ.get("RAY_ADDRESS", "") if self._address == "ray" else self._address
            if self._is_local:
                os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to Ray's makers
                options |= {"include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES}
            elif address.startswith("ray://") and ":" not in address.removeprefix("ray://"):
                address = f"{address}:{_CLIENT_PORT}"
            try:
                self._ray.init(address or "local", **options)
            except (RuntimeError, ValueError) as error:
                if _BUSY_MESSAGE in str(error):
                    raise ConnectionError(f"The Ray cluster {address} is busy: {error}") from error
                # another version of Python or Ray, or a wrong token
                raise ExecutorUnusable(f"The Ray cluster {address} cannot be used: {error}") from error
            except ConnectionError:
                raise
            except Exception as error:  # Ray raises no other type if its processes do not start in time
                self._ray.shutdown()
                raise ConnectionError(f"Ray could not be started: {error}") from error
        self._connected = True

    def _disconnect(self) -> None:
        """Forget all workers and leave the cluster. The caller holds the lock."""
        if self._connected and self._shares_connection:
            for worker in (*self._spares, *self._busy):
                self._kill(worker)
        elif self._connected:
            self._ray.shutdown()
        self._spares, self._busy, self._connected = [], set(), False

    def _describe_loss(self, worker: _Worker, error: Exception) -> WorkerLost:
        """Return whether a worker was lost, or its machine, or the connection to the cluster.

        The end of a worker is reported by its machine at once. That of a machine is known only after some missed
        signs of life, so a worker that cannot be reached for a while counts as one whose machine is lost.
        """
        exceptions = self._ray.exceptions
        unreachable: tuple[type[Exception], ...] = (exceptions.ActorUnavailableError, exceptions.GetTimeoutError)
        waits_until = time.monotonic() + _LOSS_SECONDS
        try:
            while isinstance(error, unreachable) and time.monotonic() < waits_until:
                time.sleep(_IDLE_SECONDS)
                try:
                    self._ray.get(worker.actor.hello.remote(), timeout=_IDLE_SECONDS)
                    break  # the connection to the worker was lost for a moment, and with it a message
                except exceptions.RayError as later:
                    error = later
            machines = {node["NodeID"]: node["Alive"] for node in self._ray.nodes()}
        except (ConnectionError, RuntimeError, exceptions.RaySystemError):
            with self._lock:
                self._disconnect()
            return MachineLost("the connection to the Ray cluster is lost")
        if isinstance(error, unreachable) or not machines.get(worker.node):
            return MachineLost(f"machine {worker.node[:8]} of the Ray cluster is lost")
        return WorkerLost(f"a worker of the Ray cluster has ended: {_last_line(error)}")


def usable_resources(nodes: Iterable[Mapping[str, Any]], device: str) -> tuple[dict[str, float], str]:
    """Return the resources of all machines on which trainings may run, and the device on which they compute there.

    nodes: the machines of the cluster, as Ray describes them
    device: LINEAGE_DEVICE of the server. Of its GPUs a worker sees only its own, so the number of `cuda:N` has no
        meaning; with `auto`, trainings compute on GPUs if the cluster has any.
    """
    machines = [node["Resources"] for node in nodes if node["Alive"]]
    with_gpus = [each for each in machines if each.get("GPU")]
    if device.startswith("cuda") or (device == "auto" and with_gpus):
        machines, device = with_gpus, "cuda"
    elif device == "auto":
        device = "cpu"
    names = {name for each in machines for name in each}
    return {name: sum(each.get(name, 0.0) for each in machines) for name in names}, device


def placement(resources: Mapping[str, float], at_once: int, device: str = "cpu") -> dict[str, float]:
    """Return what one worker takes of the cluster: all trainings at once share its cores, at most one core each.

    resources, device: what `usable_resources` returned; with `cuda`, all trainings at once also share the GPUs
    at_once: trainings at once
    """
    taken = {"num_cpus": _share(resources.get("CPU", 0.0), at_once)}
    if device == "cuda":  # no share spans two GPUs, so the trainings on one GPU are counted
        on_one = math.ceil(at_once / max(resources.get("GPU", 0.0), 1.0))
        taken["num_gpus"] = math.floor(10_000 / on_one) / 10_000
    return taken


def capacity(resources: Mapping[str, float], at_once: int, device: str = "cpu") -> int:
    """Return for how many workers the cluster has room, at most `at_once`."""
    taken = placement(resources, at_once, device)
    room = (int(resources.get(name.removeprefix("num_").upper()[:-1], 0.0) / share) for name, share in taken.items())
    return min(at_once, *room)


def _share(available: float, at_once: int) -> float:
    """Return the share of one of `at_once` trainings, rounded down to Ray's ten-thousandths; one if there is none."""
    return min(1.0, math.floor(available / at_once * 10_000) / 10_000) or 1.0


def _call(method: Any, *arguments: object) -> Future[Any]:
    """Call a method of an actor, and return the future of its result."""
    result: Future[Any] = method.remote(*arguments).future()
    return result


async def _while_pending(future: Future[Any], awaited: str = "") -> AsyncIterator[str]:
    """Yield as long as a future has no result, every tenth of a second; once, when that has taken long, `awaited`."""
    loop, arrived, since = asyncio.get_running_loop(), asyncio.Event(), time.monotonic()

    def notify(_: Future[Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(arrived.set)

    future.add_done_callback(notify)
    while not future.done():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(arrived.wait(), _IDLE_SECONDS)
        if not future.done():
            overdue = awaited if time.monotonic() - since > _PATIENCE_SECONDS else ""
            if overdue:
                log.warning("a training waits for %s", overdue)
                awaited = ""
            yield overdue


def _check_hello(content: bytes) -> str:
    """Return the id of the worker's machine. Raises ExecutorUnusable if it has another version of this program."""
    header, _ = decode(content)
    if header["version"] != VERSION:
        raise ExecutorUnusable(
            f"The Ray cluster has version {header['version']} of this program, this server has {VERSION}. Install "
            f"version {VERSION} on all machines of the cluster."
        )
    return str(header["node"])


def _last_line(error: Exception | None) -> str:
    """Return the first sentence of the last line, which names the cause."""
    return str(error).strip().rpartition("\n")[2].partition(". ")[0] or type(error).__name__
