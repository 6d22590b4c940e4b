"""The nine attacks of issue 21, each as it is described there, and a line about what happens now."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import re
import secrets
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, WebSocketException

from benchmarks.attacks import archives
from benchmarks.class_link import read_class_code
from benchmarks.classroom import serve_app
from benchmarks.load.load_generator import Visitor, open_negation_page, open_page
from benchmarks.load.server_state import read_log, read_state
from explorer.export.python_file import as_python
from explorer.training.config import default_config, with_settings
from tests.serving import Server

PANEL = {"X-Lineage": "1"}
LARGE = "models=rnn&rnn.width=512&rnn.hidden=1024&rnn.layers=8&context=128"
SECRET = "the purple walrus keeps nineteen umbrellas in a bathtub. " * 40
SECRET_WORDS = ("walrus", "umbrellas", "bathtub")
MADE_UP = "lineage_visitor=" + "{}"
PASSWORD = "correct horse battery staple"
DISK = 24  # MB of the disk of row 7


@asynccontextmanager
async def _visit(
    server: Server, page: str, query: str = "", received: list[str] | None = None
) -> AsyncIterator[Visitor]:
    """Somebody new who has a page open; `received` is filled with all that the server sends."""
    async with (
        httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as browser,
        open_page(browser, server.url, page, query, received=received) as visitor,
    ):
        yield visitor


@asynccontextmanager
async def _serve(**settings: str) -> AsyncIterator[Server]:
    """A warm server with an empty home of its own."""
    serving = serve_app(**settings)
    server = await asyncio.to_thread(serving.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(serving.__exit__, None, None, None)


async def _train_large(server: Server, query: str) -> str:
    """Press Train with these sizes, then train something small as somebody else, and stop the large one."""
    async with _visit(server, "text", query) as attacker:
        await attacker.fetch_sections(20)
        if any("this server allows" in text for text in attacker.messages):
            return f"the address is refused: {_refusal(attacker)}"
        if "train" not in attacker.widgets:
            return "there is no button to train it"
        await attacker.press("train")
        await attacker.fetch_sections(5)
        jobs = [row for row in await attacker.jobs() if row["mine"]]
        if not jobs:
            return f"refused: {_refusal(attacker)}"
        first_step, end = await _train_small(server)
        start = time.perf_counter()
        await attacker.stop_all()
        while any(not row["state"].startswith(("stop", "fail")) for row in await attacker.jobs() if row["mine"]):
            if time.perf_counter() - start > 120:
                return "accepted, and not stopped after 120 s"
            await asyncio.sleep(0.05)
        stopped = time.perf_counter() - start
    return (
        f"accepted; another visitor's training took its first step after {first_step:.1f} s and ended after "
        f"{end:.1f} s; Stop took {stopped:.1f} s"
    )


def _refusal(visitor: Visitor) -> str:
    words = ("this server allows", "are possible", "Try again", "too many", "no cookie of this site")
    found = [text for text in visitor.messages if any(word in text for word in words)]
    return " / ".join(text.replace("\\", "") for text in found) or "without a sentence"


async def _train_small(server: Server, most: float = 60.0) -> tuple[float, float]:
    """Return seconds from a press until the default training of the negation RNN takes a step, and until it ends."""
    async with open_negation_page(server.url, f"models=rnn&seed={secrets.randbelow(10**6)}") as visitor:
        await visitor.press("train")
        start, first = time.perf_counter(), most
        while (passed := time.perf_counter() - start) < most:
            rows = [row for row in await visitor.jobs() if row["mine"]]
            if any(row["step"] for row in rows):
                first = min(first, passed)
            if rows and all(row["state"] not in ("waiting", "running") for row in rows):
                return first, passed
            await asyncio.sleep(0.02)
    return first, most


async def row_1(executor: str) -> str:
    """One press on Train with sizes that the page allows stops everybody's training."""
    async with _serve(LINEAGE_EXECUTOR=executor) as server:
        return await _train_large(server, LARGE)


async def row_2(executor: str) -> str:
    """The same with context 1,024 and 32 seeds fills the memory."""
    async with _serve(LINEAGE_EXECUTOR=executor) as server:
        before = read_state(server).megabytes
        query = LARGE.replace("context=128", "context=1024") + "&replicas=32"
        found = await asyncio.wait_for(_train_large(server, query), 200)
        return f"{found}; memory {before:.0f} MB before, {read_state(server).megabytes:.0f} MB after"


async def row_3() -> str:
    """An import of 31 kB allocates gigabytes."""
    lines = []
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        for replicas in (1, 8, 16):
            outcome = pool.submit(archives.import_row_3_in_own_home, replicas).result()
            said = "; ".join([*outcome.reasons, *outcome.problems])
            lines.append(f"{replicas} seeds: {outcome.largest[0]:.0f} MB, {outcome.slowest[0]:.2f} s: {said}")
    return "\n    ".join(lines)


async def row_4() -> str:
    """A private text can be read by others while its owner's visit is open."""
    found = []
    async with _serve() as server, _visit(server, "tokens", "corpus=own") as owner:
        await owner.set_text("tokens.pasted", SECRET)
        await owner.press("FormSubmitter:tokens.paste-Read it")
        await asyncio.sleep(1)
        fingerprint = re.search(r"text=([0-9a-f]{64})", owner.query)
        if not fingerprint:
            return "the text was not taken on"
        pages = ("tokens", "text", "studio", "attention", "block", "compare", "runs")
        for page in pages:
            received: list[str] = []
            async with _visit(server, page, f"corpus=own&text={fingerprint[1]}", received) as stranger:
                await stranger.fetch_sections(20)
                if "train" in stranger.widgets:
                    await stranger.press("train")
                    await asyncio.sleep(8)
                    await stranger.fetch_sections(20)
                heard = "".join(received)
                if any(word in heard for word in SECRET_WORDS):
                    found.append(page)
                if any(row["mine"] and row["state"] != "failed" for row in await stranger.jobs()):
                    found.append(f"{page} (trains on it)")
                await stranger.stop_all()
    return (
        f"another visitor reads it on: {', '.join(found)}" if found else f"no page of {len(pages)} shows a word of it"
    )


async def row_5() -> str:
    """Any 22 letters are a visitor: forged answers, and made-up cookies that queue trainings."""
    async with _serve() as server:
        async with open_negation_page(server.url, "models=bag_of_words&lesson=counting&part=1") as teacher:
            await teacher.press("lesson.class")
            code = await read_class_code(teacher)
            start = time.perf_counter()
            async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as forger:
                statuses: Counter[int] = Counter()

                async def forge() -> None:
                    for _ in range(111):
                        headers = {**PANEL, "Cookie": MADE_UP.format(secrets.token_urlsafe(16))}
                        answer = await forger.post(
                            f"/class/{code}/answer", headers=headers, json={"number": 1, "given": "sustain"}
                        )
                        statuses[answer.status_code] += 1

                await asyncio.gather(*(forge() for _ in range(9)))
            seconds = time.perf_counter() - start
            async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as honest:
                await honest.get("/", headers={"Accept": "text/html"})
                url, given = f"/class/{code}/answer", {"number": 1, "given": "collapse"}
                status = (await honest.post(url, headers=PANEL, json=given)).status_code
            counted = (await teacher.browser.get(f"/class/{code}")).json()["votes"][0]["answered"]
        jobs = await _queue_with_made_up_cookies(server)
    return (
        f"999 answers with made-up cookies in {seconds:.1f} s: statuses {dict(statuses)}; an honest student then: "
        f"{status}; counted {counted}; {jobs}"
    )


async def _queue_with_made_up_cookies(server: Server) -> str:
    """Open the negation page with 25 made-up cookies and press Train in each."""
    taken, refused = 0, Counter[str]()
    for number in range(25):
        async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as browser:
            browser.cookies.set("lineage_visitor", secrets.token_urlsafe(16), domain="127.0.0.1")
            query = f"seed={10_000 * (number + 1)}"
            try:
                async with open_page(browser, server.url, "negation", query, is_new=False) as visitor:
                    await visitor.press("train")
                    mine = [row for row in await visitor.jobs() if row["mine"]]
                    taken += len(mine)
                    if not mine:
                        refused[_refusal(visitor)] += 1
                    await visitor.stop_all()
            except (WebSocketException, TimeoutError, OSError, KeyError) as error:
                refused[type(error).__name__] += 1
    return f"25 made-up cookies queue {taken} trainings; refused {dict(refused)}"


async def row_6() -> str:
    """Operator passwords can be guessed without limit and without a line in the log."""
    async with _serve(LINEAGE_OPERATOR_PASSWORD=PASSWORD) as server:
        statuses, seconds = Counter[int](), 10.0
        async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as operator:
            right = await operator.post("/operator", data={"password": PASSWORD})
            cookie = next((c for c in right.headers.get_list("set-cookie") if "operator" in c), "no cookie")
            page = (await operator.get("/operator")).text
        size = len(read_log(server))
        async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as guesser:
            end = time.perf_counter() + seconds

            async def guess() -> None:
                while time.perf_counter() < end:
                    answer = await guesser.post("/operator", data={"password": secrets.token_hex(4)})
                    statuses[answer.status_code] += 1

            await asyncio.gather(*(guess() for _ in range(150)))
        lines = len(read_log(server)[size:].splitlines())
        async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as operator:
            meanwhile = (await operator.post("/operator", data={"password": PASSWORD})).status_code
    lasts = re.search("Max-Age=[0-9]+", cookie)
    looked = sum(number for status, number in statuses.items() if status != 429)
    has_sign_out = bool(re.search("sign.?out", page, re.IGNORECASE))
    return (
        f"{looked / seconds:.1f} passwords a second are looked at, statuses {dict(statuses)}; {lines} new lines in the "
        f"log; the right one from the same address meanwhile: status {meanwhile}; before: {right.status_code}, cookie "
        f"{lasts[0] if lasts else 'of the session'}; the page {'has a' if has_sign_out else 'has no'} sign-out"
    )


async def row_7() -> str:
    """With a full disk finished trainings are thrown away; a read-only folder is reported as a full disk."""
    if os.geteuid() != 0:
        return "not tried: only root can mount a small disk"
    with tempfile.TemporaryDirectory(prefix="lineage-disk-") as folder:
        disk, filler = Path(folder) / "disk", Path(folder) / "disk" / "filler"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}m", "tmpfs", str(disk)], check=False).returncode:
            return "not tried: a small disk cannot be mounted here"
        try:
            database = (
                f"sqlite:///{folder}/index.sqlite"  # so that nothing on the disk is open when it becomes read-only
            )
            async with _serve(LINEAGE_HOME=str(disk), LINEAGE_DATABASE_URL=database) as server:
                during = await _train_on_full_disk(server, disk, 71, lambda: fill(filler, disk), None, filler.unlink)
                before = await _train_on_full_disk(server, disk, 72, None, lambda: fill(filler, disk), filler.unlink)
                read_only = await _train_on_full_disk(
                    server, disk, 73, lambda: remount(disk, "ro"), None, lambda: remount(disk, "rw")
                )
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=False, capture_output=True)
    return f"full in the middle: {during}\n    full before: {before}\n    read-only in the middle: {read_only}"


def fill(file: Path, disk: Path) -> None:
    """Fill the disk with a file, up to the last block."""
    with file.open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 4_096)


def remount(disk: Path, mode: str) -> None:
    """Make the disk read-only (ro) or writable (rw); something may be written to it at this moment."""
    for _ in range(200):
        if not subprocess.run(
            ["mount", "-o", f"remount,{mode}", str(disk)], check=False, capture_output=True
        ).returncode:
            return
        time.sleep(0.01)
    raise RuntimeError(f"the disk cannot be made {mode}")


async def _train_on_full_disk(
    server: Server,
    disk: Path,
    seed: int,
    during: Callable[[], object] | None,
    before: Callable[[], object] | None,
    make_room: Callable[[], object],
) -> str:
    """Train two models, take the room away `before` or `during` it, make room, and return what became of the runs."""
    stored_before = len(list((disk / "runs").glob("*/card.json")))
    async with open_negation_page(server.url, f"models=rnn,gru&seed={seed}&rnn.epochs=200&gru.epochs=200") as visitor:
        if before:
            before()
        await visitor.press("train")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            rows = [row for row in await visitor.jobs() if row["mine"]]
            if during and any(row["step"] for row in rows):
                during()
                during = None
            if rows and all(row["state"] not in ("waiting", "running") for row in rows):
                break
            await asyncio.sleep(0.05)
        said = {row["problem"] for row in rows if row["problem"]}
        at_end = len(list((disk / "runs").glob("*/card.json"))) - stored_before
        make_room()
        start = time.monotonic()
        while time.monotonic() - start < 20 and at_end < 2:
            if len(list((disk / "runs").glob("*/card.json"))) - stored_before >= 2:
                break
            await asyncio.sleep(0.5)
        stored = len(list((disk / "runs").glob("*/card.json"))) - stored_before
    later = f"{stored} of 2 stored {time.monotonic() - start:.0f} s after there is room"
    return f"{[row['state'] for row in rows]}, {at_end} of 2 stored, {later}; “{' / '.join(said)}”"


async def row_8() -> str:
    """Archives above 5 MB, `?who=x`, and 1,900 brackets to the answers of a class."""
    async with _serve() as server:
        async with _visit(server, "runs") as visitor:
            uploads = [f"{size} MB: {await _upload(visitor, size * 1_000_000)}" for size in (6, 20, 60)]
        shown = []
        for page in ("masks", "positions", "scaled-attention"):
            for who in ("x", "", ","):
                async with _visit(server, page, f"who={who}") as visitor:
                    whole = await visitor.fetch_sections(30)
                    if visitor.exceptions or not whole:
                        shown.append(f"/{page}?who={who}: {visitor.exceptions[:1] or 'not whole'}")
        async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as browser:
            await browser.get("/", headers={"Accept": "text/html"})
            answer = await browser.post("/class/ABCDE/answer", headers=PANEL, content=b"[" * 1_900)
        traces = read_log(server).count("Traceback")
    return (
        f"uploads of {', '.join(uploads)}; pages with an error: {shown or 'none'}; "
        f"1,900 brackets: status {answer.status_code}; {traces} tracebacks"
    )


async def _upload(visitor: Visitor, size: int) -> str:
    """Upload a file of this size on the Runs page, and return what came of it."""
    try:
        return f"status {await visitor.upload('None', b'x' * size)}"
    except httpx.HTTPError as error:
        return type(error).__name__


async def row_9() -> str:
    """Foreign Origins, headers, metrics, and control characters in an exported file."""
    async with _serve() as server:
        found = []
        ports = f"http://127.0.0.1:{server.port + 1}", "http://evil.example", "null", f"http://localhost:{server.port}"
        for origin in ports:
            found.append(f"{origin.replace(str(server.port), 'PORT')}: {await _open_websocket(server, origin)}")
        async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as browser:
            answer = await browser.get("/negation", headers={"Accept": "text/html"})
            names = ("content-security-policy", "x-frame-options", "x-content-type-options", "referrer-policy")
            headers = {name: answer.headers.get(name, "none")[:60] for name in names}
            metrics = await browser.get("/_stcore/metrics")
            asset = await browser.get("/assets/lineage/shared/base.css")
    try:
        text = as_python(with_settings(default_config("string", "rnn"), {"text": "abc\u202edef\u2066ghi abc"})).program
        raw = [f"U+{ord(c):04X}" for c in ("\u202e", "\u2066") if c in text]
    except Exception as error:
        raw = [f"{type(error).__name__}: {error}"]
    return (
        f"websocket from {'; '.join(found)}\n    headers {headers}, nosniff of a file: "
        f"{asset.headers.get('x-content-type-options', 'none')}; metrics: {metrics.status_code}; control characters in "
        f"an exported file: {raw or 'none'}"
    )


async def _open_websocket(server: Server, origin: str) -> str:
    """Return what happens to a websocket with this Origin, and the hosts that the server looks up or asks meanwhile."""
    start = time.perf_counter()
    url = server.url.replace("http://", "ws://") + "/_stcore/stream"
    try:
        async with connect(url, origin=origin, proxy=None, open_timeout=30) as socket:  # type: ignore[arg-type]
            said = "open" if socket.state.name == "OPEN" else socket.state.name
    except (InvalidHandshake, TimeoutError, OSError) as error:
        said = f"refused ({error})"
    return f"{said} after {1e3 * (time.perf_counter() - start):.0f} ms"


ROWS: dict[str, Callable[[], Coroutine[Any, Any, str]]] = {
    "1, trainings in the server": lambda: row_1("here"),
    "1, trainings in processes": lambda: row_1("processes"),
    "2, trainings in the server": lambda: row_2("here"),
    "2, trainings in processes": lambda: row_2("processes"),
    "3": row_3,
    "4": row_4,
    "5": row_5,
    "6": row_6,
    "7": row_7,
    "8": row_8,
    "9": row_9,
}


def run_rows(only: str = "") -> None:
    """Make the attacks, and print a line about each. `only`: those whose name begins with this."""
    for name, row in ROWS.items():
        if name.startswith(only):
            start = time.monotonic()
            try:
                said = asyncio.run(row())
            except (TimeoutError, WebSocketException, httpx.HTTPError, RuntimeError) as error:
                said = f"the attack ended with {type(error).__name__}: {error}"
            print(f"row {name} ({time.monotonic() - start:.0f} s): {said}", flush=True)
