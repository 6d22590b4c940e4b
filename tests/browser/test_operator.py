"""The operator's page in a browser: it shows the server, follows what happens, and its buttons work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from tests.serving import running_server

PASSWORD = "the password of the operator"


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that has an operator."""
    with running_server(tmp_path_factory.mktemp("operated"), LINEAGE_OPERATOR_PASSWORD=PASSWORD) as url:
        yield url


def test_the_operator_sees_the_server_and_acts_on_it(operated: str, browser: Any) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(f"{operated}/operator")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Servers")).to_be_visible()
    expect(page.get_by_text("(this one)")).to_be_visible()
    expect(page.get_by_text("There is no class.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="Drain").click()
    expect(page.get_by_text("leads, draining")).to_be_visible()
    assert httpx.get(f"{operated}/ready", trust_env=False).status_code == 503
    page.get_by_role("button", name="take visitors again").click()
    expect(page.get_by_text("leads, draining")).to_have_count(0)
    assert httpx.get(f"{operated}/ready", trust_env=False).status_code == 200
    visitor = browser.new_context().new_page()
    visitor.goto(f"{operated}/negation")
    expect(page.get_by_text("1 browser, 1 tab")).to_be_visible(timeout=20_000)  # without a reload
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password")).to_be_visible()
    assert problems == []
