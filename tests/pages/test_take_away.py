"""Downloads of a run as code."""

from __future__ import annotations

import json

from explorer.run_store import store
from explorer.ui.code_and_papers import _notebook_text
from tests.pages.screen import page


def download_labels(file: str, address: dict[str, str]) -> list[str]:
    return [element.proto.label for element in page(file, address).get("download_button")]


def test_a_lab_and_an_open_run_offer_the_file_and_the_notebook() -> None:
    assert download_labels("negation.py", {"unfold": "code"})[-2:] == [
        "Bag of words: this run as one file",
        "As a notebook",
    ]
    assert download_labels("runs.py", {"run": "negation-half-gru"})[-2:] == ["As one file", "As a notebook"]


def test_the_notebook_contains_the_final_loss_of_the_stored_run() -> None:
    stored = store.find("negation-half-gru")
    head = json.loads(_notebook_text(stored.config, "ada"))["cells"][0]["source"]
    assert f"{stored.curves.losses[-1][0]:.6g} (seed {stored.config.seed})" in head


def test_the_source_code_is_sent_once_it_is_unfolded() -> None:
    assert not page("masks.py").get("code")
    at = page("masks.py", {"unfold": "code"})
    assert "class TransformerTagger" in at.get("code")[0].value
