"""What trainings cost, measured beside what `explorer/jobs/cost.py` computes from their configuration.

    python -m benchmarks.cost [--only TEXT] [--seconds 600]

For each model of each kind of task at three sizes: the peak memory of a process that takes a few steps, evaluates and
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
from explorer.training.config import RunConfig, default_config, with_settings

_fork = multiprocessing.get_context("fork")

# Three sizes of each model: a small one, one of the size of the defaults with several seeds, and a large one.
_NEGATION = {"epochs": 2, "train_size": 500, "test_size": 200}
_TEXT = {"corpus": "repeats", "size": 60_000, "iterations": 20, "evaluate_every": 10, "snapshots": 3}
_RECALL = {"iterations": 20, "evaluate_every": 10, "snapshots": 3}
_ROWS = {"iterations": 20, "evaluate_every": 10, "snapshots": 3}
CASES: dict[tuple[str, str], list[dict[str, object]]] = {
    ("negation", "bag_of_words"): [{}, {"replicas": 32}],
    ("negation", "bag_of_words_hidden"): [{}, {"replicas": 8}, {"hidden": 512, "replicas": 32}],
    ("negation", "bag_of_bigrams"): [{}, {"replicas": 8}, {"replicas": 32}],
    ("negation", "feedforward"): [{}, {"replicas": 8}, {"width": 128, "hidden": 512, "window": 64, "replicas": 8}],
    ("negation", "rnn"): [{}, {"replicas": 8}, {"width": 128, "hidden": 256, "replicas": 32}],
    ("negation", "lstm"): [{}, {"replicas": 8}, {"width": 128, "hidden": 256, "replicas": 16}],
    ("negation", "gru"): [{}, {"replicas": 8}, {"width": 128, "hidden": 256, "replicas": 16}],
    ("negation", "transformer"): [{}, {"replicas": 8}, {"width": 128, "hidden": 512, "layers": 4, "replicas": 8}],
    **{("sentiment", model): [{}, {"replicas": 8}] for model in MODELS if "sentiment" in MODELS[model].by_task},
    ("text", "ngram"): [{}, {"size": 500_000}],
    ("text", "feedforward"): [{}, {"replicas": 4}, {"width": 128, "hidden": 2_048, "batch_size": 64}],
    ("text", "rnn"): [{}, {"replicas": 4}, {"width": 256, "hidden": 1_024, "layers": 2, "context": 128}],
    ("text", "lstm"): [{}, {"replicas": 4}, {"width": 256, "hidden": 1_024, "layers": 2, "context": 64}],
    ("text", "gru"): [{}, {"replicas": 4}, {"width": 256, "hidden": 1_024, "layers": 2, "context": 64}],
    ("text", "transformer"): [{}, {"replicas": 4}, {"width": 256, "hidden": 1_024, "layers": 6, "context": 256},
                              {"tokenizer": "word", "vocabulary": 60, "replicas": 2}],
    ("recall", "rnn"): [{}, {"replicas": 8}, {"length": 200, "hidden": 256, "width": 128, "batch_size": 128}],
    ("recall", "lstm"): [{}, {"replicas": 8}, {"length": 200, "hidden": 256, "width": 128, "batch_size": 128}],
    ("recall", "gru"): [{}, {"replicas": 8}, {"length": 200, "hidden": 256, "width": 128, "batch_size": 128}],
    ("recall", "transformer"): [{}, {"replicas": 8}, {"length": 200, "hidden": 256, "width": 64, "batch_size": 128}],
    ("string", "rnn"): [{}, {"replicas": 8}, {"hidden": 256, "width": 128, "replicas": 32}],
    ("string", "lstm"): [{}, {"replicas": 8}, {"hidden": 256, "width": 128, "replicas": 16}],
    ("string", "gru"): [{}, {"replicas": 8}, {"hidden": 256, "width": 128, "replicas": 16}],
    ("reverse", "encoder_decoder"): [{}, {"attention": "additive"}, {"hidden": 512, "width": 256, "batch_size": 256,
                                                                     "attention": "additive"}],
    ("dates", "transformer_encoder_decoder"): [{}, {"replicas": 4}, {"width": 256, "hidden": 1_024, "layers": 4,
                                                                     "batch_size": 128}],
    ("agreement", "transformer"): [{}, {"replicas": 8}, {"width": 256, "hidden": 1_024, "layers": 8,
                                                     "batch_size": 128}],
    ("gloss", "rnn"): [{}, {"replicas": 8}, {"width": 128, "hidden": 256, "replicas": 16, "batch_size": 128}],
    ("tale", "gru"): [{}, {"replicas": 8}, {"width": 128, "hidden": 256, "replicas": 16, "batch_size": 128}],
}  # fmt: skip
_SIZES: list[dict[str, object]] = [{}, {"replicas": 8}]  # of a model that has no row above
_OF_TASK = {"negation": _NEGATION, "text": _TEXT, "recall": _RECALL, "string": _ROWS}


def cases(only: str = "") -> Iterator[tuple[str, RunConfig]]:
    """Yield the configurations by a short description."""
    named = {model for _, model in CASES}
    others = {(next(iter(row.by_task)), name): _SIZES for name, row in MODELS.items() if name not in named}
    for (task, model), sizes in (CASES | others).items():
        for changes in sizes:
            name = f"{task} {model} {' '.join(f'{k}={v}' for k, v in changes.items()) or 'default'}"
            if only in name:
                own = _OF_TASK.get(task, _ROWS)
                if model == "ngram":
                    own = {key: value for key, value in own.items() if key in ("corpus", "size")}
                if task == "string":
                    own = {"iterations": 20}
                yield name, with_settings(default_config(task, model), {**own, **changes})


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
