"""A class at one server: what thirty visitors, a hundred idle ones, a live chart and kill -9 do to it.

    python -m benchmarks.classroom [--part sessions|memory|chart|kills] [--visitors 30] [--seconds 60] [--kills 200]

Every part starts the server as it is really served, with a home of its own, and prints its figures; where it can
they are ratios of things measured in the same minutes, because machines differ. The visitors share the machine
with the server, so on two cores the times are worse than on a server of one's own.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.load.load_generator import Visitor, open_negation_page
from benchmarks.load.server_state import fresh_server
from benchmarks.machine import describe_machine
from explorer.experiments.default_runs import NEGATION_MODELS
from tests.serving import ROOT, Server

SENTENCES = (
    "human destroy nature",
    "human not destroy nature",
    "human preserve nature",
    "human not preserve nature",
    "human not not consume nature",
    "human consume nature not",
)
PAUSE = 3.0  # seconds between two sentences of a visitor
LONGEST = 600.0  # seconds after which nobody waits for a training any more
SAID_AT_THE_END = ("Saved; ", "Trained once more")
TWO_LONG = "models=rnn,gru&rnn.epochs=2000&gru.epochs=2000&seed=7"  # two jobs that outlast every sentence


class Part(StrEnum):
    sessions = "sessions"
    memory = "memory"
    chart = "chart"
    kills = "kills"


@contextmanager
def serve_app(**settings: str) -> Iterator[Server]:
    """A server with an empty home of its own, warm."""
    with fresh_server(**settings) as server:
        asyncio.run(_warm_up(server.url))
        yield server


async def _warm_up(address: str) -> None:
    """The first visitor of a server: pays for its imports and waits for the rest of them."""
    async with open_negation_page(address) as visitor:
        await visitor.type("human not nature")  # no stored answer: a model is opened
        await asyncio.sleep(3)


@asynccontextmanager
async def visiting_all(address: str, queries: Sequence[str]) -> AsyncIterator[list[Visitor]]:
    """Visitors who come one after the other within a few seconds, and stay."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(open_negation_page(address, query)) for query in queries]


# ---- thirty visitors ----


async def sessions(server: Server, visitors: int) -> None:
    """A class that trains and types. A third asks for the same trainings, the others for seeds of their own."""
    moments = random.Random(0)
    queries = ["" if i % 3 == 0 else f"seed={1_000 * i}" for i in range(visitors)]
    async with visiting_all(server.url, queries) as present:
        alone = await _type_together(present, moments)
        async with open_negation_page(server.url, TWO_LONG) as teacher:
            await _press_train(teacher)
            beside = await _type_together(present, moments)
            await teacher.stop_all()
        ends = asyncio.gather(*(_train(visitor, moments) for visitor in present))
        amid = await _type_together(present, moments)
        ended = sum(await ends)
        rows = {row["key"]: row["state"] for visitor in present for row in await visitor.jobs() if row["mine"]}
        asked, taken = len(NEGATION_MODELS) * visitors, max(visitor.submitted_jobs for visitor in present) - 2
        exceptions = [text for visitor in present for text in visitor.exceptions]
        polls = sum(visitor.polls for visitor in present)
        unanswered = [text for visitor in present for text in visitor.unanswered]
    cards = [json.loads(card.read_text("utf-8")) for card in (server.home / "runs").glob("*/card.json")]
    kept = sum(card["state"] == "finished" for card in cards)
    log = (server.home / "server.log").read_text("utf-8")
    print(f"{visitors} visitors: {-(-visitors // 3)} alike, the others each with a seed of their own")
    print(f"  sessions that saw their trainings end   {ended} of {visitors}")
    print(f"  exceptions on pages, traces in the log  {len(exceptions)}, {log.count('Traceback')}")
    print(f"  gestures without an answer in 20 s      {len(unanswered)}")
    print(f"  trainings asked for                     {asked}")
    print(f"  trainings taken on, different ones      {taken}, {len(rows)}")
    print(f"  finished: by the panel, in the store    {sum(s == 'finished' for s in rows.values())}, {kept}")
    print(f"  live pictures asked for                 {polls}")
    print(f"  a typed sentence, nothing trains        {_format_times(alone)}")
    print(
        f"  a typed sentence, two jobs train        {_format_times(beside)}, "
        f"p95 {_percentile_95(beside) / _percentile_95(alone):.2f} times"
    )
    print(
        f"  a typed sentence, all of them train     {_format_times(amid)}, "
        f"p95 {_percentile_95(amid) / _percentile_95(alone):.2f} times"
    )
    for text in {*exceptions}:
        print(f"  {text}")


async def _type_together(present: Sequence[Visitor], moments: random.Random) -> list[float]:
    """How long the answer to each typed sentence took."""

    async def one(visitor: Visitor, wait: float) -> list[float]:
        await asyncio.sleep(wait)
        taken = []
        for sentence in SENTENCES:
            taken.append(await visitor.type(sentence))
            await asyncio.sleep(max(0.0, PAUSE - taken[-1]))
        return taken

    each = await asyncio.gather(*(one(visitor, moments.uniform(0, PAUSE)) for visitor in present))
    return [seconds for taken in each for seconds in taken]


async def _train(visitor: Visitor, moments: random.Random) -> bool:
    """Whether a visitor who presses Train reads in the end that all is trained."""
    await asyncio.sleep(moments.uniform(0, 1))
    await _press_train(visitor)
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        if any(text.startswith(SAID_AT_THE_END) for text in visitor.messages):
            return True
        await asyncio.sleep(0.2)
    return False


async def _press_train(visitor: Visitor) -> None:
    """Press the button that trains what is missing, or all models again if none is."""
    await visitor.press("train-missing" if "train-missing" in visitor.widgets else "train")


def _percentile_95(taken: Sequence[float]) -> float:
    return sorted(taken)[int(0.95 * len(taken))]


def _format_times(taken: Sequence[float]) -> str:
    if not taken:
        return "none was typed then"
    milliseconds = [1e3 * seconds for seconds in (statistics.median(taken), _percentile_95(taken), max(taken))]
    return "p50 {:.0f}, p95 {:.0f}, max {:.0f} ms".format(*milliseconds) + f" ({len(taken)})"


# ---- a hundred idle ones ----


async def memory(server: Server, more: int = 100) -> None:
    """What an open page costs in memory."""
    async with open_negation_page(server.url):
        await asyncio.sleep(2)
        one = _megabytes(server)
        async with visiting_all(server.url, [""] * more):
            await asyncio.sleep(2)
            many = _megabytes(server)
    print(f"memory: {one:.0f} MB with 1 session, {many:.0f} MB with {more + 1}")
    print(f"  a session beyond the first              {(many - one) / more:.2f} MB")


def _megabytes(server: Server) -> float:
    assert server.process
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text("utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# ---- a live chart ----


async def chart(server: Server, seconds: float, rounds: int = 2) -> None:
    """The same training with nobody looking, with its chart on a screen, and in a terminal."""
    _, pilot = _in_a_terminal(server, 50, 1)  # the first steps of a process are slower
    epochs = min(2_000, math.ceil(50 * seconds / pilot))
    taken: dict[str, list[tuple[float, float]]] = {"unseen": [], "watched": [], "terminal": []}
    polls = 0
    for round_ in range(rounds):
        seed = 100 * (3 * round_ + 1)
        taken["terminal"].append(_in_a_terminal(server, epochs, seed))
        for name in ("unseen", "watched"):
            seed += 100
            found, drawn = await _on_the_server(server, epochs, seed, name == "watched")
            taken[name].append(found)
            polls += drawn
    print(f"chart: a transformer, eight seeds, {epochs} epochs; wall and trained seconds of {rounds} rounds")
    for name, pairs in taken.items():
        print(f"  {name:10}" + "".join(f"{wall:9.1f} {trained:6.1f}" for wall, trained in pairs))
    print(f"  {polls} drawings, {polls / sum(wall for wall, _ in taken['watched']):.1f} a second")
    print("                                          by the wall  by the card")
    for one, other in (("watched", "unseen"), ("watched", "terminal"), ("unseen", "terminal")):
        ratios = [sum(p[i] for p in taken[other]) / sum(p[i] for p in taken[one]) for i in (0, 1)]
        print(f"  speed {one:>9} / {other:<21}" + "".join(f"{ratio:13.2f}" for ratio in ratios))


async def _on_the_server(server: Server, epochs: int, seed: int, watched: bool) -> tuple[tuple[float, float], int]:
    """Seconds from the press to the end, and those on the card; how often the chart was drawn."""
    query = f"models=transformer&seed={seed}&transformer.epochs={epochs}"
    before = {card.parent.name for card in server.home.glob("runs/*/card.json")}
    async with AsyncExitStack() as stack:
        visitor = await stack.enter_async_context(open_negation_page(server.url, query))
        start = time.perf_counter()
        await _press_train(visitor)
        if not watched:
            await stack.aclose()
        while not (new := {card.parent.name for card in server.home.glob("runs/*/card.json")} - before):
            await asyncio.sleep(0.05)
        wall = time.perf_counter() - start
    return (wall, _seconds_of(server, new.pop())), visitor.polls if watched else 0


def _in_a_terminal(server: Server, epochs: int, seed: int) -> tuple[float, float]:
    """Seconds of `python -m explorer train`, and those on the card."""
    command = [sys.executable, "-m", "explorer", "train", "--task", "negation", "--model", "transformer", "--json"]
    command += ["--replicas", "8", "--seed", str(seed), "--set", f"epochs={epochs}"]
    environment = os.environ | {"LINEAGE_HOME": str(server.home)} | server.settings
    start = time.perf_counter()
    said = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout
    wall = time.perf_counter() - start
    return wall, _seconds_of(server, json.loads(said.splitlines()[-1])["run"])


def _seconds_of(server: Server, run: str) -> float:
    return float(json.loads((server.home / "runs" / run / "card.json").read_text("utf-8"))["seconds"])


def main(
    part: Annotated[Part | None, typer.Option(help="Only this one.")] = None,
    visitors: Annotated[int, typer.Option(help="How many train and type at once.")] = 30,
    seconds: Annotated[float, typer.Option(help="Of each training that is watched.")] = 60,
    kills: Annotated[int, typer.Option(help="How often a process is killed.")] = 200,
) -> None:
    """Measure a class at one server."""
    print(describe_machine())
    for each in (part,) if part else Part:
        print(flush=True)
        if each is Part.kills:
            subprocess.run(
                [sys.executable, "-m", "benchmarks.load.crash_recovery", "--kills", str(kills)], cwd=ROOT, check=True
            )
            continue
        with serve_app(LINEAGE_MOST_STEPS="1000000") as server:
            match each:
                case Part.sessions:
                    asyncio.run(sessions(server, visitors))
                case Part.memory:
                    asyncio.run(memory(server))
                case Part.chart:
                    asyncio.run(chart(server, seconds))


if __name__ == "__main__":
    typer.run(main)
