"""A real Chromium on a real server. Every visit is watched: what goes wrong unseen fails its test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api

from explorer.catalogue import PAGES
from tests import needs
from tests.browser.steps import wait_until_idle
from tests.serving import running_server

sync_api.expect.set_options(timeout=180_000)  # a busy machine is slow; nothing here is about speed
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",  # one process draws all pages: it has compiled the scripts already
]
# Streamlit looks for its server under the page's own path first; on a cold deep link that is not there.
PROBES = tuple(
    f"/{page}/_stcore/{what}"
    for page in [row.address for row in PAGES if row.address]
    for what in ("health", "host-config")
)
Visit = Callable[..., Any]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Playwright's way to start Chromium. Its event loop runs on this thread until the session ends."""
    if needs.CHROMIUM is None:
        pytest.skip(needs.NO_CHROMIUM)
    with sync_api.sync_playwright() as playwright:
        yield playwright.chromium


@pytest.fixture(scope="session")
def browser(chromium: Any) -> Iterator[Any]:
    """A browser for the second and later visitors of a test, each in a context of their own."""
    browser = chromium.launch(executable_path=needs.CHROMIUM, args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def profile(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The first visitor of every test. It keeps what it has loaded of the app's scripts, which halves the time that
    a page takes to open; cookies and local storage are removed after each test."""
    context = chromium.launch_persistent_context(
        tmp_path_factory.mktemp("profile"), executable_path=needs.CHROMIUM, args=FLAGS, accept_downloads=True
    )
    yield context
    context.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the common server keeps its things, its log among them."""
    return tmp_path_factory.mktemp("visited")


@pytest.fixture(scope="session")
def server(home: Path) -> Iterator[str]:
    with running_server(home) as address:
        yield address


def _clear(profile: Any, server: str) -> None:
    """Close its pages, and make the next one that of another visitor."""
    for page in profile.pages[1:]:  # the first is an empty one, without which the browser would end
        page.close()
    profile.clear_cookies()
    cleaner = profile.new_cdp_session(profile.pages[0])
    cleaner.send("Storage.clearDataForOrigin", {"origin": server, "storageTypes": "local_storage"})
    cleaner.detach()


@pytest.fixture
def visit(request: pytest.FixtureRequest, profile: Any, server: str, home: Path) -> Iterator[Visit]:
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
            context = request.getfixturevalue("browser").new_context(accept_downloads=True) if contexts else profile
            contexts.append(context)
            context.set_default_timeout(180_000)
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)

        def console(message: Any) -> None:
            where = message.location["url"]
            probe = where.endswith(PROBES) and "404" in message.text
            if message.type == "error" and not probe and not any(part in message.text for part in bearing):
                troubles.append(f"console: {message.text} {where}")

        def check_address(asked: Any) -> None:
            if not asked.url.startswith((at, at.replace("http", "ws"), "data:", f"blob:{at}")):
                troubles.append(f"request to {asked.url}")

        page.on("console", console)
        page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
        page.on("request", check_address)
        page.on("websocket", check_address)
        page.goto(at + path)
        sync_api.expect(page.get_by_role("heading", level=1)).to_be_visible()
        wait_until_idle(page)
        return page

    yield opened
    for context in contexts:
        for job in context.request.get(f"{server}/jobs").json()["jobs"]:
            if job["can_stop"]:
                context.request.post(f"{server}/jobs/{job['key']}/stop", headers={"X-Lineage": "1"})
        if context is profile:
            _clear(profile, server)
        else:
            context.close()
    if "Traceback" in (said := log.read_text()[before:]):  # the page shows visitors no more than that there is one
        troubles.append(f"the server: {said}")
    assert troubles == []
