from __future__ import annotations

import re

import numpy as np

from explorer.labs.sentence_encoder.state import EXAMPLES
from explorer.run_store.store import find
from tests.pages import screen
from tests.words import assert_states


def test_page_shows_results_without_interaction() -> None:
    at = screen.open_page("sentence_encoder.py")
    assert screen.warnings_of(at) == [] and screen.url_params(at) == {}
    assert any(
        re.match(r"After two layers, similarity is 0.\d\d within one sense", each) for each in screen.headings(at)
    )
    titles = [panel["title"] for panel in screen.plot_frame_figures(at, "sentences-layers")]
    assert titles == ["After training", "Before training", "Without attention"]
    (map_,) = screen.component_data(at, "sense_map")
    assert [" ".join(row["words"]) for row in map_["sentences"]] == list(EXAMPLES)
    assert [row["says"].split()[0] for row in map_["sentences"][:4]] == ["money", "river", "game", "night"]
    assert map_["layer"] == 2 and map_["chosen"] == 0 and len(map_["points"]) == 3
    assert map_["of"] == [0, 1, 8, 9], "where “bank” stands, or a synonym of it"
    (look,) = screen.component_data(at, "word_attention")
    assert len(look["vectors"]) == 3 and len(look["vectors"][0][0]) == 48 and look["word"] == 1
    right = float(np.median(find("gloss-two").curves.last("sense")))
    unfolded = screen.page_text(
        screen.open_page("sentence_encoder.py", {"unfold": "accuracy,training,formulas"})
    ).replace("\\", "")
    assert f"On new sentences the accuracy is {right:.2f}" in unfolded and "nearest neighbours alone" in unfolded
    assert "On new sentences" not in screen.page_text(at), "what is folded is not computed"


def test_word_encoder_and_layer_can_be_selected() -> None:
    at = screen.open_page("sentence_encoder.py", {"word": "bat", "who": "alone", "layer": "0"})
    assert not screen.component_data(at, "word_attention"), "where nobody attends there is nothing to look at"
    (map_,) = screen.component_data(at, "sense_map")
    assert map_["word"] == "bat" and map_["layer"] == 0 and map_["topics"] == ["game", "night"]
    at = screen.open_page("sentence_encoder.py", {"task": "gist", "layers": "1", "who": "untrained", "chosen": "3"})
    (map_,) = screen.component_data(at, "sense_map")
    assert len(map_["points"]) == 2 and map_["chosen"] == 3 and map_["synonyms"] == ["lender", "shore"]
    assert screen.component_data(at, "word_attention")[0]["words"] == EXAMPLES[3].split()


def test_sentences_can_be_typed_and_unreadable_ones_are_reported() -> None:
    at = screen.open_page("sentence_encoder.py")
    typed = "the bank is near the puppy\nthe bnak\nwe saw the boat"
    at = screen.wait_until_ready(
        screen.assert_no_errors(screen.widget(at.text_area, "sentences.say").set_value(typed).run())
    )
    (warning,) = screen.warnings_of(at)
    assert_states(warning, "Sentence 2 … never saw “bnak” … “bnak” bank, bark, bat")
    assert screen.widget(at.text_area, "sentences.say").value == typed
    (map_,) = screen.component_data(at, "sense_map")
    assert [row["readable"] for row in map_["sentences"]] == [True, True, True]
    assert screen.url_params(at)["say"] == typed.replace("\n", "/")
    at = screen.wait_until_ready(next(b for b in at.button if b.label == "Back to the examples").click().run())
    assert screen.warnings_of(at) == [] and "say" not in screen.url_params(at)
