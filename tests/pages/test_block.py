from __future__ import annotations

from collections.abc import Mapping

from streamlit.testing.v1 import AppTest

from tests.pages.screen import address, calm, drawn, headings, page, said, settled, told


def screen(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("block.py", address))


def block(at: AppTest) -> dict[str, object]:
    return drawn(at, "block")[0]


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = screen()
    assert told(at) == [] and address(at) == {}
    assert block(at)["names"]["text"][:4] == ["t", "h", "e", "␣"]  # type: ignore[index]
    assert block(at)["usual"] == "attention.weights"
    chosen = block(at)["chosen"]
    assert chosen["token"] > chosen["unit"], "a token that looks back"  # type: ignore[index]
    assert any(heading.startswith("In block 1 of 4") for heading in headings(at))
    assert any("(run text-transformer, seed 0)" in heading.replace("\\", "") for heading in headings(at))
    assert "The papers" in headings(at) and "before each part" in said(at)


def test_every_half_opens_with_its_own_model() -> None:
    at = screen({"kind": "encoder"})
    assert block(at)["names"]["text"] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]  # type: ignore[index]
    assert block(at)["total"] == 3522 and "after each sum" in said(at)
    at = screen({"layer": "3", "open": "attention.scores"})
    assert told(at) == []
    assert [box["title"] for box in block(at)["boxes"]][1] == "Blocks 1 to 2"  # type: ignore[attr-defined]
    assert block(at)["chosen"]["open"] == "attention.scores" and "before each part" in said(at)  # type: ignore[index]
    at = settled(calm(at.segmented_control(key="block.kind").set_value("both").run()))
    assert address(at) == {"kind": "both"}
    assert block(at)["usual"] == "decoder.cross.weights" and "cross-attention" in said(at)
    assert block(at)["names"]["target"][0] == "<BOS>"  # type: ignore[index]


def test_bad_parts_of_an_address_are_said_and_the_page_stays() -> None:
    at = screen({"layer": "7", "seed": "9", "open": "nothing"})
    assert len(told(at)) == 3
    assert "there is no block 7" in told(at)[0] and "no seed 9" in told(at)[1] and "no “nothing”" in told(at)[2]
    assert block(at)["chosen"]["open"] == "nothing"  # type: ignore[index]


def test_a_model_that_is_no_such_half_and_a_text_that_cannot_be_read_are_refused() -> None:
    at = screen({"kind": "encoder", "model": "text-transformer"})
    assert "is no encoder that can be opened here" in told(at)[0].replace("\\", "")
    at = screen({"kind": "encoder", "say": "human xyzzy nature"})
    assert len(told(at)) == 1 and "xyzzy" in told(at)[0]
    at = settled(calm(at.button(key="block.fresh").click().run()))
    assert told(at) == [] and address(at) == {} and block(at)["usual"] == "attention.weights"
