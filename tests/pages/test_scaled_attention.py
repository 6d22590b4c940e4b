from __future__ import annotations

import numpy as np
import pytest

from tests.pages import screen

HEAD = {"source": "model", "model": "negation-single-transformer", "layer": "0", "head": "0"}


def test_page_shows_results_without_interaction() -> None:
    at = screen.open_page("scaled_attention.py", {"unfold": "training"})
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {"unfold": "training"}
    (tables,) = screen.component_data(at, "dot_product")
    assert tables["tokens"] == ["the", "cat", "sat", "down"] and tables["model"] is None
    assert len(screen.plot_frame_figures(at, "scaled-width")) == 6
    finding_texts = [heading.replace("\\", "") for heading in screen.headings(at)]
    assert any(
        heading.startswith("Undivided, the gradient") and "divided, it is" in heading for heading in finding_texts
    )
    assert any(heading.startswith("With the division 8 of eight seeds learn") for heading in finding_texts)
    titles = [panel["title"] for panel in screen.plot_frame_figures(at, "scaled-race")]
    assert titles == ["Loss on new rows, nats", "Share of rows reversed correctly"]


def test_the_tables_of_a_trained_head_are_shown() -> None:
    at = screen.open_page("scaled_attention.py", HEAD)
    assert screen.warnings_of(at) == []
    (tables,) = screen.component_data(at, "dot_product")
    model = tables["model"]
    assert tables["tokens"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    q, k = np.array(model["q"]), np.array(model["k"])
    powers = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    assert powers / powers.sum(axis=1, keepdims=True) == pytest.approx(np.array(model["weights"]), abs=1e-6)


def test_a_long_text_is_cut_and_the_models_mask_is_used() -> None:
    params = {"source": "model", "model": "text-transformer", "say": "the night and the day", "layer": "1"}
    at = screen.open_page("scaled_attention.py", params)
    (tables,) = screen.component_data(at, "dot_product")
    assert "".join(tables["tokens"]).replace("␣", " ") == "the night an"
    hidden = np.array(tables["model"]["hidden"])
    assert np.array_equal(hidden, ~np.tri(12, dtype=bool))
    assert "9 more are left out" in screen.page_text(at)


def test_missing_models_heads_words_and_numbers_are_reported() -> None:
    for params, words in (
        ({"v": "1,2,3"}, "do not fill rows of 4"),
        ({"source": "model", "model": "nobody"}, "no model"),
        ({"source": "model", "layer": "9"}, "there is no head"),
        (HEAD | {"say": "xyzzy"}, "xyzzy"),
    ):
        assert words in screen.warnings_of(screen.open_page("scaled_attention.py", params))[0]
