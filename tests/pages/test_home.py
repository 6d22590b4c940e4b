from __future__ import annotations

import numpy as np
import pytest

from explorer.catalogue import MODELS, PAGES
from explorer.experiments.default_runs import ENGLISH_MODELS
from explorer.inspection.load_model import load_model
from explorer.inspection.words.negation_sentences import class_probabilities
from explorer.jobs.service import service
from explorer.labs.home.race import race_configs
from explorer.run_store import store
from explorer.tasks.own_sentences import Language
from explorer.training.config import key
from tests.pages import screen

STATIONS = (
    "n-gram 1948, Bag of words 1954, Recurrent network 1990, LSTM 1997, Neural n-gram 2003, "
    "Word vectors 2013, GRU 2014, Attention 2015, Transformer 2017, Induction heads 2022"
)


def test_the_stations_have_the_years_of_their_papers_and_figures_of_the_included_runs() -> None:
    at = screen.home_page()
    stations = screen.component_data(at, "home_timeline")[0]["stations"]
    assert ", ".join(f"{station['name']} {station['year']}" for station in stations) == STATIONS
    assert all(station["question"].endswith("?") and station["source"] for station in stations)
    assert {station["page"] for station in stations} <= {row.address for row in PAGES}
    found = {station["name"]: station["figure"] for station in stations}
    kinds = ["amounts", "bars", "reach", "reach", "map", "amounts", "amounts", "grid", "gaze", "amounts"]
    assert [figure["kind"] for figure in found.values()] == kinds
    assert all(figure["alt"] and figure["caption"] for figure in found.values())
    weights = store.find("negation-single-bag_of_words").weights()["readout.weight"]
    not_ = np.median(np.diff(weights, axis=1)[:, 0, 7])
    bars = {row["label"]: row["value"] for row in found["Bag of words"]["rows"]}
    assert bars["not"] == pytest.approx(not_, abs=1e-3)
    losses = {row["label"]: row["value"] for row in found["n-gram"]["rows"]}
    assert losses["7-gram"] == pytest.approx(store.find("text-ngram-modified").curves.last("val_loss")[0], abs=1e-3)
    assert losses["uniform guess"] == pytest.approx(np.log(65), abs=1e-3)
    words = {"mother", "nun", "witch", "actress", "daughter", "waitress", "aunt"}
    assert words >= {row["label"] for row in found["Word vectors"]["rows"]}
    rnn, lstm = found["LSTM"]["lines"]
    assert (rnn["label"], lstm["label"]) == ("RNN", "LSTM")
    assert rnn["values"][0] < -9 < -3 < lstm["values"][0] and rnn["values"][-1] == lstm["values"][-1] == 0
    assert "for 4 of 5 vowels" in found["Neural n-gram"]["caption"]
    assert [row["value"] for row in found["GRU"]["rows"]] == [1.0, 1.0]
    rows, columns = found["Attention"]["rows"], found["Attention"]["columns"]
    assert rows == columns[::-1]
    assert [int(np.argmax(row)) for row in found["Attention"]["values"]] == list(range(len(columns)))[::-1]
    assert found["Transformer"]["tokens"][int(np.argmax(found["Transformer"]["weights"]))] == "not"
    two = store.find("induction-two").curves.last("second_copy_loss")
    assert found["Induction heads"]["rows"][1]["value"] == pytest.approx(np.median(two), abs=1e-3)


def test_the_home_page_shows_the_answers_of_six_models_to_a_sentence() -> None:
    at = screen.home_page()
    verdicts = screen.component_data(at, "verdicts")[0]
    words = ("the", "film", "is", "not", "good")
    assert verdicts["tokens"] == [], "each row shows the words"
    assert [row["name"] for row in verdicts["rows"]] == [MODELS[model].title for model in ENGLISH_MODELS]
    assert "Bag of words says positive. Five other models say negative." in screen.headings(at)
    for row, model in zip(verdicts["rows"], ENGLISH_MODELS, strict=True):
        found = class_probabilities(load_model(store.find(f"sentiment-{model}")), words)[:, 1]
        assert row["values"] == pytest.approx(found.tolist(), abs=1e-3)
        assert [each["text"] for each in row["words"]] == list(words)
    weights = store.find("sentiment-bag_of_words").weights()["readout.weight"]
    good = Language.from_json(store.find("sentiment-bag_of_words").tokenizer).vocabulary.id("good")
    added = {each["text"]: each["value"] for each in verdicts["rows"][0]["words"]}
    assert added["good"] == pytest.approx(np.diff(weights, axis=1)[:, 0, good].mean(), abs=1e-3)


def test_train_on_the_home_page_races_five_networks_that_write_sentences() -> None:
    at = screen.home_page()
    panel = screen.plot_frame_figures(at, "home-race")[0]
    assert panel["title"] == "Loss on new sentences: lower is better"
    assert any("writes at step 240 of 240" in block["text"] for block in screen.blocks(at, "text"))
    assert len(screen.blocks(at, "code")) == 1
    screen.assert_no_errors(at.button(key="home-train").click().run())
    for config in race_configs().values():
        assert service.find(key(config))
        service.stop(key(config), operator=True)


def test_a_typed_sentence_is_answered_and_kept_in_the_url() -> None:
    at = screen.home_page()
    at = screen.assert_no_errors(screen.widget(at.text_input, "home.say").input("Nobody liked the 🐳 soup").run())
    assert screen.url_params(at) == {"say": "Nobody liked the 🐳 soup"}
    assert "Bag of words says positive. Five other models say negative." in screen.headings(at)
    assert "never saw “🐳”" in screen.warnings_of(at)[0]
    at = screen.assert_no_errors(screen.widget(at.text_input, "home.say").input("?!").run())
    assert screen.warnings_of(at) == ["There is nothing to read. Shown is “the film is not good”."]
    at = screen.assert_no_errors(screen.widget(at.pills, "home.pick").set_value("Not bad at all").run())
    assert screen.url_params(at) == {"say": "Not bad at all"} and screen.warnings_of(at) == []
    at = screen.assert_no_errors(screen.widget(at.pills, "home.pick").set_value("The film is not good").run())
    assert screen.url_params(at) == {}


def test_a_long_text_is_cut_and_the_page_says_so() -> None:
    at = screen.home_page()
    at = screen.assert_no_errors(screen.widget(at.text_input, "home.say").set_value("good day " * 1_500).run())
    said = " ".join(screen.warnings_of(at))
    assert "first 10,000 characters of your text are read; the other 3,500 were left out" in said
    assert "Only the first 60 of 2,223 words are read." in said
