"""How much sooner the negation race ends than the notebook's way of running it; prints a table.

    python -m benchmarks.negation [--rounds 5]

Same sentences and epochs. Every round times the baseline on its fastest number of threads, ours, and the four models
side by side in worker processes; the medians count. All ratios are taken in one run, because machines differ.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import statistics
from typing import Annotated

import typer

from benchmarks.baselines import plain_negation
from benchmarks.classroom import serve_app
from benchmarks.load.load_generator import open_negation_page
from benchmarks.machine import fastest_threads, on_idle_machine, seconds_of
from explorer.jobs.order import Order
from explorer.jobs.worker_processes import ProcessExecutor
from explorer.tasks.negation import VOCABULARY, Negation
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run

SEEDS = 8


async def train_side_by_side(executor: ProcessExecutor) -> None:
    """Train the four models at the same time, as a server with LINEAGE_EXECUTOR = processes does."""

    async def train(name: str) -> None:
        async for _ in executor.slices(Order(default_config("negation", name))):
            pass

    await asyncio.gather(*map(train, plain_negation.MODELS))


def sentences(config: RunConfig, split: str, seed: int) -> plain_negation.Sample:
    """The sentences that ours learns from, as the notebook holds them."""
    task = Negation(config.task)
    drawn = task.sample("train" if split == "train" else "test", seed)
    return [(list(VOCABULARY.encode(task.sentences[i].words)), task.labels[i]) for i in drawn]


async def typed_sentences(address: str, count: int = 60) -> list[float]:
    """Seconds from a typed sentence until its answers are on the page, each sentence a new one."""
    words = ("human", "not", "preserve", "consume", "destroy", "nature")
    every = itertools.product(words, repeat=4)
    async with open_negation_page(address) as visitor:
        chosen = itertools.islice(every, 0, None, len(words) ** 4 // count)
        return sorted([await visitor.type(" ".join(sentence)) for sentence in chosen])


def main(
    rounds: Annotated[int, typer.Option(help="How often everything is timed.")] = 5,
) -> None:
    """Time the four trainings of the notebook against ours."""
    with on_idle_machine():
        compare(rounds)


def compare(rounds: int) -> None:
    """Measure, and print the table."""
    executor = ProcessExecutor()
    asyncio.run(train_side_by_side(executor))  # starts the process from which the workers are forked
    side_by_side: list[float] = []
    gc.collect()
    gc.freeze()  # as the app does: no collection may walk through all of torch in the middle of a timing
    times: dict[str, dict[str, list[float]]] = {}
    accuracies: dict[str, dict[str, list[float]]] = {}
    for name in plain_negation.MODELS:
        one = default_config("negation", name)
        many = with_settings(one, {"replicas": SEEDS})
        samples = [(sentences(one, "train", s), sentences(one, "test", s)) for s in range(SEEDS)]
        baseline = lambda n=name, s=samples[0]: plain_negation.train(n, *s, seed=0)  # noqa: E731
        record_run(one)  # the first call of each kernel is slower
        taken: dict[str, list[float]] = {"baseline": [], "one seed": [], "eight seeds": []}
        for _ in range(rounds):
            taken["baseline"].append(fastest_threads(lambda b=baseline: seconds_of(b))[0])
            taken["one seed"].append(seconds_of(lambda c=one: record_run(c)))
            taken["eight seeds"].append(seconds_of(lambda c=many: record_run(c)))
        times[name] = taken
        accuracies[name] = {
            "baseline": [plain_negation.train(name, *s, seed=i) for i, s in enumerate(samples)],
            "ours": [float(x) for x in record_run(many).curves.metrics["test_accuracy"][-1]],
        }

    for _ in range(rounds):
        side_by_side.append(seconds_of(lambda: asyncio.run(train_side_by_side(executor))))
    executor.close()
    median = {name: {k: statistics.median(v) for k, v in taken.items()} for name, taken in times.items()}
    total = {k: sum(m[k] for m in median.values()) for k in ("baseline", "one seed", "eight seeds")}
    median["all four"] = total
    print(f"{'':14}{'baseline':>10}{'one seed':>10}{'eight':>10}{'sooner':>9}{'8 / 1':>8}   test accuracy, mean of 8")
    for name, m in median.items():
        line = f"{name:14}{m['baseline']:9.3f}s{m['one seed']:9.3f}s{m['eight seeds']:9.3f}s"
        line += f"{m['baseline'] / m['one seed']:8.1f}x{m['eight seeds'] / m['one seed']:7.2f}x"
        if name in accuracies:
            line += "   " + ", ".join(f"{k} {statistics.mean(v):.3f}" for k, v in accuracies[name].items())
        print(line)
    together = statistics.median(side_by_side)
    print(f"all four side by side in processes: {together:.3f} s, {total['baseline'] / together:.1f} times sooner")
    with serve_app() as server:
        answered = asyncio.run(typed_sentences(server.url))
    middle, late = statistics.median(answered), answered[int(0.95 * len(answered))]
    print(f"a typed sentence, until its answers are on the page: median {middle * 1e3:.0f} ms, p95 {late * 1e3:.0f} ms")


if __name__ == "__main__":
    typer.run(main)
