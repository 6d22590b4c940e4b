"""Trainings in a Ray cluster of a head and two nodes whose workers, nodes and servers are killed with -9.

Each run is compared with one that was trained undisturbed, bit for bit.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.load.cluster import Cluster
from benchmarks.load.crash_recovery import find_differences
from explorer.database.engine import close_database
from explorer.errors import LineageError
from explorer.run_store import store
from explorer.sweeps import stored
from explorer.sweeps.driver import carry_out
from explorer.sweeps.space import Sweep, make_sweep, trials
from explorer.training.config import default_config, with_settings

KILLS = ["worker", "worker", "node", "worker", "server", "worker"] * 2
KILL_SECONDS = 10.0  # between two kills
MOST_SECONDS = 900.0  # for all trainings


def make_runs(count: int, epochs: int) -> Sweep:
    """Return a sweep of `count` runs (a multiple of 10), each trained to its end, with three seeds each."""
    rates = [round(1e-3 * 1.25**i, 6) for i in range(10)]
    base = with_settings(default_config("negation", "rnn"), {"epochs": epochs})
    space = {"learning_rate": rates, "hidden": list(range(4, 4 + count // 10))}
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
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def train_undisturbed(sweep: Sweep, home: Path, at_once: int) -> float:
    """Train the runs of a sweep in worker processes of a home of their own, and return the seconds that this took."""
    with settings(LINEAGE_HOME=str(home), LINEAGE_JOBS_AT_ONCE=str(at_once)):
        begun = time.monotonic()
        carry_out(sweep, "processes")
        return time.monotonic() - begun


class RayNodes:
    """A Ray head, on which nothing trains, and two nodes on this machine; `address` is that for Ray's client."""

    def __init__(self, cores: int) -> None:
        from ray.cluster_utils import Cluster as RayCluster

        from tests.serving import free_port

        port = free_port()
        self._node = {"num_cpus": cores // 2, "object_store_memory": 100_000_000}
        head = {"num_cpus": 0, "ray_client_server_port": port, "include_dashboard": False}
        self._ray = RayCluster(initialize_head=True, head_node_args=self._node | head)
        self._nodes = [self._ray.add_node(**self._node) for _ in range(2)]
        self.address = f"ray://127.0.0.1:{port}"

    def kill_node(self, number: int) -> None:
        """Kill a node with all that trains there, and start another one."""
        self._ray.remove_node(self._nodes[number], allow_graceful=False)
        self._nodes[number] = self._ray.add_node(**self._node)

    def close(self) -> None:
        self._ray.shutdown()


@contextlib.contextmanager
def ray_nodes(cores: int) -> Iterator[RayNodes]:
    """Yield a Ray cluster whose nodes have so many cores together."""
    from tests.serving import ROOT

    with settings(PYTHONPATH=str(ROOT), RAY_USAGE_STATS_ENABLED="0"):
        nodes = RayNodes(cores)
        try:
            yield nodes
        finally:
            nodes.close()


@dataclass
class Outcome:
    """What became of the trainings, and what was done to them."""

    seconds: float = 0.0
    count: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def kill_worker(chance: random.Random) -> bool:
    """Kill a random process that trains; return whether there was one."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::Training"):
                found.append(process)
    if found:
        with contextlib.suppress(psutil.NoSuchProcess):
            chance.choice(found).send_signal(signal.SIGKILL)
    return bool(found)


def run_disturbed(cluster: Cluster, nodes: RayNodes, sweep: Sweep, undisturbed: Path, seed: int = 0) -> Outcome:
    """Let the cluster carry out a sweep while parts of it are killed; compare its runs with those of another home."""
    outcome, chance, kills = Outcome(), random.Random(seed), list(KILLS)
    shared = {"LINEAGE_DATABASE_URL": cluster.database_url, "LINEAGE_RUNS": str(cluster.runs)}
    with settings(LINEAGE_HOME=str(cluster.folder / "reader"), **shared):
        begun = killed = time.monotonic()
        stored.start(sweep, "")
        while (state := stored.find(sweep.key).state) == "running" and time.monotonic() < begun + MOST_SECONDS:
            if kills and time.monotonic() > killed + KILL_SECONDS:
                victim, killed = kills[0], time.monotonic()
                if victim == "worker" and not kill_worker(chance):
                    continue
                if victim == "node":
                    nodes.kill_node(chance.randrange(2))
                if victim == "server":
                    number = chance.randrange(len(cluster.servers))
                    cluster.kill(number)
                    cluster.restart(number)
                outcome.count[kills.pop(0)] += 1
            time.sleep(0.2)
        outcome.seconds = time.monotonic() - begun
        if state != "finished":
            outcome.problems.append(f"the sweep is {state}: {stored.find(sweep.key).problem}")
        for trial in trials(sweep):
            _compare(trial.key, undisturbed, outcome)
    return outcome


def _compare(run_key: str, undisturbed: Path, outcome: Outcome) -> None:
    try:
        run = store.find(run_key)
        differences = find_differences(run, store.load(undisturbed / "runs" / run_key))
    except LineageError as error:
        outcome.problems.append(f"{run_key}: {error}")
        return
    outcome.count["finished"] += run.card.finished
    outcome.count["equal"] += not differences
    outcome.problems += [f"{run_key} {each}" for each in differences]


def print_outcome(outcome: Outcome, sweep: Sweep, undisturbed_seconds: float) -> None:
    """Print what became of the trainings."""
    count: Any = outcome.count
    print(f"{len(trials(sweep))} trainings of {sweep.base.steps:,} steps in a Ray cluster of two nodes")
    for name, value in (
        ("runs finished", count["finished"]),
        ("runs equal to undisturbed ones, bit for bit", count["equal"]),
        ("workers killed", count["worker"]),
        ("nodes killed, with all that trained there", count["node"]),
        ("servers killed", count["server"]),
        ("seconds with kills", f"{outcome.seconds:.0f}"),
        ("seconds without, in worker processes of one server", f"{undisturbed_seconds:.0f}"),
    ):
        print(f"  {name:52}{value:>8}")
    for problem in outcome.problems[:10]:
        print(f"  {problem}")
