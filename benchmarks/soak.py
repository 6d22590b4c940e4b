"""Whether a server stays within its memory: random gestures on all pages, then rest; or a long day of a class.

    python -m benchmarks.soak [--gestures 3000] [--rest 60]
    python -m benchmarks.soak --minutes 30 [--visitors 30] [--executor here|processes]

The first form visits each page once, then lets four visitors at a time change random widgets of random pages, and
waits. It fails if the server has more than 1,000 MB after the gestures, or if it has 150 MB more after the rest than
after the first visits. The memory is that of all its processes (PSS). The log must have no traceback.

The second form is a class: visitors train, export, delete, import, answer and leave, for as long as asked. Each
minute a line about the server: resident memory of all its processes (PSS), open files, threads, exceptions. The last
line says whether memory and open files stayed flat: what they grew by in the last two thirds, by a straight line
through the lines of these minutes. A server keeps the sessions of those who left for two minutes, 128 at most, with
three open files each; so the first minutes grow, and a soak of less than ten says little.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import httpx
import numpy as np
import typer
from websockets.exceptions import WebSocketException

from benchmarks.classroom import serve_app
from benchmarks.load.gestures import wander
from benchmarks.load.load_generator import open_negation_page, open_page, read_class_code
from benchmarks.load.server_state import ServerState, read_log, read_state
from benchmarks.machine import describe_machine
from explorer.catalogue import PAGES
from tests.serving import Server

PANEL = {"X-Lineage": "1"}
TRAININGS = {  # of a few seconds: page, its button, and the settings; every visitor adds a seed
    "negation": ("train", "models=rnn,feedforward&rnn.epochs=5&feedforward.epochs=5"),
    "memory": ("recall.run", "who=rnn-usual,lstm-usual&length=10&seeds=1&steps=20"),
    "masks": ("masks.run", "seeds=1&steps=20"),
    "positions": ("positions.run", "who=learned,none&seeds=1&steps=20"),
    "scaled-attention": ("scaled.run", "seeds=1&steps=20"),
    "translation": ("translation.run", "task=reverse&seeds=1&steps=10"),
}
LONGEST = 120.0  # seconds for which a visitor waits for a training
EPISODE = 25  # gestures of one visitor
SETTLE = 20.0  # seconds after the first visits, in which the imports end and freed memory is given back
MOST_AFTER_GESTURES, MOST_LEFT = 1_000.0, 150.0  # MB
MOST_MEGABYTES, MOST_FILES = 50.0, 20.0  # growth over the last two thirds that counts as flat


@dataclass
class Soak:
    """What visitors have done, and what went wrong."""

    done: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    code: str = ""  # of the class
    number: int = 1  # of its question


async def visit_again_and_again(server: Server, number: int, end: float, soak: Soak) -> None:
    """Be a student: come, train or answer, and leave; then be another student."""
    chance = random.Random(number)
    await asyncio.sleep(chance.uniform(0, 10))
    while time.monotonic() < end:
        async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as browser:
            await browser.get("/", headers={"Accept": "text/html"})
            for act in chance.choices((train_and_keep, answer, look_around), (3, 1, 1), k=4):
                if time.monotonic() > end:
                    break
                try:
                    await act(server, browser, chance, soak)
                    soak.done[act.__name__] += 1
                except (TimeoutError, KeyError, OSError, WebSocketException, httpx.HTTPError) as error:
                    soak.problems.append(f"{act.__name__}: {type(error).__name__}: {error}")
                await asyncio.sleep(chance.uniform(0, 3))
        soak.done["visitors who left"] += 1


async def train_and_keep(server: Server, browser: httpx.AsyncClient, chance: random.Random, soak: Soak) -> None:
    """Train on some page; export one of the runs, delete it, import it, and delete it again."""
    page, (button, settings) = chance.choice(list(TRAININGS.items()))
    query = f"{settings}&seed={chance.randrange(10**6)}"
    before = {row["key"] for row in await _jobs(browser)}
    async with open_page(browser, server.url, page, query, is_new=False) as visitor:
        await visitor.fetch_sections(20)
        await visitor.press(button)
        if chance.random() < 0.15:
            soak.done["left while it trained"] += 1
            return
        keys = await _wait_for_end(browser, before)
        soak.problems += visitor.exceptions
    if keys:
        await _export_and_import(server, browser, chance.choice(sorted(keys)), soak)
    for key in keys:
        await _delete(server, browser, key, soak)


async def _jobs(browser: httpx.AsyncClient) -> list[dict[str, object]]:
    return [row for row in (await browser.get("/jobs")).json()["jobs"] if row["mine"]]


async def _wait_for_end(browser: httpx.AsyncClient, before: set[object]) -> set[str]:
    """Return the keys of the new trainings once they have ended. Raises TimeoutError."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        rows = [row for row in await _jobs(browser) if row["key"] not in before]
        if all(row["state"] not in ("waiting", "running") for row in rows):
            return {str(row["key"]) for row in rows if row["state"] == "finished"}
        await asyncio.sleep(1)
    raise TimeoutError(f"a training did not end within {LONGEST:.0f} s")


async def _export_and_import(server: Server, browser: httpx.AsyncClient, key: str, soak: Soak) -> None:
    async with open_page(browser, server.url, "runs", f"run={key}", is_new=False) as visitor:
        content = await visitor.download("export-open")
        await visitor.press("delete-open")
        soak.problems += visitor.exceptions
    async with open_page(browser, server.url, "runs", is_new=False) as visitor:
        status = await visitor.upload("None", content)
        await visitor.press("FormSubmitter:import-Import it")
        refused = [text for text in visitor.messages if text.startswith("Nothing was imported")]
        soak.problems += [*visitor.exceptions, *(f"import of {key} ({status}): {text}" for text in refused)]
        soak.done["exports and imports"] += 1


async def _delete(server: Server, browser: httpx.AsyncClient, key: str, soak: Soak) -> None:
    async with open_page(browser, server.url, "runs", f"run={key}", is_new=False) as visitor:
        if "delete-open" in visitor.widgets:
            await visitor.press("delete-open")
            soak.done["deleted runs"] += 1
        soak.problems += visitor.exceptions


async def answer(server: Server, browser: httpx.AsyncClient, chance: random.Random, soak: Soak) -> None:
    """Answer the question of the class, and look at it for a while."""
    given = {"number": soak.number, "given": chance.choice(("sustain", "collapse"))}
    status = (await browser.post(f"/class/{soak.code}/answer", headers=PANEL, json=given)).status_code
    if status >= 500:
        soak.problems.append(f"an answer has status {status}")
    for _ in range(3):
        await browser.get(f"/class/{soak.code}")
        await asyncio.sleep(1)


async def look_around(server: Server, browser: httpx.AsyncClient, chance: random.Random, soak: Soak) -> None:
    """Open pages and type sentences."""
    for page in chance.sample(("", "tokens", "text", "attention", "gates", "block", "depth", "lessons", "compare"), 2):
        async with open_page(browser, server.url, page, is_new=False) as visitor:
            await visitor.fetch_sections(20)
            soak.problems += visitor.exceptions
    async with open_page(browser, server.url, "negation", is_new=False) as visitor:
        await visitor.type(chance.choice(("human destroy nature", "human not not consume nature")))
        soak.problems += visitor.exceptions


async def teach(server: Server, soak: Soak, end: float, begun: asyncio.Event) -> None:
    """Begin a class, reveal its answers every half minute, and show the question again."""
    async with open_negation_page(server.url, "models=bag_of_words&lesson=counting&part=1") as teacher:
        await teacher.press("lesson.class")
        soak.code = await read_class_code(teacher)
        begun.set()
        while time.monotonic() < end:
            await asyncio.sleep(min(30.0, max(0.0, end - time.monotonic())))
            url = f"/class/{soak.code}"
            await teacher.browser.post(f"{url}/reveal", headers=PANEL, json={"number": soak.number})
            soak.done["reveals"] += 1


async def wander_everywhere(server: Server, gestures: int, rest: float) -> tuple[bool, str]:
    """Make random gestures on all pages, then rest; return whether the memory kept its limits, in a sentence."""
    pages, chance, seeds = [row.address for row in PAGES], random.Random(0), itertools.count()
    for page in pages:
        await wander(server.url, page, 0, 0)
    await asyncio.sleep(SETTLE)
    first = await _measure(server, "first visits")
    for done in range(0, gestures, 4 * EPISODE):
        visits = (wander(server.url, chance.choice(pages), EPISODE, next(seeds)) for _ in range(4))
        for ended in await asyncio.gather(*visits, return_exceptions=True):
            if ended:
                print(f"  {ended!r}", flush=True)
        await _measure(server, f"{done + 4 * EPISODE} gestures")
    end = await _measure(server, "end")
    await asyncio.sleep(rest)
    rested = await _measure(server, f"{rest:.0f} s of rest")
    grown = rested - first
    return (
        end <= MOST_AFTER_GESTURES and grown <= MOST_LEFT,
        f"{first:.0f} MB after the first visits, {end:.0f} MB after {gestures} gestures "
        f"(at most {MOST_AFTER_GESTURES:.0f}), {grown:+.0f} MB after {rest:.0f} s of rest (at most {MOST_LEFT:.0f})",
    )


async def _measure(server: Server, moment: str) -> float:
    state = await asyncio.to_thread(read_state, server)
    print(f"  {moment:15} {state.megabytes:6.0f} MB {state.files:5} files {state.traces:3} tracebacks", flush=True)
    return state.megabytes


async def soak_server(server: Server, minutes: float, visitors: int, every: float) -> tuple[Soak, list[ServerState]]:
    """Let visitors come and go, and measure the server `every` so many seconds."""
    soak, states, start = Soak(), [], time.monotonic()
    end, begun = start + 60 * minutes, asyncio.Event()
    tasks = [asyncio.create_task(teach(server, soak, end, begun))]
    await begun.wait()
    tasks += [asyncio.create_task(visit_again_and_again(server, number, end, soak)) for number in range(visitors)]
    while time.monotonic() < end:
        await asyncio.sleep(every)
        state = await asyncio.to_thread(read_state, server)
        states.append(state)
        print(
            f"  {(time.monotonic() - start) / 60:5.1f} min {state.megabytes:6.0f} MB {state.files:5} files "
            f"{state.threads:4} threads {state.processes:3} processes {state.traces:3} tracebacks  "
            + ", ".join(f"{number} {name}" for name, number in sorted(soak.done.items())),
            flush=True,
        )
    await asyncio.gather(*tasks)
    return soak, states


def describe_growth(states: list[ServerState]) -> tuple[bool, str]:
    """Return whether memory and open files are flat in the last two thirds, and a sentence that says so."""
    last = states[len(states) // 3 :]
    grown = _growth([state.megabytes for state in last]), _growth([state.files for state in last])
    flat = grown[0] < MOST_MEGABYTES and grown[1] < MOST_FILES
    return (
        flat,
        f"{'flat' if flat else 'NOT FLAT'}: {grown[0]:+.0f} MB and {grown[1]:+.0f} files in the last two thirds",
    )


def _growth(values: Sequence[float]) -> float:
    """Return by how much a straight line through the values rises from the first to the last."""
    if len(values) < 2:
        return 0.0
    slope: float = np.polyfit(range(len(values)), values, 1)[0]
    return slope * (len(values) - 1)


def main(
    gestures: Annotated[int, typer.Option(help="Random gestures on all pages.")] = 3_000,
    rest: Annotated[float, typer.Option(help="Seconds of rest after them.")] = 60,
    minutes: Annotated[float, typer.Option(help="How long a class comes, instead of random gestures.")] = 0,
    visitors: Annotated[int, typer.Option(help="How many are there at once.")] = 30,
    executor: Annotated[str, typer.Option(help="Where trainings run: here or processes.")] = "here",
    every: Annotated[float, typer.Option(help="Seconds between two lines.")] = 60,
) -> None:
    """Soak a server; the exit code is 1 if something went wrong or grew."""
    print(describe_machine())
    if not minutes:
        with serve_app() as server:
            holds, sentence = asyncio.run(wander_everywhere(server, gestures, rest))
            traces = read_log(server).count("Traceback")
        print(f"{sentence}; {traces} tracebacks in the log")
        raise typer.Exit(0 if holds and not traces else 1)
    with serve_app(LINEAGE_EXECUTOR=executor) as server:
        soak, states = asyncio.run(soak_server(server, minutes, visitors, every))
        traces = read_log(server).count("Traceback")
    flat, sentence = describe_growth(states)
    print(f"{sentence}; {traces} tracebacks in the log, {len(soak.problems)} problems of visitors")
    for problem, number in Counter(problem[:300] for problem in soak.problems).most_common(20):
        print(f"  {number:4} times: {problem}")
    raise typer.Exit(0 if flat and not traces and not soak.problems else 1)


if __name__ == "__main__":
    typer.run(main)
