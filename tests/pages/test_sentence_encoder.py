from __future__ import annotations

import re

import numpy as np

from explorer.labs.sentence_encoder.state import EXAMPLES
from explorer.run_store.store import find
from tests.pages.screen import (
    assert_no_errors,
    component_data,
    headings,
    open_page,
    page_text,
    plot_frame_figures,
    url_params,
    wait_until_ready,
    warnings_of,
    widget,
)
from tests.words import assert_states


def test_page_shows_results_without_interaction() -> None:
    at = open_page("sentence_encoder.py")
    assert warnings_of(at) == [] and url_params(at) == {}
    assert any(re.match(r"After two layers, similarity is 0.\d\d within one sense", each) for each in headings(at))
    titles = [panel["title"] for panel in plot_frame_figures(at, "sentences-layers")]
    assert titles == ["After training", "Before training", "Without attention"]
    (map_,) = component_data(at, "sense_map")
    assert [" ".join(row["words"]) for row in map_["sentences"]] == list(EXAMPLES)
    assert [row["says"].split()[0] for row in map_["sentences"][:4]] == ["money", "river", "game", "night"]
    assert map_["layer"] == 2 and map_["chosen"] == 0 and len(map_["points"]) == 3
    assert map_["of"] == [0, 1, 8, 9], "where “bank” stands, or a synonym of it"
    (look,) = component_data(at, "word_attention")
    assert len(look["vectors"]) == 3 and len(look["vectors"][0][0]) == 48 and look["word"] == 1
    right = float(np.median(find("gloss-two").curves.last("sense")))
    unfolded = page_text(open_page("sentence_encoder.py", {"unfold": "accuracy,training,formulas"})).replace("\\", "")
    assert f"On new sentences the accuracy is {right:.2f}" in unfolded and "nearest neighbours alone" in unfolded
    assert "On new sentences" not in page_text(at), "what is folded is not computed"


def test_word_encoder_and_layer_can_be_selected() -> None:
    at = open_page("sentence_encoder.py", {"word": "bat", "who": "alone", "layer": "0"})
    assert not component_data(at, "word_attention"), "where nobody attends there is nothing to look at"
    (map_,) = component_data(at, "sense_map")
    assert map_["word"] == "bat" and map_["layer"] == 0 and map_["topics"] == ["game", "night"]
    at = open_page("sentence_encoder.py", {"task": "gist", "layers": "1", "who": "untrained", "chosen": "3"})
    (map_,) = component_data(at, "sense_map")
    assert len(map_["points"]) == 2 and map_["chosen"] == 3 and map_["synonyms"] == ["lender", "shore"]
    assert component_data(at, "word_attention")[0]["words"] == EXAMPLES[3].split()


def test_sentences_can_be_typed_and_unreadable_ones_are_reported() -> None:
    at = open_page("sentence_encoder.py")
    typed = "the bank is near the puppy\nthe bnak\nwe saw the boat"
    at = wait_until_ready(assert_no_errors(widget(at.text_area, "sentences.say").set_value(typed).run()))
    (warning,) = warnings_of(at)
    assert_states(warning, "Sentence 2 … left out … not … “bnak” bank, bark, bat")
    assert widget(at.text_area, "sentences.say").value == typed
    (map_,) = component_data(at, "sense_map")
    assert [row["readable"] for row in map_["sentences"]] == [True, False, True]
    assert url_params(at)["say"] == typed.replace("\n", "/")
    at = wait_until_ready(next(b for b in at.button if b.label == "Back to the examples").click().run())
    assert warnings_of(at) == [] and "say" not in url_params(at)
