"""Hostile addresses of every page and route, made from valid ones and opened as a browser would."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import parse_qsl, quote, urlencode

import httpx
from websockets.exceptions import WebSocketException

from benchmarks.load.load_generator import Visitor, open_page
from benchmarks.load.server_state import read_log
from explorer.catalogue import PAGES
from explorer.run_store import store
from tests.serving import ROOT, Server

ADDRESSES = json.loads((ROOT / "tests" / "ui" / "state" / "addresses.json").read_text("utf-8"))["pages"]
VISITORS = 3  # at once
MOST_SECONDS = 15.0  # for which the results of one address are awaited
ROUTE_SHARE = 0.4  # of the addresses are requests of other routes, without a session
SHARED = ("lesson", "part", "class", "lock", "screen", "run", "give", "embed", "embed_options", "text", "runs")
VALUES = (
    "",
    " ",
    "0",
    "-1",
    "1",
    "2",
    "-0.0",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1e308",
    "1e-320",
    "1e999",
    "0x10",
    "1_000",
    "9" * 20,
    "9" * 4_400,
    "2147483648",
    "9223372036854775808",
    "٣",
    "１２",
    "½",
    "true",
    "null",
    "None",
    "undefined",
    "[]",
    "{}",
    '{"a":1}',
    "a,b",
    ",",
    ",,,,",
    "," * 500,
    "1," * 300,
    "a" * 601,
    "a" * 7_000,
    "x" * 100_000,
    "\x00",
    "\x00\x01\x1b[31m",
    "\r\nSet-Cookie: a=b",
    "\u202eevil\u2066",
    "\ufeff",
    "\ud7ff\uffff",
    "🙂👩‍👩‍👧",
    "e\u0301" * 90,
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "[x](javascript:alert(1))",
    "$$\\frac{1}{0}$$",
    ":red[x] :material/x:",
    "**b** `c`",
    "{{7*7}}",
    "${7*7}",
    "' OR 1=1 --",
    "%",
    "%%",
    "%_",
    "\\",
    "../../../etc/passwd",
    "..",
    "/etc/passwd",
    "file:///etc/passwd",
    "C:\\x",
    "CON",
    "x.y.z",
    ".",
    "rnn.hidden",
    "own",
    "shakespeare",
    "0" * 64,
    "f" * 64,
    "abcd" * 16,
    "no such",
    "__class__",
    "__proto__",
    "constructor",
    "negation",
    "rnn",
    "transformer",
    "rnn,rnn,rnn",
    "rnn,gru,lstm,transformer,feedforward,bag_of_words",
    "(" * 2_000,
    "[" * 2_000,
    "not " * 700,
    "human not destroy nature",
    "1.5",
    "3.0",
)


@cache
def _run_keys() -> tuple[str, ...]:
    keys = [store.find(folder.name).key for folder in sorted((ROOT / "pretrained").iterdir())[::6]]
    return (*keys, *(key.upper() for key in keys[:2]), "aaaaaaaaaaaa", "zzzzzzzzzzzz", "negation-single-rnn")


@cache
def _parameters(page: str) -> tuple[str, ...]:
    """Return the names of the parameters that valid addresses of a page have."""
    rows = ADDRESSES.get(page, ())
    return tuple(sorted({name for row in rows for name, _ in parse_qsl(row[0], keep_blank_values=True)} - {"nothing"}))


@cache
def _all_parameters() -> tuple[str, ...]:
    return tuple(sorted({name for page in ADDRESSES for name in _parameters(page)} | {*SHARED}))


def make_page_address(chance: random.Random) -> tuple[str, str]:
    """Return the path and the query of a hostile address of a page."""
    page = chance.choice([row.address for row in PAGES])
    rows = ADDRESSES.get(page, ())
    valid = chance.choice(rows)[0] if rows and chance.random() < 0.8 else ""
    parameters = parse_qsl(valid, keep_blank_values=True)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        match chance.randrange(10):
            case 0 | 1 | 2 if parameters:
                at = chance.randrange(len(parameters))
                parameters[at] = parameters[at][0], _hostile_value(chance)
            case 3 if parameters:
                name, value = chance.choice(parameters)
                parameters.append((name, chance.choice((value, _hostile_value(chance)))))
            case 4:
                parameters.append((chance.choice(_all_parameters()), _hostile_value(chance)))
            case 5:
                other = chance.choice(list(ADDRESSES))
                parameters += parse_qsl(chance.choice(ADDRESSES[other])[0], keep_blank_values=True)
            case 6:
                parameters.append((chance.choice(SHARED), _hostile_value(chance)))
            case 7:
                parameters.append((_hostile_value(chance), _hostile_value(chance)))
            case _:
                names = _parameters(page) or SHARED
                parameters.append((chance.choice(names), _hostile_value(chance)))
    if chance.random() < 0.02:
        parameters += [(f"p{i}", "1") for i in range(3_000)]
    query = urlencode(parameters, errors="surrogatepass")
    if chance.random() < 0.06:
        endings = (query + "&%zz=%ff%fe", query + "&=&&;", "?" + query, query * 3)
        query = chance.choice((query.replace("=", "%3D"), *endings))
    return page, query


def _hostile_value(chance: random.Random) -> str:
    if chance.random() < 0.15:
        return chance.choice(_run_keys())
    if chance.random() < 0.1:
        return "".join(chr(chance.choice((chance.randrange(32, 127), chance.randrange(0x2FFF)))) for _ in range(12))
    if chance.random() < 0.1:
        return str(chance.choice((-1, 1)) * chance.randrange(10 ** chance.randrange(1, 25)))
    return chance.choice(VALUES)


def make_request(chance: random.Random) -> bytes:
    """Return a hostile HTTP request of any route."""
    value = quote(_hostile_value(chance)[:3_000], safe=chance.choice(("/", "", "/.%")), errors="surrogatepass")
    assets = ("shared/base.css", "components/section/view.js", "vendor/plotly-cartesian.min.js.gz")
    paths = (
        f"/results/{value}",
        "/results/" + "a" * 64,
        f"/results/x?shown={value}",
        "/jobs",
        f"/jobs?key={value}",
        f"/jobs/{value}",
        f"/jobs/{value}/stop",
        f"/jobs/{value}/resume",
        f"/jobs/{chance.choice(_run_keys())}/stop",
        f"/class/{value}",
        "/class/ABCDE",
        f"/class/{value}/answer",
        "/class/ABCDE/answer",
        f"/class/ABCDE/{value}",
        "/class/ABCDE/reveal",
        "/class/ABCDE/end",
        "/class/ABCDE/show",
        "/class/ABCDE/again",
        "/class/ABCDE/answers.csv",
        f"/class/{value}/answers.csv",
        "/operator",
        f"/operator?{value}",
        f"/operator/{value}",
        "/_stcore/health",
        "/_stcore/host-config",
        "/_stcore/metrics",
        "/_stcore/script-health-check",
        f"/_stcore/{value}",
        f"/_stcore/upload_file/{value}/{value}",
        "/_stcore/upload_file/a/b",
        f"/media/{value}",
        "/media/../../app.py",
        f"/component/{value}/index.html",
        f"/_stcore/bidi-components/{value}/x",
        f"/static/{value}",
        f"/{value}",
        f"/assets/lineage/{value}",
        f"/assets/vendor/{value}",
        f"/assets/lineage/{chance.choice(assets)}",
        "/assets/lineage/../../app.py",
        "/assets/lineage/%2e%2e/%2e%2e/app.py",
        "/assets/lineage/..%2f..%2fapp.py",
        "/assets/lineage/..%5c..%5capp.py",
        "/assets/lineage//etc/passwd",
        "/assets/lineage/shared",
        "/assets/lineage/%00",
        "//example.org/",
        f"/negation/{value}",
        "/favicon.ico",
        "/robots.txt",
        "/.git/config",
        "*",
    )
    path = chance.choice(paths)
    if chance.random() < 0.1:
        path += "?" + make_page_address(chance)[1][:6_000]
    method = chance.choice((*["GET"] * 3, *["POST"] * 2, "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "X"))
    bodies = (
        b"",
        b"{}",
        b"[" * 1_900,
        b"[" * 100_000,
        b'{"number": 1e999, "given": "x"}',
        b'{"number": true}',
        b"\xff\xfe",
        b'{"number": 1, "given": {"a": []}}',
        b'{"number": 1, "given": ' + b"[" * 900 + b"]" * 900 + b"}",
        b"null",
        b"NaN",
        b'{"number": ' + b"9" * 5_000 + b"}",
        b"password=" + b"x" * 5_000,
        b"password=%ff%00&password=a",
        b"x" * 200_000,
        b'{"number": 1, "given": NaN}',
        b'{"number": 1, "given": "\\ud800"}',
        b'{"number":1,"number":2,"given":null}',
    )
    body = chance.choice(bodies) if method in ("POST", "PUT", "PATCH", "DELETE") else b""
    headers = {"Host": "127.0.0.1", "Connection": "close", "Content-Length": str(len(body))}
    extras = (
        ("X-Lineage", "1"),
        ("X-Lineage", "1"),
        ("Cookie", f"lineage_visitor={value[:22]}"),
        ("Range", "bytes=0-,0-,0-,0-"),
        ("Range", "bytes=" + "0-1," * 3_000 + "5-6"),
        ("Range", "bytes=99999999999999999999-"),
        ("Accept", "text/html"),
        ("Cookie", "lineage_visitor=" + "A" * 22 + "; lineage_operator=x"),
        ("Cookie", "=;;=" + "a=" * 3_000),
        ("Origin", "http://evil.example"),
        ("Host", "evil.example"),
        ("X-Forwarded-For", value[:200] or "x"),
        ("X-Forwarded-Proto", "javascript"),
        ("Forwarded", 'for="[::1"'),
        ("Accept-Encoding", "gzip;q=nan, *"),
        ("If-None-Match", "*"),
        ("If-Modified-Since", "nonsense"),
        ("Content-Type", "multipart/form-data; boundary="),
        ("Content-Type", "application/x-www-form-urlencoded"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "-5"),
        ("Upgrade", "websocket"),
        ("X" * 300, "y"),
        ("Sec-WebSocket-Protocol", "streamlit, x, y"),
    )
    headers |= dict(chance.sample(extras, chance.choice((0, 1, 1, 2, 4))))
    lines = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("utf-8", "surrogatepass") + body


@dataclass
class Outcome:
    """What opening many addresses did."""

    counts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    log_read: int = 0  # bytes of the server's log that have been searched

    def add(self, kind: str, what: str) -> None:
        self.counts[kind] += 1
        self.problems.append(f"{kind}: {what}")


async def attack(server: Server, numbers: range, seed: int, outcome: Outcome) -> None:
    """Open the addresses with these numbers."""
    outcome.log_read = outcome.log_read or (server.home / "server.log").stat().st_size
    waiting = iter(numbers)
    async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as browser:
        await browser.get("/", headers={"Accept": "text/html"})
        await asyncio.gather(*(_visit(server, browser, waiting, seed, outcome) for _ in range(VISITORS)))


async def open_valid(server: Server, count: int, outcome: Outcome) -> None:
    """Open every page and so many valid addresses, so that the server has loaded what pages need."""
    chance = random.Random(0)
    addresses = [(row.address, "") for row in PAGES]
    for page in chance.choices(list(ADDRESSES), k=count):
        addresses.append((page, chance.choice(ADDRESSES[page])[0]))
    async with httpx.AsyncClient(base_url=server.url, timeout=60, trust_env=False) as browser:
        await browser.get("/", headers={"Accept": "text/html"})
        waiting = iter(addresses)

        async def visit() -> None:
            for page, query in waiting:
                await _open(browser, server.url, page, query, f"/{page}?{query}", outcome)

        await asyncio.gather(*(visit() for _ in range(VISITORS)))


async def _visit(
    server: Server, browser: httpx.AsyncClient, waiting: Iterator[int], seed: int, outcome: Outcome
) -> None:
    for number in waiting:
        chance = random.Random(f"{seed}/{number}")
        if chance.random() < ROUTE_SHARE:
            what = await _send_request(server, make_request(chance), outcome)
        else:
            page, query = make_page_address(chance)
            what = f"/{page}?{query[:300]}"
            await _open(browser, server.url, page, query, what, outcome)
        more = read_log(server, outcome.log_read)
        outcome.log_read += len(more.encode())
        for error in re.findall(r"^\w[\w.]*(?:Error|Exception|Interrupt)\b.*$", more, re.MULTILINE):
            outcome.add("trace", f"{number} (or one at the same time): {what}: {error}")


async def _send_request(server: Server, request: bytes, outcome: Outcome) -> str:
    what = repr(request[:200])
    outcome.counts["requests"] += 1
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), MOST_SECONDS)
        writer.close()
    except TimeoutError:
        outcome.counts["requests that the server waits to see complete"] += 1
        writer.close()
        return what
    except OSError:  # closed by the server before it has read the whole request
        outcome.counts["connections closed"] += 1
        return what
    status = int(answer[9:12]) if answer[9:12].isdigit() else 0
    outcome.statuses[status] += 1
    if status >= 500:
        outcome.add(f"status {status}", what)
    if b"root:x:0" in answer or b"import streamlit" in answer or b'LINEAGE_OPERATOR_PASSWORD"' in answer:
        outcome.add("leak", what)
    return what


async def _open(browser: httpx.AsyncClient, address: str, page: str, query: str, what: str, outcome: Outcome) -> None:
    outcome.counts["sessions"] += 1
    answer = await browser.get(f"/{page}?{query[:8_000]}", headers={"Accept": "text/html"})
    outcome.statuses[answer.status_code] += 1
    if answer.status_code >= 500:
        outcome.add(f"status {answer.status_code}", what)
    try:
        async with open_page(browser, address, page, query, is_new=False) as visitor:
            if not await visitor.fetch_sections(MOST_SECONDS):
                outcome.counts["results longer than 15 s"] += 1
            _check(visitor, what, outcome)
    except (TimeoutError, OSError, WebSocketException, httpx.HTTPError) as error:
        outcome.add("no page", f"{what}: {type(error).__name__}: {error}")


def _check(visitor: Visitor, what: str, outcome: Outcome) -> None:
    if visitor.exceptions:
        outcome.add("general error sentence", f"{what}: {visitor.exceptions[0][:200]}")
    if visitor.unanswered:
        outcome.add("asked again", what)
