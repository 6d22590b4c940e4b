from __future__ import annotations

from typing import Any

from streamlit.testing.v1 import AppTest

from tests.pages import screen


def diagram_data(at: AppTest) -> dict[str, Any]:
    return screen.component_data(at, "block_diagram")[0]


def test_page_shows_results_without_interaction() -> None:
    at = screen.open_page("block.py")
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {}
    assert diagram_data(at)["names"]["text"][:4] == ["t", "h", "e", "␣"]
    assert diagram_data(at)["usual"] == "embedding.out"
    assert any(heading.startswith("In block 1, ") for heading in screen.headings(at))
    assert "Code and papers" in screen.headings(at)


def test_every_kind_opens_with_its_default_model() -> None:
    at = screen.open_page("block.py", {"kind": "encoder", "unfold": "why"})
    assert diagram_data(at)["names"]["text"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    assert diagram_data(at)["total"] == 3522 and "after each sum" in screen.page_text(at)
    at = screen.open_page("block.py", {"layer": "3", "open": "attention.scores", "unfold": "why"})
    assert screen.warnings_of(at) == []
    assert [box["title"] for box in diagram_data(at)["boxes"]][1] == "Blocks 1 to 2"
    assert diagram_data(at)["chosen"]["open"] == "attention.scores" and "before each part" in screen.page_text(at)
    at = screen.wait_until_ready(
        screen.assert_no_errors(screen.widget(at.segmented_control, "block.kind").set_value("both").run())
    )
    assert screen.url_params(at) == {"kind": "both", "unfold": "why"}
    assert diagram_data(at)["usual"] == "encoder.embedding.out" and "cross-attention" in screen.page_text(at)
    assert diagram_data(at)["names"]["target"][0] == "<BOS>"


def test_invalid_url_parameters_are_reported_and_the_page_is_shown() -> None:
    at = screen.open_page("block.py", {"layer": "7", "seed": "9", "open": "nothing"})
    for words, warning in zip(
        ("there is no block 7", "no seed 9", "no “nothing”"), screen.warnings_of(at), strict=True
    ):
        assert words in warning
    assert diagram_data(at)["chosen"]["open"] == "nothing"
