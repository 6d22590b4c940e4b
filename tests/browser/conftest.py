"""A real Chromium on a real server. Every visit is watched: what goes wrong unseen fails its test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api

from explorer.catalogue import PAGES
from tests.browser.steps import calm
from tests.serving import serving

sync_api.expect.set_options(timeout=60_000)  # a busy machine is slow; nothing here is about speed
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Streamlit looks for its server under the page's own path first; on a cold deep link that is not there.
PROBES = tuple(
    f"/{page}/_stcore/{what}"
    for page in [row.address for row in PAGES if row.address]
    for what in ("health", "host-config")
)
Visit = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One for each file: while it is there its event loop runs on this thread, where other tests start their own."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  # the lightest first
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        missing = "no Chromium on this machine: install Debian's `chromium-headless-shell` to run the browser tests"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the common server keeps its things, its log among them."""
    return tmp_path_factory.mktemp("visited")


@pytest.fixture(scope="session")
def server(home: Path) -> Iterator[str]:
    with serving(home) as address:
        yield address


@pytest.fixture
def visit(browser: Any, server: str, home: Path) -> Iterator[Visit]:
    """Opens an address as a visitor of its own; at the end says whatever went wrong meanwhile.

    `beside` is a page of the visitor who opens one more, `at` a server of the test's own, `bearing` what is
    no trouble there. What visitors train on the common server ends with their test.
    """
    contexts, troubles = [], []
    log = home / "server.log"
    before = len(log.read_text())

    def opened(
        path: str,
        width: int = 1440,
        height: int = 900,
        scheme: str = "light",
        beside: Any = None,
        at: str = server,
        bearing: tuple[str, ...] = (),
    ) -> Any:
        if beside:
            context = beside.context
        else:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
            )
            contexts.append(context)
            context.set_default_timeout(60_000)
        page = context.new_page()

        def console(message: Any) -> None:
            where = message.location["url"]
            probe = where.endswith(PROBES) and "404" in message.text
            if message.type == "error" and not probe and not any(part in message.text for part in bearing):
                troubles.append(f"console: {message.text} {where}")

        def request(asked: Any) -> None:
            if not asked.url.startswith((at, at.replace("http", "ws"), "data:", f"blob:{at}")):
                troubles.append(f"request to {asked.url}")

        page.on("console", console)
        page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
        page.on("request", request)
        page.on("websocket", request)
        page.goto(at + path)
        sync_api.expect(page.get_by_role("heading", level=1)).to_be_visible()
        calm(page)
        return page

    yield opened
    for context in contexts:
        for job in context.request.get(f"{server}/jobs").json()["jobs"]:
            if job["can_stop"]:
                context.request.post(f"{server}/jobs/{job['key']}/stop", headers={"X-Lineage": "1"})
        context.close()
    if "Traceback" in (said := log.read_text()[before:]):  # the page shows visitors no more than that there is one
        troubles.append(f"the server: {said}")
    assert troubles == []
