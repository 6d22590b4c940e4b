"""What trainings cost, measured beside what `explorer/jobs/cost.py` computes from their configuration.

    python -m benchmarks.cost [--only TEXT] [--seconds 600]

For each model of each kind of task in three sizes: the peak memory of a process that takes a few steps, evaluates and
keeps its checkpoints, and the processor time of a step. Every training runs in a process that is forked from this one,
which has imported everything and has computed nothing on two threads.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from explorer.catalogue import MODELS
from explorer.jobs import worker_training
from explorer.jobs.cost import estimate_cost
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


def main(
    only: Annotated[str, typer.Option(help="Only configurations whose description contains this.")] = "",
    seconds: Annotated[float, typer.Option(help="After so many seconds nothing more is measured.")] = 600.0,
) -> None:
    """Measure what trainings cost, and print it beside the estimates."""
    worker_training.import_everything()
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
