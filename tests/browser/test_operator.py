"""The operator in a browser: the page of the server with its buttons, and real models opened on the Runs page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests import needs
from tests.browser.conftest import note_errors
from tests.browser.steps import open_page
from tests.hub.fake_hub import FakeHub, read_folder, serve
from tests.serving import running_server

PASSWORD = "the password of the operator"
FIELD = "Name of a model, or a folder on the server"


class Gate(threading.Event):
    """An event for which the hub waits as long as the test needs."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(300)


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    with serve(FakeHub("a/tiny-test", {}, paused=Gate())) as hub:
        yield hub


@pytest.fixture(scope="module")
def operated(hub: FakeHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that has an operator and may download one model."""
    home = tmp_path_factory.mktemp("operated")
    settings = {
        "LINEAGE_OPERATOR_PASSWORD": PASSWORD,
        "LINEAGE_CACHE": str(home / "cache"),
        "LINEAGE_MODELS": hub.id,
        "HF_ENDPOINT": hub.address,
    }
    with running_server(home, **settings) as url:
        yield url


@pytest.fixture
def operator(operated: str, browser: Any) -> Iterator[Any]:
    """The page of the operator, who has signed in, in a window as narrow as a phone; its errors fail the test."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page, errors = context.new_page(), list[str]()
    note_errors(page, errors)
    page.goto(f"{operated}/operator")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Server")).to_be_visible()
    yield page
    context.close()
    assert errors == []


def test_the_operator_sees_the_server_and_acts_on_it(operated: str, operator: Any, browser: Any) -> None:
    expect(operator.get_by_text("There is no class.")).to_be_visible()
    assert operator.evaluate("document.documentElement.scrollWidth") == 390
    visitor = browser.new_context()
    visitor.new_page().goto(f"{operated}/negation")
    expect(operator.get_by_text("1 browser, 1 tab")).to_be_visible()  # without a reload
    visitor.close()
    operator.get_by_role("button", name="Sign out").click()
    expect(operator.get_by_label("Password")).to_be_visible()


@needs.transformers
def test_the_operator_opens_models_and_sees_why_one_is_refused(
    operated: str, operator: Any, hub: FakeHub, browser: Any, tmp_path: Path
) -> None:
    from tests.hub.tiny_models import save_random_model

    def open_model(given: str) -> None:
        operator.get_by_label(FIELD).fill(given)
        operator.get_by_role("button", name="Open", exact=True).click()

    folder = save_random_model("bert", tmp_path / "bert-test")
    hub.files |= read_folder(save_random_model("gpt2", tmp_path / "gpt2"))
    operator.set_viewport_size({"width": 1440, "height": 900})
    open_page(operator, f"{operated}/runs")
    open_model(str(folder))
    expect(operator.get_by_text("encoder (bert), 3 layers of 4 heads")).to_be_visible()  # without a reload
    context = browser.new_context()
    visitor = open_page(context.new_page(), f"{operated}/runs")
    expect(visitor.get_by_text("From a folder on the server")).to_be_visible()
    assert visitor.get_by_label(FIELD).count() == 0 and str(folder) not in visitor.content()
    context.close()
    operator.get_by_role("button", name="Close").click()
    expect(operator.get_by_text("encoder (bert)")).to_have_count(0)

    hub.paused.clear()
    open_model("tiny-test")
    expect(operator.get_by_text("tiny-test: downloading, ")).to_be_visible()
    open_page(operator, f"{operated}/runs")
    expect(operator.get_by_text("tiny-test: downloading, ")).to_be_visible()
    hub.paused.set()
    expect(operator.get_by_text("decoder (gpt2), 3 layers of 4 heads")).to_be_visible()
    expect(operator.get_by_text("tiny-test: downloading, ")).to_have_count(0)

    open_model("no-such-model")
    expect(operator.get_by_text("no-such-model was not opened.")).to_be_visible()
    operator.get_by_role("button", name="Dismiss: no-such-model").click()
    expect(operator.get_by_text("no-such-model was not opened.")).to_have_count(0)
