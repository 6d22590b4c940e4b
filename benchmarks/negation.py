"""How much sooner the negation race ends than the notebook's way of running it; prints a table.

    python -m benchmarks.negation [--rounds 5]

Same sentences, same epochs, one thread each. Every round times the baseline, ours, and the baseline
again; the medians count. All ratios are taken in one run, because machines differ.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import statistics
from typing import Annotated

import torch
import typer

from benchmarks.baselines import plain_negation
from benchmarks.classroom import serve_app
from benchmarks.load.load_generator import open_negation_page
from benchmarks.machine import describe_machine, seconds_of
from explorer.tasks.negation import VOCABULARY, Negation
from explorer.training.config import RunConfig, default_config, with_settings
from explorer.training.recorder import record_run

SEEDS = 8


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
    torch.set_num_threads(1)
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
            taken["baseline"].append(seconds_of(baseline))
            taken["one seed"].append(seconds_of(lambda c=one: record_run(c)))
            taken["eight seeds"].append(seconds_of(lambda c=many: record_run(c)))
            taken["baseline"].append(seconds_of(baseline))
        times[name] = taken
        accuracies[name] = {
            "baseline": [plain_negation.train(name, *s, seed=i) for i, s in enumerate(samples)],
            "ours": [float(x) for x in record_run(many).curves.metrics["test_accuracy"][-1]],
        }

    median = {name: {k: statistics.median(v) for k, v in taken.items()} for name, taken in times.items()}
    total = {k: sum(m[k] for m in median.values()) for k in ("baseline", "one seed", "eight seeds")}
    median["all four"] = total
    print(f"{describe_machine()}, 1 thread, {rounds} rounds")
    print(f"{'':14}{'baseline':>10}{'one seed':>10}{'eight':>10}{'sooner':>9}{'8 / 1':>8}   test accuracy, mean of 8")
    for name, m in median.items():
        line = f"{name:14}{m['baseline']:9.3f}s{m['one seed']:9.3f}s{m['eight seeds']:9.3f}s"
        line += f"{m['baseline'] / m['one seed']:8.1f}x{m['eight seeds'] / m['one seed']:7.2f}x"
        if name in accuracies:
            line += "   " + ", ".join(f"{k} {statistics.mean(v):.3f}" for k, v in accuracies[name].items())
        print(line)
    with serve_app() as server:
        answered = asyncio.run(typed_sentences(server.url))
    middle, late = statistics.median(answered), answered[int(0.95 * len(answered))]
    print(f"a typed sentence, until its answers are on the page: median {middle * 1e3:.0f} ms, p95 {late * 1e3:.0f} ms")


if __name__ == "__main__":
    typer.run(main)
