from __future__ import annotations

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from explorer.training.store import find
from explorer.ui.sentences import EXAMPLES, Sentences
from tests.pages.screen import address, calm, drawn, frame, headings, over, page, said, settled, told


def sentences(given: Mapping[str, str] | None = None) -> AppTest:
    return settled(page("sentences.py", given))


def test_it_is_alive_before_anybody_touches_it() -> None:
    at = sentences()
    assert told(at) == [] and address(at) == {}
    assert any(each.startswith("Before attention every “bank” is one vector") for each in headings(at))
    assert [panel["title"] for panel in frame(at, "sentences-layers")] == [
        "After training",
        "Before training",
        "Without attention",
    ]
    (map_,) = drawn(at, "senses")
    assert [" ".join(row["words"]) for row in map_["sentences"]] == list(EXAMPLES)
    assert [row["says"].split()[0] for row in map_["sentences"][:4]] == ["money", "river", "game", "night"]
    assert map_["layer"] == 2 and map_["chosen"] == 0 and len(map_["points"]) == 3
    assert map_["of"] == [0, 1, 8, 9], "where “bank” stands, or a synonym of it"
    (look,) = drawn(at, "wordlook")
    assert len(look["vectors"]) == 3 and len(look["vectors"][0][0]) == 48 and look["word"] == 1
    right = find("gloss-two").curves.last("sense")
    assert f"the sense is right {right.mean():.2f}" in said(at).replace("\\", "")


def test_another_word_another_encoder_and_another_layer() -> None:
    (map_,) = drawn(sentences({"word": "bat", "who": "alone", "layer": "0"}), "senses")
    assert map_["word"] == "bat" and map_["layer"] == 0 and map_["topics"] == ["game", "night"]
    at = sentences({"task": "gist", "layers": "1", "who": "untrained", "chosen": "3"})
    (map_,) = drawn(at, "senses")
    assert len(map_["points"]) == 2 and map_["chosen"] == 3 and map_["synonyms"] == ["lender", "shore"]
    assert drawn(at, "wordlook")[0]["words"] == EXAMPLES[3].split()
    assert not drawn(sentences({"who": "alone"}), "wordlook"), "where nobody attends there is nothing to look at"


def test_sentences_can_be_written_and_bad_ones_are_named() -> None:
    at = sentences()
    typed = "the bank is near the puppy\nthe bnak\nwe saw the boat"
    at = settled(calm(at.text_area(key="sentences.say").set_value(typed).run()))
    assert (
        told(at)
        == ["Sentence 2 is left out: the language does not have all its words. Nearest: for “bnak” bank, and, bark."]
        or "Nearest: for “bnak” bank" in told(at)[0]
    )
    assert at.text_area(key="sentences.say").value == typed
    (map_,) = drawn(at, "senses")
    assert [row["readable"] for row in map_["sentences"]] == [True, False, True]
    assert address(at)["say"] == typed.replace("\n", "/")
    at = settled(calm(at.button[[b.label for b in at.button].index("Back to the examples")].click().run()))
    assert told(at) == [] and "say" not in address(at)


def test_an_address_with_bad_parts_is_named_in_one_sentence_each() -> None:
    at = sentences({"task": "poem", "layers": "9", "word": "dog", "nothing": "1", "run": "aaaaaaaaaaaa"})
    assert len(told(at)) == 5 and len(drawn(at, "senses")) == 1


@pytest.mark.parametrize("line", ["", "/", "////", "!!!/???"])
def test_nonsense_in_the_sentences_breaks_nothing(line: str) -> None:
    assert len(drawn(sentences({"say": line}), "senses")) == 1


def test_what_was_never_trained_is_offered_and_then_trained() -> None:
    given = {"seeds": "1", "steps": "2", "seed": "11", "layers": "1"}
    at = sentences(given)
    assert "No finished run of the encoder of one layer and the one without attention" in said(at).replace("\\", "")
    assert "Train it, and the map appears here" in said(at).replace("\\", "")
    at = calm(at.button(key="missing.run").click().run())
    over(Sentences(seeds=1, steps=2, seed=11, layers=1).configs.values())
    at = settled(calm(at.run()))
    assert len(drawn(at, "senses")) == 1 and any("two senses is still one vector" in each for each in headings(at))
