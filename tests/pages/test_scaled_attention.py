from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.screen import address, calm, drawn, frame, headings, page, settled, told


def scaled(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("scaled_attention.py", address))


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = scaled()
    assert told(at) == [] and address(at) == {}
    (tables,) = drawn(at, "dotproduct")
    assert tables["tokens"] == ["the", "cat", "sat", "down"] and tables["model"] is None
    assert len(frame(at, "scaled-width")) == 6
    said = [heading.replace("\\", "") for heading in headings(at)]
    assert any("first rises" in heading and "Divided, it stays at" in heading for heading in said)
    assert any(heading.startswith("At d_k = 64, divided, ") for heading in said), "the trainings that ship are told"
    assert [panel["title"] for panel in frame(at, "scaled-race")] == [
        "Loss on fresh rows, nats",
        "Rows reversed without a mistake",
    ]


def test_a_link_brings_the_tables_back() -> None:
    link = {"words": "a b", "width": "2", "q": "1.0,0.0,0.0,2.0", "divide": "false", "mask": "causal", "at": "out.1.0"}
    at = scaled(link)
    assert told(at) == [] and address(at) == link
    (tables,) = drawn(at, "dotproduct")
    assert tables["tokens"] == ["a", "b"]
    assert tables["state"]["q"] == [1, 0, 0, 2] and tables["state"]["k"] == []
    at = settled(calm(at.button(key="scaled.fresh").click().run()))
    assert address(at) == {}


def test_a_bad_address_is_said_and_the_rest_kept() -> None:
    at = scaled({"q": "1,nan", "width": "9", "draw": "5", "nobody": "1"})
    assert len(told(at)) == 3 and address(at) == {"draw": "5"}
    assert "do not fill rows of 4" in told(scaled({"v": "1,2,3"}))[0]


def test_the_tables_of_a_model_are_its_own() -> None:
    at = scaled({"source": "model", "model": "negation-single-transformer", "layer": "0", "head": "0"})
    assert told(at) == []
    (tables,) = drawn(at, "dotproduct")
    model = tables["model"]
    assert tables["tokens"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    q, k = np.array(model["q"]), np.array(model["k"])
    powers = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    assert powers / powers.sum(axis=1, keepdims=True) == pytest.approx(np.array(model["weights"]), abs=1e-6)


def test_of_a_long_text_the_first_tokens_are_read_under_the_models_mask() -> None:
    at = scaled({"source": "model", "model": "text-transformer", "say": "the night and the day", "layer": "1"})
    (tables,) = drawn(at, "dotproduct")
    assert "".join(tables["tokens"]).replace("␣", " ") == "the night an"
    hidden = np.array(tables["model"]["hidden"])
    assert np.array_equal(hidden, ~np.tri(12, dtype=bool))
    assert any("9 more are left out" in caption.value for caption in at.caption)


def test_a_model_that_is_not_there_and_a_head_it_does_not_have_are_said() -> None:
    assert "no model" in told(scaled({"source": "model", "model": "nobody"}))[0]
    at = scaled({"source": "model", "layer": "9"})
    assert "there is no head" in told(at)[0] and drawn(at, "dotproduct")
    strange = scaled(
        {"source": "model", "model": "negation-single-transformer", "layer": "0", "head": "0", "say": "xyzzy"}
    )
    assert "xyzzy" in told(strange)[0]


def test_the_slider_stands_where_the_address_says() -> None:
    at = scaled({"wide": "1000"})
    (data,) = (one for one in drawn(at, "frame") if one["file"] == "scaled-width")
    assert data["playback"]["stops"][data["playback"]["first"]] == "d_k = 1,024"
    at_rest = data["playback"]["says"][data["playback"]["first"]]
    assert at_rest.startswith("At d_k = 1,024 the scores are divided by 32.00.")
    read = [panel["rest"] for panel in data["figures"] if panel["tracks"]]
    assert len(read) == 4 and all(len(places) == len(data["playback"]["stops"]) for places in read)
