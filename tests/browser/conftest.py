"""A real Chromium on a real server. Every visit is watched: what goes wrong unseen fails its test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.serving import serving

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests")
sync_api.expect.set_options(timeout=30_000)  # a busy machine is slow; nothing here is about speed
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
PROBES = ("/negation/_stcore/health", "/negation/_stcore/host-config")
Visit = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        missing = "no Chromium on this machine: install Debian's `chromium` to run the browser tests"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def server(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("visited")) as address:
        yield address


@pytest.fixture
def visit(browser: Any, server: str) -> Iterator[Visit]:
    """Opens an address as a visitor of its own; at the end says whatever went wrong meanwhile."""
    contexts, troubles = [], []

    def opened(path: str, width: int = 1440, height: int = 900, scheme: str = "light") -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        context.set_default_timeout(30_000)
        page = context.new_page()

        def console(message: Any) -> None:
            probe = message.location["url"].endswith(PROBES) and "404" in message.text
            if message.type == "error" and not probe:
                troubles.append(f"console: {message.text} {message.location['url']}")

        def request(asked: Any) -> None:
            if not asked.url.startswith((server, server.replace("http", "ws"), "data:", f"blob:{server}")):
                troubles.append(f"request to {asked.url}")

        page.on("console", console)
        page.on("pageerror", lambda error: troubles.append(f"page error: {error}"))
        page.on("request", request)
        page.on("websocket", request)
        page.goto(server + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []
