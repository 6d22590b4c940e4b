"""What a kill -9 leaves behind: trainings that are killed at random moments, taken up, and killed again.

    python -m benchmarks.load.crash_recovery [--kills 200] [--seed 0]

Every life is a process of its own that starts the job service, takes up what was under way, and trains; it is
forked from this one, which has imported everything and does nothing, so a life costs what happens on the disk
and not the imports. When a run has ended at last it is compared with one that was never disturbed, bit for bit.
Some runs are trained again over a finished one, whose name must stay.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import explorer.training.recorder  # noqa: F401  # every life would import it
from explorer.environment import environment
from explorer.errors import LineageError
from explorer.jobs.service import JobService
from explorer.run_store import index, operations, store
from explorer.run_store.archive.curves_tensors import to_tensors
from explorer.training.config import RunConfig, default_config, key, with_settings

CHECKPOINT_SECONDS = "0.1"
NAME = "kept by hand"
SEEDS = 3
PROBLEMS = ("unequal", "lost", "unreadable", "stuck")
_fork = multiprocessing.get_context("fork")


def config(seed: int) -> RunConfig:
    """A training of a second or so: it survives some kills."""
    return with_settings(default_config("negation", "rnn"), {"epochs": 30, "replicas": 2, "seed": seed, "snapshots": 6})


def use_home(home: Path) -> None:
    os.environ |= {"LINEAGE_HOME": str(home), "LINEAGE_CHECKPOINT_SECONDS": CHECKPOINT_SECONDS}


def run_service(home: Path, seed: int, ask: bool) -> None:
    """One life: take up what was under way, ask for the run if nobody did before, and see it to its end."""
    use_home(home)
    service = JobService()
    service.restore()
    for view in service.views():
        if view.state == "stopped":  # after two crashes a job waits for its owner
            service.resume(view.key, operator=True)
    if ask or not service.views():  # a run that its owner has to resume may be in the store already
        service.submit(config(seed))
    while not all(view.done for view in service.views()):
        time.sleep(0.002)
    service.close()


def run_until_killed(home: Path, seed: int, ask: bool, after: float, ending: float) -> tuple[bool, float, float]:
    """Whether a life was killed, how long it was, and how much of that came after the last weights were written.

    It is killed `after` so many seconds, and at the latest at a moment `ending` seconds after those weights.
    """
    last = home / "jobs" / key(config(seed)) / "snapshots" / f"{config(seed).steps:08d}.safetensors"
    process = _fork.Process(target=run_service, args=(home, seed, ask))
    known = last.is_file()
    start = time.perf_counter()
    written = None
    process.start()
    while process.is_alive():
        now = time.perf_counter() - start
        if written is None and not known and last.is_file():
            written, after = now, min(after, now + ending)
        if now > after:
            process.kill()
            break
        time.sleep(0.001)
    process.join()
    now = time.perf_counter() - start
    return process.exitcode == -9, now, now - (written if written is not None else now)


def run_in_process(work: Callable[..., list[str]], *args: object) -> list[str]:
    """What a function finds in a process of its own: this one must stay as it is, to be forked again."""
    answer = _fork.SimpleQueue()
    process = _fork.Process(target=lambda: answer.put(work(*args)))
    process.start()
    process.join()
    return answer.get() if process.exitcode == 0 else ["unreadable: the look itself failed"]


def check_readable(home: Path) -> list[str]:
    """Return a problem for each run or checkpoint with a card that cannot be opened after a kill."""
    use_home(home)
    problems = []
    for folder in [card.parent for place in ("jobs", "runs") for card in (home / place).glob("*/card.json")]:
        try:
            store.load(folder).record()
        except LineageError as error:
            problems.append(f"unreadable: {error}")
    return problems


def check_result(home: Path, calm: Path, finished: list[int], seed: int) -> list[str]:
    """Return the problems of a finished run: it differs from the undisturbed one, or others or its entry are lost."""
    use_home(home)
    problems = []
    for other in finished:
        try:
            if store.load(environment().runs / key(config(other))).card.name != NAME:
                problems.append(f"lost: the record of seed {other}")
        except LineageError as error:
            problems.append(f"lost: {error}")
    problems += [f"stuck: {job.name} is still under way" for job in (home / "jobs").glob("[a-z]*")]
    try:
        mine = store.load(environment().runs / key(config(seed)))
        problems += find_differences(mine, store.load(calm / "runs" / mine.key))
        operations.edit_card(mine.key, "", True, name=NAME)
        index.reindex()
        listed = {entry.key for entry in index.search(index.Query(shipped=False, unfinished=False))}
        if missing := {key(config(each)) for each in {*finished, seed}} - listed:
            problems.append(f"unreadable: the index lacks {missing}")
    except LineageError as error:
        problems.append(f"lost: seed {seed}: {error}")
    return problems


def find_differences(one: store.StoredRun, other: store.StoredRun) -> list[str]:
    """In what two stored trainings differ, bit for bit; the time they took does not count."""
    mine, theirs = _bytes_of(one), _bytes_of(other)
    found = [name for name in mine | theirs if mine.get(name) != theirs.get(name)]
    if one.card.state != other.card.state:
        found.append(f"{one.card.state} at step {one.card.step} ({one.card.problem or 'without a problem'})")
    ours, others = one.card.metrics, other.card.metrics
    different = [name for name in ours | others if ours.get(name) != others.get(name)]
    found += [f"{name} of the card ({ours.get(name)}, {others.get(name)})" for name in different]
    return [f"unequal: {', '.join(found)}"] if found else []


def _bytes_of(run: store.StoredRun) -> dict[str, bytes]:
    """Return the curves, the weights and the optimizer state of a run by name."""
    arrays = to_tensors(run.curves)
    del arrays["seconds"]
    for step in run.checkpoint_steps():
        kept = run.checkpoint(step)
        arrays |= {
            f"{name} at {step}": np.asarray(value)
            for name, value in (dict(kept.weights) | (kept.optimiser or {})).items()
        }
    return {name: value.tobytes() for name, value in arrays.items()}


def kill_repeatedly(kills: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Kill so often, and count what came of it."""
    random_moment = random.Random(seed)
    home, calm = folder / "home", folder / "calm"
    _, whole, ending = run_until_killed(calm, 0, True, math.inf, math.inf)  # nobody disturbs this one
    shutil.copytree(calm / "runs" / key(config(0)), home / "runs" / key(config(0)))
    problems = [f"{problem} (before any kill)" for problem in run_in_process(check_result, home, calm, [], 0)]
    count, finished = Counter(dict.fromkeys(("kills", "kills in the last moments", "runs"), 0)), [0]
    while count["kills"] < kills:
        run = (count["runs"] + 1) % SEEDS  # from the second on, over a finished one
        job = home / "jobs" / key(config(run))
        if not (calm / "runs" / job.name).exists():
            run_until_killed(calm, run, True, math.inf, math.inf)
        asked, killed = False, True
        while killed:
            disturbed = count["kills"] < kills
            after = random_moment.uniform(0, whole) if disturbed else math.inf
            late = random_moment.uniform(0, 2 * ending) if disturbed else math.inf
            killed, _, ended = run_until_killed(home, run, not asked, after, late)
            asked = asked or (job / "job.json").is_file()
            if killed:
                count["kills"] += 1
                count["kills in the last moments"] += ended > 0
                problems += run_in_process(check_readable, home)
        count["runs"] += 1
        problems += [
            f"{problem} (run {count['runs']}, seed {run})"
            for problem in run_in_process(check_result, home, calm, finished, run)
        ]
        finished = sorted({*finished, run})
    count["left on the disk"] = sum(1 for place in ("jobs", "runs") for _ in (home / place).glob(".*"))
    for problem in problems:
        count[problem.split(":")[0]] += 1
    return count, problems


def main(
    kills: Annotated[int, typer.Option(help="How often a process is killed.")] = 200,
    seed: Annotated[int, typer.Option(help="Decides the moments.")] = 0,
) -> None:
    """Kill a training repeatedly, and count the runs that are lost, damaged or different afterwards."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lineage-kills-") as folder:
        count, problems = kill_repeatedly(kills, seed, Path(folder))
    figures = {"kills": 0} | dict.fromkeys(PROBLEMS, 0) | count
    print(f"{figures.pop('kills')} kills -9 in {time.monotonic() - start:.0f} s")
    for name, number in figures.items():
        print(f"  {name:28}{number:5}")
    for problem in problems[:10]:
        print(f"  {problem}")


if __name__ == "__main__":
    typer.run(main)
