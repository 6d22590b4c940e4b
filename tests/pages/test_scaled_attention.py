from __future__ import annotations

import numpy as np
import pytest

from tests.pages.screen import (
    captions,
    component_data,
    headings,
    open_page,
    plot_frame_figures,
    url_params,
    warnings_of,
)


def test_page_shows_results_without_interaction() -> None:
    at = open_page("scaled_attention.py", {"unfold": "training"})
    assert warnings_of(at) == [] and url_params(at) == {"unfold": "training"}
    (tables,) = component_data(at, "dot_product")
    assert tables["tokens"] == ["the", "cat", "sat", "down"] and tables["model"] is None
    assert len(plot_frame_figures(at, "scaled-width")) == 6
    finding_texts = [heading.replace("\\", "") for heading in headings(at)]
    assert any("-fold from" in heading and "divided, it stays at" in heading for heading in finding_texts)
    assert any(heading.startswith("With the division 5 of five seeds learn") for heading in finding_texts), (
        "the included runs are described"
    )
    assert [panel["title"] for panel in plot_frame_figures(at, "scaled-race")] == [
        "Loss on new rows, nats",
        "Share of rows reversed correctly",
    ]


def test_invalid_url_parameters_are_reported_and_the_rest_is_used() -> None:
    at = open_page("scaled_attention.py", {"q": "1,nan", "width": "9", "draw": "5", "nobody": "1"})
    assert len(warnings_of(at)) == 3 and url_params(at) == {"draw": "5"}
    assert "do not fill rows of 4" in warnings_of(open_page("scaled_attention.py", {"v": "1,2,3"}))[0]


def test_the_tables_of_a_trained_head_are_shown() -> None:
    at = open_page(
        "scaled_attention.py", {"source": "model", "model": "negation-single-transformer", "layer": "0", "head": "0"}
    )
    assert warnings_of(at) == []
    (tables,) = component_data(at, "dot_product")
    model = tables["model"]
    assert tables["tokens"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    q, k = np.array(model["q"]), np.array(model["k"])
    powers = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    assert powers / powers.sum(axis=1, keepdims=True) == pytest.approx(np.array(model["weights"]), abs=1e-6)


def test_a_long_text_is_cut_and_the_models_mask_is_used() -> None:
    at = open_page(
        "scaled_attention.py",
        {"source": "model", "model": "text-transformer", "say": "the night and the day", "layer": "1"},
    )
    (tables,) = component_data(at, "dot_product")
    assert "".join(tables["tokens"]).replace("␣", " ") == "the night an"
    hidden = np.array(tables["model"]["hidden"])
    assert np.array_equal(hidden, ~np.tri(12, dtype=bool))
    assert any("9 more are left out" in caption for caption in captions(at))


def test_missing_models_and_heads_are_reported() -> None:
    assert "no model" in warnings_of(open_page("scaled_attention.py", {"source": "model", "model": "nobody"}))[0]
    at = open_page("scaled_attention.py", {"source": "model", "layer": "9"})
    assert "there is no head" in warnings_of(at)[0] and component_data(at, "dot_product")
    strange = open_page(
        "scaled_attention.py",
        {"source": "model", "model": "negation-single-transformer", "layer": "0", "head": "0", "say": "xyzzy"},
    )
    assert "xyzzy" in warnings_of(strange)[0]
