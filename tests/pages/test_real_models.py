"""Real models on the Runs page: visitors see what is open, the operator opens and closes models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from explorer.hub import memory, opened, opening
from explorer.web import signing, visitors
from tests import needs
from tests.hub.fake_hub import FakeHub, read_folder, serve
from tests.hub.tiny_models import save_random_model
from tests.pages.screen import assert_no_errors, page, page_text, texts, warnings_of
from tests.waiting import wait_until

pytestmark = needs.transformers
PASSWORD = "a long password of the operator"


@pytest.fixture(autouse=True)
def no_openings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    yield
    opening.reset()
    memory.reset()


@pytest.fixture
def operator(cookies: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Sign in as the operator."""
    monkeypatch.setenv("LINEAGE_OPERATOR_PASSWORD", PASSWORD)
    cookies[visitors.OPERATOR] = visitors._operator_signer(signing.signing_key(), PASSWORD).sign("x").decode()
    return cookies


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_random_model("gpt2", tmp_path / "secret-place" / "tiny")


def submit(at: AppTest, given: str) -> AppTest:
    at.text_input(key="runs.open").input(given)
    return press(at, "Open")


def press(at: AppTest, label: str) -> AppTest:
    return assert_no_errors(next(b for b in at.button if b.label.replace("\\", "").startswith(label)).click().run())


def labels(at: AppTest) -> list[str]:
    return [button.label.replace("\\", "") for button in at.button]


def links(at: AppTest) -> dict[str, str]:
    """Return the addresses of the links by their labels."""
    return {link.proto.label: link.proto.query_string for link in at.get("page_link") if link.proto.query_string}


def test_visitors_see_opened_models_with_links_but_no_field_and_no_path(folder: Path) -> None:
    opened.open_model(str(folder), "tiny")
    opened.open_model(str(save_random_model("bert", folder.parent / "bert")))
    at = page("runs.py")
    text = page_text(at).replace("\\", "")
    assert "Not trained here: decoder (gpt2), 3 layers of 4 heads" in text and "32-bit weights" in text
    assert "From a folder on the server." in text and "secret-place" not in text
    assert not at.text_input(key="runs.text").value and "Open" not in labels(at) and "Close" not in labels(at)
    assert "model=hub%3Atiny" in str(links(at)) and "models=hub%3Atiny" in str(links(at))
    found = [link.proto.query_string for link in at.get("page_link")]
    assert "model=hub%3Abert" in found and "models=hub%3Abert" not in found


def test_the_operator_opens_and_closes_a_folder(operator: dict[str, str], folder: Path) -> None:
    at = submit(page("runs.py"), str(folder))
    wait_until(lambda: not opening.list_openings())
    at = assert_no_errors(at.run())
    assert [card.name for card in opened.opened_models()] == ["tiny"]
    assert "Not trained here" in page_text(at)
    at = press(at, "Close")
    assert opened.opened_models() == [] and (folder / "config.json").is_file()


def test_progress_survives_a_reload_and_the_operator_cancels(
    operator: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MODELS", "a/tiny-test")
    with serve(FakeHub("a/tiny-test", read_folder(folder))) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        hub.paused.clear()
        submit(page("runs.py"), "tiny-test")
        wait_until(lambda: opening.list_openings()[0].progress.received)
        at = page("runs.py")  # another tab, or the same one after a reload
        assert any("tiny-test: downloading, " in text for text in texts(at))
        press(at, "Cancel: tiny-test")
        hub.paused.set()
        wait_until(lambda: not opening.list_openings())
    assert opened.opened_models() == []


def test_a_model_that_cannot_be_opened_says_why_until_it_is_dismissed(operator: dict[str, str]) -> None:
    at = submit(page("runs.py"), "no such model")
    wait_until(lambda: opening.list_openings()[0].problem)
    at = assert_no_errors(at.run())
    assert any("no such model was not opened. “no such model” is neither a folder" in text for text in warnings_of(at))
    at = press(at, "Dismiss: no such model")
    assert opening.list_openings() == [] and not [each for each in labels(at) if each.startswith("Dismiss")]
