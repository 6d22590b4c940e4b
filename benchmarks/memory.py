"""Who remembers the first symbol, how far the gradient reaches, and what eight seeds cost; prints tables.

    python -m benchmarks.memory [--rounds 5]

Everything is trained here and now, one thread each, on sequences that are fresh at every step, and scored on others.
Ratios are taken in one run, because machines differ.
"""

from __future__ import annotations

import gc
import statistics
import time
from contextlib import nullcontext
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch
import typer

from benchmarks.machine import describe_machine
from explorer.catalogue import models_of
from explorer.experiments.recall import SEEDS, SOLVED, VARIANTS
from explorer.inspection.load_model import load_model
from explorer.inspection.recurrent.input_gradients import input_gradient_norms
from explorer.models.recurrence import RecurrentClassifier
from explorer.models.taps import intervene
from explorer.tasks.recall import evaluation_lengths
from explorer.training.config import RunConfig
from explorer.training.model_factory import build_model
from explorer.training.objectives.recall import RecallObjective
from explorer.training.optimisers import ReplicaOptimizer
from explorer.training.recorder import record_run

LENGTHS = (49, 50, 51, 100, 1_000)
FAR = 200  # where attention is hard to get going
STEPS = 12  # that are timed


def outcome(name: str, length: int = 50, seed: int = 0) -> dict[str, Any]:
    """What became of eight seeds, and how long they took without the final questions."""
    config = VARIANTS[name].config(length=length, seed=seed)
    record = record_run(config)
    accuracy, curves = record.curves.metrics["accuracy"], record.curves
    lengths = evaluation_lengths(length)
    at = {n: curves.answers["by_length"][-1][:, lengths.index(n)] for n in LENGTHS if n in lengths}
    first = [
        int(curves.evaluated[(each >= SOLVED).argmax()]) if (each >= SOLVED).any() else None for each in accuracy.T
    ]
    return {
        "solved": int((accuracy[-1] >= SOLVED).sum()),
        "steps": config.steps,
        "seconds": float(curves.seconds[-1]),
        "first_solved_at_step": first,
        "accuracy_at": {n: [round(float(v), 3) for v in values] for n, values in at.items()},
        "gradient_first_to_last": gradient_ratio(record),
    }


def gradient_ratio(record: Any) -> float:
    """The gradient at the first symbol as a share of that at the last, before training: median of the seeds."""
    norms = input_gradient_norms(load_model(record, 0))
    return float(np.median(norms[:, 0] / norms[:, -1]))


def step_time(config: RunConfig, fused: bool = True) -> float:
    """Seconds of one training step, the fastest of a few. Not `fused`: step by step by our own cell, as a stack goes,
    and not by PyTorch's kernel for a single net."""
    model = build_model(config)
    lesson, optimizer = (
        RecallObjective(config, model),
        ReplicaOptimizer(model, config.optimiser, config.replicas, config.average),
    )
    one = torch.ones(config.replicas).squeeze()
    times = []
    for step in range(STEPS):
        start = time.perf_counter()
        with nullcontext() if fused else intervene(model, {}):  # whoever is watched goes step by step
            losses, _ = lesson.losses(step)
        optimizer.zero_grad()
        losses.backward(one)  # type: ignore[no-untyped-call]
        optimizer.step(step + 1, config.steps)
        times.append(time.perf_counter() - start)
    return min(times)


def main(
    rounds: Annotated[int, typer.Option(help="How often steps are timed.")] = 5,
) -> None:
    """Train, ask, time."""
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    print(f"{describe_machine()}, 1 thread")
    print(f"\nrecall of the first of 50 symbols, {SEEDS} seeds side by side, fresh sequences")
    print(
        f"{'':24}{'solved':>7}{'steps':>7}{'s':>7}  first/last gradient   "
        + "".join(f"{f'at {n}':>9}" for n in LENGTHS)
    )
    for name in VARIANTS:
        each = outcome(name)
        means = "".join(f"{statistics.mean(each['accuracy_at'][n]):9.2f}" for n in LENGTHS)
        print(
            f"{name:24}{each['solved']:>5}/{SEEDS}{each['steps']:7}{each['seconds']:7.1f}"
            f"{each['gradient_first_to_last']:21.0e}   {means}"
        )
    far = outcome("transformer-learned", FAR)
    other = outcome("transformer-learned", FAR, seed=40)
    print(
        f"transformer-learned, {FAR} symbols: {far['solved']}/{SEEDS} in {far['seconds']:.1f} s, first solved at step"
    )
    print(
        f"{far['first_solved_at_step']}; eight other seeds {other['solved']}/{SEEDS}, {other['first_solved_at_step']}"
    )

    print("\na training step in ms: one seed, eight, and how many times one they cost (median of the rounds)")
    for model in models_of("recall"):
        name = next(name for name, each in VARIANTS.items() if each.model == model)
        alone, many = VARIANTS[name].config(replicas=1), VARIANTS[name].config()
        recurrent = isinstance(build_model(alone), RecurrentClassifier)
        own_cell = partial(step_time, alone, fused=False) if recurrent else lambda: 0.0
        taken = [(step_time(alone), step_time(many), own_cell()) for _ in range(rounds)]
        one, eight, own = (statistics.median(column) for column in zip(*taken, strict=True))
        ratio = statistics.median(b / a for a, b, _ in taken)
        line = f"{model:14}{1e3 * one:8.2f}{1e3 * eight:8.2f}{ratio:7.2f}x"
        if own:
            own_ratio = statistics.median(b / c for _, b, c in taken)
            line += f"   one seed by our own cell {1e3 * own:.2f}, {own_ratio:.2f}x"
        print(line)


if __name__ == "__main__":
    typer.run(main)
