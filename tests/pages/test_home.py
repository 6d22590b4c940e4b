from __future__ import annotations

import numpy as np
import pytest

from explorer.catalogue import MODELS, PAGES
from explorer.experiments.default_runs import NEGATION_MODELS
from explorer.run_store import store
from explorer.tasks.seq2seq.digits import ReverseConfig, evaluation_lengths
from tests.pages.screen import component_data, headings, home_page


def test_the_home_page_has_its_title_and_eight_stations() -> None:
    at = home_page()
    assert [title.value for title in at.title] == ["From a bag of words to attention"]
    stations = component_data(at, "home_timeline")[0]["stations"]
    assert [station["year"] for station in stations] == [
        "1958",
        "2003",
        "2010",
        "2013",
        "2013",
        "2014",
        "2015",
        "2017",
    ]
    assert all(station["question"].endswith("?") for station in stations)


def test_stations_with_a_page_are_links_and_show_results_of_runs() -> None:
    stations = component_data(home_page(), "home_timeline")[0]["stations"]
    addresses = {row.address for row in PAGES}
    assert {station["page"] for station in stations if station["href"]} <= addresses
    for station in stations:
        open_, drawn_ = station["href"] is not None, station["figure"] is not None
        assert open_ == drawn_ == (station["link"] is not None)
    kinds = [station["figure"]["kind"] for station in stations if station["figure"]]
    assert kinds == ["bars", "lines", "path", "shares", "shares", "lines", "shares", "gaze"]
    bars, neural, path, words, doors, gru, vectors, gaze = [
        station["figure"] for station in stations if station["figure"]
    ]
    neighbours = [row["label"] for row in words["rows"]]
    assert {"mother", "nun", "witch", "actress", "daughter", "waitress", "aunt"} >= set(neighbours)
    for figure, model in ((neural, "feedforward"), (gru, "gru")):
        wrote = store.find(f"text-{model}").curves.samples[-1][0]
        assert all(line in wrote for line in figure["lines"])
        assert len(figure["lines"]) > 2
    weights = store.find("negation-single-bag_of_words").weights()["readout.weight"]
    not_ = np.diff(weights, axis=1)[:, 0, 7].mean()
    assert next(row["value"] for row in bars["rows"] if row["label"] == "not") == pytest.approx(not_, abs=1e-3)
    right = [store.find(f"recall-50-lstm-{start}").curves.last("accuracy").mean() for start in ("usual", "chrono")]
    assert [row["value"] for row in doors["rows"]][::2] == pytest.approx(right, abs=1e-3)
    at = evaluation_lengths(ReverseConfig()).index(20)
    accuracy_at_20 = [
        store.find(f"reverse-{name}").curves.answers["by_length"][-1][:, at].mean() for name in ("vector", "additive")
    ]
    assert [row["value"] for row in vectors["rows"]][::2] == pytest.approx(accuracy_at_20, abs=1e-3)
    last = store.find("negation-single-rnn").curves.answers["sustain"][-1][0, 3]
    assert path["values"][-1] == pytest.approx(last, abs=1e-3)
    assert sum(gaze["weights"]) <= 1.0001


def test_the_home_page_shows_the_answers_of_six_models_to_one_sentence() -> None:
    at = home_page()
    verdicts = component_data(at, "verdicts")[0]
    assert [token["text"] for token in verdicts["tokens"]] == ["<BOS>", "human", "not", "preserve", "nature", "<EOS>"]
    assert [row["name"] for row in verdicts["rows"]] == [MODELS[model].title for model in NEGATION_MODELS]
    assert headings(at) == ["Bag of words says sustain. The other five say collapse, and so does the grammar."]
    assert verdicts["truth"] == "collapse"
    for row, model in zip(verdicts["rows"], NEGATION_MODELS, strict=True):
        stored = store.find(f"negation-single-{model}").curves.answers["sustain"][-1][:, 3]
        assert row["values"] == pytest.approx(stored.tolist(), abs=1e-4)
