from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages.screen import (
    assert_no_errors,
    component_data,
    headings,
    open_page,
    page_text,
    url_params,
    wait_until_ready,
    warnings_of,
    widget,
)


def diagram_data(at: AppTest) -> dict[str, Any]:
    return component_data(at, "block_diagram")[0]


def test_page_shows_results_without_interaction() -> None:
    at = open_page("block.py")
    assert warnings_of(at) == [] and url_params(at) == {}
    assert diagram_data(at)["names"]["text"][:4] == ["t", "h", "e", "␣"]
    assert diagram_data(at)["usual"] == "embedding.out"
    assert any(heading.startswith("In block 1, ") for heading in headings(at))
    assert "Code and papers" in headings(at)


def test_every_kind_opens_with_its_default_model() -> None:
    at = open_page("block.py", {"kind": "encoder", "unfold": "why"})
    assert diagram_data(at)["names"]["text"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    assert diagram_data(at)["total"] == 3522 and "after each sum" in page_text(at)
    at = open_page("block.py", {"layer": "3", "open": "attention.scores", "unfold": "why"})
    assert warnings_of(at) == []
    assert [box["title"] for box in diagram_data(at)["boxes"]][1] == "Blocks 1 to 2"
    assert diagram_data(at)["chosen"]["open"] == "attention.scores" and "before each part" in page_text(at)
    at = wait_until_ready(assert_no_errors(widget(at.segmented_control, "block.kind").set_value("both").run()))
    assert url_params(at) == {"kind": "both", "unfold": "why"}
    assert diagram_data(at)["usual"] == "encoder.embedding.out" and "cross-attention" in page_text(at)
    assert diagram_data(at)["names"]["target"][0] == "<BOS>"


def test_invalid_url_parameters_are_reported_and_the_page_is_shown() -> None:
    at = open_page("block.py", {"layer": "7", "seed": "9", "open": "nothing"})
    for words, warning in zip(("there is no block 7", "no seed 9", "no “nothing”"), warnings_of(at), strict=True):
        assert words in warning
    assert diagram_data(at)["chosen"]["open"] == "nothing"
