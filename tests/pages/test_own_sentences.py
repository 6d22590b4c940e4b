"""The negation page with a visitor's own sentences."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from explorer.labs.negation.state import OWN
from explorer.tasks.text import corpora
from tests.pages import screen
from tests.words import assert_mentions

ME = "the visitor of this file"
TWO = "text,label\n" + "".join(
    f"the {noun} is {'not ' * nots}{adjective},{'bad' if nots == (adjective == 'nice') else 'good'}\n"
    for noun in ("plot", "cast", "film", "end", "start", "music")
    for adjective in ("nice", "dull")
    for nots in (False, True)
)
FOUR = "text;label\n" + "".join(
    f"a {word} number {i};{label}\n"
    for label, word in (("one", "single"), ("<b>two</b>", "double"), ("three", "triple"), ("four", "fourfold"))
    for i in "abcdef"
)
SHORT = {"replicas": "2", "models": "bag_of_words,rnn,transformer", "unfold": "why,task,weights"}


def upload(content: str) -> AppTest:
    at = screen.negation_page(visitor=ME)
    screen.widget(at.segmented_control, "world").set_value(OWN)
    at = screen.assert_no_errors(at.run())
    uploader = next(each for each in at.file_uploader if (each.key or "").endswith(".file"))
    return screen.assert_no_errors(uploader.upload("mine.csv", content.encode(), "text/csv").run())


@pytest.mark.parametrize(
    ("content", "classes"), [(TWO, ["bad", "good"]), (FOUR, ["<b>two</b>", "four", "one", "three"])]
)
def test_a_file_becomes_a_task_with_everything_that_the_grammar_has(content: str, classes: list[str]) -> None:
    at = upload(content)
    params = screen.url_params(at)
    assert params["corpus"] == "own" and len(params["text"]) == 64
    assert "say" not in params  # nothing of the file stands in the address
    assert screen.widget(at.text_input, "say").value == ""
    assert "Your file has 24 different sentences" in screen.page_text(at)
    epochs = {name: "1" for name in params if name.endswith(".epochs")}
    at = screen.visit_url(at, "negation", {**params, **epochs, **SHORT})
    assert screen.url_params(at)["rnn.epochs"] == "1"
    screen.widget(at.button, "train-missing").click()
    at = screen.wait_until_ready(screen.wait_for_training(at.run(), visitor=ME))
    (verdicts,) = screen.component_data(at, "verdicts")
    assert [row["name"] for row in verdicts["rows"]] == ["Bag of words", "RNN", "Transformer"]
    assert verdicts["truth"]["name"] in classes
    assert {row["answer"] for row in verdicts["rows"]} <= set(classes)
    text = screen.page_text(at)
    assert "This sentence is held out: training never shows it." in text
    for word in ("grammar says", "sustain", "collapse", "ceiling of a sum"):
        assert word not in text
    results = screen.table(at, "negation-results")
    assert {"test_accuracy", "train_accuracy"} < set(results[0]) and "exact_accuracy" not in results[0]
    assert ("test_accuracy_negated" in results[0]) == (content == TWO)  # only where sentences have negations
    answered = screen.table(at, "negation-file")
    assert len(answered) == sum(1 for cells in answered if cells["truth"]["text"] in classes)
    assert "training sentences right" in text


def test_a_file_that_cannot_be_learned_from_leaves_the_page_as_it_was() -> None:
    at = upload("text,label\ngood, nice,x\n")
    assert "Row 2 has 3 cells" in screen.page_text(at) and "text" not in screen.url_params(at)


def test_an_address_with_a_file_that_is_not_here_asks_for_it_and_shows_the_grammar() -> None:
    sha = corpora.store_text(TWO + "one more,good\n", "somebody else")
    settings = {"classes": "9", "rnn.epochs": "200", "train_size": "48"}
    at = screen.negation_page({"corpus": "own", "text": sha, **settings}, visitor="me")
    text = screen.page_text(at)
    assert len(at.warning) == 1 and "Change one of the two" not in text and f"begins with {sha[:12]}" in text
    assert_mentions(text, "This tiny language has six sentences")
    assert_mentions(text, "Until you give a table, the page shows the sentences of the grammar.")
    assert any((each.key or "").endswith(".file") for each in at.file_uploader) and "plot" not in text
