from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import wait
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest
from safetensors.numpy import load
from streamlit.testing.v1 import AppTest

from explorer.inspection.attention.attend import attend
from explorer.labs.attention.measurements import compute_reading, tokenize_text
from explorer.labs.attention.state import AttentionState
from explorer.run_store import store
from explorer.ui.training.stored_models import find_run
from explorer.web import background, results
from tests.inspection.attention.small import unpack_weights
from tests.pages.screen import (
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
from tests.words import assert_mentions

NEGATION = "negation-single-transformer-usual-start"


def attention(address: Mapping[str, str] | None = None) -> AppTest:
    return open_page("attention.py", address)


def heads(at: AppTest) -> dict[str, Any]:
    return component_data(at, "attention_heads")[0]


def test_the_default_state_shows_results() -> None:
    at = attention()
    assert warnings_of(at) == [] and url_params(at) == {}
    data = heads(at)
    assert (data["layers"], data["heads"], data["causal"]) == (2, 4, True)
    assert " ".join(data["tokens"]) == "the king near the queens behind the aunts is proud of" and data["open"] == [
        1,
        0,
    ]
    assert np.shape(data["worth"]) == (2, 4) and np.argmax(data["worth"]) == 0, "the head that matters most"
    assert "The model predicts “himself” after “…aunts is proud of”, with probability >0.99." in headings(at)
    (link,) = [one.proto for one in at.get("page_link") if "compute its weights" in one.proto.label]
    numbers = open_page("scaled_attention.py", dict(parse_qsl(link.query_string)))
    (tables,) = component_data(numbers, "dot_product")
    assert tables["tokens"] == data["tokens"] and tables["model"]["title"].startswith("layer 2, head 1 of")
    titles = list(next(box for box in at.selectbox if box.label == "Model").options)
    assert titles[0] == "English sentences, pieces of words · 2 layers × 4 heads" and len(titles) == len(set(titles))
    assert "Shakespeare, letters · 4 layers × 4 heads, steps of the training" in titles
    assert not any(name in title for title in titles for name in store.pretrained_folders())


def test_without_layer_1_the_model_takes_the_king_for_a_queen() -> None:
    at = attention({"model": "agreement-heads", "off": "0.0,0.1,0.2,0.3"})
    (said,) = [text for text in headings(at) if text.startswith("With four heads switched off")]
    assert "predicts “herself” (>0.99)" in said and "unchanged it predicts “himself” (>0.99)" in said


def test_a_sentence_in_english_is_read_by_the_classifier() -> None:
    data = heads(at := attention({"model": "sentiment-transformer"}))
    assert " ".join(data["tokens"]) == "<BOS> the film is not good <EOS>"
    assert data["snapshots"] is None and data["can"] == {"mask": False, "positions": True}
    assert "The model predicts “negative”, with probability >0.99." in headings(at)


def test_a_button_leads_to_a_model_with_many_steps_of_its_training() -> None:
    at = wait_until_ready(attention().button(key="gaze.training").click().run())
    assert len(heads(at)["snapshots"]["steps"]) > 5 and url_params(at) == STEPS


AGREEMENT = {"model": "agreement-heads"}
TOY = {"model": "text-toy-transformer", "say": "abc"}
STEPS = {"model": "text-through-training"}
PATCHING = AGREEMENT | {"unfold": "patching"}


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"say": "the king near the queens"}, "The model predicts “is” after “…king near the queens”"),
        ({"at": "3"}, "The model was not trained to predict anything after “the king near the”"),
        ({"say": "THE king is proud of " * 4}, "The model reads 13 words at once. The end was left out"),
        ({"unmasked": "true"}, "This model has no causal mask that can be removed."),
        (
            {"off": "0.0,0.1,0.2,0.3,1.0,1.1,1.2,1.3", "unplaced": "true"},
            "With eight heads switched off and the positions",
        ),
        ({"model": "text-lstm"}, "This run is of the architecture “LSTM”, which has no attention to look at."),
        ({"model": "gone"}, "There is no model “gone” to ask"),
        (STEPS | {"off": "0.1,9.9"}, "This model has no head 9.9; it has layers 0 to 3, heads 0 to 3."),
        (STEPS | {"layer": "9", "head": "1"}, "This model has no head 9.1;"),
        (STEPS | {"step": "7"}, "There are no weights of step 7; the end of the training is shown."),
        (STEPS | {"seed": "7"}, "This run has no seed 7, counted from 0; its first seed is shown."),
        (PATCHING | {"changed": "the queen near the queens"}, "The first text has 11 tokens, the changed text 5."),
        (
            PATCHING | {"changed": "the king near the queens behind the aunts is proud of"},
            "The two texts are the same.",
        ),
        (PATCHING | {"changed": "the emperor"}, "The models never saw “emperor”"),
        (PATCHING | {"patch": "head.7.7"}, "The model or the text has no such state"),
        (PATCHING | {"model": "negation-single-transformer-attending"}, "for the first text and <0.01 for the changed"),
        (PATCHING | {"off": "0.0"}, "Patched is the unchanged model"),
        (TOY | {"beside": "hub:nothing"}, "The second model cannot be shown: The real model “nothing” is not open"),
        (TOY | {"beside": "text-lstm"}, "The second model cannot be shown: This run"),
        (TOY | {"beside": "x"}, "The second model cannot be shown: There is no model “x”"),
    ],
)
def test_every_request_is_answered_or_its_problem_is_reported(params: dict[str, str], sentence: str) -> None:
    at = attention({"model": "agreement-heads", "layer": "0", "head": "0", **params})
    shown = " ".join([*headings(at), *warnings_of(at), page_text(at)]).replace("\\", "")
    assert not at.exception and sentence in shown and "Code and papers" in shown, shown
    assert "beside" not in params or len(component_data(at, "attention_heads")) == 1


def test_the_snapshots_are_computed_when_the_browser_fetches_their_address() -> None:
    address = heads(attention({"step": "126"}))["snapshots"]["address"]
    section = results.find(address.rpartition("/")[2])
    assert isinstance(section, results.Section)
    assert not any("compute_snapshots" in str(key[0]) for key in background.results())
    futures = section.submit()
    wait(futures.values())
    packed = results.find(str(section.draw(futures)["address"]).rpartition("/")[2])
    assert isinstance(packed, results.Arrays)
    assert load(packed.content)["weights"].shape == (9, 4, 4, 21 * 22 // 2) and len(packed.content) < 2_000_000


@pytest.mark.parametrize("name", ["agreement-heads", NEGATION])
def test_what_is_sent_is_what_the_model_computed(name: str) -> None:
    stored_model = find_run(name)
    found = compute_reading(stored_model, AttentionState(name))
    sent = unpack_weights(load(found.content)["weights"], len(found.input.ids), name != NEGATION)
    own = attend(stored_model.module(), found.input.ids).weights
    assert np.allclose(np.nan_to_num(sent), np.nan_to_num(own), atol=1e-3)
    assert np.allclose(np.nan_to_num(sent).sum(axis=-1), 1, atol=1e-3)


def test_a_long_text_is_truncated_to_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.labs.attention.measurements.MAX_BYTES", 2 * 16 * 50)  # bytes of all heads
    stored_model, state = find_run("text-through-training"), AttentionState(say="abcdefghijklmnop")
    found = tokenize_text(stored_model, state)
    assert ("".join(found.tokens), found.truncated, found.truncated_at) == ("ghijklmnop", "abcdef", "start")
    assert len(tokenize_text(stored_model, replace(state, unmasked=True)).ids) == 7, "all pairs, not half of them"


def test_an_ablation_is_reported_and_drawn_with_the_original() -> None:
    off = ",".join(f"{layer}.{head}" for layer in range(4) for head in range(4))
    at = attention({"off": off})
    assert any(heading.startswith("With 16 heads switched off the model ") for heading in headings(at))
    answers = heads(at)["answers"]
    assert answers["changed"] and any(row["now"] != row["before"] for row in answers["rows"])
    assert heads(at)["touch"]["off"] == [[layer, head] for layer in range(4) for head in range(4)]
    untouched = attention({"unplaced": "true", "unmasked": "true", "flat": "0.0"})
    assert heads(untouched)["causal"] is False


def test_any_text_is_read_and_changes_to_it_are_reported() -> None:
    for text, tokens, note in (
        ("日", 1, "no text to read … line … no “日”: left out"),
        ("x" * 70, 64, "64 letters … beginning … left out … “xxxxxx”"),
    ):
        at = attention({"say": text})
        assert warnings_of(at) == [] and len(heads(at)["tokens"]) == tokens
        assert_mentions(page_text(at), note)


def test_similar_words_are_offered_for_an_unknown_one() -> None:
    at = attention({"model": NEGATION, "say": "human protect nature"})
    assert len(warnings_of(at)) == 1 and heads(at)["tokens"] == ["<BOS>", "human", "nature", "<EOS>"]
    word = next(button for button in at.button if button.label == "preserve")
    at = wait_until_ready(word.click().run())
    assert url_params(at)["say"] == "human preserve nature" and warnings_of(at) == []
    assert heads(at)["tokens"][2] == "preserve"


def test_patching_shows_which_states_carry_the_answer() -> None:
    at = attention(PATCHING)
    assert warnings_of(at) == [] and url_params(at) == PATCHING
    assert widget(at.text_input, "gaze.changed").value == "the queen near the queens behind the aunts is proud of"
    shown = " ".join(headings(at))
    assert_mentions(shown, "the state at “king / queen” alone restores … from layer 1 on the state at “of” does")
    assert_mentions(shown, "Of the 8 heads, layer 1, head 1 restores most: 90")
    [stream] = plot_frame_figures(at, "gaze-patching-map")
    trace, layout = stream["plot"]["data"][0], stream["plot"]["layout"]
    assert stream["pickable"] and layout["xaxis"]["ticktext"][0] == "king / queen" and np.shape(trace["z"]) == (3, 10)
    heads_map, parts = plot_frame_figures(at, "gaze-patching-parts")
    assert np.shape(heads_map["plot"]["data"][0]["z"]) == (2, 4) and np.shape(parts["plot"]["data"][0]["z"]) == (2, 1)
    assert heads_map["plot"]["layout"]["shapes"][0]["y0"] == -0.5, "the head that restores most"
    assert "a norm follows each part of this model" in page_text(at)
    changed, patched, first = plot_frame_figures(at, "gaze-patched")[0]["plot"]["data"]
    assert changed["x"][0] < 0.01 and patched["x"][0] > 0.9 and first["x"][0] > 0.99


def test_a_click_and_the_menus_select_a_state() -> None:
    at = attention(PATCHING)
    at.session_state["gaze-patching-map: pick"] = {"figure": "gaze-stream", "x": 0, "y": 1}
    at = wait_until_ready(at.run())
    assert url_params(at)["patch"] == "stream.1.1"
    assert widget(at.selectbox, "gaze.patch_kind").value == "stream"
    assert widget(at.selectbox, "gaze.patch_index").options[0] == "2: king"
    [stream] = plot_frame_figures(at, "gaze-patching-map")
    assert stream["plot"]["layout"]["shapes"][0]["y0"] == 0.5
    at = wait_until_ready(widget(at.selectbox, "gaze.patch_kind").set_value("attention").run())
    assert url_params(at)["patch"] == "attention.1" and any("With this state" in each for each in headings(at))
    at = wait_until_ready(widget(at.selectbox, "gaze.patch_kind").set_value("layer").run())
    assert "The model or the text has no such state" in page_text(at)


def test_the_two_answers_are_chosen_and_reset_when_another_model_does_not_have_them() -> None:
    at = attention(PATCHING)
    assert [widget(at.text_input, f"gaze.{name}").placeholder for name in ("answer", "contrast")] == ["automatic"] * 2
    at = wait_until_ready(widget(at.text_input, "gaze.answer").set_value("are").run())
    at = wait_until_ready(widget(at.text_input, "gaze.contrast").set_value("themselves").run())
    assert url_params(at).items() >= {"answer": "are", "contrast": "themselves"}.items() and warnings_of(at) == []
    assert_mentions(page_text(at), "“are” has the probability <0.01 for the first text and <0.01 for the changed text")
    assert any("the probability of “are”" in each for each in headings(at))
    at = wait_until_ready(widget(at.selectbox, "gaze.model").set_value("text-through-training").run())
    assert {"answer", "contrast"}.isdisjoint(url_params(at)) and len(set(warnings_of(at))) == 2
    assert_mentions(" ".join(warnings_of(at)), "“are” is not one letter of this model … This answer is automatic now.")
    assert widget(at.text_input, "gaze.answer").value == ""


def test_the_parts_of_the_answer_are_shown_below_the_importance_of_heads() -> None:
    at = attention({"model": "text-through-training", "say": "O thou ha", "unfold": "importance"})
    assert any("The logit of “s” is higher than that of" in each for each in headings(at))
    [bars] = plot_frame_figures(at, "gaze-attribution")
    assert bars["plot"]["layout"]["yaxis"]["ticktext"][-1] == "together"
    assert "because a norm follows each part" in page_text(attention({"unfold": "importance"}))


def test_another_model_or_text_keeps_the_second_model_without_its_query() -> None:
    state = AttentionState(model="a", beside="b", beside_layer=1, beside_head=2, beside_at=3)
    assert state.with_text("x").beside == "b" and state.with_text("x").beside_at is None
    changed = state.with_model("c")
    assert (changed.beside, changed.beside_layer, changed.beside_at) == ("b", 0, None)
    assert state.with_model("b").beside == "" and state.with_second_model("d").beside_head == 0
