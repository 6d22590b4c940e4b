"""What follows the hand, and what comes at once: generation studio and attention explorer in Chromium.

    python -m benchmarks.interaction [--only temperature|heads|writing|dice] [--seconds 8] [--json FILE]

Needs Chromium and Tiny Shakespeare (LINEAGE_DATA_DIR). It starts the server as it is really served, with a home of its
own, and prints each figure beside its budget. Frame times are those of the page's own requestAnimationFrame, and stand
beside those of the same page while nobody touches it: server, browser and this script share one machine, and on two
cores an idle page is late now and then. The page is drawn without a graphics card, which is slower than with one.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from http.client import HTTPConnection
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import torch
import typer
from playwright.sync_api import Browser, Locator, Page, Response, sync_playwright

from explorer.generation.sampling import Sampling
from explorer.generation.scrubbing import TEMPERATURES, onward
from explorer.generation.writing import padding_of, prompt_ids, write, written
from explorer.tasks.text import TextConfig
from explorer.ui.at_hand import find
from explorer.ui.studio import Studio
from tests.browser.conftest import FLAGS
from tests.browser.steps import calm
from tests.serving import serving

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1440, "height": 900}
FRAME, LATE = 16.7, 33.0  # ms between two frames: the median, and of a hundred frames the fifth slowest
TOKENS = 64  # of a text whose attention is looked at: the whole context of that model
SPEECH = (
    "Now is the winter of our discontent made glorious summer by this sun of York, and all the clouds that lour upon "
    "our house in the deep bosom of the ocean buried. Now are our brows bound with victorious wreaths, our bruised "
    "arms hung up for monuments, our stern alarums changed to merry meetings, our dreadful marches to delightful "
    "measures. Grim-visaged war hath smooth'd his wrinkled front, and now he capers nimbly in a lady's chamber."
)
LENGTH = 2_000  # tokens of the texts whose speed is measured
CUTS: tuple[tuple[dict[str, float], int, int], ...] = (  # and a choice: the text it stands in, and its place there
    ({}, 14, 37),
    ({"top_k": 12, "seed": 7}, 0, 0),
    ({"top_p": 0.9, "min_p": 0.02, "seed": 1}, 24, 120),
)
GRID = (0.0, 0.3, 0.7, 1.0, 1.3, 2.0)  # temperatures of which there are texts
BETWEEN = (0.04, 0.37, 0.83, 1.11, 1.64)  # others: there the browser throws the dice itself

RECORD = """(what) => {
  const times = [], seen = new Set(), shown = document.querySelector(what);
  const step = (now) => {
    times.push(now);
    seen.add(shown.textContent);
    if (!recording.over) requestAnimationFrame(step);
  };
  window.recording = { times, seen, over: false };
  requestAnimationFrame(step);
}"""
RECORDED = "() => { recording.over = true; return [recording.times, recording.seen.size]; }"
# Milliseconds from an event until what is looked for was there in one frame, and that frame is over.
AFTER = """() => {
  const look = (told) => requestAnimationFrame(() => (THERE ? requestAnimationFrame(told) : look(told)));
  window.taken = new Promise((done) => addEventListener("EVENT", (event) => {
    look(() => done(performance.now() - event.timeStamp));
  }, { capture: true, once: true }));
}"""
# The tokens beside the large head are made anew in the very frame in which the grid is painted.
READ = "[...document.querySelectorAll('.lineage-heads .asks button')].map((token) => token.textContent).join('') === "
WRITTEN = "document.querySelector('.lineage-writing .token')"
PICTURES = "[...document.querySelectorAll('.lineage-heads .grid canvas')].map((canvas) => canvas.toDataURL())"


class Part(StrEnum):
    temperature = "temperature"
    heads = "heads"
    writing = "writing"
    dice = "dice"


@dataclass(frozen=True)
class Figure:
    """What was measured, and what it must be at most (`least`: at least)."""

    what: str
    value: float
    unit: str = ""
    budget: float | None = None
    least: bool = False

    @property
    def holds(self) -> bool | None:
        """As it is printed: a screen of 60 Hz shows a frame every 16.67 ms."""
        if self.budget is None:
            return None
        return self.value >= self.budget if self.least else round(self.value, 1) <= self.budget

    def __str__(self) -> str:
        line = f"  {self.what:56} {self.value:9,.{2 if self.least else int(self.unit == 'ms')}f} {self.unit:17}"
        if self.budget is None:
            return line.rstrip()
        limit = f"at {'least' if self.least else 'most'} {self.budget:,g}"
        return f"{line} {limit:14} {'holds' if self.holds else 'DOES NOT HOLD'}"


# ---- the page, watched ----


class Watched:
    """A page of a visitor of its own, and all that it says to the server."""

    def __init__(self, browser: Browser, address: str, path: str) -> None:
        self.sent = 0  # websocket frames
        self.asked: list[str] = []  # paths of requests
        self.media: list[Response] = []
        self.page = browser.new_context(viewport=SIZE).new_page()  # type: ignore[arg-type]
        self.page.set_default_timeout(120_000)
        self.page.on("websocket", lambda socket: socket.on("framesent", lambda _: self.said("websocket")))
        self.page.on("request", lambda request: self.said(urlsplit(request.url).path))
        self.page.on("response", self.came)
        self.page.on("pageerror", lambda error: print(f"  error in the browser: {error}"))
        self.metrics = self.page.context.new_cdp_session(self.page)
        self.metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(address + path)
        self.quiet()

    def said(self, what: str) -> None:
        """The panel of trainings asks every few seconds, whatever one does: that does not count."""
        self.sent += what == "websocket"
        self.asked += [what] * (what.startswith("/") and what != "/jobs")

    def came(self, response: Response) -> None:
        """Keep the packed arrays; /static/packed/ are fonts."""
        self.media += [response] * urlsplit(response.url).path.startswith("/packed/")

    def quiet(self, seconds: float = 3) -> None:
        """Until the server is done and the page has said nothing for so long."""
        calm(self.page)
        until, said = time.monotonic() + 180, -1
        while said != (said := self.sent + len(self.asked)):
            if time.monotonic() > until:
                raise TimeoutError("the page never stops asking the server")
            self.page.wait_for_timeout(1e3 * seconds)

    def spent(self) -> tuple[float, float]:
        """Seconds of the processor for scripts, and for everything on the main thread, since the page began."""
        found = {each["name"]: each["value"] for each in self.metrics.send("Performance.getMetrics")["metrics"]}
        return found["ScriptDuration"], found["TaskDuration"]


def during(
    watched: Watched, what: str, shown: str, seconds: float, move: Callable[[float], None] | None, least: int = 1
) -> list[Figure]:
    """Frames while something is moved, `move` getting seconds; `shown` is the words that must change by it."""
    page = watched.page
    page.wait_for_timeout(300)
    sent, asked = watched.sent, len(watched.asked)
    before = watched.spent()
    page.evaluate(RECORD, shown)
    start = time.perf_counter()
    while move and (passed := time.perf_counter() - start) < seconds:
        move(passed)
    if not move:
        page.wait_for_timeout(1e3 * seconds)
    times, seen = page.evaluate(RECORDED)
    work = [1e3 * (b - a) / len(times) for a, b in zip(before, watched.spent(), strict=True)]
    page.wait_for_timeout(200)  # what was said meanwhile is heard
    if seen < least:
        raise RuntimeError(f"{what}: {shown} showed {seen} different texts, it should be {least} or more")
    frames = sorted(b - a for a, b in itertools.pairwise(times))
    budgets = (FRAME, LATE) if move else (None, None)
    figures = [
        Figure(f"{what}: frame time, median", statistics.median(frames), "ms", budgets[0]),
        Figure(f"{what}: frame time, p95", frames[int(0.95 * len(frames))], "ms", budgets[1]),
        Figure(f"{what}: scripts a frame", work[0], "ms"),
        Figure(f"{what}: all of the main thread a frame", work[1], "ms"),
    ]
    if move:
        figures.append(Figure(f"{what}: websocket frames sent", watched.sent - sent, budget=0))
        figures.append(Figure(f"{what}: requests", len(watched.asked) - asked, budget=0))
    return figures


def along(page: Page, place: Locator, down: bool = False, across: float | None = None) -> Callable[[float], None]:
    """Moves the mouse to and fro over a place, as far as it is on the screen; `across`: where in its other direction,
    None: to and fro there too."""
    place.evaluate("(it) => it.scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(300)
    box = place.bounding_box()
    assert box
    top, bottom = max(box["y"] + 2, 70), min(box["y"] + box["height"] - 2, SIZE["height"] - 4)
    left, right = box["x"] + 2, box["x"] + box["width"] - 2

    def move(passed: float) -> None:
        first, second = (0.5 - 0.5 * math.cos(2 * math.pi * passed / period) for period in (4, 2.7))
        x, y = (second, first) if down else (first, second)
        if across is not None:
            x, y = (across, y) if down else (x, across)
        page.mouse.move(left + (right - left) * x, top + (bottom - top) * y)

    return move


def dragged(watched: Watched, what: str, slider: Locator, shown: str, seconds: float, least: int) -> list[Figure]:
    """A slider that is dragged to and fro. When it is let go the page must hear of it: so the counting is proved."""
    move = along(watched.page, slider, across=0.5)
    move(0.5)
    watched.page.mouse.down()
    figures = during(watched, what, shown, seconds, move, least)
    move(1.3)  # where it has not been when it was taken
    sent = watched.sent
    watched.page.mouse.up()
    watched.quiet(1)
    if watched.sent == sent:
        raise RuntimeError(f"{what}: the page was not told where the slider was let go")
    return figures


# ---- the temperature ----


def temperature(browser: Browser, address: str, seconds: float) -> Iterator[Figure]:
    """The slider over the texts of a model with a vocabulary of 500."""
    _, tokenizer, _ = opened("text-assignment")
    yield Figure("vocabulary", len(tokenizer.tokens))
    watched = Watched(browser, address, "/studio?models=text-assignment")
    place, size = watched.page.locator(".lineage-temperature"), ".lineage-temperature .size"
    yield Figure("tokens of the text", place.locator(".text [role=option]").count())
    yield from during(watched, "idle", size, seconds, None)
    yield from dragged(watched, "dragging", place.locator("input.slider"), size, seconds, 50)


# ---- the heads ----


def heads(browser: Browser, address: str, seconds: float) -> Iterator[Figure]:
    """Attention of 4 x 4 heads over 64 letters: hovering, typing, scrubbing, and what travels for it."""
    watched = Watched(browser, address, "/attention?" + urlencode({"say": SPEECH[:TOKENS]}))
    page = watched.page
    yield Figure("tokens", page.locator(".lineage-heads .asks button").count())
    yield Figure("heads", page.locator(".lineage-heads .grid canvas").count())
    yield from travelled(watched)
    stage, reading = page.locator(".lineage-heads .stage"), ".lineage-heads .reading"
    yield from during(watched, "idle", reading, seconds, None)
    yield from during(watched, "hovering the lines", reading, seconds, along(page, stage, True, 0.03), 30)
    page.get_by_role("button", name="matrix", exact=True).click()
    watched.quiet(1)
    yield from during(watched, "hovering the matrix", reading, seconds, along(page, stage, True), 30)
    page.get_by_role("button", name="lines", exact=True).click()
    watched.quiet(1)
    slider = page.get_by_role("slider", name="Training step")
    yield from dragged(watched, "scrubbing the training", slider, ".lineage-heads .where", seconds, 15)
    taken = [typed(watched, SPEECH[from_ : from_ + TOKENS]) for from_ in range(20, len(SPEECH) - TOKENS, 40)]
    yield Figure(f"{TOKENS} letters, from Enter to the grid: median", statistics.median(taken), "ms", 500)
    yield Figure(f"{TOKENS} letters, from Enter to the grid: worst of {len(taken)}", max(taken), "ms", 500)


def typed(watched: Watched, text: str) -> float:
    """Milliseconds from Enter until all heads of a new text are on the screen."""
    field = watched.page.get_by_label("Your text")
    field.fill(text)
    before = watched.page.evaluate(PICTURES)
    shown = READ + json.dumps(text.replace(" ", "␣"))
    watched.page.evaluate(AFTER.replace("EVENT", "keydown").replace("THERE", shown))
    field.press("Enter")
    taken = float(watched.page.evaluate("window.taken"))
    if any(old == new for old, new in zip(before, watched.page.evaluate(PICTURES), strict=True)):
        raise RuntimeError(f"some heads are not drawn anew for “{text}”")
    watched.quiet()
    return taken


def travelled(watched: Watched) -> Iterator[Figure]:
    """Bytes of the arrays that came, as sent and as they are used: of the first view, and of the snapshots."""
    first, later, steps = [0, 0], [0, 0], 0
    for response in watched.media:
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
        yield Figure(f"{what}: as sent", sent / 1e3, "kB", budget)
        yield Figure(f"{what}: unpacked", used / 1e3, "kB", budget)


# ---- writing on the server ----


def writing(browser: Browser, address: str, seconds: float) -> Iterator[Figure]:
    """Whole texts of a Transformer: how soon they begin, and how fast they are beside a terminal's."""
    studio = Studio(models=("text-transformer",), length=LENGTH)
    watched = Watched(browser, address, f"/studio?models={studio.models[0]}&length={LENGTH}")
    shown = [pressed(watched) for _ in range(9)]
    yield Figure("first token on the screen after Write: median", statistics.median(shown), "ms", 150)
    yield Figure(f"first token on the screen after Write: worst of {len(shown)}", max(shown), "ms", 150)
    place = next(path for path in reversed(watched.asked) if path.startswith("/write/"))
    watched.page.context.close()  # it would take its part of the machine

    task, _, model = opened(studio.models[0])
    ids = prompt_of(studio.models[0])
    torch.set_num_threads(1)  # as the server writes, and no slower than two for one token

    def in_a_terminal() -> tuple[float, list[int]]:
        start = time.perf_counter()
        sampling = Sampling(studio.t, seed=studio.seed)
        with torch.inference_mode():
            text = [int(one) for one in written(model, ids, LENGTH, sampling, 1, task.context)]
        return time.perf_counter() - start, text

    in_a_terminal(), streamed(address, place)
    here, there, firsts = [], [], []
    for _ in range(max(5, int(seconds))):
        alone, text = in_a_terminal()
        first, whole, same = streamed(address, place)
        if same != text:
            raise RuntimeError("the stream is not the text that a terminal writes")
        here.append(LENGTH / alone)
        there.append(LENGTH / whole)
        firsts.append(1e3 * first)
    yield Figure("first token by HTTP: median", statistics.median(firsts), "ms", 150)
    yield Figure(f"first token by HTTP: worst of {len(firsts)}", max(firsts), "ms", 150)
    yield Figure("in a terminal, median", statistics.median(here), "tokens a second")
    yield Figure("by HTTP, median", statistics.median(there), "tokens a second")
    ratio = statistics.median(there) / statistics.median(here)
    yield Figure("speed by HTTP", ratio, "of the terminal's", 0.9, least=True)


def pressed(watched: Watched) -> float:
    """Milliseconds from a press on Write until its first token is on the screen."""
    place = watched.page.locator(".lineage-writing")
    watched.page.evaluate(AFTER.replace("EVENT", "click").replace("THERE", WRITTEN))
    place.get_by_role("button", name="Write", exact=True).click()
    taken = float(watched.page.evaluate("window.taken"))
    watched.page.wait_for_timeout(600)  # a press soon after the first is taken for a double click
    if (stop := place.get_by_role("button", name="Stop", exact=True)).count():
        stop.click()
    watched.page.wait_for_timeout(400)
    return taken


def streamed(address: str, place: str) -> tuple[float, float, list[int]]:
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


# ---- the same dice ----


def dice(browser: Browser, address: str, seconds: float) -> Iterator[Figure]:
    """Texts and choices in the browser against the same sampling in this process."""
    texts, choices = [], []
    for name, (cut, of, at) in itertools.product(("text-assignment", "text-transformer"), CUTS):
        watched = Watched(browser, address, "/studio?" + urlencode({"models": name, "of": of, "at": at, **cut}))
        place = watched.page.locator(".lineage-temperature")
        for t in GRID:
            slide(watched, t)
            shown = "".join(place.locator(".text [role=option]").all_text_contents())
            texts.append(shown == text_of(name, Sampling(t, **cut)))  # type: ignore[arg-type]
        for t in BETWEEN:
            slide(watched, t)
            by_itself = "As it was" not in place.locator(".distribution .note").inner_text()  # from the logits
            shown = place.locator(".row.taken .label").inner_text()
            choices.append(by_itself and shown == thrown(name, Sampling(t, **cut), of, at))  # type: ignore[arg-type]
        watched.page.context.close()
    yield Figure(f"of {len(texts)} texts of {Studio().tokens} tokens, others than here", texts.count(False), budget=0)
    yield Figure(f"of {len(choices)} choices of the browser, others than here", choices.count(False), budget=0)


def slide(watched: Watched, t: float) -> None:
    place = watched.page.locator(".lineage-temperature")
    place.locator("input.slider").fill(f"{t:g}")
    place.locator(".size", has_text=f"{t:.2f}").wait_for()
    calm(watched.page)
    watched.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def text_of(name: str, sampling: Sampling) -> str:
    """What this process writes, as it goes on from the prompt: a word's first blank is a part of it."""
    task, tokenizer, model = opened(name)
    ids = prompt_of(name)
    text = write(model, ids, Studio().tokens, sampling, 1, task.context, padding_of(task, tokenizer))[0]
    return str(tokenizer.decode([*ids.tolist(), *text.tolist()]).removeprefix(tokenizer.decode(ids.tolist())))


def thrown(name: str, sampling: Sampling, of: int, at: int) -> str:
    """The token that the dice choose in this process, at a place of the text of another temperature."""
    task, tokenizer, model = opened(name)
    ids, given = prompt_of(name), (task.context, padding_of(task, tokenizer))
    path = write(model, ids, at, replace(sampling, temperature=TEMPERATURES[of]), 1, *given)[0]
    (id,) = onward(model, ids, path, 1, sampling, *given).tolist()
    return str(tokenizer.tokens[id].translate({32: "␣", 10: "↵", 9: "⇥"}))


def prompt_of(name: str) -> torch.Tensor:
    task, tokenizer, _ = opened(name)
    prompt = Studio().prompt
    return prompt_ids(tokenizer, prompt.lower() if task.lower else prompt)[0]


def opened(name: str) -> tuple[TextConfig, Any, torch.nn.Module]:
    hand = find(name)
    return hand.config.on(TextConfig), hand.tokenizer, hand.model()


@contextmanager
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        raise SystemExit("There is no Chromium on this machine: install Debian's `chromium-headless-shell`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


def main(
    only: Annotated[Part | None, typer.Option(help="Only this part.")] = None,
    seconds: Annotated[float, typer.Option(help="Of each movement.")] = 8,
    json_file: Annotated[Path | None, typer.Option("--json", help="Where to write the figures.")] = None,
) -> None:
    """Measure what a visitor of the two screens feels."""
    measure = {Part.temperature: temperature, Part.heads: heads, Part.writing: writing, Part.dice: dice}
    print(f"{platform.machine()}, {os.cpu_count()} cores, torch {torch.__version__}")
    found: dict[str, list[dict[str, object]]] = {}
    with tempfile.TemporaryDirectory(prefix="lineage-interaction-") as home, serving(Path(home)) as address:
        for part in (only,) if only else Part:
            print(f"\n{part}, load {os.getloadavg()[0]:.1f} before", flush=True)
            found[part] = []
            with chromium() as browser:
                for figure in measure[part](browser, address, seconds):
                    print(figure, flush=True)
                    found[part].append(asdict(figure) | {"holds": figure.holds})
    if json_file:
        json_file.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
