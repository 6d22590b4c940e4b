"""A class that answers: how soon thirty predictions stand on the teacher's screen, and whether each counts once.

    python -m benchmarks.class_link [--students 30] [--seconds 10] [--rounds 3]

The server is started as it is really served. Every student's browser asks each second, as the page does, answers at a
random moment of the ten seconds, and sends its answer twice as if the first acknowledgement had been lost.
"""

from __future__ import annotations

import asyncio
import os
import platform
import random
import re
import statistics
import time
from typing import Annotated, Any

import httpx
import typer

from benchmarks.load.load_generator import Visitor, open_negation_page
from benchmarks.load.server_state import fresh_server

POLL_SECONDS = 1.0  # seconds between two questions of a browser
HEADERS = {"X-Lineage": "1"}


async def measure_class(address: str, students: int, seconds: float, number: int) -> None:
    """Begin a class with a step of a lesson, and let it answer."""
    async with open_negation_page(address, "models=bag_of_words&lesson=counting&part=1") as teacher:
        await teacher.press("lesson.class")
        code = await read_class_code(teacher)
        browsers = [httpx.AsyncClient(base_url=address, timeout=30, trust_env=False) for _ in range(students)]
        try:
            await asyncio.gather(*(browser.get("/", headers={"Accept": "text/html"}) for browser in browsers))
            await _round(teacher, browsers, code, seconds, number)
        finally:
            await asyncio.gather(*(browser.aclose() for browser in browsers))


async def read_class_code(teacher: Visitor) -> str:
    """The code of the class, once the address has it."""
    for _ in range(100):
        if found := re.search("class=([A-Z]+)", teacher.query):
            return found[1]
        await asyncio.sleep(0.1)
    raise TimeoutError("the class did not begin")


async def _round(teacher: Visitor, browsers: list[httpx.AsyncClient], code: str, seconds: float, number: int) -> None:
    moments = random.Random(number)
    sent: list[float] = []
    counted: list[tuple[float, int]] = []
    over = asyncio.Event()
    watching = asyncio.create_task(_watch(teacher.browser, code, counted, over))
    said = [("sustain", "collapse")[(i + number) % 2] for i in range(len(browsers))]
    await asyncio.gather(
        *(
            _student(browser, code, moments.uniform(0, seconds), given, sent)
            for browser, given in zip(browsers, said, strict=True)
        )
    )
    await asyncio.sleep(3 * POLL_SECONDS)
    over.set()
    await watching
    sent.sort()
    delays = [next((when for when, count in counted if count > i), float("inf")) - at for i, at in enumerate(sent)]
    await teacher.browser.post(f"/class/{code}/show", headers=HEADERS, json={"number": 1})
    state: dict[str, Any] = (await teacher.browser.get(f"/class/{code}")).json()
    final = state["votes"][0]
    lost = sum(max(0, said.count(each) - final["given"].count(each)) for each in set(said))
    begun = time.perf_counter()
    await teacher.browser.post(f"/class/{code}/reveal", headers=HEADERS, json={"number": 1})
    revealed = await asyncio.gather(*(_seconds_until_revealed(browser, code, begun) for browser in browsers))
    print(f"round {number}: {len(browsers)} students answer within {seconds:.0f} s, each twice")
    print(f"  on the teacher's screen after   p50 {statistics.median(delays):.2f} s, max {max(delays):.2f} s")
    print(f"  counted                         {final['answered']} of {len(browsers)}")
    print(f"  lost, counted twice             {lost}, {max(0, len(final['given']) - len(browsers))}")
    print(f"  the answer is with all after    p50 {statistics.median(revealed):.2f} s, max {max(revealed):.2f} s")


async def _student(browser: httpx.AsyncClient, code: str, wait: float, given: str, sent: list[float]) -> None:
    """Ask each second until it is time, then answer; and answer again."""
    until = time.perf_counter() + wait
    while (left := until - time.perf_counter()) > 0:
        await browser.get(f"/class/{code}")
        await asyncio.sleep(min(POLL_SECONDS, left))
    sent.append(time.perf_counter())
    for _ in range(2):
        answer = await browser.post(f"/class/{code}/answer", headers=HEADERS, json={"number": 1, "given": given})
        answer.raise_for_status()


async def _watch(browser: httpx.AsyncClient, code: str, counted: list[tuple[float, int]], over: asyncio.Event) -> None:
    """What the teacher's screen shows, and since when."""
    while not over.is_set():
        found = (await browser.get(f"/class/{code}")).json()
        counted.append((time.perf_counter(), found["votes"][0]["answered"]))
        await asyncio.sleep(POLL_SECONDS)


async def _seconds_until_revealed(browser: httpx.AsyncClient, code: str, begun: float) -> float:
    """Seconds until a student's browser, which asks each second at a moment of its own, has the answer."""
    await asyncio.sleep(random.uniform(0, POLL_SECONDS))
    while "answer" not in (await browser.get(f"/class/{code}")).json():
        await asyncio.sleep(POLL_SECONDS)
    return time.perf_counter() - begun


def main(
    students: Annotated[int, typer.Option(help="How many answer.")] = 30,
    seconds: Annotated[float, typer.Option(help="Within which they answer.")] = 10,
    rounds: Annotated[int, typer.Option(help="How often.")] = 3,
) -> None:
    """Measure a class that answers at once."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    for number in range(1, rounds + 1):
        with fresh_server() as server:
            asyncio.run(measure_class(server.url, students, seconds, number))


if __name__ == "__main__":
    typer.run(main)
