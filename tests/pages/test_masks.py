from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from explorer.tasks.labelling import PAD
from explorer.training import store
from explorer.ui.masks import Masks
from tests.pages.screen import address, calm, drawn, frame, headings, page, said, settled, told
from tests.pages.test_memory import over


def masks(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("masks.py", address))


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = masks()
    assert told(at) == [] and address(at) == {}
    data = drawn(at, "masks")[0]
    assert data["batch"][1] == ["dogs", "bark"] and PAD in data["vectors"] and len(data["layers"]) == 2
    ends = [store.find(f"noise-{name}").card.metrics["loss"].values for name in ("causal", "open")]
    causal, without = (sum(v or 0.0 for v in values) / len(values) for values in ends)
    verdict = next(heading for heading in headings(at) if heading.startswith("Without the mask"))
    assert f"{without:.2f}".replace(".", "\\.") in verdict and f"{causal:.2f}".replace(".", "\\.") in verdict
    assert [panel["title"] for panel in frame(at, "masks-race")] == [
        "Read at once, as in training",
        "Fed as in generation",
    ]
    assert len(frame(at, "masks-places")) == 2 and len(at.code) == 3
    assert "No finished run" not in said(at)


def test_sentences_stand_in_the_address_and_can_be_taken_back() -> None:
    at = masks()
    at = settled(calm(at.text_input(key="masks.second").set_value("<b>cats</b>, dogs").run()))
    assert address(at) == {"second": "<b>cats</b>, dogs"}
    assert drawn(at, "masks")[0]["batch"][1] == ["<b>cats</b>,", "dogs"]
    at = settled(calm(at.button(key="masks.fresh").click().run()))
    assert address(at) == {}


def test_other_symbols_were_never_trained_and_are_offered() -> None:
    at = masks({"symbols": "5"})
    assert told(at) == [] and "No finished run of the model with the mask and the model without the mask" in said(at)
    assert not any(heading.startswith("Without the mask") for heading in headings(at))


def test_what_is_asked_for_is_trained_here() -> None:
    at = masks({"symbols": "5", "steps": "20", "seeds": "1"})
    at = calm(at.button(key="missing.run").click().run())
    over(list(Masks(symbols=5, steps=20, seeds=1).configs.values()))
    at = settled(calm(at.run()))
    assert any(heading.startswith("Without the mask the loss") for heading in headings(at))
    assert "ln 5" in " ".join(headings(at)) and len(at.code) == 3


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"symbols": "99"}, "Give a number from 2 to 26"),
        ({"side": "up"}, "Give one of right, left"),
        ({"first": "one two three four five six seven eight nine ten eleven"}, "has 11 words; ten have room"),
        ({"first": " ", "second": " ", "third": " "}, "The batch is empty"),
        ({"run": "abcdefghijkl"}, "is not on this machine"),
        ({"nonsense": "1"}, "This page has no “nonsense”"),
    ],
)
def test_what_cannot_be_is_said_and_the_rest_kept(bad: Mapping[str, str], words: str) -> None:
    at = masks(bad)
    assert sum(words in sentence for sentence in told(at)) == 1, told(at)
    assert frame(at, "masks-race")
