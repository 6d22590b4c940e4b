"""Chromium and a server for the browser tests. Errors that no test looks at fail the test in which they happen.

Among them is what the Content-Security-Policy blocks: Chromium writes it to the console as an error. A condition of
`wait_for_function` is a function, because the policy does not let Playwright evaluate an expression in the page.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api

from explorer.catalogue import PAGES
from tests import needs
from tests.browser.steps import RETRIES, open_page
from tests.serving import running_server

TIMEOUT = 90_000  # ms
sync_api.expect.set_options(timeout=TIMEOUT)  # a busy machine is slow; nothing here is about speed
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
# Streamlit first looks for its server under the page's own path, where it is not.
PROBES = tuple(
    f"/{page}/_stcore/{name}"
    for page in [row.address for row in PAGES if row.address]
    for name in ("health", "host-config")
)
Visit = Callable[..., Any]
UNUSED_SEEDS = itertools.count(1_000)


@pytest.fixture
def seed() -> int:
    """A seed that no other test uses, nor an earlier attempt of this one: its run is not on the server yet."""
    return next(UNUSED_SEEDS)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Playwright's way to start Chromium. Its event loop runs on this thread until the session ends."""
    if needs.CHROMIUM is None or not needs.AXE.is_file():
        pytest.skip(needs.NO_BROWSER)
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
    """The browser context of the first visitor of every test.

    It keeps the app's compiled scripts, which halves the time to open a page. Cookies and local storage are removed
    after each test.
    """
    context = chromium.launch_persistent_context(
        tmp_path_factory.mktemp("profile"), executable_path=needs.CHROMIUM, args=FLAGS, accept_downloads=True
    )
    yield context
    context.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home directory of the common server, with its log."""
    return tmp_path_factory.mktemp("visited")


@pytest.fixture(scope="session")
def server(home: Path) -> Iterator[str]:
    with running_server(home) as address:
        yield address


def note_errors(page: Any, errors: list[str], *ignored: str) -> None:
    """Append the errors of a page to a list, except console messages with one of the `ignored` parts."""

    def console(message: Any) -> None:
        url = message.location["url"]
        probe = url.endswith(PROBES) and "404" in message.text
        if message.type == "error" and not probe and not any(part in message.text for part in ignored):
            errors.append(f"console: {message.text} {url}")

    page.on("console", console)
    page.on("pageerror", lambda error: errors.append(f"page error: {error}"))


def note_foreign_requests(page: Any, errors: list[str], site: str) -> None:
    """Append the addresses that a page requests outside its site to a list."""
    own = (site, site.replace("http", "ws"), "data:", "blob:")

    def check(request: Any) -> None:
        if not request.url.startswith(own):
            errors.append(f"request to {request.url}")

    page.on("request", check)
    page.on("websocket", check)


def clear(profile: Any, server: str) -> None:
    """Close all pages and remove the visitor's cookies and local storage."""
    for page in profile.pages[1:]:  # the first one is empty; without it the browser would end
        page.close()
    profile.clear_cookies()
    cleaner = profile.new_cdp_session(profile.pages[0])
    cleaner.send("Storage.clearDataForOrigin", {"origin": server, "storageTypes": "local_storage"})
    cleaner.detach()


@pytest.fixture
def visit(request: pytest.FixtureRequest, profile: Any, server: str, home: Path) -> Iterator[Visit]:
    """Return a function that opens an address for a new visitor; at the end, fail on errors of browser and server.

    server_url: the test's own server.
    ignored_errors: parts of console messages that are expected.

    Trainings that visitors began on the common server are stopped at the end.
    """
    contexts, errors = [], list[str]()
    log = home / "server.log"
    before = len(log.read_text())

    def opened(
        path: str,
        width: int = 1440,
        height: int = 900,
        scheme: str = "light",
        server_url: str = server,
        ignored_errors: tuple[str, ...] = (),
    ) -> Any:
        context = request.getfixturevalue("browser").new_context(accept_downloads=True) if contexts else profile
        contexts.append(context)
        context.set_default_timeout(TIMEOUT)
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        note_errors(page, errors, *ignored_errors)
        note_foreign_requests(page, errors, server_url)
        return open_page(page, server_url + path)

    yield opened
    for context in contexts:
        for job in context.request.get(f"{server}/jobs", max_retries=RETRIES).json()["jobs"]:
            if job["can_stop"]:
                stop_url, headers = f"{server}/jobs/{job['key']}/stop", {"X-Lineage": "1"}
                context.request.post(stop_url, headers=headers, max_retries=RETRIES)
        if context is profile:
            clear(profile, server)
        else:
            context.close()
    if "Traceback" in (new_lines := log.read_text()[before:]):  # a page shows its visitor no traceback
        errors.append(f"the server: {new_lines}")
    assert errors == []


@pytest.fixture
def offline(browser: Any) -> Iterator[Any]:
    """A page without a network; an error of the page fails the test."""
    context = browser.new_context(offline=True, viewport={"width": 1000, "height": 800})
    page, errors = context.new_page(), list[str]()
    note_errors(page, errors)
    yield page
    context.close()
    assert errors == []
