"""What kill -9 of worker processes leaves behind: trainings of several visitors, LINEAGE_EXECUTOR=processes.

    python -m benchmarks.load.worker_kills [--kills 200] [--seed 0] [--json]

Visitors press Train on the negation page while random workers, and now and then the helper process that forks them, are
killed. A training that waits for its owner after two crashes is resumed by its owner. When all have ended, each run is
compared with one that was never disturbed, bit for bit, and every earlier run must still be there.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.classroom import serve_app
from benchmarks.load.crash_recovery import find_differences
from benchmarks.load.load_generator import Visitor, open_negation_page
from benchmarks.load.server_state import read_log
from explorer.errors import LineageError
from explorer.run_store import store
from explorer.training.config import RunConfig, default_config, key, with_settings
from explorer.training.recorder import record_run
from tests.serving import Server

MODELS = ("rnn", "transformer")
VISITORS = 2
EPOCHS = 150  # a training of some seconds: it survives some kills
KILLS_PER_ROUND = 12
HELPER_SHARE = 0.05  # of the kills are kills of the helper process
MOST_SECONDS = 240.0  # that a round may take after its last kill
PROBLEMS = ("unequal", "lost", "stuck", "failed", "log")


@dataclass
class Outcome:
    """What became of the trainings whose workers were killed."""

    count: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    finished: list[RunConfig] = field(default_factory=list)


def config(model: str, seed: int) -> RunConfig:
    """Return the training that a visitor with this seed in the address starts."""
    return with_settings(default_config("negation", model), {"epochs": EPOCHS, "seed": seed, "replicas": 8})


async def run_round(server: Server, number: int, kills: int, chance: random.Random, outcome: Outcome) -> None:
    """Start trainings, kill their workers so often, and wait until all have ended."""
    seeds = [1_000_000 + 1_000 * (VISITORS * number + i) for i in range(VISITORS)]
    epochs = "".join(f"&{model}.epochs={EPOCHS}" for model in MODELS)
    configs = [config(model, seed) for seed in seeds for model in MODELS]
    visits = [open_negation_page(server.url, f"models={','.join(MODELS)}&seed={seed}{epochs}") for seed in seeds]
    visitors = [await visit.__aenter__() for visit in visits]
    try:
        for visitor in visitors:
            await visitor.press("train")
        outcome.count["runs"] += len(configs)
        killed, end = 0, time.monotonic() + MOST_SECONDS
        while time.monotonic() < end:
            states = await _resume_or_train_again(visitors, configs, outcome)
            if all(state in ("finished", "failed", "diverged") for state in states):
                break
            if killed < kills and chance.random() < 0.8 and kill_one(server, chance, outcome):
                killed += 1
                end = time.monotonic() + MOST_SECONDS
            await asyncio.sleep(chance.uniform(0, 0.6))
        else:
            outcome.problems.append(f"stuck: {states} in round {number}")
        outcome.problems += [
            f"failed: {state} in round {number}" for state in states if state in ("failed", "diverged")
        ]
    finally:
        for visit in visits:
            await visit.__aexit__(None, None, None)
    outcome.finished += configs


async def _resume_or_train_again(visitors: list[Visitor], configs: list[RunConfig], outcome: Outcome) -> list[str]:
    """Return the states of the jobs; one that has crashed twice is resumed by its owner, as the panel's button does."""
    states: dict[str, str] = {}
    for visitor in visitors:
        for row in await visitor.jobs():
            if not row["mine"]:
                continue
            states[row["key"]] = row["state"]
            if row["can_resume"]:
                await visitor.browser.post(f"/jobs/{row['key']}/resume", headers={"X-Lineage": "1"})
                outcome.count["resumed by their owners"] += 1
            elif row["state"] == "stopped":  # twice before its first checkpoint: there is nothing to resume
                await visitor.press("train")
                outcome.count["trained anew by their owners"] += 1
    return [states.get(key(each), "unknown") for each in configs]


def kill_one(server: Server, chance: random.Random, outcome: Outcome) -> bool:
    """Kill a random worker, or the helper process; return whether there was one."""
    assert server.process
    processes = [folder for folder in Path("/proc").glob("[0-9]*") if _is_worker(folder, server.home)]
    helpers = [folder for folder in processes if _parent(folder) == server.process.pid]
    workers = [folder for folder in processes if folder not in helpers]
    if not workers:
        return False
    of_helper = bool(helpers) and chance.random() < HELPER_SHARE
    try:
        os.kill(int(chance.choice(helpers if of_helper else workers).name), signal.SIGKILL)
    except ProcessLookupError:
        return False
    outcome.count["kills"] += 1
    outcome.count["kills of the helper process"] += of_helper
    return True


def _is_worker(folder: Path, home: Path) -> bool:
    """Return whether a process is the helper or a worker of the server with this home.

    A worker goes on when the helper is killed; it is no descendant of the server any more.
    """
    try:
        is_program = b"explorer.jobs.worker" in (folder / "cmdline").read_bytes()
        return is_program and f"LINEAGE_HOME={home}\0".encode() in (folder / "environ").read_bytes()
    except OSError:  # it has ended
        return False


def _parent(folder: Path) -> int:
    try:
        return int((folder / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
    except OSError:
        return 0


def compare(server: Server, outcome: Outcome, calm: Path) -> None:
    """Compare every run with one that is trained here without disturbance."""
    for each in outcome.finished:
        folder = calm / key(each)
        try:
            store.write_run(record_run(each), folder, "")
            outcome.problems += [
                f"{problem} ({each.model_name}, seed {each.seed})"
                for problem in find_differences(store.load(server.home / "runs" / key(each)), store.load(folder))
            ]
        except LineageError as error:
            outcome.problems.append(f"lost: {each.model_name}, seed {each.seed}: {error}")


def kill_workers(kills: int, seed: int) -> Outcome:
    """Kill workers of one server so often, and compare its runs with undisturbed ones."""
    chance, outcome, number = random.Random(seed), Outcome(), 0
    with serve_app(
        LINEAGE_EXECUTOR="processes", LINEAGE_CHECKPOINT_SECONDS="0.1", LINEAGE_MOST_STEPS="1000000"
    ) as server:
        while outcome.count["kills"] < kills and not any(each.startswith("stuck") for each in outcome.problems):
            most = min(KILLS_PER_ROUND, kills - outcome.count["kills"])
            asyncio.run(run_round(server, number, most, chance, outcome))
            number += 1
        assert server.process
        outcome.count["left on the disk"] = sum(1 for _ in (server.home / "jobs").glob("*"))
        if traces := read_log(server).count("Traceback"):
            outcome.problems.append(f"log: {traces} tracebacks, the last: {read_log(server)[-600:]}")
        with tempfile.TemporaryDirectory(prefix="lineage-calm-") as calm:
            compare(server, outcome, Path(calm))
    return outcome


def main(
    kills: Annotated[int, typer.Option(help="How often a process is killed.")] = 200,
    seed: Annotated[int, typer.Option(help="Decides the moments.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, nothing else.")] = False,
) -> None:
    """Kill workers repeatedly, and count the runs that are lost, stuck or different afterwards."""
    start = time.monotonic()
    outcome = kill_workers(kills, seed)
    for problem in outcome.problems:
        outcome.count[problem.split(":")[0]] += 1
    figures = dict.fromkeys(PROBLEMS, 0) | outcome.count
    if as_json:
        print(json.dumps({**figures, "problems": outcome.problems}))
        return
    print(f"{figures.pop('kills')} kills -9 of workers in {time.monotonic() - start:.0f} s")
    for name, number in figures.items():
        print(f"  {name:32}{number:5}")
    for problem in outcome.problems[:10]:
        print(f"  {problem}")


if __name__ == "__main__":
    typer.run(main)
