from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from explorer.inspection.language.tokenizer_losses import measure_tokenizer_loss
from explorer.labs.perplexity import findings
from explorer.labs.perplexity.losses import windows_view
from explorer.labs.perplexity.state import CONTEXTS, PerplexityState
from explorer.models.configs import NgramTextConfig
from explorer.tasks.text.config import TextConfig
from explorer.ui.document import Document
from tests.pages import screen

pytestmark = pytest.mark.usefixtures("no_loaded_text")
NGRAM = NgramTextConfig(n=7, smoothing="modified_kneser_ney")


def open_page(**address: str) -> AppTest:
    return screen.wait_until_ready(screen.page("perplexity.py", {"corpus": "repeats", **address}))


def test_bars_show_the_comparable_unit_and_a_table_the_others() -> None:
    at = open_page(tokens="char,word", unfold="perplexity-units")
    assert screen.warnings_of(at) == []
    tasks = PerplexityState(tokens=("char", "word")).tasks(TextConfig(corpus="repeats"))
    losses = {kind: measure_tokenizer_loss(task, NGRAM) for kind, task in tasks.items()}
    assert findings.tokenizers_finding(losses, counted=True) in screen.headings(at)
    (bars,) = screen.plot_frame_figures(at, "perplexity-bars")
    assert bars["plot"]["data"][0]["x"] == pytest.approx([each.bits_per_byte for each in losses.values()], abs=1e-3)
    for row, each in zip(screen.table(at, "perplexity-units"), losses.values(), strict=True):
        ngram = each.ngram
        expected = [f"{ngram.loss:.3f}", f"{ngram.perplexity:,.1f}", f"{ngram.bits_per_character:.3f}"]
        assert [row[name]["text"] for name in ("loss", "perplexity", "characters")] == expected
    assert any(findings.omitted_sentence("word", losses["word"]) in caption for caption in screen.captions(at))


def test_text_left_out_leaves_no_comparable_bars() -> None:
    at = open_page(tokens="word", unfold="perplexity-units")
    at = screen.wait_until_ready(screen.widget(at.segmented_control, "perplexity.omitted").set_value("left_out").run())
    assert screen.url_params(at)["omitted"] == "left_out"
    assert "predicted" in screen.table(at, "perplexity-units")[0] and not screen.component_data(at, "plot_frame")
    assert any("cannot be compared" in heading or "leave nothing" in heading for heading in screen.headings(at))


def test_contexts_and_strides_are_drawn_as_they_become_ready() -> None:
    losses = {str(context): np.array([[1.5, 1.6], [1.4, 1.5], [1.39, 1.5]]) / context**0.01 for context in CONTEXTS}
    document = Document()
    windows_view(document, losses, "--m-transformer", 128, 2)
    assert document.blocks[0]["text"] == findings.windows_finding({int(each): losses[each] for each in losses})
    texts = [block["text"] for block in document.blocks if block["kind"] == "text"]
    assert texts == [findings.selected_sentence(128, 2, losses["128"]), findings.stride_sentence(128, losses["128"])]
    first = Document()
    windows_view(first, {"16": losses["16"]}, "--m-transformer", 128, 2)
    assert [block["kind"] for block in first.blocks] == ["finding", "component", "caption"]
