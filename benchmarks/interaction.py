"""What follows the hand, and what comes at once: generation studio and attention explorer in Chromium.

    python -m benchmarks.interaction [--only temperature|heads|real|writing] [--seconds 8]

Needs Chromium and Tiny Shakespeare (LINEAGE_DATA_DIR). It starts the server as it is really served, with a home of its
own, and prints each figure beside its budget. Frame times are those of the page's own requestAnimationFrame, and stand
beside those of the same page while nobody touches it: server, browser and this script share one machine, and on two
cores an idle page is late now and then. The page is drawn without a graphics card, which is slower than with one.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from enum import StrEnum
from http.client import HTTPConnection
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode, urlsplit

import torch
import typer
from playwright.sync_api import Browser

from benchmarks.load.browser_timing import (
    TimedPage,
    Timing,
    launch_chromium,
    measure_drag,
    measure_frames,
    milliseconds_until,
    move_over,
)
from benchmarks.machine import describe_machine
from explorer.generation.generate import generate_tokens
from explorer.labs.generation.models import encode_prompt, id_tensor, sampling_settings, tokenizer_of
from explorer.labs.generation.state import GenerationState
from explorer.ui.training.stored_models import RunModel, find_model
from tests.hub.real_models import can_open_smollm2, smollm2_folder
from tests.serving import running_server

TOKENS = 64  # of a text whose attention is looked at: the whole context of that model
SPEECH = (
    "Now is the winter of our discontent made glorious summer by this sun of York, and all the clouds that lour upon "
    "our house in the deep bosom of the ocean buried. Now are our brows bound with victorious wreaths, our bruised "
    "arms hung up for monuments, our stern alarums changed to merry meetings, our dreadful marches to delightful "
    "measures. Grim-visaged war hath smooth'd his wrinkled front, and now he capers nimbly in a lady's chamber."
)
LENGTH = 2_000  # tokens of the texts whose speed is measured

# The tokens beside the large head are made anew in the very frame in which the grid is painted.
QUERIES = ".lineage-attention-heads .asks button"
READ = f"[...document.querySelectorAll('{QUERIES}')].map((token) => token.textContent).join('') === "
WRITTEN = "document.querySelector('.lineage-text-stream .token')"
PICTURES = "[...document.querySelectorAll('.lineage-attention-heads .grid canvas')].map((canvas) => canvas.toDataURL())"


class Part(StrEnum):
    temperature = "temperature"
    heads = "heads"
    real = "real"
    writing = "writing"


# ---- the temperature ----


def temperature(browser: Browser, address: str, seconds: float) -> Iterator[Timing]:
    """The slider over the texts of a model with a vocabulary of 500."""
    yield Timing("vocabulary", len(tokenizer_of(find_model("text-assignment")).tokens))
    watched = TimedPage(browser, address, "/studio?models=text-assignment")
    place, size = watched.page.locator(".lineage-temperature"), ".lineage-temperature .size"
    yield Timing("tokens of the text", place.locator(".text [role=option]").count())
    yield from measure_frames(watched, "idle", size, seconds, None)
    yield from measure_drag(watched, "dragging", place.locator("input.slider"), size, seconds, 50)


# ---- the heads ----


def heads(browser: Browser, address: str, seconds: float) -> Iterator[Timing]:
    """Attention of 4 x 4 heads over 64 letters: hovering, typing, scrubbing, and what travels for it."""
    watched = TimedPage(browser, address, "/attention?" + urlencode({"say": SPEECH[:TOKENS]}))
    page = watched.page
    yield Timing("tokens", page.locator(".lineage-attention-heads .asks button").count())
    yield Timing("heads", page.locator(".lineage-attention-heads .grid canvas").count())
    yield from transferred_bytes(watched)
    stage, reading = page.locator(".lineage-attention-heads .stage"), ".lineage-attention-heads .reading"
    yield from measure_frames(watched, "idle", reading, seconds, None)
    yield from measure_frames(watched, "hovering the lines", reading, seconds, move_over(page, stage, True, 0.03), 30)
    page.get_by_role("button", name="matrix", exact=True).click()
    watched.wait_until_quiet(1)
    yield from measure_frames(watched, "hovering the matrix", reading, seconds, move_over(page, stage, True), 30)
    page.get_by_role("button", name="lines", exact=True).click()
    watched.wait_until_quiet(1)
    slider = page.get_by_role("slider", name="Training step")
    yield from measure_drag(watched, "scrubbing the training", slider, ".lineage-attention-heads .where", seconds, 15)
    taken = [time_typed_text(watched, SPEECH[from_ : from_ + TOKENS]) for from_ in range(20, len(SPEECH) - TOKENS, 40)]
    yield Timing(f"{TOKENS} letters, from Enter to the grid: median", statistics.median(taken), "ms", 500)
    yield Timing(f"{TOKENS} letters, from Enter to the grid: worst of {len(taken)}", max(taken), "ms", 500)


def time_typed_text(watched: TimedPage, text: str) -> float:
    """Milliseconds from Enter until all heads of a new text are on the screen."""
    field = watched.page.get_by_label("Your text")
    field.fill(text)
    before = watched.page.evaluate(PICTURES)
    shown = READ + json.dumps(text.replace(" ", "␣"))
    taken = milliseconds_until(watched.page, "keydown", shown, lambda: field.press("Enter"))
    if any(old == new for old, new in zip(before, watched.page.evaluate(PICTURES), strict=True)):
        raise RuntimeError(f"some heads are not drawn anew for “{text}”")
    watched.wait_until_quiet()
    return taken


def transferred_bytes(watched: TimedPage) -> Iterator[Timing]:
    """Bytes of the arrays that came, as sent and as they are used: of the first view, and of the snapshots."""
    first, later, steps = [0, 0], [0, 0], 0
    for response in watched.array_responses:
        body = response.body()
        header = json.loads(body[8 : 8 + int.from_bytes(body[:8], "little")])  # safetensors
        shape = header.get("weights", {}).get("shape", [])
        steps = shape[0] if len(shape) == 4 else steps
        total = later if len(shape) == 4 else first
        total[0] += response.request.sizes()["responseBodySize"]
        total[1] += len(body)
    if not steps:
        raise RuntimeError("the snapshots did not come by themselves")
    for what, (sent, used), budget in (("first view", first, 300), (f"{steps} snapshots", later, 2_000)):
        yield Timing(f"{what}: as sent", sent / 1e3, "kB", budget)
        yield Timing(f"{what}: unpacked", used / 1e3, "kB", budget)


# ---- the heads of a real model ----


def real_heads(browser: Browser, address: str, seconds: float) -> Iterator[Timing]:
    """Attention of SmolLM2's 30 x 9 heads over a text of 64 tokens or more: hovering, and painting all heads anew."""
    watched = TimedPage(browser, address, "/attention?" + urlencode({"model": "hub:smollm2", "say": SPEECH[:300]}))
    page = watched.page
    yield Timing("tokens", page.locator(QUERIES).count())
    yield Timing("heads", page.locator(".lineage-attention-heads .grid canvas").count())
    stage, reading = page.locator(".lineage-attention-heads .stage"), ".lineage-attention-heads .reading"
    yield from measure_frames(watched, "idle", reading, seconds, None)
    yield from measure_frames(watched, "hovering the lines", reading, seconds, move_over(page, stage, True, 0.03), 30)
    grid, words = page.locator(".lineage-attention-heads .grid"), ".lineage-attention-heads .words"
    yield from measure_frames(watched, "hovering the heads", words, seconds, move_over(page, grid, True), 30)
    taken = []
    for name in ("by row", "0 to 1") * 5:
        before = page.evaluate(PICTURES)
        button = page.get_by_role("button", name=name, exact=True)
        shown = f"document.querySelector('{QUERIES}')"  # the heads are painted in the frame after the click
        taken.append(milliseconds_until(page, "click", shown, button.click))
        if before == page.evaluate(PICTURES):
            raise RuntimeError("the heads are not drawn anew")
    yield Timing("another colour scale for all heads: median", statistics.median(taken), "ms", 100)


def open_real_model(home: Path) -> None:
    """Open SmolLM2 for the server of this home. It needs requirements-test-models.txt."""
    command = [sys.executable, "-m", "explorer", "open", str(smollm2_folder()), "--name", "smollm2"]
    subprocess.run(command, env=os.environ | {"LINEAGE_HOME": str(home)}, check=True, capture_output=True)


# ---- writing on the server ----


def writing(browser: Browser, address: str, seconds: float) -> Iterator[Timing]:
    """Whole texts of a Transformer: how soon they begin, and how fast they are beside a terminal's."""
    studio = GenerationState(models=("text-transformer",), length=LENGTH)
    watched = TimedPage(browser, address, f"/studio?models={studio.models[0]}&length={LENGTH}")
    shown = [time_first_token(watched) for _ in range(9)]
    yield Timing("first token on the screen after Write: median", statistics.median(shown), "ms", 150)
    yield Timing(f"first token on the screen after Write: worst of {len(shown)}", max(shown), "ms", 150)
    place = watched.stream_paths[-1]
    watched.page.context.close()  # it would take its part of the machine

    hand = find_model(studio.models[0])
    own, prompt = hand.text_generator(), prompt_of(hand)
    torch.set_num_threads(1)  # as the server writes, and no slower than two for one token

    def in_a_terminal() -> tuple[float, list[int]]:
        start = time.perf_counter()
        with torch.inference_mode():
            text = [int(one) for one in generate_tokens(own, prompt, LENGTH, sampling_settings(studio))]
        return time.perf_counter() - start, text

    in_a_terminal(), read_stream(address, place)
    here, there, firsts = [], [], []
    for _ in range(max(5, int(3 * seconds))):  # in turns: a machine is faster now and slower then
        alone, text = in_a_terminal()
        first, whole, same = read_stream(address, place)
        if same != text:
            raise RuntimeError("the stream is not the text that a terminal writes")
        here.append(LENGTH / alone)
        there.append(LENGTH / whole)
        firsts.append(1e3 * first)
    yield Timing("first token by HTTP: median", statistics.median(firsts), "ms", 150)
    yield Timing(f"first token by HTTP: worst of {len(firsts)}", max(firsts), "ms", 150)
    yield Timing("in a terminal, median", statistics.median(here), "tokens a second")
    yield Timing("by HTTP, median", statistics.median(there), "tokens a second")
    ratio = statistics.median(there) / statistics.median(here)
    yield Timing("speed by HTTP", ratio, "of the terminal's", 0.9, least=True)


def time_first_token(watched: TimedPage) -> float:
    """Milliseconds from a press on Generate until its first token is on the screen."""
    place = watched.page.locator(".lineage-text-stream")
    taken = milliseconds_until(
        watched.page, "click", WRITTEN, place.get_by_role("button", name="Generate", exact=True).click
    )
    watched.page.wait_for_timeout(600)  # a press soon after the first is taken for a double click
    # On a fast machine it may be at its end already.
    place.get_by_role("button", name="Stop", exact=True).evaluate_all("(stops) => stops[0]?.click()")
    watched.page.wait_for_timeout(400)
    return taken


def read_stream(address: str, place: str) -> tuple[float, float, list[int]]:
    """Seconds until the first token and until the end of a stream of events, and the tokens."""
    url = urlsplit(address)
    connection = HTTPConnection(url.hostname or "", url.port, timeout=120)
    start = time.perf_counter()
    connection.request("GET", place, headers={"Accept": "text/event-stream"})
    answer = connection.getresponse()
    lines, times = [], []
    while line := answer.readline():
        if line.startswith(b"data:"):
            lines.append(line)
            times.append(time.perf_counter() - start)
    connection.close()
    return times[0], times[-1], [id for line in lines for id in json.loads(line[5:]).get("ids", ())]


def prompt_of(hand: RunModel) -> torch.Tensor:
    return id_tensor(encode_prompt(hand, GenerationState().prompt).ids)


def main(
    only: Annotated[Part | None, typer.Option(help="Only this part.")] = None,
    seconds: Annotated[float, typer.Option(help="Of each movement.")] = 8,
) -> None:
    """Measure what a visitor of the two screens feels."""
    measure = {
        Part.temperature: temperature,
        Part.heads: heads,
        Part.real: real_heads,
        Part.writing: writing,
    }
    print(describe_machine())
    with tempfile.TemporaryDirectory(prefix="lineage-interaction-") as home, running_server(Path(home)) as address:
        for part in (only,) if only else Part:
            if part is Part.real:
                if not can_open_smollm2():
                    print("\nreal: left out, because the packages of requirements-test-models.txt are missing")
                    continue
                open_real_model(Path(home))
            print(f"\n{part}, load {os.getloadavg()[0]:.1f} before", flush=True)
            with launch_chromium() as browser:
                for figure in measure[part](browser, address, seconds):
                    print(figure, flush=True)


if __name__ == "__main__":
    typer.run(main)
