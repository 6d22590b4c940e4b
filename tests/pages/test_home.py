from __future__ import annotations

import numpy as np
import pytest

from explorer.catalogue import MODELS, PAGES
from explorer.run_store import store
from tests.pages import screen

SHOWN = ("bag_of_words", "feedforward", "rnn", "transformer")
STATIONS = (
    "n-gram 1948, Bag of words 1954, Recurrent network 1990, LSTM 1997, Neural n-gram 2003, "
    "Word vectors 2013, GRU 2014, Attention 2015, Transformer 2017, Induction heads 2022"
)


def test_the_stations_have_the_years_of_their_papers_and_figures_of_the_included_runs() -> None:
    at = screen.home_page()
    assert [title.value for title in at.title] == ["From a bag of words to attention"]
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
    assert "5 of 5 vowels" in found["Neural n-gram"]["caption"]
    assert [row["value"] for row in found["GRU"]["rows"]] == [1.0, 1.0]
    rows, columns = found["Attention"]["rows"], found["Attention"]["columns"]
    assert rows == columns[::-1]
    assert [int(np.argmax(row)) for row in found["Attention"]["values"]] == list(range(len(columns)))[::-1]
    assert found["Transformer"]["tokens"][int(np.argmax(found["Transformer"]["weights"]))] == "not"
    two = store.find("induction-two").curves.last("second_copy_loss")
    assert found["Induction heads"]["rows"][1]["value"] == pytest.approx(np.median(two), abs=1e-3)


def test_the_home_page_shows_the_answers_of_four_models_to_a_sentence() -> None:
    at = screen.home_page()
    verdicts = screen.component_data(at, "verdicts")[0]
    assert [token["text"] for token in verdicts["tokens"]] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    assert [row["name"] for row in verdicts["rows"]] == [MODELS[model].title for model in SHOWN]
    assert "Bag of words says sustain. The other three say collapse, and so does the grammar." in screen.headings(at)
    for row, model in zip(verdicts["rows"], SHOWN, strict=True):
        name = f"negation-single-{model}{'-attending' if model == 'transformer' else ''}"
        stored = store.find(name).curves.answers["sustain"][-1][:, 3]
        assert row["values"] == pytest.approx(stored.tolist(), abs=1e-4)


def test_a_typed_sentence_is_answered_and_kept_in_the_url() -> None:
    at = screen.home_page()
    at = screen.assert_no_errors(screen.widget(at.text_input, "home.say").input("human destroy nature").run())
    assert screen.url_params(at) == {"say": "human destroy nature"}
    assert "All four say collapse, and so does the grammar." in screen.headings(at)
    at = screen.assert_no_errors(screen.widget(at.text_input, "home.say").input("human knot destroy nature").run())
    assert "never saw “knot”" in screen.warnings_of(at)[0]
    assert "All four say collapse, and so does the grammar." in screen.headings(at), (
        "the last sentence that can be read"
    )
    at = screen.assert_no_errors(at.button(key="near.knot.not").click().run())
    assert screen.url_params(at) == {"say": "human not destroy nature"}
    at = screen.assert_no_errors(screen.widget(at.pills, "home.pick").set_value("human not preserve nature").run())
    assert screen.url_params(at) == {}


def test_a_sentence_that_the_grammar_cannot_make_gets_no_verdict() -> None:
    at = screen.page("home.py", {"say": "nature not preserve human"})
    assert "grammar" not in screen.headings(at)[0]
    assert "The grammar cannot make this sentence" in screen.page_text(at)


def test_a_sentence_above_the_limit_is_cut_and_the_page_says_what_is_left_out() -> None:
    at = screen.home_page()
    at = screen.assert_no_errors(
        at.text_input(key="home.say").set_value("human not preserve nature " + "x" * 300).run()
    )
    assert any("first 300 characters" in each and "26 were left out: “xxx" in each for each in screen.warnings_of(at))
    assert len(at.text_input[0].value) == 300
