"""A sweep over several servers whose workers and servers are killed with -9, compared with undisturbed trainings."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import select

from benchmarks.load.cluster import Cluster
from benchmarks.load.crash_recovery import find_differences
from explorer.database import servers
from explorer.database.engine import close_database, run_transaction
from explorer.errors import LineageError
from explorer.jobs.job_rows import ACTIVE, JobRow
from explorer.run_store import store
from explorer.sweeps import stored
from explorer.sweeps.driver import carry_out
from explorer.sweeps.space import Sweep, make_sweep, trials
from explorer.training.config import default_config, with_settings

MOST_RUNS = 200
WORKER_SECONDS = 20.0  # between two kills of a worker
SERVER_KILLS = (30.0, 90.0)  # seconds after the start of the sweep
RESTART_SECONDS = 15.0  # from the kill of a server to its start
MOST_SECONDS = 480.0  # for the sweep; whatever is not finished then counts as not finished
_LOOK_SECONDS = 0.2  # between two readings of the table of jobs


def make_runs(count: int, epochs: int) -> Sweep:
    """Return a sweep of `count` runs (a multiple of 10), each trained to its end, with three seeds each."""
    rates = [round(1e-3 * 1.25**i, 6) for i in range(10)]
    widths = range(4, 4 + count // 10)
    base = with_settings(default_config("negation", "rnn"), {"epochs": epochs})
    space = {"learning_rate": rates, "hidden": list(widths)}
    assert len(list(product(*space.values()))) == count, "give a multiple of 10"
    return make_sweep(base, space, seeds=3, halving=False, finalists=0)


@contextlib.contextmanager
def settings(**values: str) -> Iterator[None]:
    """Set environment variables of this process for the duration of the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        close_database()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def train_undisturbed(sweep: Sweep, home: Path, at_once: int) -> float:
    """Train the runs of a sweep in worker processes of a home of their own, and return the seconds that this took."""
    with settings(LINEAGE_HOME=str(home), LINEAGE_JOBS_AT_ONCE=str(at_once)):
        begun = time.monotonic()
        carry_out(sweep, "processes")
        return time.monotonic() - begun


@dataclass
class Outcome:
    """What became of a sweep, and what was done to it."""

    seconds: float = 0.0
    count: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)  # seconds until each job of a killed server was taken over
    problems: list[str] = field(default_factory=list)


class _Killer:
    """Kills workers and servers at their times while a sweep runs, and watches who takes their jobs over."""

    def __init__(self, cluster: Cluster, outcome: Outcome, chance: random.Random) -> None:
        self._cluster, self._outcome, self._chance = cluster, outcome, chance
        self._begun = time.monotonic()
        self._worker_at = self._begun + WORKER_SECONDS
        self._server_at = [self._begun + seconds for seconds in SERVER_KILLS]
        self._restarting: list[Future[None]] = []
        self._killed: set[int] = set()
        self._orphans: dict[str, tuple[str, float]] = {}  # by run: the server that was killed, and when
        self._pool = ThreadPoolExecutor(len(SERVER_KILLS))

    def act(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        jobs = run_transaction(lambda session: session.execute(select(JobRow.key, JobRow.server, JobRow.state)).all())
        self._note_takeovers(jobs, now)
        if now > self._worker_at and kill_worker(self._chance):
            self._outcome.count["workers killed"] += 1
            self._worker_at = now + WORKER_SECONDS
        if self._server_at and now > self._server_at[0]:
            self._kill_server(jobs)

    def _note_takeovers(self, jobs: Any, now: float) -> None:
        for run, server, state in jobs:
            if run in self._orphans and (state not in ACTIVE or server not in (None, self._orphans[run][0])):
                self._outcome.waits.append(now - self._orphans.pop(run)[1])

    def _kill_server(self, jobs: Any) -> None:
        """Kill a server that trains, another one than before, and start it again after a while."""
        numbers = {f":{server.port}": number for number, server in enumerate(self._cluster.servers)}
        ids = {number: each.id for each in servers.living() for name, number in numbers.items() if name in each.name}
        busy = {number for number, id in ids.items() if any(server == id for _, server, _ in jobs)} - self._killed
        if not busy:
            return
        number = self._chance.choice(sorted(busy))
        self._server_at.pop(0)
        self._killed.add(number)
        self._cluster.kill(number)
        self._outcome.count["servers killed"] += 1
        self._orphans |= {
            run: (server, time.monotonic()) for run, server, state in jobs if server == ids[number] and state in ACTIVE
        }
        self._restarting.append(self._pool.submit(self._restart, number))

    def _restart(self, number: int) -> None:
        time.sleep(RESTART_SECONDS)
        self._cluster.restart(number)

    def end(self) -> None:
        """Wait for the servers that are being started, and count the jobs that nobody has taken over."""
        for each in self._restarting:
            each.result()
        self._pool.shutdown()
        self._outcome.problems += [f"never taken over: {run}" for run in self._orphans]


def kill_worker(chance: random.Random) -> bool:
    """Kill a random process that trains; return whether there was one. Processes that fork workers are spared."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            command, its_parent = (" ".join(each.cmdline()) for each in (process, psutil.Process(process.ppid())))
            is_forked = all("explorer.jobs.worker" in each for each in (command, its_parent))
            if is_forked or command.startswith("ray::RayWorker"):
                found.append(process)
    if not found:
        return False
    with contextlib.suppress(psutil.NoSuchProcess):
        chance.choice(found).send_signal(signal.SIGKILL)
    return True


def run_disturbed(cluster: Cluster, sweep: Sweep, undisturbed: Path, seed: int = 0) -> Outcome:
    """Let the servers carry out a sweep while they are killed, and compare its runs with those of another home."""
    outcome = Outcome()
    home = cluster.folder / "reader"
    shared = {"LINEAGE_DATABASE_URL": cluster.database_url, "LINEAGE_RUNS": str(cluster.runs)}
    with settings(LINEAGE_HOME=str(home), **shared):
        begun = time.monotonic()
        stored.start(sweep, "")
        killer = _Killer(cluster, outcome, random.Random(seed))
        while (state := stored.find(sweep.key).state) == "running" and time.monotonic() < begun + MOST_SECONDS:
            with contextlib.suppress(LineageError):  # a killed server may have held a lock
                killer.act()
            time.sleep(_LOOK_SECONDS)
        outcome.seconds = time.monotonic() - begun
        killer.end()
        if state != "finished":
            outcome.problems.append(f"the sweep is {state}: {stored.find(sweep.key).problem}")
        rows = run_transaction(lambda session: session.scalars(select(JobRow)).all())
        outcome.count["further claims"] = sum(row.claims - 1 for row in rows)
        for row in rows:
            if row.state != "finished":
                outcome.problems.append(f"{row.key} is {row.state} at step {row.step}: {row.problem}")
        for trial in trials(sweep):
            with contextlib.suppress(LineageError):
                run = store.find(trial.key)
                outcome.count["finished"] += run.card.finished
                differences = find_differences(run, store.load(undisturbed / "runs" / trial.key))
                outcome.count["equal"] += not differences
                outcome.problems += [f"{trial.key} {each}" for each in differences]
    return outcome


def print_sweep(outcome: Outcome, sweep: Sweep, undisturbed_seconds: float) -> None:
    """Print what became of a sweep."""
    count = outcome.count
    print(f"a sweep of {len(trials(sweep))} runs of {sweep.base.steps:,} steps over several servers")
    for name, value in (
        ("runs finished", count["finished"]),
        ("runs equal to undisturbed ones, bit for bit", count["equal"]),
        ("workers killed", count["workers killed"]),
        ("servers killed", count["servers killed"]),
        ("jobs that killed servers trained", len(outcome.waits)),
        ("longest wait until one of them was taken over", f"{max(outcome.waits, default=0.0):.1f} s"),
        ("claims of jobs that had been claimed before", count["further claims"]),
        ("seconds with kills", f"{outcome.seconds:.0f}"),
        ("seconds without, in worker processes of one server", f"{undisturbed_seconds:.0f}"),
    ):
        print(f"  {name:52}{value:>8}")
    for problem in outcome.problems[:10]:
        print(f"  {problem}")
    if len(outcome.problems) > 10:
        print(f"  and {len(outcome.problems) - 10} more problems")


@contextlib.contextmanager
def ray_cluster(cores: int) -> Iterator[str]:
    """Yield the address of a Ray head with two nodes for workers, which have so many cores together."""
    from ray.cluster_utils import Cluster as RayCluster

    from tests.serving import ROOT, free_port

    port = free_port()
    with settings(PYTHONPATH=str(ROOT), RAY_USAGE_STATS_ENABLED="0"):
        small = {"object_store_memory": 100_000_000, "include_dashboard": False}
        ray = RayCluster(initialize_head=True, head_node_args={"num_cpus": 0, "ray_client_server_port": port, **small})
        try:
            for _ in range(2):
                ray.add_node(num_cpus=cores // 2, object_store_memory=100_000_000)
            yield f"ray://127.0.0.1:{port}"
        finally:
            ray.shutdown()
