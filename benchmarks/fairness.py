"""A small training while three other visitors run the most expensive one that is allowed, with either executor.

    python -m benchmarks.fairness [--executor here|processes] [--rounds 3] [--candidates 300]

The most expensive training is searched among random settings of the page Language models: the one with the longest step
that the limits allow. The small one is the default negation RNN; its speed is measured on 300 epochs, alone and beside
the others.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
import statistics
import time
from contextlib import AsyncExitStack
from typing import Annotated
from urllib.parse import urlencode

import httpx
import typer

from benchmarks.attacks.settings import random_sizes, size_limits
from benchmarks.classroom import serve_app
from benchmarks.load.load_generator import open_negation_page, open_page
from benchmarks.load.server_state import read_state
from explorer.catalogue import models_of
from explorer.errors import LineageError
from explorer.jobs import limits
from explorer.jobs.cost import estimate_cost
from explorer.labs.text.state import TextLab
from explorer.training.config import RunConfig, default_config
from explorer.ui.state.url_codec import read
from tests.serving import Server

OTHERS = 3
SIZES = ("batch_size", "width", "hidden", "layers", "heads")  # that are varied, and the context and the seeds
LEAST_SECONDS = 300  # that the expensive training takes
SPEED_EPOCHS = 300
FIRST_STEP, SHARE = 2.0, 0.2  # what is asked: seconds at most, and at least this share of the lone speed


def find_most_expensive(candidates: int, seed: int = 0) -> tuple[str, RunConfig]:
    """Return the URL parameters and the configuration of the training with the longest step that this process allows.

    Random settings of the page are tried, half of them changes of the best ones so far.
    """
    chance = random.Random(seed)
    models = [name for name in models_of("text") if name != "ngram"]
    best: dict[str, str] = {"models": "transformer"}
    config = _find_allowed_config(best)
    assert config
    for _ in range(candidates):
        model = best["models"] if chance.random() < 0.5 else chance.choice(models)
        params = dict(best) if model == best["models"] else {"models": model}
        params |= _random_parameters(model, chance)
        found = _find_allowed_config(params)
        if found and estimate_cost(found).step_seconds > estimate_cost(config).step_seconds:
            best, config = params, found
    return urlencode(best), config


def _random_parameters(model: str, chance: random.Random) -> dict[str, str]:
    """Return some of the page's sizes, with random values that are possible."""
    drawn = random_sizes(default_config("text", model), chance, 1.0)
    params = {"replicas": str(drawn.replicas)}
    for name in size_limits(drawn):
        section, _, field = name.rpartition(".")
        value = str(getattr(getattr(drawn, section) if section else drawn, field))
        if field == "context":
            params[field] = value
        elif field in SIZES and field in TextLab.own_settings(model):
            params[f"{model}.{field}"] = value
    return {name: value for name, value in params.items() if chance.random() < 0.4}


def _find_allowed_config(params: dict[str, str]) -> RunConfig | None:
    """Return the training that the page starts with these parameters; None if it is not allowed or too short."""
    state, problems = read(TextLab, params)
    if problems:
        return None
    try:
        config = limits.check(state.configs[params["models"]])
    except LineageError:
        return None
    return config if estimate_cost(config).seconds > LEAST_SECONDS or "." not in "".join(params) else None


async def _measure_small(server: Server, epochs: int, seed: int) -> tuple[float, float]:
    """Return seconds from a press on Train to the first step, and steps a second from then to the end."""
    query = f"models=rnn&seed={seed}" + (f"&rnn.epochs={epochs}" if epochs else "")
    async with open_negation_page(server.url, query) as visitor:
        start = time.perf_counter()
        await visitor.press("train")
        first, step = 0.0, 0
        while time.perf_counter() - start < 300:
            rows = [row for row in await visitor.jobs() if row["mine"]]
            now = time.perf_counter()
            if rows and rows[0]["step"] and not first:
                first, step = now, rows[0]["step"]
            if rows and rows[0]["state"] not in ("waiting", "running"):
                first = first or now
                return first - start, (rows[0]["steps"] - step) / max(now - first, 1e-3)
            await asyncio.sleep(0.02)
    raise TimeoutError("the small training did not end within 300 s")


async def _measure(server: Server, rounds: int, seed: int) -> tuple[list[float], float]:
    """Return the seconds to the first step of each round, and the median speed of a longer training."""
    firsts, speeds = [], []
    for number in range(rounds):
        firsts.append((await _measure_small(server, 0, seed + 100 * number))[0])
        speeds.append((await _measure_small(server, SPEED_EPOCHS, seed + 100 * number + 50))[1])
    return firsts, statistics.median(speeds)


async def compare(server: Server, query: str, rounds: int) -> tuple[list[float], float, list[float], float]:
    """Measure the small training alone and beside three visitors who run the expensive one, each with its own seed."""
    alone = await _measure(server, rounds, 10_000)
    async with AsyncExitStack() as stack:
        visitors = []
        for number in range(OTHERS):
            browser = httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False)
            await stack.enter_async_context(browser)
            page = open_page(browser, server.url, "text", f"{query}&seed={100 + 100 * number}")
            visitors.append(await stack.enter_async_context(page))
            await visitors[-1].fetch_sections(10)
            await visitors[-1].press("train")
        for visitor in visitors:
            if not any(row["mine"] for row in await visitor.jobs()):
                raise RuntimeError(f"the expensive training was not taken on: {visitor.messages}")
        await asyncio.sleep(5)
        beside = await _measure(server, rounds, 20_000)
        running = [row["state"] for visitor in visitors for row in await visitor.jobs() if row["mine"]]
        print(f"  the others meanwhile                    {running}, {read_state(server).megabytes:.0f} MB in all")
        for visitor in visitors:
            await visitor.stop_all()
    return *alone, *beside


def main(
    executor: Annotated[str, typer.Option(help="here or processes; both if empty.")] = "",
    rounds: Annotated[int, typer.Option(help="How often each training is timed.")] = 3,
    candidates: Annotated[int, typer.Option(help="How many settings are tried for the most expensive one.")] = 300,
) -> None:
    """Measure a small training beside large ones."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    for each in (executor,) if executor else ("here", "processes"):
        os.environ["LINEAGE_EXECUTOR"] = each
        query, config = find_most_expensive(candidates)
        cost = estimate_cost(config)
        print(f"executor {each}: three visitors train {query}")
        print(
            f"  estimated                               {cost.step_seconds:.2f} s a step, {cost.seconds:.0f} s, "
            f"{cost.peak_bytes / 1e6:.0f} MB"
        )
        with serve_app(LINEAGE_EXECUTOR=each) as server:
            first_alone, alone, first, speed = asyncio.run(compare(server, query, rounds))
        print(f"  first step, alone                       {', '.join(f'{value:.2f}' for value in first_alone)} s")
        verdict = "holds" if max(first) <= FIRST_STEP else "DOES NOT HOLD"
        print(f"  first step, beside them                 {', '.join(f'{value:.2f}' for value in first)} s  {verdict}")
        verdict = "holds" if speed / alone >= SHARE else "DOES NOT HOLD"
        print(
            f"  steps a second alone, beside them       {alone:.0f}, {speed:.0f}: {speed / alone:.2f} times  {verdict}"
        )


if __name__ == "__main__":
    typer.run(main)
