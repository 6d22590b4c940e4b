from __future__ import annotations

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


def diagram_data(at: AppTest) -> dict[str, object]:
    return component_data(at, "block_diagram")[0]


def test_page_shows_results_without_interaction() -> None:
    at = open_page("block.py")
    assert warnings_of(at) == [] and url_params(at) == {}
    assert diagram_data(at)["names"]["text"][:4] == ["t", "h", "e", "␣"]  # type: ignore[index]
    assert diagram_data(at)["usual"] == "embedding.out"
    assert any(heading.startswith("In block 1, ") for heading in headings(at))
    assert "Code and papers" in headings(at)


def test_every_kind_opens_with_its_default_model() -> None:
    at = open_page("block.py", {"kind": "encoder", "unfold": "why"})
    assert diagram_data(at)["names"]["text"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]  # type: ignore[index]
    assert diagram_data(at)["total"] == 3522 and "after each sum" in page_text(at)
    at = open_page("block.py", {"layer": "3", "open": "attention.scores", "unfold": "why"})
    assert warnings_of(at) == []
    assert [box["title"] for box in diagram_data(at)["boxes"]][1] == "Blocks 1 to 2"  # type: ignore[attr-defined]
    assert diagram_data(at)["chosen"]["open"] == "attention.scores" and "before each part" in page_text(at)  # type: ignore[index]
    at = wait_until_ready(assert_no_errors(widget(at.segmented_control, "block.kind").set_value("both").run()))
    assert url_params(at) == {"kind": "both", "unfold": "why"}
    assert diagram_data(at)["usual"] == "encoder.embedding.out" and "cross-attention" in page_text(at)
    assert diagram_data(at)["names"]["target"][0] == "<BOS>"  # type: ignore[index]


def test_invalid_url_parameters_are_reported_and_the_page_is_shown() -> None:
    at = open_page("block.py", {"layer": "7", "seed": "9", "open": "nothing"})
    assert len(warnings_of(at)) == 3
    assert (
        "there is no block 7" in warnings_of(at)[0]
        and "no seed 9" in warnings_of(at)[1]
        and "no “nothing”" in warnings_of(at)[2]
    )
    assert diagram_data(at)["chosen"]["open"] == "nothing"  # type: ignore[index]
