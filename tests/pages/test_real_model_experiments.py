"""Experiments with real models on the pages; tiny random models, and short texts, stand for them here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from explorer.hub import memory
from explorer.inspection.pretrained import opened_model
from explorer.inspection.pretrained.answer_depth import AnswersByDepth
from explorer.inspection.pretrained.texts import PROMPTS
from explorer.labs.depth.answer_depth import _draw
from explorer.ui.document import Document
from tests import needs
from tests.pages.screen import headings, page, page_text, plot_frame_figures, table, wait_until_ready, warnings_of
from tests.words import assert_mentions

FOLDS = (
    ("induction.py", "real-model", "language model"),
    ("scaled_attention.py", "first-token", "language model"),
    ("depth.py", "answer-depth", "language model"),
    ("sentence_encoder.py", "real-senses", "encoder"),
)


@pytest.fixture(autouse=True)
def forget_models(home: Path) -> Iterator[None]:
    yield
    memory.reset()


def open_tiny(name: str, folder: Path) -> str:
    from tests.hub import tiny_tokenizers

    return tiny_tokenizers.open_tiny(name, folder)


@needs.transformers
def test_heads_of_a_real_model_are_scored_and_removed(tmp_path: Path) -> None:
    open_tiny("llama", tmp_path)
    at = wait_until_ready(page("induction.py", {"unfold": "real-model", "real": "hub:gone"}))
    assert_mentions(" ".join(warnings_of(at)), "“hub:gone” is no real language model that is open on this machine")
    assert any("attends to the token after the earlier occurrence with" in heading for heading in headings(at))
    rows = table(at, "real-induction-table")
    assert rows[0]["head"]["text"] == "no head" and rows[1]["head"]["text"] == "the best induction head"
    assert len(rows[0]["loss"]["values"]) == 16 and 1 <= len(rows[1]["control"]["values"]) <= 3
    assert "Without the previous-token head (layer " in page_text(at)


@needs.transformers
def test_attention_to_the_first_token_of_a_real_model_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        opened_model, "SENTENCES", ("abcdef", "ghijkl", "mnopqr", "stuvwx", "yzabcd", "efghij", "klmnop", "qrstuv")
    )
    open_tiny("gpt2", tmp_path)
    at = wait_until_ready(page("scaled_attention.py", {"unfold": "first-token"}))
    assert warnings_of(at) == []
    assert any("12 heads give" in each or "of the 12 heads gives" in each for each in headings(at))
    rows = table(at, "first-token-table")
    assert [row["what"]["text"] for row in rows] == [
        "sentences as they are",
        "first token replaced by a random one",
        "first token removed",
        "four sentences in a row",
        "a network with random weights",
    ]
    assert rows[-1]["heads"]["text"].startswith("0"), "its attention is nearly uniform"
    (heads,) = plot_frame_figures(at, "first-token-heads")
    assert_mentions(heads["alt"], "4 heads in 3 layers: layer 1 0.")


def test_the_depth_of_answers_is_drawn_from_the_measurements() -> None:
    ranks = np.array([[900, 800, 700], [90, 200, 40], [1, 1, 1]])
    probabilities = np.array([[0.0, 0.0, 0.0], [0.01, 0.0, 0.02], [0.5, 0.7, 0.9]])
    document = Document()
    _draw(document, {"answers": AnswersByDepth(PROMPTS[:3], 40, 52, ranks, probabilities, ranks + 50.0)})
    texts = [str(block.get("text", "")) for block in document.blocks]
    assert_mentions(texts[0], "most probable token from layer 2 of 2 on (median over 3 prompts). … in a single layer")
    assert_mentions(
        texts[1], "“The capital of France is” … “Paris” … 900 in the embedding, 90 after layer 1 and 1 after"
    )
