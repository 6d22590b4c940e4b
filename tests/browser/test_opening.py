"""Opening a real model in a browser: the operator signs in, opens a folder, and follows a link of its card."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests import needs
from tests.hub.fake_hub import FakeHub, read_folder, serve
from tests.hub.tiny_models import save_random_model
from tests.serving import running_server

pytestmark = [pytest.mark.slow, needs.transformers]
PASSWORD = "the password of the operator"
FIELD = "Name of a model, or a folder on the server"


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeHub]:
    folder = save_random_model("gpt2", tmp_path_factory.mktemp("hub") / "gpt2")
    with serve(FakeHub("a/tiny-test", read_folder(folder))) as hub:
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


def sign_in(page: Any, url: str) -> None:
    page.goto(f"{url}/operator")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_label(FIELD)).to_be_visible()


def open_model(page: Any, given: str) -> None:
    page.get_by_label(FIELD).fill(given)
    page.get_by_role("button", name="Open", exact=True).click()


def test_the_operator_opens_a_folder_and_visitors_see_its_card(operated: str, browser: Any, tmp_path: Path) -> None:
    folder = save_random_model("bert", tmp_path / "bert-test")
    operator, visitor = browser.new_context().new_page(), browser.new_context().new_page()
    sign_in(operator, operated)
    open_model(operator, str(folder))
    expect(operator.get_by_text("encoder (bert), 3 layers of 4 heads")).to_be_visible()  # without a reload
    visitor.goto(f"{operated}/runs")
    expect(visitor.get_by_text("From a folder on the server")).to_be_visible()
    assert visitor.get_by_label(FIELD).count() == 0 and str(folder) not in visitor.content()
    operator.get_by_role("button", name="Close").click()
    expect(operator.get_by_text("encoder (bert)")).to_have_count(0)


def test_the_progress_of_a_download_survives_a_reload(operated: str, hub: FakeHub, browser: Any) -> None:
    page = browser.new_context().new_page()
    sign_in(page, operated)
    hub.paused.clear()
    open_model(page, "tiny-test")
    expect(page.get_by_text("tiny-test: downloading, ")).to_be_visible()
    page.reload()
    expect(page.get_by_text("tiny-test: downloading, ")).to_be_visible()
    hub.paused.set()
    expect(page.get_by_text("decoder (gpt2), 3 layers of 4 heads")).to_be_visible()
    expect(page.get_by_text("tiny-test: downloading, ")).to_have_count(0)
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_text("decoder (gpt2)")).to_have_count(0)


def test_a_refused_model_says_why_until_it_is_dismissed(operated: str, browser: Any) -> None:
    page = browser.new_context().new_page()
    sign_in(page, operated)
    open_model(page, "no-such-model")
    expect(page.get_by_text("no-such-model was not opened.")).to_be_visible()
    page.get_by_role("button", name="Dismiss: no-such-model").click()
    expect(page.get_by_text("no-such-model was not opened.")).to_have_count(0)
