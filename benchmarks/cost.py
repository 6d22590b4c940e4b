"""What trainings cost, measured beside what `explorer/jobs/cost.py` computes from their configuration.

    python -m benchmarks.cost [--only TEXT] [--seconds 600]
    python -m benchmarks.cost --included [--every 3] [--cores 2]

For each model of each kind of task in three sizes: the peak memory of a process that takes a few steps, evaluates and
keeps its checkpoints, and the processor time of a step. Every training runs in a process that is forked from this one,
which has imported everything and has computed nothing on two threads.

With `--included`: the seconds of the trainings of included runs, which are those that pages offer, beside the time on
the button. Each is trained for three seconds; the rest follows from the median step and the mean evaluation.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.machine import on_idle_machine
from explorer import cores
from explorer.catalogue import MODELS
from explorer.experiments import pretraining
from explorer.jobs import worker_training
from explorer.jobs.cost import estimate_cost, expected_seconds
from explorer.training.config import RunConfig, default_config, setting_declaration, with_settings

_fork = multiprocessing.get_context("fork")

# Few steps: what one of them and an evaluation take does not depend on their number.
_SHORT = {"iterations": 20, "evaluate_every": 10, "snapshots": 3}
_OF_TASK: dict[str, dict[str, object]] = {
    "negation": {"epochs": 2, "train_size": 500, "test_size": 200},
    "text": {"corpus": "repeats", "size": 60_000, **_SHORT},
    "string": {"iterations": 20},
    **dict.fromkeys(("sentiment", "recall", "reverse", "dates", "agreement", "gloss", "tale"), _SHORT),
}


def cases(only: str = "") -> Iterator[tuple[str, RunConfig]]:
    """Yield the configurations by a short description: each model with its defaults, with 8 seeds, and much wider.

    A model of no task above is taken with its first task.
    """
    for model, row in MODELS.items():
        for task in [each for each in row.by_task if each in _OF_TASK] or list(row.by_task)[:1]:
            own = _OF_TASK.get(task, _SHORT)
            if model == "ngram":
                own = {"corpus": "repeats"}
            config = with_settings(default_config(task, model), own)
            names = [f"model.{name}" for name in ("width", "hidden") if hasattr(config.model, name)]
            most = {name: setting_declaration(config, name).metadata["high"] for name in names}
            large = {name: min(4 * getattr(config.model, name[6:]), high) for name, high in most.items()}
            for changes in ({}, {"size": 500_000}) if model == "ngram" else ({}, {"replicas": 8}, large):
                name = f"{task} {model} {' '.join(f'{k}={v}' for k, v in changes.items()) or 'default'}"
                if only in name:
                    yield name, with_settings(config, changes)


def measure(config: RunConfig) -> tuple[int, float]:
    """Return the bytes that a training adds to a process at its peak, and the processor seconds of one step."""
    results = _fork.SimpleQueue()
    process = _fork.Process(target=_train, args=(config, results))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"the training ended with status {process.exitcode}")
    peak, step = results.get()
    return peak, step


def _train(config: RunConfig, results: object) -> None:
    import torch

    from explorer.training.events import Step
    from explorer.training.recorder import Recorder
    from explorer.training.train import train

    torch.set_num_threads(1)
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # the peak begins anew
    before = _status("VmRSS")
    recorder, times = Recorder(config), []
    since = time.process_time()
    for event in train(config):
        if isinstance(event, Step):
            times.append(time.process_time() - since)
        recorder.add(event)
        since = time.process_time()
    recorder.record()
    peak = _status("VmHWM") - before
    quick = sorted(times)[: max(1, len(times) // 2)]
    results.put((peak, sum(quick) / len(quick)))  # type: ignore[attr-defined]


def _status(name: str) -> int:
    """Return a number of bytes from the status of this process."""
    (line,) = [line for line in Path("/proc/self/status").read_text("utf-8").splitlines() if line.startswith(name)]
    return int(line.split()[1]) * 1024


def _training_seconds(config: RunConfig, most: float = 3.0) -> float:
    """Return about how many seconds a training takes, from its first seconds."""
    from explorer.training.events import Evaluation, Step
    from explorer.training.train import train

    steps: list[float] = []
    pauses: list[float] = []
    start = since = step_end = time.perf_counter()
    for event in train(config):
        now = time.perf_counter()
        if isinstance(event, Step):
            steps.append(now - since)
            step_end = now
        elif isinstance(event, Evaluation):
            pauses.append(now - step_end)
        if now - start > most and len(steps) > 3 and len(pauses) > 1:
            break
        since = now
    evaluations = sum(map(config.evaluates_at, range(config.first_step, config.steps + 1)))
    first, *others = pauses or [0.0]  # the first time includes reading the data
    later = (evaluations - 1) * statistics.mean(others or [first])
    return first + config.steps * statistics.median(steps or [0.0]) + later


def compare_with_button(every: int, cores_used: int) -> None:
    """Print measured and expected seconds of every n-th included run, and how many are within a factor of 1.5."""
    cores.idle_cores = lambda: cores_used  # type: ignore[assignment]
    factors = []
    with on_idle_machine():
        for name, config in sorted(pretraining.shipped_configs().items())[::every]:
            if name.startswith("tuned-"):
                continue
            expected, measured = expected_seconds(config), _training_seconds(config)
            factors.append(max(expected, 0.5) / max(measured, 0.5))  # a button says no less than half a second
            print(f"{name:60}{measured:9.2f} s {expected:9.2f} s  {factors[-1]:5.2f}", flush=True)
    good = sum(1 / 1.5 <= factor <= 1.5 for factor in factors)
    print(f"{cores_used} cores: {good} of {len(factors)} within a factor of 1.5 ({good / len(factors):.0%})")


def main(
    only: Annotated[str, typer.Option(help="Only configurations whose description contains this.")] = "",
    seconds: Annotated[float, typer.Option(help="After so many seconds nothing more is measured.")] = 600.0,
    included: Annotated[bool, typer.Option(help="Measure the trainings of included runs.")] = False,
    every: Annotated[int, typer.Option(help="Every n-th included run.")] = 3,
    threads: Annotated[int, typer.Option("--cores", help="Cores of a training.")] = 1,
) -> None:
    """Measure what trainings cost, and print it beside the estimates."""
    worker_training.import_everything()
    if included:
        compare_with_button(every, threads)
        return
    end = time.monotonic() + seconds
    print(f"{'':76}{'memory, MB':>22}{'step, ms':>24}")
    for name, config in cases(only):
        if time.monotonic() > end:
            print("out of time")
            break
        cost = estimate_cost(config)
        peak, step = measure(config)
        factors = cost.peak_bytes / max(peak, 1), cost.step_seconds / step
        print(
            f"{name[:75]:76}{peak / 1e6:8.1f} {cost.peak_bytes / 1e6:8.1f} {factors[0]:5.2f}"
            f"{step * 1e3:9.2f} {cost.step_seconds * 1e3:8.2f} {factors[1]:5.2f}"
        )


if __name__ == "__main__":
    typer.run(main)
