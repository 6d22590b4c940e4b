"""How much fits through one vector, and through attention, and how long that takes to learn; prints tables.

    python -m benchmarks.translation

Everything is trained here and now, one thread, three seeds side by side, on sources that are fresh at every step, and
scored by exact match on others. Seconds are those of the training steps; seeds are also timed alone.
"""

from __future__ import annotations

import gc
from typing import Any

import torch
import typer

from benchmarks.machine import describe_machine
from explorer.experiments.translation import SEEDS, VARIANTS
from explorer.generation.seq2seq_decoding import beam_search, greedy_decode
from explorer.inspection.load_model import load_model
from explorer.tasks.seq2seq.batches import evaluation_digits
from explorer.tasks.seq2seq.digits import ReverseConfig, evaluation_lengths
from explorer.training.recorder import record_run

LENGTHS = (5, 8, 11, 14, 17, 20, 22, 25, 30)
BEAMED = 40  # sources of the longest trained length


def outcome(task: str, name: str, **changes: object) -> tuple[Any, dict[str, Any]]:
    """A run, and what came of it."""
    record = record_run(VARIANTS[name].config(task, **changes))
    curves = record.curves
    exact = [round(float(v), 3) for v in curves.metrics["exact"][-1]]
    found: dict[str, Any] = {"exact": exact, "steps": curves.step, "seconds": float(curves.seconds[-1])}
    if task != "dates":
        lengths = evaluation_lengths(ReverseConfig())
        at = curves.answers["by_length"][-1]
        found["by_length"] = {n: [round(float(v), 2) for v in at[:, i]] for i, n in enumerate(lengths)}
        found["worst_trained"] = float(at[:, :20].min())
    return record, found


def beam_accuracy(record: Any) -> dict[str, float]:
    """Exact match of one seed on the longest trained sources, greedily and with wider beams."""
    model = load_model(record).single_replica(0)
    asked = evaluation_digits(ReverseConfig(), [20], BEAMED)
    found = {}
    for width in (1, 2, 4, 8):
        right = 0
        for source, wanted in zip(asked.source, asked.targets, strict=True):
            tree = beam_search(model, source, width, 26)  # type: ignore[arg-type]  # a Translator
            right += tree.sequence(tree.best[0]) == tuple(wanted.tolist())
        found[f"beam_{width}"] = right / BEAMED
    written = greedy_decode(model, asked.source, 26).ids[..., : asked.targets.shape[-1]]  # type: ignore[arg-type]
    found["greedy"] = float((written == asked.targets).all(dim=-1).float().mean())
    return found


def main() -> None:
    """Train, ask, time."""
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    print(f"{describe_machine()}, 1 thread, {SEEDS} seeds")
    seconds = {}
    print(
        f"\nreverse, 1 to 20 digits: exact match, mean of the seeds\n{'':14}{'steps':>6}{'s':>7}{'worst 1-20':>12}",
        end="",
    )
    print("".join(f"{n:>7}" for n in LENGTHS))
    for name in VARIANTS:
        record, found = outcome("reverse", name)
        means = "".join(f"{sum(found['by_length'][n]) / SEEDS:7.2f}" for n in LENGTHS)
        print(f"{name:14}{found['steps']:6}{found['seconds']:7.1f}{found['worst_trained']:12.2f}{means}")
        if name in ("wide", "additive"):
            print(
                f"{'':14}at 20 digits, seed 0: " + ", ".join(f"{k} {v:.2f}" for k, v in beam_accuracy(record).items())
            )
        seconds[name] = found["seconds"]
    _, alone = outcome("reverse", "additive", replicas=1)
    ratio = seconds["additive"] / alone["seconds"]
    print(f"additive, one seed alone: {alone['seconds']:.1f} s; {SEEDS} cost {ratio:.2f} times as much")
    print(f"\ndates, held out in every way of writing: exact match of each seed\n{'':14}{'steps':>6}{'s':>7}")
    for name in ("vector", "additive", "transformer"):
        _, found = outcome("dates", name)
        print(f"{name:14}{found['steps']:6}{found['seconds']:7.1f}   {found['exact']}")


if __name__ == "__main__":
    typer.run(main)
