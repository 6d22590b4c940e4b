from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import wait

import pytest
from streamlit.testing.v1 import AppTest

from explorer.tasks.labelling import PAD
from explorer.training import store
from explorer.ui import slowly
from explorer.ui.masks import Masks
from tests.pages.screen import address, calm, drawn, frame, headings, over, page, said, settled, told


def masks(address: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("masks.py", address))


def verdict(at: AppTest) -> str:
    return next(heading for heading in headings(at) if heading.startswith("Without the mask the loss"))


@pytest.mark.parametrize("reads", ["tale", "noise"])
def test_it_is_alive_before_anybody_touches_it(reads: str) -> None:
    at = masks({} if reads == "tale" else {"reads": reads})
    assert told(at) == [] and address(at) == ({} if reads == "tale" else {"reads": reads})
    data = drawn(at, "masks")[0]
    assert data["batch"][1] == ["dogs", "bark"] and PAD in data["vectors"] and len(data["layers"]) == 2
    for name in ("causal", "open"):
        values = store.find(f"{reads}-{name}").card.metrics["loss"].values
        mean = sum(value or 0.0 for value in values) / len(values)
        assert f"{mean:.2f}".replace(".", "\\.") in verdict(at)
    titles = [panel["title"] for panel in frame(at, "masks-race")]
    assert titles == ["Read at once, as in training", "Fed as in generation"]
    assert len(frame(at, "masks-places")) == 2 and len(at.code) == 3
    assert "No finished run" not in said(at) and (len(at.text_input) == 4) == (reads == "tale")


def test_both_go_on_from_what_somebody_writes() -> None:
    at = masks({"begin": "the lonely wolf"})
    at = settled(calm(at.text_input(key="masks.begin").set_value("A Dragon é").run()))
    wait(list(slowly._works.values()))  # until then the last texts stay
    at = calm(at.run())
    assert address(at) == {"begin": "A Dragon é"}
    assert len(told(at)) == 1 and "left out: “é”" in told(at)[0]
    with_mask, without = (block.value for block in at.code[:2])
    assert all(text.startswith("a dragon ") for block in (with_mask, without) for text in block.split("\n\n"))
    assert with_mask != without and "words of the language" in said(at)


def test_sentences_stand_in_the_address_and_can_be_taken_back() -> None:
    at = masks()
    at = settled(calm(at.text_input(key="masks.second").set_value("<b>cats</b>, dogs").run()))
    assert address(at) == {"second": "<b>cats</b>, dogs"}
    assert drawn(at, "masks")[0]["batch"][1] == ["<b>cats</b>,", "dogs"]
    at = settled(calm(at.button(key="masks.fresh").click().run()))
    assert address(at) == {}


def test_what_was_never_trained_is_offered() -> None:
    at = masks({"reads": "noise", "symbols": "5"})
    assert told(at) == [] and "No finished run of the model with the mask and the model without the mask" in said(at)
    assert not any(heading.startswith("Without the mask") for heading in headings(at))


def test_what_is_asked_for_is_trained_here() -> None:
    at = masks({"reads": "noise", "symbols": "5", "steps": "20", "seeds": "1"})
    at = calm(at.button(key="missing.run").click().run())
    over(list(Masks(reads="noise", symbols=5, steps=20, seeds=1).configs.values()))
    at = settled(calm(at.run()))
    assert "ln 5" in verdict(at) and len(at.code) == 3


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"symbols": "99"}, "Give a number from 2 to 26"),
        ({"reads": "letters"}, "Give one of tale, noise"),
        ({"begin": "é"}, "Write a beginning of at least one letter"),
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
