from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from explorer.catalogue import MODELS
from explorer.errors import LineageError
from explorer.experiments import word_vectors
from explorer.inspection.words.word_questions import map_words
from explorer.inspection.words.word_vectors import Analogy, AnalogyAccuracy, FrequencyEffects, PairSimilarity
from explorer.labs.word_vectors import findings
from explorer.labs.word_vectors.limits import frequency_view
from explorer.labs.word_vectors.questions import map_view
from explorer.labs.word_vectors.state import WordVectorsState, clean
from explorer.run_store import store
from explorer.training.config import key, with_settings
from explorer.ui.document import Document


def test_the_default_settings_are_those_of_included_runs() -> None:
    for corpus in ("grammar", "tinyshakespeare"):
        state = WordVectorsState().with_corpus(corpus)  # type: ignore[arg-type]
        assert store.find_by_config(state.configs["skip_gram"]) is not None
    assert store.find_by_config(WordVectorsState.url_base().with_models(["cbow"]).configs["cbow"]) is not None


def test_a_requested_run_is_shown_with_its_settings() -> None:
    included = store.find("words-tinyshakespeare-skip_gram")
    state, problems = WordVectorsState(run=included.key).open_run()
    assert problems == () and state.corpus == "tinyshakespeare" and state.who == ("skip_gram",)
    config = word_vectors.config("cbow", "grammar", replicas=2, window=2, iterations=30)
    changed = WordVectorsState().with_settings_of(config)
    assert (changed.seeds, changed.window, changed.steps, changed.width) == (2, 2, 30, 0)
    assert changed.config("cbow") == config
    other = with_settings(config, {"vocabulary": 100})  # a setting that the page does not have
    assert key(changed.config("cbow")) != key(other)


def test_without_a_text_of_ones_own_the_grammar_is_read() -> None:
    state = WordVectorsState().with_corpus("own")
    assert state.read_corpus == "grammar" and state.examples[0] == "queen"
    own = WordVectorsState(corpus="own", text="a" * 64)
    assert own.configs["skip_gram"].own_text == "a" * 64 and own.examples == ("", "", "", "", "")


def test_words_are_cleaned_and_impossible_settings_are_refused() -> None:
    assert clean("  King, QUEEN\tnun ") == "king queen nun" and WordVectorsState(a="").examples[1] == ""
    with pytest.raises(LineageError):
        WordVectorsState().with_field("seeds", 99)


QUESTION = ("king", "queen", "father")


def test_sentences(snapshot: SnapshotAssertion) -> None:
    most = Analogy([], ("mother", "mother", "nun"), ("mother", "queen", "father"))
    none = Analogy([], ("mother", "nun"), ("mother", "nun"))
    accuracy = AnalogyAccuracy(12, np.array([0.5, 1.0]), np.array([0.25, 0.25]))
    agreement = np.array([[0.1, 0.2], [0.5, 0.6]]).T
    effects = FrequencyEffects(np.array([1, 9]), np.ones((2, 2)), ("1", "9"), agreement)
    one_seed = FrequencyEffects(np.array([1, 9]), np.ones((1, 2)), ("1", "9"), None)
    near = PairSimilarity("hot", "cold", np.array([0.9, 0.8]), np.array([1, 1]))
    far = PairSimilarity("big", "small", np.array([0.2, 0.1]), np.array([4, 9]))
    leans = (np.array([[0.2], [0.1]]), np.array([[-0.1], [0.3]]))
    assert [
        findings.analogy_finding(QUESTION, most),
        findings.exclusion_sentence(QUESTION, most),
        findings.analogy_finding(QUESTION, none),
        findings.exclusion_sentence(QUESTION, none),
        findings.accuracy_sentence("CBOW", accuracy, planted=True, words=200),
        findings.frequency_finding(effects),
        findings.frequency_finding(one_seed),
        findings.antonyms_finding([near]),
        findings.antonyms_finding([near, far]),
        findings.senses_finding("bank", [near, far], near),
        findings.associations_finding((["pilot"], ["nurse"]), leans, 0.8),
        findings.associations_finding((["pilot"], ["nurse"]), (leans[0], -leans[0]), 0.8),
    ] == snapshot


def test_words_without_vectors_are_left_out_of_the_map_and_one_seed_has_no_agreement() -> None:
    run = store.find("words-grammar-skip_gram")
    near = map_words(run, ("king", "nun", "monk"), 0, "queen").projection.words
    assert near[:4] == ("king", "nun", "monk", "queen") and len(near) > 4
    found = map_words(run, ("king", "qeen", "nun", "monk"), 99)
    document = Document()
    map_view(document, {"skip_gram": found}, word_vectors.VARIANTS, "king")
    problem, component, caption = document.blocks
    assert "“qeen” has no vector" in str(problem["text"]) and "in seed 7" in str(caption["text"])
    assert [figure["alt"] for figure in component["data"]["figures"]] == [  # type: ignore[index]
        "Words on the map of skip-gram: king, nun, monk."
    ]
    document = Document()
    one_seed = FrequencyEffects(np.array([1, 9]), np.ones((1, 2)), ("1", "9"), None)
    frequency_view(document, one_seed, MODELS["cbow"], " on a text")
    finding, component, caption = document.blocks
    assert "train at least two" in str(finding["text"]) and "mean of one seed" in str(caption["text"])
    assert [figure["name"] for figure in component["data"]["figures"]] == ["words-length"]  # type: ignore[index]
